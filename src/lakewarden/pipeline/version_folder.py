"""A folder of versions, of which a manifest names the one that counts: what all writers share.

OUT/manifest.json     names the version that counts; switched last, in one step
OUT/versions/N/       a version
OUT/current           a link to the version that counts, where the file system has links
OUT/.new/             the next one, while it is made
OUT/.lock             held by the one process that works on the folder
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from lakewarden.kernel.errors import Conflict
from lakewarden.pipeline.storage.files import switch_link, write_whole
from lakewarden.pipeline.storage.location import Location

MANIFEST: Final = "manifest.json"
REPORT: Final = "report.json"
VERSIONS: Final = "versions"
NEW: Final = ".new"
LOCK: Final = ".lock"
CURRENT: Final = "current"


class Versioned(Protocol):
    """A manifest of any kind."""

    @property
    def version(self) -> int:
        """The version that counts."""
        ...


def folder_of(out: Location, manifest: Versioned) -> Location:
    """The folder of the version that the manifest describes."""
    return out / VERSIONS / str(manifest.version)


@contextmanager
def locked(out: Location) -> Iterator[None]:
    """Holds the folder, which is made if it is not there; `Conflict` while another process does."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another process works on `{out}`") from None
        point_current(out)  # a run that was killed may have left it behind
        yield


def next_version(out: Location) -> int:
    """The number of the next version, which no version had before."""
    versions = out / VERSIONS
    versions.mkdir(exist_ok=True)
    numbers = [int(folder.name) for folder in versions.iterdir() if folder.name.isdecimal()]
    return max(numbers, default=0) + 1


def publish(out: Location, version: int, manifest: str) -> None:
    """Makes the new version the one that counts: a reader sees the old or the new one."""
    (out / NEW).rename(out / VERSIONS / str(version))
    write_whole(out / MANIFEST, manifest)
    point_current(out)


def point_current(out: Location) -> None:
    """Makes `current` lead to the version that the manifest names, in one step.

    Nothing reads it here: the manifest decides. It is a stable path for readers of Parquet.
    """
    try:
        version = int(json.loads((out / MANIFEST).read_text("utf-8"))["version"])
    except (OSError, KeyError, TypeError, ValueError):
        return  # no version, or a manifest that its readers refuse
    switch_link(out / CURRENT, f"{VERSIONS}/{version}")
