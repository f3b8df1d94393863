"""Finds and reads policy files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lakewarden.cli.text_file import STANDARD_INPUT, read_text
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.service.policy_text import SUFFIXES, parse

LARGEST: Final = 64 * 1024 * 1024
"""The maximum size of a file, in bytes."""


def find(paths: Sequence[Path]) -> list[Path]:
    """The named files, and the files in named folders; raises `BadInput` if there are none."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(p for p in path.iterdir() if p.suffix in SUFFIXES)
        elif path.exists():
            files.append(path)
        else:
            raise BadInput("no such file or folder", where=str(path))
    if not paths:
        raise BadInput("expected at least one policy file")
    if not files:
        names = ", ".join(map(str, paths))
        raise BadInput(f"no file of {', '.join(SUFFIXES)} in {names}")
    return list(dict.fromkeys(files))


def read(path: Path) -> object:
    """The content of the file. Raises `BadInput` with its place, `LimitExceeded` if too large."""
    form = "toml" if path == STANDARD_INPUT else SUFFIXES.get(path.suffix)
    if form is None:
        raise BadInput(f"expected a file of {', '.join(SUFFIXES)}", where=str(path))
    if path.stat().st_size > LARGEST:
        raise LimitExceeded(f"{path}: is larger than {LARGEST:,} bytes")
    return parse(read_text(path), form, str(path))
