"""The full text index, on either engine: entities by their terms.

SQLite keeps it as an FTS5 table, PostgreSQL as text vectors with an inverted index. Neither
engine's own tokenizer is used: both receive finished terms, and compare them byte for byte
(`lakewarden.service.search_terms`). A row has the id of its entity. The index is derived from the
other tables: no backup contains it, and a restore rebuilds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from lakewarden.service.cancellation import check
from lakewarden.service.search_terms import Term
from lakewarden.store.engine import POSTGRES, translated_driver_errors

TABLE: Final = "search"
"""The index. On SQLite it has auxiliary tables, whose names have this prefix."""

CHUNK_ROWS: Final = 5_000

ALTERNATIVES: Final = 500
"""The most alternative terms per query."""

Clauses = Sequence[Sequence[Term]]
"""An entity matches if it has at least one term of every clause."""

_MAKE_SQLITE: Final = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5(terms, scope UNINDEXED, name UNINDEXED,"
    " tokenize = 'ascii', detail = none, columnsize = 0)",
)
_MAKE_POSTGRES: Final = (
    f'CREATE TABLE {TABLE} (id bigint PRIMARY KEY, scope bigint NOT NULL, name text COLLATE "C"'
    " NOT NULL, terms tsvector NOT NULL)",
    f"CREATE INDEX {TABLE}_terms ON {TABLE} USING gin (terms)",
    f"CREATE INDEX {TABLE}_scope ON {TABLE} (scope, id)",
)

_ADD_SQLITE: Final = f"INSERT INTO {TABLE} (rowid, terms, scope, name) VALUES (?, ?, ?, ?)"  # noqa: S608 — our names
_PUT_SQLITE: Final = _ADD_SQLITE.replace("INSERT", "INSERT OR REPLACE")
_PUT_POSTGRES: Final = (
    f"INSERT INTO {TABLE} (id, scope, name, terms)"  # noqa: S608 — our names
    " SELECT e.id, e.scope, r.name, array_to_tsvector(string_to_array(r.terms, ' '))"
    " FROM unnest(%s::bigint[], %s::bytea[], %s::text[], %s::text[]) AS r(scope, key, name, terms)"
    " JOIN entities e ON e.scope = r.scope AND e.key = r.key"
    " ON CONFLICT (id) DO UPDATE SET name = excluded.name, terms = excluded.terms"
)
_DROP_SQLITE: Final = (
    f"DELETE FROM {TABLE}"  # noqa: S608 — our names
    " WHERE rowid = (SELECT id FROM entities WHERE scope = ? AND key = ?)"
)
_DROP_POSTGRES: Final = (
    f"DELETE FROM {TABLE}"  # noqa: S608 — our names
    " USING unnest(%s::bigint[], %s::bytea[]) AS r(scope, key)"
    f" JOIN entities e ON e.scope = r.scope AND e.key = r.key WHERE {TABLE}.id = e.id"
)
# SQL texts consist of our own names; every value is bound.


class Put(NamedTuple):
    """The terms of an entity from now on; `fresh`: the index has no row for it yet."""

    scope: int
    key: bytes
    name: str
    terms: str
    fresh: bool = False


def make(connection: sa.Connection) -> None:
    """Creates the empty index."""
    for sql in _MAKE_POSTGRES if _is_postgres(connection) else _MAKE_SQLITE:
        connection.exec_driver_sql(sql)


def drop_index(connection: sa.Connection) -> None:
    """Drops the index."""
    connection.exec_driver_sql(f"DROP TABLE {TABLE}")


def put(connection: sa.Connection, rows: Sequence[Put]) -> None:
    """Stores the rows, all of one scope; skips those of entities that are not stored."""
    if _is_postgres(connection):
        _in_arrays(connection, _PUT_POSTGRES, [row[:4] for row in rows])
        return
    for start in range(0, len(rows), CHUNK_ROWS):
        part = rows[start : start + CHUNK_ROWS]
        ids = _ids(connection, part)
        for sql, is_fresh in ((_ADD_SQLITE, True), (_PUT_SQLITE, False)):
            bound = [
                (ids[row.key], row.terms, row.scope, row.name)
                for row in part
                if row.fresh is is_fresh and row.key in ids
            ]
            if bound:
                connection.exec_driver_sql(sql, bound)


def _ids(connection: sa.Connection, rows: Sequence[Put]) -> dict[bytes, int]:
    """The ids of stored entities of one scope by key, in batches: single lookups take longer."""
    ids: dict[bytes, int] = {}
    for start in range(0, len(rows), ALTERNATIVES):
        part = rows[start : start + ALTERNATIVES]
        marks = ",".join("?" * len(part))
        sql = f"SELECT key, id FROM entities WHERE scope = ? AND key IN ({marks})"  # noqa: S608 — our names
        bound = (part[0].scope, *(row.key for row in part))
        ids.update(_rows(connection, sql, bound))
    return ids


def drop(connection: sa.Connection, keys: Sequence[tuple[int, bytes]]) -> None:
    """Removes entities from the index while they are still stored, by scope and key."""
    if _is_postgres(connection):
        _in_arrays(connection, _DROP_POSTGRES, keys)
    elif keys:
        connection.exec_driver_sql(_DROP_SQLITE, list(keys))


def clear(connection: sa.Connection, scope: int) -> None:
    """Removes all entities of a scope from the index while they are still stored."""
    if _is_postgres(connection):
        connection.exec_driver_sql(f"DELETE FROM {TABLE} WHERE scope = %s", (scope,))  # noqa: S608 — our names
        return
    rows = "SELECT id FROM entities WHERE scope = ?"
    connection.exec_driver_sql(f"DELETE FROM {TABLE} WHERE rowid IN ({rows})", (scope,))  # noqa: S608 — our names


def find(connection: sa.Connection, scope: int, clauses: Clauses) -> list[int]:
    """The ids of matches, unordered. Nothing matches a clause without terms.

    Only the last clause may have more terms than `ALTERNATIVES`; an id may then occur more than
    once. On SQLite the result includes ids of other scopes; ids are unique across scopes.
    """
    if not clauses or not all(clauses):
        return []
    *others, last = clauses
    parts = (last[start : start + ALTERNATIVES] for start in range(0, len(last), ALTERNATIVES))
    return [id for part in parts for id in _find(connection, scope, [*others, part])]


def _find(connection: sa.Connection, scope: int, clauses: Clauses) -> list[int]:
    if _is_postgres(connection):
        expression = " & ".join(f"({' | '.join(map(_for_postgres, clause))})" for clause in clauses)
        sql = f"SELECT id FROM {TABLE} WHERE scope = %s AND terms @@ %s::tsquery"  # noqa: S608 — our names
        return [row[0] for row in _rows(connection, sql, (scope, expression))]
    expression = " AND ".join(f"({' OR '.join(map(_for_sqlite, clause))})" for clause in clauses)
    sql = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH ?"  # noqa: S608 — our names
    return [row[0] for row in _rows(connection, sql, (expression,))]


def names(connection: sa.Connection, scope: int, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The display names of those of the ids that are in the index."""
    sql = f"SELECT id, name FROM {TABLE} WHERE scope = %s AND id = ANY(%s)"  # noqa: S608 — our names
    if _is_postgres(connection):
        yield from _rows(connection, sql, (scope, list(ids)))
        return
    for start in range(0, len(ids), ALTERNATIVES):
        part = ids[start : start + ALTERNATIVES]
        marks = ",".join("?" * len(part))
        sql = f"SELECT rowid, name FROM {TABLE} WHERE rowid IN ({marks})"  # noqa: S608 — our names
        yield from _rows(connection, sql, tuple(part))


def all_names(connection: sa.Connection, scope: int) -> Iterator[tuple[int, str]]:
    """Like `names`, for a whole scope; on SQLite names of other scopes may be included."""
    if _is_postgres(connection):
        sql = f"SELECT id, name FROM {TABLE} WHERE scope = %s"  # noqa: S608 — our names
        yield from _rows(connection, sql, (scope,))
        return
    sql = f"SELECT rowid, name FROM {TABLE} WHERE scope = ?"  # noqa: S608 — our names
    yield from _rows(connection, sql, (scope,))


def _for_sqlite(term: Term) -> str:
    # INVARIANT: terms are letters and digits.
    return f'"{term.text}"*' if term.starting else f'"{term.text}"'


def _for_postgres(term: Term) -> str:
    return f"'{term.text}':*" if term.starting else f"'{term.text}'"


def _is_postgres(connection: sa.Connection) -> bool:
    return connection.dialect.name == POSTGRES


def _rows(connection: sa.Connection, sql: str, bound: tuple[Any, ...]) -> Iterator[Any]:
    """The rows unconverted from the driver: there may be a million."""
    result = connection.exec_driver_sql(sql, bound)
    cursor: Any = result.cursor
    try:
        with translated_driver_errors(connection):
            yield from _fetched(cursor)
    finally:
        result.close()


def _fetched(cursor: Any) -> Iterable[Any]:
    while rows := cursor.fetchmany(CHUNK_ROWS):
        check()
        yield from rows


def _in_arrays(connection: sa.Connection, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    for start in range(0, len(rows), CHUNK_ROWS):
        arrays = tuple(map(list, zip(*rows[start : start + CHUNK_ROWS], strict=True)))
        connection.exec_driver_sql(sql, arrays)
