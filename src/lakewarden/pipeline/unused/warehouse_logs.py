"""Logs of warehouses and databases, parsed into touches.

snowflake    ACCOUNT_USAGE.ACCESS_HISTORY as CSV or JSON lines: the tables and views in
             `direct_objects_accessed` are read, tables in `objects_modified` written, by
             `user_name` at `query_start_time`. Failed queries are not in it. A file of
             QUERY_HISTORY is rejected: it has query texts and no objects
bigquery     Cloud Audit Logs as JSON lines: an entry whose `protoPayload.metadata` has
             `tableDataRead` reads the table of `resourceName`, one with `tableDataChange` writes
             it, by `authenticationInfo.principalEmail` at `timestamp`; denied where `status.code`
             is 7. A partition (`orders$20240301`) is its table
postgresql   csvlog with lines of pgaudit: a message `AUDIT: …` of the class READ or WRITE on a
             TABLE or FOREIGN TABLE, or READ on a VIEW or MATERIALIZED VIEW, with its name
             (`pgaudit.log_relation = on`); the catalog is the database
ranger       access audits of plugins as JSON lines: `access` select, insert, update or delete by
             `reqUser` at `evtTime` on `resource`, a table or columns of one; the catalog is the
             service (`repo`) unless the resource begins with one; denied where `result` is 0

SOURCE: Snowflake documentation, ACCESS_HISTORY view; BigQuery documentation, BigQueryAuditMetadata;
PostgreSQL documentation, Using CSV-Format Log Output; pgaudit README, Format; apache/ranger,
AuthzAuditEvent.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import parse
from lakewarden.pipeline.unused.access_record import LoggedAccess, day_of, text_of, value_at
from lakewarden.pipeline.unused.log_lines import Read, cells, json_object, lines, or_error, records
from lakewarden.pipeline.unused.mapping import Tables

_PARTS: Final = ("catalog", "schema", "table")
_TABLE: Final = "table"
_VIEW: Final = "view"
_PERMISSION_DENIED: Final = 7
_BIGQUERY_TABLE: Final = re.compile(r"projects/([^/]+)/datasets/([^/]+)/tables/([^/$]+)(?:\$.*)?")
_OFFSET: Final = re.compile(r" (Z|[+-]\d\d:?\d\d)$")
_AUDIT: Final = "AUDIT: "
_CSVLOG: Final = {"log_time": 0, "user_name": 1, "database_name": 2, "message": 13}
_WRITES: Final = frozenset({"insert", "update", "delete"})


def _logged_access(
    place: str,
    who: object,
    act: str,
    names: Sequence[str],
    when: object,
    tables: Tables,
    *,
    is_view: bool = False,
) -> LoggedAccess:
    on = (tables.view if is_view else tables.entity).of(dict(zip(_PARTS, names, strict=True)))
    return LoggedAccess(place, tables.principal.of({"user": who}), act, on, day_of(when))


def _fields(text: str, delimiter: str) -> Sequence[str]:
    """The fields of one line; fields that contain the delimiter are quoted."""
    try:
        return next(csv.reader([text], delimiter=delimiter), ())
    except csv.Error as error:
        raise BadInput(f"cannot be read: {error}") from None


# Snowflake


def read_snowflake(file: File, tables: Tables) -> Read:
    """The accesses of a file of ACCESS_HISTORY.

    Raises `BadInput` for a damaged file, and for one of QUERY_HISTORY.
    """
    if file.path.name.endswith((".csv", ".csv.gz")):
        for place, row in records(file):
            _check_history(" ".join(row), place)
            yield from or_error(place, repr(row), partial(_snowflake_row, row, tables))
        return
    for place, line in lines(file):
        _check_history(line, place)
        yield from or_error(place, line, partial(_snowflake_line, tables))


def _snowflake_line(tables: Tables, place: str, line: str) -> Iterator[LoggedAccess]:
    return _snowflake_row(json_object(place, line), tables, place, line)


def _check_history(names: str, place: str) -> None:
    """Rejects a file that has query texts in place of accessed objects."""
    words = names.lower()
    if "query_text" in words and "direct_objects_accessed" not in words:
        message = "is of QUERY_HISTORY, which names no objects; export ACCESS_HISTORY"
        raise BadInput(message, where=place)


def _snowflake_row(
    row: Mapping[str, object], tables: Tables, place: str, _: str
) -> Iterator[LoggedAccess]:
    record = {name.lower(): value for name, value in row.items()}
    user, when = record.get("user_name"), record.get("query_start_time")
    when = _OFFSET.sub(r"\1", when) if isinstance(when, str) else when
    read, written = (
        _snowflake_objects(record, column, place)
        for column in ("direct_objects_accessed", "objects_modified")
    )
    for act, touched, is_view in (
        (tables.read, read[_TABLE], False),
        (tables.write, written[_TABLE], False),
        (tables.read_view, read[_VIEW], True),
    ):
        for names in sorted(touched):
            yield _logged_access(place, user, act, names, when, tables, is_view=is_view)


def _snowflake_objects(
    record: Mapping[str, object], column: str, place: str
) -> Mapping[str, set[tuple[str, ...]]]:
    """The names of tables and views in a list of objects, which is a text in CSV."""
    if column not in record:
        raise BadInput(f"expected the column `{column}` of ACCESS_HISTORY")
    value = record[column]
    objects = parse(value, place) if isinstance(value, str) and value else value or []
    if not isinstance(objects, list):
        raise BadInput("expected a list of objects")
    found: dict[str, set[tuple[str, ...]]] = {_TABLE: set(), _VIEW: set()}
    for one in objects:
        if not isinstance(one, Mapping):
            raise BadInput("expected an object with `objectName`")
        domain = str(one.get("objectDomain", "")).lower()
        for kind, names in found.items():
            if kind in domain:
                names.add(_snowflake_name(text_of(one, "objectName")))
    return found


def _snowflake_name(text: str) -> tuple[str, ...]:
    """The parts of a name; parts with dots or lower-case letters are quoted."""
    parts = _fields(text, ".")
    if len(parts) != len(_PARTS):
        raise BadInput(f"expected database, schema and table in `{text}`")
    return tuple(parts)


# BigQuery


def read_bigquery(file: File, tables: Tables) -> Read:
    """The accesses of a file of audit entries. Raises `BadInput` for a damaged file."""
    for place, line in lines(file):
        yield from or_error(place, line, partial(_bigquery_line, tables))


def _bigquery_line(tables: Tables, place: str, line: str) -> Iterator[LoggedAccess]:
    entry = json_object(place, line)
    payload = value_at(entry, "protoPayload")
    metadata = value_at(payload, "metadata") if isinstance(payload, Mapping) else None
    if not isinstance(payload, Mapping) or not isinstance(metadata, Mapping):
        return
    acts = {"tableDataRead": tables.read, "tableDataChange": tables.write}
    for kind, act in acts.items():
        table = _BIGQUERY_TABLE.fullmatch(text_of(payload, "resourceName"))
        if kind in metadata and table is not None:
            who = text_of(payload, "authenticationInfo.principalEmail")
            touch = _logged_access(place, who, act, table.groups(), entry.get("timestamp"), tables)
            code = value_at(payload, "status.code") or 0
            if code in (0, _PERMISSION_DENIED):
                yield touch._replace(allowed=code == 0)


# PostgreSQL


def read_postgresql(file: File, tables: Tables) -> Read:
    """The accesses of a csvlog with pgaudit. Raises `BadInput` for a damaged file."""
    for place, row in cells(file):
        yield from or_error(place, ",".join(row), partial(_csvlog_row, row, tables))


def _csvlog_row(row: Sequence[str], tables: Tables, place: str, _: str) -> Iterator[LoggedAccess]:
    if len(row) <= _CSVLOG["message"]:
        raise BadInput("expected the columns of a csvlog")
    found = {name: row[at] for name, at in _CSVLOG.items()}
    if not found["message"].startswith(_AUDIT):
        return
    audit = _fields(found["message"].removeprefix(_AUDIT).replace("\n", " "), ",")
    if len(audit) < 7:
        raise BadInput("expected the fields of pgaudit")
    kind = audit[5].removeprefix("FOREIGN ").removeprefix("MATERIALIZED ")
    acts = {("READ", "TABLE"): tables.read, ("WRITE", "TABLE"): tables.write}
    act = {**acts, ("READ", "VIEW"): tables.read_view}.get((audit[3], kind))
    if act is None:
        return
    names = _fields(audit[6], ".")
    if len(names) != 2:
        raise BadInput(f"expected schema and table in `{audit[6]}`")
    when = found["log_time"].removesuffix(" UTC").removesuffix(" GMT")
    user, whole = found["user_name"], (found["database_name"], *names)
    yield _logged_access(place, user, act, whole, when, tables, is_view=kind == "VIEW")


# Ranger


def read_ranger(file: File, tables: Tables) -> Read:
    """The accesses of a file of Ranger's audits. Raises `BadInput` for a damaged file."""
    for place, line in lines(file):
        yield from or_error(place, line, partial(_ranger_line, tables))


def _ranger_line(tables: Tables, place: str, line: str) -> Iterator[LoggedAccess]:
    event = json_object(place, line)
    access = str(event.get("access") or "").lower()
    act = tables.read if access == "select" else tables.write if access in _WRITES else ""
    kind = str(event.get("resType") or "").removeprefix("@")
    if not act or kind not in ("table", "column"):
        return
    parts = text_of(event, "resource").split("/")
    names = parts[:-1] if kind == "column" else parts
    if len(names) == 2:
        names = [text_of(event, "repo"), *names]
    if len(names) != len(_PARTS):
        raise BadInput(f"expected a {kind} in `resource`")
    result = event.get("result")
    if result not in (0, 1):
        raise BadInput("expected 0 or 1 in `result`")
    touch = _logged_access(place, event.get("reqUser"), act, names, event.get("evtTime"), tables)
    yield touch._replace(allowed=result == 1)
