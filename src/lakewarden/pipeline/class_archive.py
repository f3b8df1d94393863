"""A Java archive of the classes that Spark loads: with it Spark starts in half the time.

The second local session of an installation has its Java write the archive below the user's cache,
after the session is over and the command has ended. Later sessions use it. A machine that lives for
one job, such as a container, therefore writes none. Java ignores an archive whose classes differ
from those it would load, and starts as without one.

Source: Java's `-XX:ArchiveClassesAtExit` and `-XX:SharedArchiveFile` (JEP 350).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakewarden.pipeline.java import cache_folder

# Java prints warnings on standard output, which is for the command's results. It fails to start
# with a damaged archive, unless it compares checksums first.
_COMMON: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Xlog:disable",
    "-XX:+VerifySharedSpaces",
)

_USE: Final = "-XX:SharedArchiveFile="

_ARCHIVE: Final = ".jsa"

_KEPT: Final = 3
"""Archives to keep, of the most recently used installations: each takes some 190 MB."""

_FREE: Final = 2 << 30
"""Bytes of free disk space that an archive requires."""

_CLAIM_SECONDS: Final = 3600
"""How long to wait for a process that is writing an archive, before another one may write."""

_MARK_BYTES: Final = 4
"""Java writes the head of an archive last: if these bytes are set, the archive is complete."""


def java_options(java_home: Path) -> tuple[str, ...]:
    """Options for a Java that is about to start Spark: to use the archive, or to write it.

    None if there is no archive to use or to write, or if the cache is not writable.
    """
    with suppress(OSError):
        folder, key = cache_folder() / "spark-classes", _key(java_home)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        writing = _collect_drafts(folder)
        for archive in folder.glob(f"{key}.*{_ARCHIVE}"):
            if _is_as_written(archive):
                with suppress(OSError):  # the folder may be read-only
                    os.utime(archive)  # marks it as in use
                return (*_COMMON, f"{_USE}{archive}")
            archive.unlink()
        if _has_started_before(folder / f"{key}.used") and key not in writing:
            draft = folder / f"{key}.{os.getpid()}.draft"
            draft.touch(exist_ok=False)
            return (*_COMMON, f"-XX:ArchiveClassesAtExit={draft}")
    return ()


def discard(options: Iterable[str]) -> bool:
    """Removes the archive that these options name; False if they name none."""
    files = [o.removeprefix(_USE) for o in options if o.startswith(_USE)]
    for file in files:
        Path(file).unlink(missing_ok=True)
    return bool(files)


def _key(java_home: Path) -> str:
    """A key that differs if the classes, or their location, differ."""
    release = java_home / "release"
    version = release.read_text("utf-8") if release.exists() else ""
    package = find_spec("pyspark")
    places = [] if package is None else list(package.submodule_search_locations or ())
    jars = [Path(place) / "jars" for place in places]
    changed = [jar_folder.stat().st_mtime_ns for jar_folder in jars]
    text = repr((str(java_home), version, [str(jar_folder) for jar_folder in jars], changed))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _collect_drafts(folder: Path) -> set[str]:
    """Makes complete drafts archives, and removes abandoned ones; returns the keys still written.

    Drafts of all installations: one that has been removed never starts again.
    """
    writing = set()
    with suppress(OSError):  # the folder may be read-only
        for draft in folder.glob("*.draft"):
            key = draft.name.partition(".")[0]
            if _is_whole(draft):
                draft.replace(folder / f"{key}.{draft.stat().st_size}{_ARCHIVE}")
            elif _is_claimed(draft):
                writing.add(key)
        _remove_old_archives(folder)
    return writing


def _is_whole(draft: Path) -> bool:
    with draft.open("rb") as file:
        return any(file.read(_MARK_BYTES))


def _is_as_written(archive: Path) -> bool:
    """Whether the archive has the size it had when it was written, which is part of its name."""
    return archive.name.split(".")[1] == str(archive.stat().st_size)


def _has_started_before(mark: Path) -> bool:
    """Whether this installation has started Spark before, and there is room for an archive."""
    is_known = mark.exists()
    mark.touch()
    return is_known and shutil.disk_usage(mark.parent).free >= _FREE


def _is_claimed(draft: Path) -> bool:
    """Whether another process is still expected to write the draft; otherwise removes the draft."""
    with suppress(FileNotFoundError):
        if time.time() - draft.stat().st_mtime < _CLAIM_SECONDS:
            return True
        draft.unlink()
    return False


def _remove_old_archives(folder: Path) -> None:
    archives = sorted(
        folder.glob(f"*{_ARCHIVE}"), key=lambda file: file.stat().st_mtime, reverse=True
    )
    for old in archives[_KEPT:]:
        old.unlink()
