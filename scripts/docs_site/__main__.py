"""Builds the site: `python -m scripts.docs_site FOLDER`.

Every warning is an error, including a link or an anchor that leads nowhere.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from scripts.docs_site import nav, reference
from scripts.docs_site.stage import stage

ROOT = Path(__file__).resolve().parents[2]


def build(root: Path, folder: Path, work: Path) -> int:
    """Builds the site of a checkout into `folder`, using `work`; returns the exit code."""
    shutil.rmtree(folder, ignore_errors=True)
    sources = work / "sources"
    stage(root, nav.read(root), sources, reference.pages(root))
    options = ("--fail-on-warning", "--quiet", "--fresh-env", "--jobs", "auto")
    places = ("--doctree-dir", str(work / "doctrees"), "--conf-dir", str(Path(__file__).parent))
    return build_main([*options, *places, "--builder", "html", str(sources), str(folder)])


def main() -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    return build(ROOT, folder, folder.with_name(f"{folder.name}-work"))


if __name__ == "__main__":
    sys.exit(main())
