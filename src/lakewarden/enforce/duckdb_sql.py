"""The two DuckDB connections: one reads rows within their limits, one runs queries of users.

A user's query never runs where hidden rows are: DuckDB may evaluate a condition of the user
before a filter, and an error message, such as that of a failed cast, would then show a hidden
value.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping

import duckdb
import pyarrow as pa

from lakewarden.expressions.query import Limits, Name, Query, read_query
from lakewarden.kernel.errors import BadInput
from lakewarden.service.limited_read import LimitedRead

_LOCKS = (
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)


def column_types(rows: duckdb.DuckDBPyRelation) -> dict[str, str]:
    """The columns with their types, in DuckDB's notation."""
    return {name: str(type) for name, type in zip(rows.columns, rows.types, strict=True)}


def limited_rows(
    rows: duckdb.DuckDBPyRelation, read: LimitedRead, wanted: Collection[str]
) -> pa.Table:
    """The visible rows, with the requested columns after masking.

    Raises `BadInput` if the filters and masks do not fit the rows.
    """
    masks = read.masks or {}
    shown = {name: masks[name] for name in rows.columns if name in wanted}
    source = _name()
    limits = Limits(shown, read.filters, frozenset(rows.columns), (source,))
    text = read_query("SELECT * FROM t", "duckdb").governed({("t",): limits})
    try:
        seen = rows.query(source, text)
        table = None if seen is None else seen.to_arrow_table()
    except duckdb.Error:
        table = None  # The message may contain a hidden value.
    if table is None:
        raise BadInput("the filters and masks of the table do not fit its rows")
    return table


def run(query: Query, tables: Mapping[Name, pa.Table]) -> pa.Table:
    """The result of a user's query over the tables, in a connection without any other access.

    Raises `BadInput` if it fails.
    """
    with locked(views := {_name(): table for table in tables.values()}) as connection:
        limits = {
            name: Limits(dict.fromkeys(table.column_names), source=(view,))
            for (name, table), view in zip(tables.items(), views, strict=True)
        }
        try:
            return connection.sql(query.governed(limits)).to_arrow_table()
        except duckdb.Error as error:
            raise BadInput(f"the query failed: {str(error).splitlines()[0]}") from None


def locked(views: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """A connection with these views, and without access to files and settings."""
    connection = duckdb.connect()
    for name, table in views.items():
        connection.register(name, table)
    for lock in _LOCKS:
        connection.execute(lock)
    return connection


def _name() -> str:
    """A name that no query can guess."""
    return f"rows_{secrets.token_hex(8)}"
