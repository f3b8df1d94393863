"""The next version of a folder: written out of sight of readers, then made current atomically.

On a file system, one process at a time works on a folder: it holds OUT/.lock, writes to OUT/.new,
and renames that when it is complete.

An object store has no locks and no renames; HDFS is used in the same way. There a writer reads the
entity tag of the manifest and reserves a number by creating OUT/versions/N.json, which must not
exist yet. It writes its version in place, and switches the manifest on the condition that the tag
has not changed. If several writers started from the same version, one wins and the others get
`Conflict`. N.json then gets the text of the manifest. An N.json that stays empty belongs to a
writer that failed or is still working. Once a version with a higher number is current, that writer
cannot win any more, and its files are swept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from lakewarden.kernel.errors import Conflict, Unavailable
from lakewarden.pipeline.storage.files import remove_tree, write_atomically
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.object_store import Tag
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import (
    MANIFEST,
    NEW,
    TAKEN,
    VERSIONS,
    locked,
    numbers,
    point_current,
)

_FIRST: Final = "first"
"""Stands for the tag of a manifest that does not exist yet."""


class NextVersion(Protocol):
    """The next version of a folder, while one writer makes it."""

    @property
    def folder(self) -> Location:
        """The folder that the version is written to."""
        ...

    @property
    def number(self) -> int:
        """The number of the version, unused by any earlier version."""
        ...

    def publish(self, manifest: str) -> None:
        """Makes the version the current one: a reader sees the old or the new one.

        Raises `Conflict` if another writer was faster, `Unavailable` if it is unknown which version
        is current.
        """
        ...

    def scratch(self, name: str) -> Location:
        """The folder of this name for temporary files of the run; no other writer looks there."""
        ...

    def work(self, name: str) -> Location:
        """The folder of this name for results that a later run from the same version may reuse."""
        ...


@contextmanager
def next_version(out: Location) -> Iterator[NextVersion]:
    """The next version of a folder, which is created if missing.

    Raises `Conflict` while another process works on it; on an object store, `publish` raises it.
    """
    if not isinstance(out, RemotePath):
        with locked(out):
            yield _LocalVersion(out)
        return
    version = _begun(out)
    try:
        yield version
    except BaseException as error:
        if not version.is_switched:
            # Its number stays reserved: tasks that outlive the run may still write there.
            with suppress(Unavailable):
                remove_tree(version.folder)
                if isinstance(error, Exception) and version.is_overtaken():
                    # The winner has removed the finished stages that both runs shared.
                    raise _conflict(out) from error
        raise
    if not version.is_switched:
        with suppress(Unavailable):  # a later writer sweeps
            version.drop()


@dataclass(frozen=True, slots=True)
class _LocalVersion:
    """See `NextVersion`; the folder is locked."""

    out: Path

    @property
    def folder(self) -> Path:
        return self.out / NEW

    @property
    def number(self) -> int:
        return max(numbers(self.out), default=0) + 1

    def publish(self, manifest: str) -> None:
        versions = self.out / VERSIONS
        versions.mkdir(exist_ok=True)
        self.folder.rename(versions / str(self.number))
        write_atomically(self.out / MANIFEST, manifest)
        point_current(self.out)

    def scratch(self, name: str) -> Path:
        return self.out / name

    def work(self, name: str) -> Path:
        return self.out / name


@dataclass(slots=True)
class _RemoteVersion:
    """See `NextVersion`; `base` is the tag of the manifest that the writer started from.

    `is_switched`: the switch was attempted, so the version may be current.
    """

    out: RemotePath
    base: Tag | None
    number: int
    is_switched: bool = False

    @property
    def folder(self) -> RemotePath:
        return self.out / VERSIONS / str(self.number)

    def publish(self, manifest: str) -> None:
        file = self.out / MANIFEST
        self.is_switched = True
        try:
            file.store.put_if(file.key, manifest.encode(), self.base)
        except Conflict:
            # The response to our own put may have been lost, and the put been retried. If another
            # version followed meanwhile, its writer has recorded that this one was current.
            known = (_read(file), _read(_claim_file(self.out, self.number)))
            if manifest.encode() not in known:
                remove_tree(self.folder)
                raise _conflict(self.out) from None
        with suppress(Unavailable):  # the version is current; the next writer records and sweeps
            _claim_file(self.out, self.number).write_text(manifest, "utf-8")
            _remove_files_of_losing_writers(self.out, self.number)

    def scratch(self, name: str) -> RemotePath:
        return self.out / name / str(self.number)

    def work(self, name: str) -> RemotePath:
        return self.out / f"{name}-{_plain(self.base)}"

    def is_overtaken(self) -> bool:
        """Whether another writer has made a version meanwhile, so that this one cannot win."""
        return _plain(_tag_of(self.out / MANIFEST)) != _plain(self.base)

    def drop(self) -> None:
        """Removes the files of a version that did not become current."""
        remove_tree(self.folder)
        _claim_file(self.out, self.number).unlink(missing_ok=True)


def _begun(out: RemotePath) -> _RemoteVersion:
    # The tag comes first: if the manifest is switched after that, the writer's own switch is
    # rejected.
    base = None
    with suppress(FileNotFoundError):
        content, base = (out / MANIFEST).read_tagged()
        _repair(out, content)
    number = max(numbers(out), default=0) + 1
    while not _claim(out, number):
        number += 1
    return _RemoteVersion(out, base, number)


def _claim(out: RemotePath, number: int) -> bool:
    taken = _claim_file(out, number)
    try:
        taken.store.put_if(taken.key, b"", None)
    except Conflict:
        return False
    return True


def _claim_file(out: RemotePath, number: int) -> RemotePath:
    return out / VERSIONS / f"{number}{TAKEN}"


def _repair(out: RemotePath, manifest: bytes) -> None:
    """Records the manifest of the current version in its N.json, if a kill prevented that."""
    try:
        number = int(json.loads(manifest)["version"])
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return  # readers reject it
    if not _read(_claim_file(out, number)):
        _claim_file(out, number).write_bytes(manifest)


def _conflict(out: RemotePath) -> Conflict:
    return Conflict(f"another process wrote to `{out}`; try again")


def _tag_of(file: RemotePath) -> Tag | None:
    try:
        return file.stat().tag
    except FileNotFoundError:
        return None


def _read(file: RemotePath) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _remove_files_of_losing_writers(out: RemotePath, newest: int) -> None:
    """Removes the files of writers that started before the newest version and cannot win."""
    versions = out / VERSIONS
    for name, size in versions.store.children(versions.key):
        number = name.removesuffix(TAKEN)
        if size == 0 and name != number and number.isdecimal() and int(number) < newest:
            _RemoteVersion(out, None, int(number)).drop()
    for folder in (out, versions):
        folder.store.sweep(folder.key)


def sweep_scratch(out: Location, name: str, newest: int) -> None:
    """Removes the scratch folders of this name whose writers have finished or cannot win."""
    if isinstance(out, RemotePath):
        with suppress(Unavailable):  # the next writer sweeps
            for folder in (out / name).iterdir():
                if folder.name.isdecimal() and int(folder.name) <= newest:
                    remove_tree(folder)


def sweep_work(out: Location, name: str) -> None:
    """Removes the work folders below this name that belong to runs from earlier versions."""
    if isinstance(out, RemotePath):
        folders = list((out / name).iterdir())
        # Read after the folders were listed: a folder of a newer version is not among them.
        tag = _tag_of(out / MANIFEST)
        if tag is None:
            return
        for folder in folders:
            if not folder.name.endswith(f"-{_plain(tag)}"):
                # First the markers of finished stages: a kill must not leave a marker without its
                # files.
                for marker in folder.glob("*.json"):
                    marker.unlink(missing_ok=True)
                remove_tree(folder)


def _plain(tag: Tag | None) -> str:
    return _FIRST if tag is None else re.sub(r"\W", "", tag.e_tag)
