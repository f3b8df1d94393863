"""Runs notebooks from the beginning, each in an empty folder; with --write keeps their output.

    python scripts/run-notebooks.py [--write] NOTEBOOK …

Without --write it fails if a notebook's output differs from the stored one, or if it draws fewer
pictures: the pictures themselves differ from one release of the library to the next.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main(words: list[str]) -> int:
    """The exit code: 1 if the output of a notebook differs."""
    differing = 0
    for name in [word for word in words if word != "--write"]:
        file = Path(name)
        stored, fresh = nbformat.read(file, 4), nbformat.read(file, 4)
        with tempfile.TemporaryDirectory() as folder:
            where = {"metadata": {"path": folder}}
            NotebookClient(fresh, timeout=600, record_timing=False, resources=where).execute()
        if "--write" in words:
            fresh.metadata.get("language_info", {}).pop("version", None)
            nbformat.write(fresh, file)
        elif shown(stored) != shown(fresh):
            differing += 1
            print(f"{file}: prints something else", *shown(stored), "now:", *shown(fresh), sep="\n")
    return 1 if differing else 0


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """The printed output of the cells, with a mark for each picture."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [
        output.text if output.output_type == "stream" else f"<{', '.join(sorted(output.data))}>"
        for output in outputs
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
