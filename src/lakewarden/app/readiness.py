"""Which processes of a server are ready, as all of them and the one that started them see it.

A folder with a file for each ready process, named by its number. A worker that starts later
leaves connections to those that are ready; whoever started the server says that it listens once
all of them are.
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
        """This process is ready."""
        (self._folder / f"{_PREFIX}{os.getpid()}").touch()

    def withdraw(self) -> None:
        """This process is not ready any more."""
        with suppress(OSError):
            (self._folder / f"{_PREFIX}{os.getpid()}").unlink(missing_ok=True)

    def note_writes(self, *, fail: bool) -> None:
        """Writes fail, as this process found; or they do not, for all of them."""
        with suppress(OSError):
            if fail:
                self._unwritable.touch()
            else:
                self._unwritable.unlink(missing_ok=True)

    def writes_fail(self) -> bool:
        """Whether some process found that writes fail, and none since that they do not."""
        return self._unwritable.exists()

    def count(self) -> int:
        """How many processes are ready; those that died are not."""
        with suppress(OSError):
            return sum(_is_ready(each.name) for each in self._folder.iterdir())
        return 0


def _is_ready(name: str) -> bool:
    number = name.removeprefix(_PREFIX)
    return name.startswith(_PREFIX) and number.isdigit() and is_alive(int(number))


def is_alive(process: int) -> bool:
    """Whether there is a process of that number, of ours."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
