"""File operations that a `Location` does not have itself."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Final

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath

_CHUNK: Final = 1 << 20


def write_atomically(file: Location, text: str) -> None:
    """Writes a file atomically: a reader finds the complete file or none."""
    if isinstance(file, RemotePath):
        file.write_text(text, "utf-8")
        return
    # Spark ignores names that begin with a dot, so it never sees half a file.
    new = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        with new.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def switch_link(link: Location, target: str) -> None:
    """Makes a link lead to `target`, atomically; does nothing where links are not supported."""
    if isinstance(link, RemotePath):
        return
    if link.is_symlink() and os.readlink(link) == target:
        return
    new = link.with_name(f".{link.name}-{os.getpid()}")
    new.unlink(missing_ok=True)
    try:
        new.symlink_to(target)
        new.replace(link)
    except OSError:  # no support for links, or another user's file
        new.unlink(missing_ok=True)


def remove_tree(folder: Location, *, ignore_errors: bool = False) -> None:
    """Removes a folder and everything in it."""
    if isinstance(folder, RemotePath):
        with suppress(Unavailable) if ignore_errors else nullcontext():
            folder.store.delete_below(folder.key)
        return
    shutil.rmtree(folder, ignore_errors=ignore_errors)


def copy_tree(source: Location, target: Location) -> None:
    """Copies a folder and everything in it."""
    if isinstance(source, Path) and isinstance(target, Path):
        shutil.copytree(source, target, dirs_exist_ok=True)
        return
    for file in files_below(source):
        copy = target / name_below(source, file)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy_file(file, copy)


@contextmanager
def local_copy(place: Location) -> Iterator[Path]:
    """A local folder with the files of the place; a temporary copy if the place is remote."""
    if isinstance(place, Path):
        yield place
        return
    with TemporaryDirectory(prefix="lakewarden-") as folder:
        copy_tree(place, Path(folder))
        yield Path(folder)


@contextmanager
def local_copy_back(place: Location) -> Iterator[Path]:
    """A local folder whose files are copied to the place at the end of the block."""
    if isinstance(place, Path):
        yield place
        return
    with TemporaryDirectory(prefix="lakewarden-") as folder:
        yield Path(folder)
        copy_tree(Path(folder), place)


def copy_file(source: Location, target: Location) -> None:
    """Copies the content of a file."""
    if isinstance(source, RemotePath) and isinstance(target, RemotePath):
        if source.root == target.root:
            source.store.copy(source.key, target.key)
            return
    elif isinstance(source, Path) and isinstance(target, Path):
        shutil.copyfile(source, target)
        return
    with source.open("rb") as content, target.open("wb") as copy:
        shutil.copyfileobj(content, copy)


def link_or_copy(source: Location, target: Location) -> None:
    """A hard link to the file, or a copy of it: neither is modified later."""
    if isinstance(source, Path) and isinstance(target, Path):
        try:
            os.link(source, target)
            return
        except OSError:  # a file system without links
            pass
    copy_file(source, target)


def files_below(folder: Location) -> Iterator[Location]:
    """Every file below the folder, ordered by path."""
    if isinstance(folder, RemotePath):
        yield from sorted(folder.files_below())
    else:
        yield from (file for file in sorted(folder.rglob("*")) if file.is_file())


def entries(folder: Location) -> list[Location]:
    """The direct children of the folder, by name; empty if there is no folder."""
    return sorted(folder.glob("*"), key=_name)


def parquet_files(folder: Location) -> list[Location]:
    """The Parquet files directly in the folder, by name; empty if there is no folder."""
    return sorted(folder.glob("*.parquet"), key=_name)


def _name(file: Location) -> str:
    return file.name


def name_below(folder: Location, file: Location) -> str:
    """The path of a file relative to a folder that contains it."""
    if isinstance(folder, RemotePath):
        return file.as_posix().removeprefix(folder.as_posix()).lstrip("/")
    return PurePath(str(file)).relative_to(folder).as_posix()


def sha256_of_file(file: Location) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal. Raises `OSError` for a missing file."""
    hasher = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()


def size_of(file: Location) -> int:
    """The size of a file in bytes."""
    return file.stat().size if isinstance(file, RemotePath) else file.stat().st_size


def modified_at(file: Location) -> float:
    """The modification time of a file, in seconds."""
    return file.stat().modified if isinstance(file, RemotePath) else file.stat().st_mtime


def identity_of(file: Location) -> int | str:
    """An identity that links to one file share, see `link_or_copy`; different files differ."""
    return file.stat().tag.e_tag if isinstance(file, RemotePath) else file.stat().st_ino
