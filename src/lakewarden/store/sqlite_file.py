"""The file of an SQLite store: still the one that was opened, or another one by now.

A process keeps the file that it opened, even after the file is removed from its path or replaced.
It would then decide on old data, and its writes would be lost. A new connection would open the
other file, and apply the log of the first one to it. So a file that is no longer at its path is
never used again.
"""

from __future__ import annotations

import os

from lakewarden.kernel.errors import Unavailable


class FileReplaced(Unavailable):
    """The file of the store is no longer at its path, or another one is."""


class OpenedFile:
    """The file at a path; the first call of `opened` decides which one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: tuple[int, int] | None = None

    def opened(self) -> None:
        """Remembers the file, once it was opened."""
        if self._file is None:
            self._file = self._at_path()

    def check(self) -> None:
        """Raises `FileReplaced` if the file that was opened is no longer at the path."""
        if self._file is None:
            return
        found = self._at_path()
        if found != self._file:
            what = "removed" if found is None else "replaced"
            raise FileReplaced(
                f"the file `{self._path}` was {what} while it was open; stop every process that"
                " uses it, move its `-wal` and `-shm` away, and start again"
            )

    def _at_path(self) -> tuple[int, int] | None:
        """Device and number of the file at the path; None if there is none.

        Raises `Unavailable` if that is not known, as on a file system that does not answer.
        """
        try:
            status = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise Unavailable(f"the store does not answer: {reason}") from None
        return status.st_dev, status.st_ino
