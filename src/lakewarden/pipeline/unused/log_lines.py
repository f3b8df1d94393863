"""The lines of logs: opened, numbered, and parsed one by one; a bad one is set aside alone."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from typing import IO, Any, Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.csv_cells import limit_cells
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import parse
from lakewarden.pipeline.unused.access_record import LoggedAccess, Refused

Read = Iterator[LoggedAccess | Refused]

ZSTD: Final = (".zstd", ".zst")
"""Suffixes of files compressed with zstd, also before that of an unfinished file."""

_DAMAGED: Final = (EOFError, csv.Error, zlib.error)
"""Exceptions for a file that is truncated or corrupted."""


def or_error(
    place: str, line: str, read_line: Callable[[str, str], Iterator[LoggedAccess]]
) -> Read:
    """The touches of a line, or the reason why it cannot be parsed."""
    try:
        yield from list(read_line(place, line))
    except BadInput as error:
        yield Refused(place, line, error.message)


@contextmanager
def opened(file: File) -> Iterator[IO[str]]:
    """A text file, decompressed if needed. Bytes that are not UTF-8 are kept as surrogates."""
    with ExitStack() as stack:
        raw: Any = stack.enter_context(file.path.open("rb"))
        if file.path.suffix == ".gz":
            raw = stack.enter_context(gzip.open(raw))
        elif not set(ZSTD).isdisjoint(f".{part}" for part in file.path.name.split(".")[1:]):
            raw = stack.enter_context(pa.input_stream(raw, compression="zstd"))
        yield stack.enter_context(
            TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        )


def lines(file: File) -> Iterator[tuple[str, str]]:
    """The non-empty lines of a file of JSON lines, each with its place.

    Raises `BadInput` for a damaged file, and for one with a list or an object over several lines.
    """
    try:
        with opened(file) as stream:
            is_first = True
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                place = f"{file.name}: line {number}"
                if is_first:
                    _check_first(line.strip(), place)
                    is_first = False
                yield place, line.rstrip("\r\n")
    except (*_DAMAGED, OSError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(file.path)) from None


def _check_first(line: str, place: str) -> None:
    """Refuses a file whose lines are no objects: set aside one by one, nothing would be used."""
    if line.startswith("[") or line.endswith(("{", "[", ",")):
        message = "expected JSON lines, one object a line; `jq -c '.[]?'` makes them of a list"
        raise BadInput(message, where=place)


def json_object(place: str, line: str) -> Mapping[str, object]:
    """The JSON object of a line. Raises `BadInput`."""
    if not line.isascii() and any("\ud800" <= c <= "\udfff" for c in line):
        raise BadInput("expected UTF-8", where=place)
    value = parse(line, place)
    if not isinstance(value, Mapping):
        raise BadInput("expected a JSON object", where=place)
    return value


def cells(file: File) -> Iterator[tuple[str, list[str]]]:
    """The non-empty rows of a CSV file, each with its place; `BadInput` for a damaged file."""
    try:
        with opened(file) as stream:
            limit_cells()
            reader = csv.reader(stream, strict=True)
            for row in reader:
                if row:
                    yield f"{file.name}: line {reader.line_num}", row
    except (*_DAMAGED, OSError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(file.path)) from None


def records(file: File) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The rows of a CSV file with a header. Raises `BadInput` for a damaged file."""
    header: list[str] | None = None
    for place, row in cells(file):
        if header is None:
            header = row
        else:
            padded = row + [""] * (len(header) - len(row))
            yield place, dict(zip((*header, ""), padded, strict=False))
