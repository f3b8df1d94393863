"""The sizes of the built pages, from the files alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import lakewarden

KB: Final = 1_000
DIST: Final = Path(lakewarden.__file__).parent / "ui" / "dist"


def gzipped(path: str) -> int:
    """The bytes of a file below `/ui/` on the wire, compressed if it is served compressed."""
    file = DIST / path.removeprefix("/ui/")
    small = Path(f"{file}.gz")
    return (small if small.is_file() else file).stat().st_size


def first_load() -> tuple[list[str], list[str]]:
    """The scripts and the style sheets that `index.html` names."""
    text = (DIST / "index.html").read_text("utf-8")
    named = re.findall(r'(?:src|href)="(/ui/[^"]+)"', text)
    return [n for n in named if n.endswith(".js")], [n for n in named if n.endswith(".css")]


def whole() -> int:
    """The bytes of all built files."""
    return sum(file.stat().st_size for file in DIST.rglob("*") if file.is_file())
