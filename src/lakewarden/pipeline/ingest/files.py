"""Files as a source of rows: finding them, digesting them, and one Spark task for each."""

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
"""Endings of files that programs pack as they write them."""

MAX_TASKS: Final = 1_024
"""More files than this share tasks."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: where it is, and what it is called below the path that was given."""

    path: Location
    name: str


def find(path: Location, suffixes: Sequence[str]) -> list[File]:
    """The file at `path`, or those in the folder and below it, by name.

    Raises `BadInput`, also for a file that is not read and seems meant.
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
    """Raises `BadInput` for a file that is packed, or whose name ends in other case.

    Passing over it would lose what it says, such as a DENY.
    """
    for file in files:
        if file.suffix not in suffixes and _seems_meant(file.name, suffixes):
            ends = ", ".join(sorted(filter(None, suffixes)))
            message = f"expected a name that ends in {ends}; unpack or rename it"
            raise BadInput(message, where=str(file))


def _refuse_links(folder: Path, suffixes: Collection[str]) -> None:
    """Raises `BadInput` for a link to a folder elsewhere with files to read: none is followed."""
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
    """The files as a manifest names them. Raises `BadInput` when one cannot be read."""
    return [Input(file.name, _sha256(file.path)) for file in files]


def _sha256(file: Location) -> str:
    """The digest of a file. Raises `BadInput` when it cannot be read."""
    try:
        return sha256_of_file(file)
    except OSError as error:
        raise unreadable(error, str(file)) from None


def bytes_of(files: Iterable[File]) -> int:
    """How large the files are together. Raises `BadInput` for one that is gone."""
    try:
        return sum(size_of(file.path) for file in files)
    except OSError as error:
        raise unreadable(error, str(error.filename)) from None


def per_file(
    spark: SparkSession, files: Sequence[File], function: Callable[[Batches], Batches], schema: str
) -> DataFrame:
    """A frame of what `function` makes of file numbers, one file a task up to a bound."""
    numbers = spark.range(0, len(files), 1, min(len(files), MAX_TASKS))
    return numbers.mapInArrow(function, schema)


def refuse_errors(errors: Iterable[tuple[str, str]]) -> None:
    """Raises `BadInput` for the first of these (place, message), if any."""
    listed = list(errors)
    if listed:
        place, message = listed[0]
        others = f" (and {len(listed) - 1} more errors)" if len(listed) > 1 else ""
        raise BadInput(message + others, where=place)
