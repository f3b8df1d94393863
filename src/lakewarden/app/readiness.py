"""The ready processes of a server, visible to all of them and to the process that started them.

A folder with one file per ready process, named by its process id. A worker that starts later leaves
connections to the ready ones; the process that started the server reports that it listens once all
of them are ready.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "ready-"


class Readiness:
    """The ready processes of one server; `folder` is private to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unwritable = folder / "writes-fail"

    def announce(self) -> None:
        """Marks this process as ready."""
        (self._folder / f"{_PREFIX}{os.getpid()}").touch()

    def withdraw(self) -> None:
        """Marks this process as no longer ready."""
        with suppress(OSError):
            (self._folder / f"{_PREFIX}{os.getpid()}").unlink(missing_ok=True)

    def note_writes(self, *, fail: bool) -> None:
        """Records that writes fail in this process; or, for all processes, that they work."""
        with suppress(OSError):
            if fail:
                self._unwritable.touch()
            else:
                self._unwritable.unlink(missing_ok=True)

    def writes_fail(self) -> bool:
        """Whether a process found that writes fail, and none has since found that they work."""
        return self._unwritable.exists()

    def count(self) -> int:
        """The number of ready processes, without those that died."""
        with suppress(OSError):
            return sum(_is_ready(each.name) for each in self._folder.iterdir())
        return 0


def _is_ready(name: str) -> bool:
    number = name.removeprefix(_PREFIX)
    return name.startswith(_PREFIX) and number.isdigit() and is_alive(int(number))


def is_alive(process: int) -> bool:
    """Whether there is a process of ours with that id."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
