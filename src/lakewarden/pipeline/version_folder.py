"""A folder of versions, and a manifest that names the current one.

OUT/manifest.json     names the current version; switched last, atomically
OUT/versions/N/       a version
OUT/current           a link to the current version, where the file system has links

For how the next version is made, see `lakewarden.pipeline.next_version`.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, overload

from lakewarden.kernel.errors import Conflict
from lakewarden.pipeline.storage.files import switch_link
from lakewarden.pipeline.storage.location import Location

MANIFEST: Final = "manifest.json"
REPORT: Final = "report.json"
VERSIONS: Final = "versions"
NEW: Final = ".new"
LOCK: Final = ".lock"
CURRENT: Final = "current"
TAKEN: Final = ".json"
"""Suffix of the file that reserves a number, on an object store."""


class Versioned(Protocol):
    """A manifest of any kind."""

    @property
    def version(self) -> int:
        """The current version."""
        ...


@overload
def folder_of(out: Path, manifest: Versioned) -> Path: ...


@overload
def folder_of(out: Location, manifest: Versioned) -> Location: ...


def folder_of(out: Location, manifest: Versioned) -> Location:
    """The folder of the version that the manifest describes."""
    return out / VERSIONS / str(manifest.version)


def numbers(out: Location) -> set[int]:
    """The numbers of all versions, including those that never became current."""
    names = (file.name.removesuffix(TAKEN) for file in (out / VERSIONS).glob("*"))
    return {int(name) for name in names if name.isdecimal()}


@contextmanager
def locked(out: Location) -> Iterator[None]:
    """Holds the lock of a local folder, which is created if missing.

    Raises `Conflict` while another process holds it.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOCK).open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another process works on `{out}`") from None
        point_current(out)  # it may be stale after a run was killed
        yield


def point_current(out: Location) -> None:
    """Switches `current` to the version that the manifest names, atomically.

    Nothing here reads it: the manifest decides. It is a stable path for readers of Parquet.
    """
    try:
        version = int(json.loads((out / MANIFEST).read_text("utf-8"))["version"])
    except (OSError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return  # no version, or a manifest that readers reject
    switch_link(out / CURRENT, f"{VERSIONS}/{version}")
