"""Text files named on the command line: read and written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lakewarden.kernel.errors import BadInput

STANDARD_INPUT: Final = Path("/dev/stdin")
"""What `-` means as the name of a file to read."""

_NO_PLACE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def read_text(path: Path) -> str:
    """The text of the file. Raises `BadInput` if it cannot be read or is not UTF-8."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise refusal(path, error) from None
    except UnicodeDecodeError:
        raise BadInput("expected UTF-8", where=str(path)) from None


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Writes or replaces the file atomically; a pipe or a device is written to directly.

    Raises `BadInput` if the path cannot be a file, `OSError` for other errors.
    """
    target = path.resolve()
    is_plain = target.is_file() or not target.exists()
    first = target.with_name(f".{target.name}-{os.getpid()}") if is_plain else target
    try:
        with first.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        if is_plain:
            first.replace(target)
    except _NO_PLACE as error:
        raise refusal(path, error) from None
    finally:
        if is_plain:
            first.unlink(missing_ok=True)


def refusal(path: Path, error: OSError) -> BadInput:
    """The error for a path that is not a usable file."""
    return BadInput((error.strerror or str(error)).lower(), where=str(path))
