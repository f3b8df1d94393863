#!/usr/bin/env python3
"""Write the index of decision records.

scripts/index-decisions.py docs/decisions            # write README.md there
scripts/index-decisions.py --check docs/decisions    # exit 1 if it differs
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

HEAD = """# Decisions

What was decided, why, and what is not done yet; one record each. Written by `make docs` from the
records.

| Number | Decision |
|---|---|
"""
TITLE = re.compile(r"# (\d+)[.:] (.+)")


def index(folder: Path) -> str:
    """The page: a row for each record, in order. Raises `ValueError` if one has no title."""
    rows = []
    for file in sorted(folder.glob("[0-9]*.md")):
        title = TITLE.fullmatch(file.read_text("utf-8").partition("\n")[0])
        if title is None or int(title[1]) != int(file.name[:4]):
            raise ValueError(f"{file.name}: expected `# {file.name[:4]}. Title` in its first line")
        rows.append(f"| {file.name[:4]} | [{_capital(title[2])}]({file.name}) |\n")
    return HEAD + "".join(rows)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def main() -> int:
    """Writes or checks the index; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the index of decision records.")
    parser.add_argument("--check", action="store_true", help="say whether it differs")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    page, text = arguments.folder / "README.md", index(arguments.folder)
    if arguments.check:
        return int(not page.is_file() or page.read_text("utf-8") != text)
    page.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
