"""The shared revision: the newest revision in shared memory, for all processes of one host.

A file of eight bytes that every process maps. A writer to the store raises it after the commit and
before it responds. A reader that finds its own revision there has proven, without a query to the
store, that it missed no acknowledged write.

A value higher than the store's would send every reader to the store forever. So a process that
finds that no other process has the file open resets it to 0.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import re
import stat
import tempfile
import threading
from pathlib import Path
from typing import Final

from lakewarden.kernel.errors import BadInput

_BYTES = 8
_SQLITE: Final = re.compile(r"sqlite(\+[a-z0-9]+)?:///")


class MappedRevision:
    """The shared revision in a mapped file; implements `SharedRevision`. Close it when done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._threads = threading.Lock()
        self._file = _open_private(path)
        # Raising takes a separate lock; the lock of the file itself is held while it is open, and
        # tells other processes that it is in use.
        self._lock = _open_private(path.with_name(f"{path.name}-lock"))
        self._claim()
        self._map = mmap.mmap(self._file, _BYTES)
        self.cells = memoryview(self._map).cast("Q")
        """The single cell is the revision; eight aligned bytes, which are never torn."""

    def _claim(self) -> None:
        with _locked(self._lock):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                os.pwrite(self._file, bytes(_BYTES), 0)
            fcntl.flock(self._file, fcntl.LOCK_SH)

    def raise_to(self, revision: int) -> None:
        """Raises it to at least this revision; safe for concurrent calls."""
        with self._threads, _locked(self._lock):
            self.cells[0] = max(self.cells[0], revision)

    def close(self) -> None:
        """Closes the file."""
        self.cells.release()
        self._map.close()
        os.close(self._file)
        os.close(self._lock)


class _locked:  # noqa: N801 — reads like a keyword after `with`
    def __init__(self, file: int) -> None:
        self._file = file

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)


def _open_private(path: Path) -> int:
    """Opens the file for this user only; raises `BadInput` if another user owns it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
        os.close(file)
        raise BadInput(f"`{path}` is not a shared revision file")
    return file


def shared_revision_of(database: str, *, host_only: bool = False) -> MappedRevision | None:
    """The shared revision of a store; None if other hosts may write to it.

    It lies beside a SQLite file, whose writers are all on this host; another store has one only if
    the operator declares that all writers are on this host (`host_only`).
    """
    place = place_of(database, host_only=host_only)
    return None if place is None else MappedRevision(place)


def sqlite_file(database: str) -> Path | None:
    """The file of a SQLite store; None for another one."""
    match = _SQLITE.match(database)
    return None if match is None else Path(database[match.end() :]).resolve()


def place_of(database: str, *, host_only: bool = False) -> Path | None:
    """The path of the shared revision of a store."""
    file = sqlite_file(database)
    if file is not None:
        return file.with_name(f"{file.name}-revision")
    if not host_only:
        return None
    name = hashlib.sha256(database.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    folder = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(folder) / f"lakewarden-{os.getuid()}-{name}-revision"
