"""Files as a source of rows: finds them, digests them, and reads each in one Spark task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_text
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.storage.files import files_below, name_below, sha256_of_file, size_of
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import unreadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

_PACKED: Final = (".lz4", ".lzf", ".snappy", ".zst", ".zstd")
"""Suffixes of files that were compressed on writing."""

MAX_TASKS: Final = 1_024
"""The most tasks; with more files, tasks read several."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: its location, and its name below the given path."""

    path: Location
    name: str


def find(path: Location, suffixes: Sequence[str]) -> list[File]:
    """The file at `path`, or the files below the folder, by name.

    Raises `BadInput`, also for a file of another kind that seems to be meant as input.
    """
    if path.is_file():
        return [named(path, path.name)]
    if not path.exists():
        raise BadInput("no such file or folder", where=str(path))
    there = list(files_below(path))
    _refuse_unread(there, suffixes)
    if isinstance(path, Path):
        _refuse_links(path, suffixes)
    files = [named(file, name_below(path, file)) for file in there if file.suffix in suffixes]
    if not files:
        raise BadInput(f"holds no file that ends in {', '.join(suffixes)}", where=str(path))
    return sorted(files, key=lambda file: file.name)


def _refuse_unread(files: Iterable[Location], suffixes: Collection[str]) -> None:
    """Raises `BadInput` for a file that is compressed, or whose suffix differs in case.

    Ignoring it would lose its content, such as a DENY.
    """
    for file in files:
        if file.suffix not in suffixes and _seems_meant(file.name, suffixes):
            ends = ", ".join(sorted(filter(None, suffixes)))
            message = f"expected a name that ends in {ends}; unpack or rename it"
            raise BadInput(message, where=str(file))


def _refuse_links(folder: Path, suffixes: Collection[str]) -> None:
    """Raises `BadInput` for a link to an outside folder with input files: none is followed."""
    for link in folder.rglob("*"):
        if link.name.startswith((".", "_")) or not (link.is_symlink() and link.is_dir()):
            continue
        target = link.resolve()
        is_elsewhere = not target.is_relative_to(folder.resolve())
        if is_elsewhere and any(file.suffix in suffixes for file in files_below(target)):
            message = "is a link to another folder, which is not followed; copy the folder"
            raise BadInput(message, where=str(link))


def _seems_meant(name: str, suffixes: Collection[str]) -> bool:
    parts = {f".{part}" for part in name.lower().split(".")[1:]}
    return not name.startswith((".", "_")) and not parts.isdisjoint({*suffixes, *_PACKED})


def named(path: Location, name: str) -> File:
    """The file under the name that messages and the manifest use. Raises `BadInput`."""
    check_text(name, "the name of a file")
    return File(path.resolve(), name)


def inputs_of(files: Sequence[File]) -> list[Input]:
    """The files as inputs of a manifest. Raises `BadInput` if one cannot be read."""
    return [Input(file.name, _sha256(file.path)) for file in files]


def _sha256(file: Location) -> str:
    """The digest of a file. Raises `BadInput` if it cannot be read."""
    try:
        return sha256_of_file(file)
    except OSError as error:
        raise unreadable(error, str(file)) from None


def bytes_of(files: Iterable[File]) -> int:
    """The total size of the files. Raises `BadInput` if one is missing."""
    try:
        return sum(size_of(file.path) for file in files)
    except OSError as error:
        raise unreadable(error, str(error.filename)) from None


def per_file(
    spark: SparkSession, files: Sequence[File], function: Callable[[Batches], Batches], schema: str
) -> DataFrame:
    """A frame of the results of `function` for file numbers; one file per task, up to a limit."""
    numbers = spark.range(0, len(files), 1, min(len(files), MAX_TASKS))
    return numbers.mapInArrow(function, schema)


def refuse_errors(errors: Iterable[tuple[str, str]]) -> None:
    """Raises `BadInput` for the first of these (place, message), if any."""
    listed = list(errors)
    if listed:
        place, message = listed[0]
        others = f" (and {len(listed) - 1} more errors)" if len(listed) > 1 else ""
        raise BadInput(message + others, where=place)
