"""The tool that draws the mutants has its own environment, so nothing here may be imported."""

collect_ignore_glob = ["*.py"]
