"""Our own tables as CSV or Parquet: one file, or folder of files, for each table.

    DIR/entities.csv  DIR/relations.csv  DIR/attributes.csv
    DIR/owners.csv  DIR/principals.csv  DIR/memberships.csv  DIR/statements.jsonl

The columns are those of `lakewarden.kernel.relations.TABLES`. A missing table is empty; a file with
any other name is an error, because a misspelt one must not pass for an empty table. CSV is UTF-8
with a header, with columns in any order; an empty cell is null where null is allowed. A folder
`versions/N` of an ingested directory can be read as Parquet, too.

Columns that allow null may be left out. A parent that is not given is the one that the name spells.
An unknown word of our own (type, kind, relation), or an empty cell that must not be empty, makes
the whole input invalid; a name that the system could not have is set aside.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, USER, Principal
from lakewarden.kernel.relations import TABLES
from lakewarden.kernel.statement_file import read_principal, read_statements
from lakewarden.models.own import ModelText
from lakewarden.names.canonical import quoted
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.directory_statements import STATEMENT_LINES
from lakewarden.pipeline.ingest.csv_cells import limit_cells
from lakewarden.pipeline.ingest.files import (
    Batches,
    File,
    bytes_of,
    find,
    inputs_of,
    named,
    per_file,
)
from lakewarden.pipeline.ingest.json_file import parse
from lakewarden.pipeline.ingest.row import SPARK_SCHEMA, batches
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.files import entries
from lakewarden.pipeline.storage.location import Location, read_from
from lakewarden.pipeline.storage.parquet import metadata_of, parquet_file, schema_of
from lakewarden.pipeline.tables import QUARANTINE
from lakewarden.service.source_row import (
    BAD_NAME,
    Row,
    attribute_row,
    entity_row,
    error_row,
    membership_row,
    owner_row,
    placement_row,
    principal_row,
    relation_row,
    statement_row,
)
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CSV: Final = "csv"

Cells = Mapping[str, str | None]
Key = tuple[str, tuple[tuple[str, str], ...], ModelText | None]

_EMPTY_ALLOWED = frozenset({"ownership", "value"})
_PLACE = "place"
_PASSED_OVER = frozenset({STATEMENT_LINES, "report.json", QUARANTINE})


@dataclass(frozen=True, slots=True)
class Tabular:
    """The tables in a folder, in one of the two formats, under a shipped or custom model."""

    path: Location
    format: str
    model: str
    options: Mapping[str, str] = field(default_factory=dict)
    model_text: ModelText | None = None

    @property
    def kind(self) -> str:
        return self.format

    def tables(self) -> dict[str, list[File]]:
        """The files of each table, by name. Raises `BadInput` for a file of no table."""
        return _tables(self.path, self.format)

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        files = [file for of_table in self.tables().values() for file in of_table]
        statements = self.path / STATEMENT_LINES
        if statements.is_file():
            files.append(named(statements, STATEMENT_LINES))
        return inputs_of(files)

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        tables = self.tables()
        statements = self.path / STATEMENT_LINES
        progress("read", 0, 1, f"{sum(map(len, tables.values()))} files")
        key = (system.model.name, tuple(sorted(system.model.settings.items())), system.text)
        stated = _statements(statements, system) if statements.is_file() else []
        if self._is_small(tables, spark):
            return Reading([*stated, *_few(tables, self.format, system)])
        frames = [frame_of(spark, stated)] if stated else []
        if self.format == CSV:
            listed = [(table, file) for table, of_table in tables.items() for file in of_table]
            if listed:
                only = [file for _, file in listed]
                frames.append(per_file(spark, only, csv_reader(listed, key), SPARK_SCHEMA))
        else:
            frames += [
                _parquet_frame(spark, t, of_table, key)
                for t, of_table in tables.items()
                if of_table
            ]
        rows = frames[0] if frames else frame_of(spark, [])
        for frame in frames[1:]:
            rows = rows.unionByName(frame)
        return Reading(rows)

    def _is_small(self, tables: Mapping[str, list[File]], spark: SparkSession) -> bool:
        if self.format == CSV:
            return local_mode.is_small_input(
                bytes_of(f for of_table in tables.values() for f in of_table), spark
            )
        for table, of_table in tables.items():
            if of_table:
                _common_header(table, of_table)
        rows = (metadata_of(f.path).num_rows for of_table in tables.values() for f in of_table)
        return local_mode.is_small(sum(rows), spark)


def _tables(path: Location, format: str) -> dict[str, list[File]]:
    """The files of each table, by name. Raises `BadInput` for a file of no table."""
    suffix = f".{format}"
    if not path.is_dir():
        raise BadInput("expected a folder", where=str(path))
    tables: dict[str, list[File]] = {table: [] for table in TABLES}
    for entry in entries(path):
        if entry.name in _PASSED_OVER or entry.name.startswith((".", "_")):
            continue
        table = entry.name if entry.is_dir() else entry.name.removesuffix(suffix)
        if table not in tables or not (entry.is_dir() or entry.suffix == suffix):
            expected = ", ".join(f"{name}{suffix}" for name in TABLES)
            raise BadInput(f"is no table; expected {expected}", where=str(entry))
        inner = find(entry, (suffix,))
        prefix = f"{entry.name}/" if entry.is_dir() else ""
        tables[table] += [named(file.path, prefix + file.name) for file in inner]
    if not any(tables.values()) and not (path / STATEMENT_LINES).is_file():
        raise BadInput(f"holds no table; expected `entities{suffix}`", where=str(path))
    return tables


def _few(tables: Mapping[str, list[File]], format: str, system: System) -> Iterator[Row]:
    """The rows of small files, in this process."""
    for table, files in tables.items():
        if format == CSV:
            for file in files:
                yield from _csv_rows(table, file, system)
        elif files:
            header = _common_header(table, files)
            for file in files:
                yield from _parquet_rows(table, _cells_of(file, header), system)


def _cells_of(file: File, header: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The cells of a Parquet file, each row with its place."""
    with parquet_file(file.path) as parquet:
        number = 0
        for batch in parquet.iter_batches(columns=list(header)):
            for cells in batch.to_pylist():
                yield {**cells, _PLACE: f"{file.path.name}: row {number}"}
                number += 1


@lru_cache(maxsize=4)
def _system(key: Key) -> System:
    name, settings, text = key
    return load_system(name, dict(settings), text)


def csv_reader(files: Sequence[tuple[str, File]], key: Key) -> Callable[[Batches], Batches]:
    """A function from numbers of CSV files to their rows; runs in the tasks."""

    def read(numbers: Batches) -> Batches:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                table, file = files[number]
                yield from batches(_csv_rows(table, file, _system(key)))

    return read


def _csv_rows(table: str, file: File, system: System) -> Iterator[Row]:
    """The rows of one file; an error ends them."""
    try:
        for line, cells in _csv_cells(table, file):
            yield from normalised(table, cells, f"{file.name}: line {line}", system)
    except BadInput as error:
        yield error_row(error.message, error.where)


def _csv_cells(table: str, file: File) -> Iterator[tuple[int, Cells]]:
    limit_cells()
    with file.path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            header = next(reader, [])
            _check_header(table, header, f"{file.name}: line 1")
            nullable = {c.name for c in TABLES[table] if c.nullable}
            for fields in reader:
                if len(fields) != len(header):
                    message = f"expected {len(header)} cells, got {len(fields)}"
                    raise BadInput(message, where=f"{file.name}: line {reader.line_num}")
                cells = zip(header, fields, strict=True)
                yield (
                    reader.line_num,
                    {n: None if not text and n in nullable else text for n, text in cells},
                )
        except csv.Error as error:
            where = f"{file.name}: line {reader.line_num}"
            raise BadInput(str(error), where=where) from None
        except UnicodeDecodeError:
            where = f"{file.name}: behind line {reader.line_num}"
            raise BadInput("not UTF-8", where=where) from None


def _check_header(table: str, header: Sequence[str], where: str) -> None:
    columns = TABLES[table]
    names = [column.name for column in columns]
    for name in header:
        if name not in names or header.count(name) > 1:
            message = f"unknown or repeated column {quoted(name)}; expected {', '.join(names)}"
            raise BadInput(message, where=where)
    for column in columns:
        if column.name not in header and not column.nullable:
            raise BadInput(f"expected the column `{column.name}`", where=where)


def _parquet_frame(spark: SparkSession, table: str, files: Sequence[File], key: Key) -> DataFrame:
    """The rows of a table's files; the driver reads their schemas first."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    header = _common_header(table, files)
    frame = spark.read.parquet(*(read_from(file.path) for file in files))
    place = F.concat(
        F.col("_metadata.file_name"), F.lit(": row "), F.col("_metadata.row_index").cast("string")
    )
    chosen = frame.select(*header, place.alias(_PLACE))
    return chosen.mapInArrow(parquet_reader(table, key), SPARK_SCHEMA)


def _common_header(table: str, files: Sequence[File]) -> tuple[str, ...]:
    header = {_parquet_header(table, file) for file in files}
    if len(header) != 1:
        raise BadInput("its files have different columns", where=files[0].name)
    return header.pop()


def _parquet_header(table: str, file: File) -> tuple[str, ...]:
    try:
        schema = schema_of(file.path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].lower()
        raise BadInput(f"cannot be read as parquet: {reason}", where=file.name) from None
    _check_header(table, schema.names, file.name)
    for name, type in zip(schema.names, schema.types, strict=True):
        if not (pa.types.is_string(type) or pa.types.is_large_string(type)):
            message = f"expected the column `{name}` to hold strings, got {type}"
            raise BadInput(message, where=file.name)
    return tuple(schema.names)


def parquet_reader(table: str, key: Key) -> Callable[[Batches], Batches]:
    """A function from cells to rows; runs in the tasks."""

    def read(tables: Batches) -> Batches:
        system = _system(key)
        for batch in tables:
            yield from batches(_parquet_rows(table, batch.to_pylist(), system))

    return read


def _parquet_rows(table: str, records: Iterable[dict[str, Any]], system: System) -> Iterator[Row]:
    for cells in records:
        place = cells.pop(_PLACE)
        try:
            yield from normalised(table, cells, place, system)
        except BadInput as error:
            yield error_row(error.message, error.where)


def _statements(file: Location, system: System) -> list[Row]:
    """The statements in a JSON Lines file; malformed ones make the input invalid."""
    try:
        lines = file.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise BadInput("cannot be read as UTF-8", where=STATEMENT_LINES) from None
    numbered = [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
    tables: list[dict[str, object]] = []
    for number, line in numbered:
        where = f"{STATEMENT_LINES}: line {number}"
        table = parse(line, where)
        if not isinstance(table, dict):
            raise BadInput("expected an object", where=where)
        tables.append(table)
    read_statements(tables, system.model, system.spelling, STATEMENT_LINES)
    return [
        statement_row(table, f"{STATEMENT_LINES}: line {number}")
        for (number, _), table in zip(numbered, tables, strict=True)
    ]


def frame_of(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    """Rows that are on the driver, as a frame."""
    schema = spark.createDataFrame([], SPARK_SCHEMA).schema
    record_batches = list(batches(rows))
    if not record_batches:
        return spark.createDataFrame([], SPARK_SCHEMA)
    return spark.createDataFrame(pa.Table.from_batches(record_batches), schema)


def normalised(table: str, cells: Cells, place: str, system: System) -> Iterator[Row]:
    """The rows of one line of a table, some of them rejected.

    Raises `BadInput` with the column for an unknown word and for an empty cell.
    """
    return _NORMALISERS[table](_Line(cells, place, system))


@dataclass(frozen=True, slots=True)
class _Line:
    """The cells of one line, with checks of their values."""

    cells: Cells
    place: str
    system: System

    def text(self, column: str) -> str:
        """A cell that must not be empty."""
        value = self.cells.get(column)
        if value is None or not (value or column in _EMPTY_ALLOWED):
            raise BadInput("expected a value", where=f"{self.place}.{column}")
        return value

    def choice(self, column: str, options: Iterable[str]) -> str:
        """The value of a cell; raises `BadInput` unless it is one of `options`."""
        value, allowed = self.text(column), sorted(options)
        if value not in allowed:
            message = f"unknown {quoted(value)}; expected one of: {', '.join(allowed)}"
            raise BadInput(message, where=f"{self.place}.{column}")
        return value

    def entity(self, type_column: str, name_column: str) -> tuple[Entity, str]:
        """An entity, and the reason if the system could not have it."""
        type = self.text(type_column)
        try:
            self.system.model.check_type(type)
        except Unknown as error:
            raise BadInput(str(error), where=f"{self.place}.{type_column}") from None
        entity = Entity(type, self.text(name_column))
        try:
            self.system.spelling.parse(*entity)
        except (BadInput, Unknown) as error:
            return entity, str(error)
        return entity, ""

    def principal(self, kinds: Sequence[str], prefix: str) -> tuple[Principal, str]:
        """A principal, and the reason if the system could not have it."""
        kind = self.choice(f"{prefix}kind", kinds)
        principal = Principal(kind, self.text(f"{prefix}name"))
        try:
            self._check(principal)
        except (BadInput, Unknown) as error:
            return principal, str(error)
        return principal, ""

    def _check(self, principal: Principal) -> None:
        if principal.kind == IMPLIED:
            if read_principal(principal.name).kind != IMPLIED:
                raise BadInput(f"expected the name of an implied set, got {quoted(principal.name)}")
        elif principal.kind == ROLE and (type := _role_type(self.system.model)) is not None:
            self.system.spelling.parse(type, principal.name)
        else:
            self.system.identities.check(principal)


def _role_type(model: Model) -> str | None:
    """The type of entity that a role of the model also is."""
    return next((type.name for type in model.types.values() if type.principal == ROLE), None)


def _judged(row: Row, *problems: str) -> Row:
    problem = next(filter(None, problems), "")
    return row.rejected(BAD_NAME, problem) if problem else row


def _entity(line: _Line) -> Iterator[Row]:
    entity, problem = line.entity("type", "name")
    yield _judged(entity_row(entity, line.place), problem)
    has_parent = (
        line.cells.get("parent_type") is not None or line.cells.get("parent_name") is not None
    )
    if not has_parent:
        spelled = None if problem else line.system.spelling.parent(entity)
        if spelled is not None:
            yield placement_row(entity, spelled, line.place)
        return
    parent, wrong = line.entity("parent_type", "parent_name")
    wrong = problem or wrong or _misplaced(entity, parent, line.system)
    yield _judged(placement_row(entity, parent, line.place), wrong)


def _misplaced(entity: Entity, parent: Entity, system: System) -> str:
    """Why the entity cannot be there; empty if it can."""
    spelled = system.spelling.parent(entity)
    if spelled is not None:
        expected = f"`{spelled}`"
        return "" if spelled == parent else f"the name says that the parent is {expected}"
    declared = system.model.types.get(entity.type)
    if declared is not None and parent.type in declared.parents:
        return ""
    return f"a `{entity.type}` is not placed in a `{parent.type}`"


def _relation(line: _Line) -> Iterator[Row]:
    kind = line.choice("kind", line.system.model.relations)
    source, problem = line.entity("source_type", "source_name")
    target, wrong = line.entity("target_type", "target_name")
    relation = line.system.model.relations[kind]
    if relation.sources and source.type not in relation.sources:
        wrong = wrong or f"`{kind}` does not lead from a `{source.type}`"
    if relation.targets and target.type not in relation.targets:
        wrong = wrong or f"`{kind}` does not lead to a `{target.type}`"
    yield _judged(relation_row(kind, source, target, line.place), problem, wrong)


def _attribute(line: _Line) -> Iterator[Row]:
    entity, problem = line.entity("type", "name")
    attribute, value = line.text("attribute"), line.text("value")
    nul = "a NUL is no text" if "\0" in attribute + value else ""
    yield _judged(attribute_row(entity, attribute, value, line.place), problem, nul)


def _owner(line: _Line) -> Iterator[Row]:
    entity, problem = line.entity("type", "name")
    owner, wrong = line.principal((USER, GROUP, ROLE), "owner_")
    yield _judged(owner_row(entity, owner, line.text("ownership"), line.place), problem, wrong)


def _principal(line: _Line) -> Iterator[Row]:
    principal, problem = line.principal((USER, GROUP, ROLE), "")
    yield _judged(principal_row(principal, line.place), problem)


def _membership(line: _Line) -> Iterator[Row]:
    member, problem = line.principal((USER, GROUP, ROLE), "member_")
    of, wrong = line.principal((GROUP, ROLE, IMPLIED), "of_")
    yield _judged(membership_row(member, of, line.place), problem, wrong)


_NORMALISERS: Final[Mapping[str, Callable[[_Line], Iterator[Row]]]] = {
    "entities": _entity,
    "relations": _relation,
    "attributes": _attribute,
    "owners": _owner,
    "principals": _principal,
    "memberships": _membership,
}
