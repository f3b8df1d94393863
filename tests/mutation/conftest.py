"""The tool that draws the mutants has an environment of its own: nothing is to be imported here."""

collect_ignore_glob = ["*.py"]
