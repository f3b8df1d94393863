"""A folder of versions, of which a manifest names the one that counts.

OUT/manifest.json     names the version that counts; switched last, in one step
OUT/versions/N/       a version
OUT/current           a link to the version that counts, where the file system has links

How the next version is made, see `lakewarden.pipeline.next_version`.
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
"""What the name of the file ends in that takes a number, on an object store."""


class Versioned(Protocol):
    """A manifest of any kind."""

    @property
    def version(self) -> int:
        """The version that counts."""
        ...


@overload
def folder_of(out: Path, manifest: Versioned) -> Path: ...


@overload
def folder_of(out: Location, manifest: Versioned) -> Location: ...


def folder_of(out: Location, manifest: Versioned) -> Location:
    """The folder of the version that the manifest describes."""
    return out / VERSIONS / str(manifest.version)


def numbers(out: Location) -> set[int]:
    """The numbers of all versions, also of those that never counted."""
    names = (file.name.removesuffix(TAKEN) for file in (out / VERSIONS).glob("*"))
    return {int(name) for name in names if name.isdecimal()}


@contextmanager
def locked(out: Location) -> Iterator[None]:
    """Holds a folder of this machine, which is made if it is not there.

    Raises `Conflict` while another process holds it.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOCK).open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another process works on `{out}`") from None
        point_current(out)  # a run that was killed may have left it behind
        yield


def point_current(out: Location) -> None:
    """Makes `current` lead to the version that the manifest names, in one step.

    Nothing reads it here: the manifest decides. It is a stable path for readers of Parquet.
    """
    try:
        version = int(json.loads((out / MANIFEST).read_text("utf-8"))["version"])
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        return  # no version, or a manifest that its readers refuse
    switch_link(out / CURRENT, f"{VERSIONS}/{version}")
