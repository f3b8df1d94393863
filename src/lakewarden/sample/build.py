"""Writes the sample estate's export files: `python -m lakewarden.sample.build [FOLDER]`.

The same files byte for byte, whenever and wherever it runs: nothing is drawn, no clock is
read. One record stands on one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from lakewarden.sample import DATA, parts
from lakewarden.sample.part import Record


def files() -> dict[str, str]:
    """All files of the estate: path below the data folder → text."""
    return {
        name: _text(records) for part in parts().values() for name, records in part.files().items()
    }


def write(folder: Path) -> int:
    """Writes the files below `folder` and returns how many there are."""
    made = files()
    for name, text in made.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", newline="\n")
    return len(made)


def _text(records: Iterable[Record]) -> str:
    lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in records)
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    print(f"{write(target)} files in {target}")
