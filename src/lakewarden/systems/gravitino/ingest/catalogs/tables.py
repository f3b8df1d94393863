r"""Tables of an export: files of CSV, JSON lines or Parquet, one table for each.

A file has the name of its table, in any case: `GRANTS_TO_ROLES.csv`, `grants_to_roles.parquet`.
Column names may also be in any case; further columns are ignored. A number, a time or a boolean is
its text; a list or an object is an error. Null is the empty text, `\N` in CSV, and in JSON a key
that only other rows have.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.ingest.csv_cells import limit_cells
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import records as json_records
from lakewarden.pipeline.storage.parquet import parquet_file, schema_of
from lakewarden.systems.gravitino.ingest.catalogs.records import Record
from lakewarden.systems.gravitino.ingest.catalogs.table_spec import Cells, TableSpec

SUFFIXES: Final = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")

_NULL: Final = r"\N"
"""The text for null in CSV files of Snowflake, Hive and PostgreSQL."""


def exported(
    files: Sequence[File], specs: Mapping[str, TableSpec], where: str
) -> list[tuple[File, list[TableSpec]]]:
    """The files of an export, each with the tables that are read from it; `where` is their folder.

    Raises `BadInput` for a file that is no table, for two files of one table, and for a missing
    required file.
    """
    by_file: dict[str, list[TableSpec]] = {}
    for spec in specs.values():
        by_file.setdefault(spec.file, []).append(spec)
    found: dict[str, File] = {}
    for file in files:
        name = file.path.stem.lower()
        if name not in by_file:
            expected = ", ".join(sorted(by_file))
            raise BadInput(f"is no table of the export; expected: {expected}", where=file.name)
        if name in found:
            raise BadInput(f"is the table `{name}` for the second time", where=file.name)
        found[name] = file
    for name, of_file in by_file.items():
        needed = next((spec.required for spec in of_file if _is_required(spec, found)), "")
        if needed and name not in found:
            raise BadInput(f"has no table `{name}`, without which {needed}", where=where)
    return [(file, by_file[name]) for name, file in found.items()]


def _is_required(spec: TableSpec, found: Collection[str]) -> bool:
    return bool(spec.required) and (not spec.required_by or spec.required_by in found)


def missing(files: Sequence[File], specs: Mapping[str, TableSpec]) -> list[str]:
    """The tables that the export could contain, but does not."""
    present = {file.path.stem.lower() for file in files}
    return [f"the table {name}" for name in sorted({s.file for s in specs.values()} - present)]


def records(file: File, specs: Sequence[TableSpec]) -> Iterator[Record]:
    """The records of a file. Raises `BadInput` with the place of a malformed row."""
    header = _header(file)
    if header is not None:
        specs = _readable(header, specs, file.name)
    used = frozenset[str]().union(*(spec.columns() for spec in specs))
    yield from of_rows(_rows(file, used), specs, file.name)


def of_rows(
    rows: Iterable[tuple[str, Cells]], specs: Sequence[TableSpec], name: str
) -> Iterator[Record]:
    """The records of rows with these places. Raises `BadInput` if a column is missing."""
    checked = False
    for place, cells in rows:
        if not checked:
            specs = _readable(cells.keys(), specs, name)
            checked = True
        for spec in specs:
            yield from spec.records(cells, place)


def _readable(columns: Collection[str], specs: Sequence[TableSpec], name: str) -> list[TableSpec]:
    """The tables that can be read from the columns. Raises `BadInput` if one cannot."""
    readable = [s for s in specs if not s.is_optional or s.columns() <= {*columns}]
    for spec in readable:
        for column in sorted(spec.columns()):
            if column not in columns:
                raise BadInput(f"has no column `{column}`", where=name)
    return readable


def _header(file: File) -> list[str] | None:
    """The columns of a file, even without rows; None if the format has them only in rows.

    An empty file, or one of another table, must not be mistaken for a table without rows.
    """
    if file.path.suffix == ".csv":
        return next(_csv_lines(file), (1, []))[1]
    if file.path.suffix != ".parquet":
        return None
    try:
        return [name.lower() for name in schema_of(file.path).names]
    except pa.ArrowException as error:
        raise _unreadable(error, file) from None


def _rows(file: File, used: Collection[str]) -> Iterator[tuple[str, Cells]]:
    """The rows of a file with at least the `used` columns, each with its place."""
    if file.path.suffix == ".csv":
        return _csv_rows(file)
    if file.path.suffix == ".parquet":
        return _parquet_rows(file, used)
    return _json_rows(file, used)


def _csv_rows(file: File) -> Iterator[tuple[str, Cells]]:
    lines = _csv_lines(file)
    _, header = next(lines, (1, []))
    for number, fields in lines:
        place = f"{file.name}: line {number}"
        if len(fields) != len(header):
            message = f"expected {len(header)} cells, got {len(fields)}"
            raise BadInput(message, where=place)
        texts = ("" if field == _NULL else field for field in fields)
        yield place, dict(zip(header, texts, strict=True))


def _csv_lines(file: File) -> Iterator[tuple[int, list[str]]]:
    """The names of the columns in lower case, then the cells of each row; with line numbers."""
    limit_cells()
    with file.path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            for header in islice(reader, 1):
                names = [name.lower() for name in header]
                if len({*names}) != len(names):
                    raise BadInput("a column is repeated", where=f"{file.name}: line 1")
                yield reader.line_num, names
            for fields in reader:
                yield reader.line_num, fields
        except csv.Error as error:
            raise BadInput(str(error), where=f"{file.name}: line {reader.line_num}") from None
        except UnicodeDecodeError:
            where = f"{file.name}: behind line {reader.line_num}"
            raise BadInput("not UTF-8", where=where) from None


def _json_rows(file: File, used: Collection[str]) -> Iterator[tuple[str, Cells]]:
    """Reads a missing key that other rows have as null: writers leave out nulls."""
    columns: dict[str, str] = {}
    for record in json_records(file.path, file.name):
        columns.update(dict.fromkeys(map(str.lower, record.value), ""))
    for record in json_records(file.path, file.name):
        place = f"{file.name}: line {record.line}{record.path}"
        yield place, {**columns, **texts(record.value, place, used)}


def _parquet_rows(file: File, used: Collection[str]) -> Iterator[tuple[str, Cells]]:
    number = 0
    try:
        with parquet_file(file.path) as parquet:
            for batch in parquet.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    place = f"{file.name}: row {number}"
                    yield place, texts(row, place, used)
    except pa.ArrowException as error:
        raise _unreadable(error, file) from None


def _unreadable(error: pa.ArrowException, file: File) -> BadInput:
    reason = str(error).splitlines()[0].lower()
    return BadInput(f"cannot be read as parquet: {reason}", where=file.name)


def texts(row: Mapping[str, object], where: str, used: Collection[str]) -> Cells:
    """The `used` columns of a row as texts, by lower-case name.

    Raises `BadInput` for a repeated name, and for a list or an object.

    >>> row = {"NAME": "a", "DELETED_ON": None, "IS_ROLE": True, "COLUMNS": ["b"]}
    >>> texts(row, "row 1", ("name", "deleted_on", "is_role"))
    {'name': 'a', 'deleted_on': '', 'is_role': 'true'}
    """
    by_name = {name.lower(): value for name, value in row.items()}
    if len(by_name) != len(row):
        raise BadInput(f"a column is repeated, in {quoted(', '.join(row))}", where=where)
    cells = {name: value for name, value in by_name.items() if name in used}
    return {name: _text(value, f"{where}.{name}") for name, value in cells.items()}


def _text(value: object, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        raise BadInput("expected one value, got a list or an object", where=where)
    return str(value).lower() if isinstance(value, bool) else str(value)
