"""What is done with files beyond what a `Location` does itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from lakewarden.pipeline.storage.location import Location


def write_whole(file: Location, text: str) -> None:
    """Writes a file in one step: it is there whole, or not at all."""
    # Spark passes over what begins with a dot, so it never sees half a file.
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
    """Makes a link lead to `target`, in one step; where there are no links, nothing is done."""
    if link.is_symlink() and os.readlink(link) == target:
        return
    new = link.with_name(f".{link.name}-{os.getpid()}")
    new.unlink(missing_ok=True)
    try:
        new.symlink_to(target)
        new.replace(link)
    except OSError:  # no links here, or a file of somebody else
        new.unlink(missing_ok=True)


def remove_tree(folder: Location, *, ignore_errors: bool = False) -> None:
    """Removes a folder with all that is in it."""
    shutil.rmtree(folder, ignore_errors=ignore_errors)


def copy_tree(source: Location, target: Location) -> None:
    """Copies a folder with all that is in it; `target` is not there yet."""
    shutil.copytree(source, target)


def copy_file(source: Location, target: Location) -> None:
    """Copies the content of a file."""
    shutil.copyfile(source, target)


def link_or_copy(source: Location, target: Location) -> None:
    """The same file under a second name, or a copy of it: neither changes any more."""
    try:
        os.link(source, target)
    except OSError:  # a file system that has no links
        copy_file(source, target)


def files_below(folder: Location) -> Iterator[Location]:
    """Every file in the folder and below it, in the order of their places."""
    return (file for file in sorted(folder.rglob("*")) if file.is_file())


def size_of(file: Location) -> int:
    """The bytes of a file."""
    return file.stat().st_size


def modified_at(file: Location) -> float:
    """When a file was written, in seconds."""
    return file.stat().st_mtime


def identity_of(file: Location) -> int:
    """Two names of one file, see `link_or_copy`, have the same; other files another one."""
    return file.stat().st_ino
