"""The kinds of logs, with the formats of each; parses them line by line into touches.

usage   our own counts: a table with the columns day, realm, user, operation, type, name and
        count, as Parquet or CSV; rows of other realms are skipped
spark   an event log of Spark (not rolled, or one folder of a rolled one): JSON lines. The user
        is that of `SparkListenerApplicationStart`; of each `SparkListenerSQLExecutionStart` the
        nodes of `sparkPlanInfo` are read: `Scan FORMAT CATALOG.SCHEMA.TABLE` and `BatchScan
        CATALOG.SCHEMA.TABLE` are reads; names in backticks in `InsertIntoHadoopFsRelationCommand`
        and `InsertIntoHiveTable` are writes. Before Spark 3.4 names have no catalog.
        It may be compressed with zstd, as by default in Spark 4.
        Files that are read by their path name no table, so they are no access. The log has no
        outcome: a query that was planned counts as allowed
trino   completed queries as JSON lines: the user is `context.user` or `query.user`. Reads are
        the `inputs` (below `ioMetadata` or at the top) with `catalogName` or `catalog`,
        `schema` and `table`; the write is the `output`. Failed queries (`failureInfo`, or
        `queryState` FAILED below `metadata`) are denied if the error is `PERMISSION_DENIED`,
        and otherwise no access
snowflake, bigquery, postgresql, ranger    see `warehouse_logs`
openlineage    see `openlineage_log`
csv     a header and rows, read by the columns that a mapping names
json    JSON lines, likewise; a path with dots leads into objects
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Final

import pyarrow as pa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file, parquet_writer
from lakewarden.pipeline.unused.access_record import (
    LoggedAccess,
    Refused,
    count_of,
    day_of,
    text_of,
    value_at,
)
from lakewarden.pipeline.unused.log_lines import ZSTD, Read, json_object, lines, or_error, records
from lakewarden.pipeline.unused.mapping import (
    BIGQUERY,
    CSV,
    JSON,
    OPENLINEAGE,
    POSTGRESQL,
    RANGER,
    SNOWFLAKE,
    SPARK,
    TRINO,
    USAGE,
    Columns,
    Mappings,
    Tables,
)
from lakewarden.pipeline.unused.openlineage_log import read_openlineage
from lakewarden.pipeline.unused.warehouse_logs import (
    read_bigquery,
    read_postgresql,
    read_ranger,
    read_snowflake,
)

SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    USAGE: (".parquet", ".csv"),
    CSV: (".csv", ".gz"),
    JSON: (".json", ".jsonl", ".ndjson", ".log", ".gz"),
    SPARK: ("", ".inprogress", ".json", ".jsonl", ".log", ".gz", ".compact", *ZSTD),
    TRINO: (".json", ".jsonl", ".ndjson", ".log", ".gz"),
    SNOWFLAKE: (".csv", ".json", ".jsonl", ".ndjson", ".gz"),
    BIGQUERY: (".json", ".jsonl", ".ndjson", ".gz"),
    POSTGRESQL: (".csv", ".gz"),
    RANGER: (".json", ".jsonl", ".ndjson", ".log", ".gz"),
    OPENLINEAGE: (".json", ".jsonl", ".ndjson", ".log", ".gz"),
}
"""The files of a folder that are read, by kind of log."""

USAGE_COLUMNS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("day", "realm", "user", "operation", "type", "name")),
        ("count", pa.int64()),
    ]
)

_STARTED: Final = "SparkListenerApplicationStart"
_PLANNED: Final = "SparkListenerSQLExecutionStart"
_SCAN: Final = re.compile(r"(?:BatchScan|Scan \S+) ([^\s.]+)\.([^\s.]+)\.([^\s.]+)\s*")
_SCAN_OF_SCHEMA: Final = re.compile(r"Scan \S+ ([^\s.]+)\.([^\s.]+)\s*")
_INSERT: Final = re.compile(r"Execute InsertInto(?:HadoopFsRelationCommand|HiveTable)\b")
_WRITTEN: Final = re.compile(r"(?:`([^`]+)`\.)?`([^`]+)`\.`([^`]+)`")
_SPARK_CATALOG: Final = "spark_catalog"
"""The catalog of tables that Spark before 3.4 names by schema and table only."""

_DENIED: Final = "PERMISSION_DENIED"
_PARTS: Final = ("catalog", "schema", "table")


def read(kind: str, files: Sequence[File], mappings: Mappings, realm: str) -> Read:
    """The records of the files of one log, in order. Raises `BadInput` for a damaged file."""
    for file in files:
        if kind == USAGE:
            yield from _usage(file, realm)
    if kind in mappings.columns:
        columns = mappings.columns[kind]
        for file in files:
            yield from _mapped(file, kind, columns)
    elif kind in mappings.tables:
        tables = mappings.tables[kind]
        if kind in _OF_FILES:
            for file in files:
                yield from _OF_FILES[kind](file, tables)
            return
        touches = (_Spark if kind == SPARK else _Trino)(tables)
        for file in files:
            for place, line in lines(file):
                yield from or_error(place, line, touches.of)


_OF_FILES: Final[Mapping[str, Callable[[File, Tables], Read]]] = {
    SNOWFLAKE: read_snowflake,
    BIGQUERY: read_bigquery,
    POSTGRESQL: read_postgresql,
    RANGER: read_ranger,
    OPENLINEAGE: read_openlineage,
}


# our own counts


def _usage(file: File, realm: str) -> Read:
    for place, row in _usage_rows(file):
        try:
            if row.get("realm") == realm:
                yield _counted(place, row)
        except BadInput as error:
            yield Refused(place, repr(row), error.message)


def _counted(place: str, row: Mapping[str, object]) -> LoggedAccess:
    type, name = (str(row[key] or "") for key in ("type", "name"))
    return LoggedAccess(
        place=place,
        who=text_of(row, "user"),
        act=text_of(row, "operation"),
        on=f"{type}:{name}" if type else "",
        day=day_of(row["day"]),
        times=count_of(row["count"]),
    )


def _usage_rows(file: File) -> Iterator[tuple[str, Mapping[str, object]]]:
    columns = set(USAGE_COLUMNS.names)
    if file.path.suffix == ".csv":
        for place, row in records(file):
            _check_columns(file, columns, row)
            yield place, row
        return
    try:
        with parquet_file(file.path) as parquet:
            _check_columns(file, columns, parquet.schema_arrow.names)
            _check_realm(file, parquet.schema_arrow.field("realm").type)
            number = 0
            for batch in parquet.iter_batches(columns=USAGE_COLUMNS.names):
                for row in batch.to_pylist():
                    number += 1
                    day = row["day"]
                    day_text = day.isoformat() if isinstance(day, date) else day
                    yield f"{file.name}: row {number}", {**row, "day": day_text}
    except pa.ArrowException as error:
        raise BadInput(f"cannot be read: {error}", where=str(file.path)) from None


def _check_realm(file: File, type: pa.DataType) -> None:
    """Rejects a column that cannot hold a realm: all its rows would be skipped."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    if not (pa.types.is_string(type) or pa.types.is_large_string(type)):
        message = f"expected the column `realm` to hold strings, got {type}"
        raise BadInput(message, where=str(file.path))


def _check_columns(file: File, expected: set[str], present: Container[object]) -> None:
    missing = sorted(name for name in expected if name not in present)
    if missing:
        raise BadInput(f"has no column `{missing[0]}`", where=str(file.path))


# logs described by a mapping


def _mapped(file: File, kind: str, columns: Columns) -> Read:
    if kind == CSV:
        for place, row in records(file):
            yield from or_error(place, repr(row), lambda at, _, row=row: _access(at, row, columns))  # type: ignore[misc]  # mypy takes no defaults of lambdas
        return
    for place, line in lines(file):
        yield from or_error(
            place, line, lambda at, text: _access(at, json_object(at, text), columns)
        )


def _access(place: str, record: Mapping[str, object], columns: Columns) -> Iterator[LoggedAccess]:
    operation = text_of(record, columns.operation)
    allowed = True
    if columns.outcome:
        allowed = str(value_at(record, columns.outcome)) in columns.allowed
    yield LoggedAccess(
        place=place,
        who=columns.principal.of(record),
        act=columns.operations.get(operation, operation),
        on=columns.entity.of(record),
        day=day_of(value_at(record, columns.time)),
        times=count_of(value_at(record, columns.count)) if columns.count else 1,
        allowed=allowed,
    )


# engines


class _Spark:
    """Parses the lines of one application: the user comes in a separate line."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._user = ""

    def of(self, place: str, line: str) -> Iterator[LoggedAccess]:
        # COST: most lines of an event log concern tasks and are not parsed.
        if _STARTED not in line and _PLANNED not in line:
            return
        event = json_object(place, line)
        # The text of a query may contain any word.
        kind = str(event.get("Event", "")).rpartition(".")[2]
        if kind == _STARTED:
            self._user = text_of(event, "User")
        elif kind == _PLANNED:
            yield from self._planned(place, event)

    def _planned(self, place: str, event: Mapping[str, object]) -> Iterator[LoggedAccess]:
        day = day_of(event.get("time"))
        for act, names in sorted(_objects_of_plan(event.get("sparkPlanInfo"), self._tables)):
            if not self._user:
                raise BadInput(f"no `{_STARTED}` says who it was")
            parts = dict(zip(_PARTS, names, strict=True))
            who = self._tables.principal.of({"user": self._user})
            yield LoggedAccess(place, who, act, self._tables.entity.of(parts), day)


def _objects_of_plan(plan: object, tables: Tables) -> set[tuple[str, tuple[str, ...]]]:
    """The reads and writes of a plan: operation, and catalog, schema and table."""
    accesses: set[tuple[str, tuple[str, ...]]] = set()
    todo = [plan]
    while todo:
        node = todo.pop()
        if not isinstance(node, Mapping):
            continue
        name, says = str(node.get("nodeName", "")), str(node.get("simpleString", ""))
        scanned, of_schema = _SCAN.fullmatch(name), _SCAN_OF_SCHEMA.fullmatch(name)
        if scanned:
            accesses.add((tables.read, scanned.groups()))
        elif of_schema:
            accesses.add((tables.read, (_SPARK_CATALOG, *of_schema.groups())))
        if _INSERT.match(name):
            for catalog, *others in _WRITTEN.findall(says)[:1]:
                accesses.add((tables.write, (catalog or _SPARK_CATALOG, *others)))
        inner = node.get("children")
        todo += inner if isinstance(inner, list) else []
    return accesses


class _Trino:
    """Parses completed queries."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def of(self, place: str, line: str) -> Iterator[LoggedAccess]:
        event = json_object(place, line)
        allowed = True
        if event.get("failureInfo") or value_at(event, "metadata.queryState") == "FAILED":
            allowed = False
            if _DENIED not in _error(event):
                return
        user = value_at(event, "context.user") or value_at(event, "query.user")
        times = (event.get(key) for key in ("endTime", "createTime", "time"))
        when = next((time for time in times if time is not None), None)
        inputs, output = (_io(event, key) for key in ("inputs", "output"))
        if not isinstance(inputs, (list, type(None))):
            raise BadInput("expected a list of `inputs`")
        touched = [(self._tables.read, table) for table in inputs or ()]
        touched += [] if output is None else [(self._tables.write, output)]
        for act, table in touched:
            on = self._tables.entity.of(_parts(table))
            who = self._tables.principal.of({"user": user})
            yield LoggedAccess(place, who, act, on, day_of(when), allowed=allowed)


def _io(event: Mapping[str, object], key: str) -> object:
    value = value_at(event, f"ioMetadata.{key}")
    return event.get(key) if value is None else value


def _error(event: Mapping[str, object]) -> str:
    """The name of the error: `failureInfo.errorCode.name`, or `errorCode` if that is a text."""
    code = value_at(event, "failureInfo.errorCode")
    return str(code.get("name")) if isinstance(code, Mapping) else str(code)


def _parts(table: object) -> Mapping[str, object]:
    if not isinstance(table, Mapping):
        raise BadInput("expected an object with catalog, schema and table")
    return {**table, "catalog": table.get("catalogName", table.get("catalog"))}


Count = tuple[str, str, str, Entity, int]
"""Day, user, operation, entity and count, as exported by a store."""

_ROWS: Final = 50_000


def write_usage(file: Location, realm: str, counts: Iterable[Count]) -> None:
    """Writes the counts of a realm."""
    left = iter(counts)
    with parquet_writer(file, USAGE_COLUMNS, compression="zstd") as writer:
        while rows := list(islice(left, _ROWS)):
            cells = [(day, realm, user, act, *entity, n) for day, user, act, entity, n in rows]
            columns = zip(*cells, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, USAGE_COLUMNS, strict=True)]
            writer.write_table(pa.table(arrays, schema=USAGE_COLUMNS))
