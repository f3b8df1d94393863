"""Inserts, deletes and updates many rows by key, on either engine.

SQLite executes one compiled statement for each row in turn. PostgreSQL receives the rows as arrays,
one per column, so a statement has one parameter per column, no matter how many rows there are. It
receives many new rows by COPY.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import sqlalchemy as sa

from lakewarden.store.engine import translated_driver_errors
from lakewarden.store.limits import Size

Row = tuple[Any, ...]

CHUNK_ROWS = 20_000
"""Rows per statement on PostgreSQL; limits the memory of a statement."""

COPY_ROWS = 200
"""From this many rows on, COPY takes a third of the time."""


class OnConflict(Enum):
    """The clause for a row whose key exists."""

    REFUSE = "refuse"
    KEEP = "keep"
    REPLACE = "replace"
    ADD = "add"
    """Adds the last column to the stored value."""


def insert(
    connection: sa.Connection,
    table: sa.Table,
    columns: Sequence[str],
    rows: Sequence[Row],
    on_conflict: OnConflict = OnConflict.REFUSE,
    unique: Sequence[str] = (),
) -> None:
    """Inserts rows; `unique` are the columns by which `on_conflict` identifies a row.

    If rows are replaced, the last of several rows with the same key counts.
    """
    if on_conflict is OnConflict.REPLACE:
        place = [columns.index(name) for name in unique]
        rows = list({tuple(row[i] for i in place): row for row in rows}.values())
    names = ", ".join(_quoted(columns))
    if on_conflict is OnConflict.REFUSE and len(rows) >= COPY_ROWS and _has_arrays(connection):
        _copy(connection, f"COPY {table.name} ({names}) FROM STDIN", rows)
        return
    ending = _conflict_clause(table, columns, on_conflict, unique)
    into = f"INSERT INTO {table.name} ({names})"
    if _has_arrays(connection):
        sql = f"{into} SELECT * FROM {_arrays(table, columns)} AS r {ending}"  # noqa: S608 — our names
        _in_arrays(connection, sql, rows)
    else:
        sql = f"{into} VALUES ({_placeholders(columns)}) {ending}"
        _one_by_one(connection, sql, rows)


def _conflict_clause(
    table: sa.Table, columns: Sequence[str], on_conflict: OnConflict, unique: Sequence[str]
) -> str:
    if on_conflict is OnConflict.REFUSE:
        return ""
    clause = f"ON CONFLICT ({', '.join(_quoted(unique))}) DO"
    if on_conflict is OnConflict.KEEP:
        return f"{clause} NOTHING"
    if on_conflict is OnConflict.ADD:
        (last,) = _quoted(columns[-1:])
        return f"{clause} UPDATE SET {last} = {table.name}.{last} + excluded.{last}"
    others = _quoted([name for name in columns if name not in unique])
    return f"{clause} UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in others)}"


def delete(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Sequence[Row]
) -> int:
    """Deletes rows that match one of the rows in `columns`; returns their number."""
    name = table.name
    if _has_arrays(connection):
        where = " AND ".join(f"{name}.{c} = r.{c}" for c in _quoted(columns))
        using = f"{_arrays(table, columns)} AS r({', '.join(_quoted(columns))})"
        sql = f"DELETE FROM {name} USING {using} WHERE {where}"  # noqa: S608 — our names
        return _in_arrays(connection, sql, rows)
    where = " AND ".join(f"{c} = ?" for c in _quoted(columns))
    return _one_by_one(connection, f"DELETE FROM {name} WHERE {where}", rows)  # noqa: S608 — our names


def measured(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Sequence[Row]
) -> Size:
    """The number of rows that match one of the rows in `columns`, and the bytes of their bodies."""
    distinct = list(dict.fromkeys(rows))
    equal = " AND ".join(f"t.{c} = r.{c}" for c in _quoted(columns))
    if _has_arrays(connection):
        source = f"{_arrays(table, columns)} AS r({', '.join(_quoted(columns))})"
        sql = f"SELECT {_SIZE} FROM {source} JOIN {table.name} AS t ON {equal}"  # noqa: S608 — our names
        return _sized_in_arrays(connection, sql, distinct)
    total = Size()
    for start in range(0, len(distinct), _MEASURED_ROWS):
        part = distinct[start : start + _MEASURED_ROWS]
        values = ", ".join([f"({_placeholders(columns)})"] * len(part))
        sql = (
            f"WITH r({', '.join(_quoted(columns))}) AS (VALUES {values})"  # noqa: S608 — our names
            f" SELECT {_SIZE_OF_TEXT} FROM r CROSS JOIN {table.name} AS t WHERE {equal}"
        )
        flat = tuple(value for row in part for value in row)
        total = total.plus(Size(*connection.exec_driver_sql(sql, flat).one()))
    return total


def delete_measured(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Sequence[Row]
) -> Size:
    """Deletes like `delete`; returns the number of deleted rows, and the bytes of their bodies.

    PostgreSQL returns what it deleted, even a row that another transaction has just changed; on
    SQLite there is no other writer.
    """
    if not _has_arrays(connection):
        size = measured(connection, table, columns, rows)
        delete(connection, table, columns, rows)
        return size
    where = " AND ".join(f"t.{c} = r.{c}" for c in _quoted(columns))
    using = f"{_arrays(table, columns)} AS r({', '.join(_quoted(columns))})"
    deletion = f"DELETE FROM {table.name} AS t USING {using} WHERE {where} RETURNING t.body"  # noqa: S608 — our names
    return _sized_in_arrays(connection, f"WITH t AS ({deletion}) SELECT {_SIZE} FROM t", rows)  # noqa: S608 — our names


_SIZE = "count(*), coalesce(sum(octet_length(t.body)), 0)"
_SIZE_OF_TEXT = "count(*), coalesce(sum(length(CAST(t.body AS BLOB))), 0)"
_MEASURED_ROWS = 200
"""Rows per statement on SQLite, which limits the number of parameters and has no arrays."""


def update(
    connection: sa.Connection,
    table: sa.Table,
    new: Sequence[str],
    columns: Sequence[str],
    rows: Sequence[Row],
) -> int:
    """Sets the columns `new` where `columns` match; a row has the new values, then the old ones.

    Rows apply in order: a later row may rename what an earlier one renamed. Returns the number of
    rows updated.
    """
    name = table.name
    if not _has_arrays(connection):
        values = ", ".join(f"{c} = ?" for c in _quoted(new))
        where = " AND ".join(f"{c} = ?" for c in _quoted(columns))
        sql = f"UPDATE {name} SET {values} WHERE {where}"  # noqa: S608 — our names
        return _one_by_one(connection, sql, rows)
    fresh = [f"new{i}" for i in range(len(new))]
    old = [f"old{i}" for i in range(len(columns))]
    values = ", ".join(f"{c} = r.{f}" for c, f in zip(_quoted(new), fresh, strict=True))
    where = " AND ".join(f"{name}.{c} = r.{o}" for c, o in zip(_quoted(columns), old, strict=True))
    arrays = _arrays(table, (*new, *columns))
    source = f"{arrays} AS r({', '.join((*fresh, *old))})"
    sql = f"UPDATE {name} SET {values} FROM {source} WHERE {where}"  # noqa: S608 — our names
    renamed = [(new.index(c), len(new) + columns.index(c)) for c in new if c in columns]
    if not renamed:
        last = list({row[len(new) :]: row for row in rows}.values())
        return _in_arrays(connection, sql, last) + len(rows) - len(last)
    return sum(
        _in_arrays(connection, sql, part) for part in _independent_batches(rows, *renamed[0])
    )


# SQL texts consist of the names of our own tables and columns; every value is bound.


def _independent_batches(rows: Sequence[Row], new: int, old: int) -> Iterator[Sequence[Row]]:
    """Splits the rows into parts whose order does not matter: no name occurs twice in a part."""
    start = 0
    used: set[object] = set()
    for index, row in enumerate(rows):
        if row[new] in used or row[old] in used:
            yield rows[start:index]
            start, used = index, set()
        used |= {row[new], row[old]}
    yield rows[start:]


def _quoted(names: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in names]


def _placeholders(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))


def _has_arrays(connection: sa.Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _arrays(table: sa.Table, columns: Sequence[str]) -> str:
    return f"unnest({', '.join(f'%s::{_kind(table.c[name])}[]' for name in columns)})"


def _kind(column: sa.Column[Any]) -> str:
    match column.type:
        case sa.LargeBinary():
            return "bytea"
        case sa.Integer():
            return "bigint"
        case sa.Double():
            return "float8"
        case _:
            return "text"


def _in_arrays(connection: sa.Connection, sql: str, rows: Sequence[Row]) -> int:
    count = 0
    for start in range(0, len(rows), CHUNK_ROWS):
        arrays = tuple(map(list, zip(*rows[start : start + CHUNK_ROWS], strict=True)))
        count += connection.exec_driver_sql(sql, arrays).rowcount
    return count


def _sized_in_arrays(connection: sa.Connection, sql: str, rows: Sequence[Row]) -> Size:
    total = Size()
    for start in range(0, len(rows), CHUNK_ROWS):
        arrays = tuple(map(list, zip(*rows[start : start + CHUNK_ROWS], strict=True)))
        total = total.plus(Size(*map(int, connection.exec_driver_sql(sql, arrays).one())))
    return total


def _copy(connection: sa.Connection, sql: str, rows: Sequence[Row]) -> None:
    driver: Any = connection.connection.driver_connection
    with translated_driver_errors(connection), driver.cursor() as cursor, cursor.copy(sql) as copy:
        for row in rows:
            copy.write_row(row)


def _one_by_one(connection: sa.Connection, sql: str, rows: Sequence[Row]) -> int:
    return connection.exec_driver_sql(sql, list(rows)).rowcount if rows else 0
