"""What the query of a stored view reads: the tables that it names, with their columns.

Used by lint, so nothing is rejected: a text that sqlglot cannot parse names nothing. Names follow
the dialect's folding. A column without a table name counts for every table beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import Scope, traverse_scope

from lakewarden.expressions.nested_types import check_nested_types
from lakewarden.kernel.errors import BadInput

MAX_LENGTH: Final = 100_000
"""Longer texts are not read: each character costs some microseconds."""

MAX_PAIRS: Final = 100_000
"""Limit of tables beside each other times unqualified columns; beyond it, all columns count."""

_SPELLED: Final = {
    "postgresql": "postgres",
    "mariadb": "mysql",
    "sparksql": "spark",
    "spark2": "spark",
}
"""Dialects with a different name in sqlglot."""


class ViewSource(NamedTuple):
    """A table or view that a query reads; catalog and schema are "" if the text has none.

    `columns` are those that the query names; None if it reads all, or if that is unknown.
    """

    catalog: str
    schema: str
    table: str
    columns: frozenset[str] | None


def view_sources(sql: str, dialect: str) -> tuple[ViewSource, ...]:
    """What a query reads, sorted by name, without duplicates.

    >>> view_sources("select o.iban from Sales.orders o", "trino")
    (ViewSource(catalog='', schema='sales', table='orders', columns=frozenset({'iban'})),)
    """
    if len(sql) > MAX_LENGTH:
        return ()
    try:
        query = _query(sql, dialect)
        found = list(_sources(query)) if query is not None else []
    except (SqlglotError, BadInput, RecursionError):
        return ()
    columns: dict[tuple[str, str, str], frozenset[str] | None] = {}
    for one in found:
        key = one[:3]
        before = columns.get(key, frozenset())
        is_all = before is None or one.columns is None
        columns[key] = None if is_all else (before or frozenset()) | (one.columns or frozenset())
    return tuple(ViewSource(*key, columns[key]) for key in sorted(columns))


def folded_table(name: str, dialect: str) -> tuple[str, ...]:
    """The parts of a table's name as its engine stores them; empty if that is unknown.

    >>> folded_table('shop.raw."Orders"', "snowflake"), folded_table("shop.Orders", "oracle9")
    (('SHOP', 'RAW', 'Orders'), ())
    """
    known = _SPELLED.get(dialect, dialect)
    try:
        table = normalize_identifiers(exp.to_table(name, dialect=known), dialect=known)
    except ValueError:  # includes sqlglot's errors
        return ()
    return tuple(part.name for part in table.parts)


def folded_column(name: str, dialect: str, *, is_quoted: bool) -> str:
    """A column as its engine stores it.

    >>> folded_column("id", "snowflake", is_quoted=False)
    'ID'
    """
    known = _SPELLED.get(dialect, dialect)
    try:
        return str(normalize_identifiers(exp.column(name, quoted=is_quoted), dialect=known).name)
    except ValueError:
        return name


def _query(sql: str, dialect: str) -> exp.Query | None:
    """The query of the text, or of its CREATE VIEW, with names as the dialect folds them."""
    name = dialect.strip().lower()
    known = _SPELLED.get(name, name)
    try:
        check_nested_types(sql, known)
    except ValueError as error:
        if isinstance(error, SqlglotError | BadInput):
            raise
        known = ""
        check_nested_types(sql, known)
    tree: object = parse_one(sql, dialect=known)
    if isinstance(tree, exp.Create):
        tree = tree.expression
    if not isinstance(tree, exp.Query):
        return None
    return normalize_identifiers(tree, dialect=known)


def _sources(query: exp.Query) -> Iterator[ViewSource]:
    for scope in traverse_scope(query):
        tables = {a: table for a, table in scope.sources.items() if isinstance(table, exp.Table)}
        named: dict[str, set[str]] = {}
        for column in scope.columns:
            named.setdefault(column.table, set()).add(column.name)
        anywhere = frozenset(named.get("", ())) | frozenset(_joined_columns(scope))
        takes_all = _takes_all(scope) or "*" in anywhere or len(anywhere) * len(tables) > MAX_PAIRS
        for alias, table in tables.items():
            own = named.get(alias, set())
            is_all = takes_all or "*" in own or alias in own or alias in anywhere
            names = None if is_all else anywhere | own
            yield ViewSource(table.catalog, table.db, table.name, names or None)


def _takes_all(scope: Scope) -> bool:
    """Whether all columns of all tables of the scope are read, as by `*` or a natural join."""
    query = scope.expression
    listed = query.selects if isinstance(query, exp.Select) else ()
    joins = query.args.get("joins") or ()
    stars = any(isinstance(one, exp.Star) for one in listed)
    return stars or any(str(join.args.get("method") or "").upper() == "NATURAL" for join in joins)


def _joined_columns(scope: Scope) -> Iterator[str]:
    """The columns of `USING`, which are not column nodes."""
    for join in scope.expression.args.get("joins") or ():
        for identifier in join.args.get("using") or ():
            yield identifier.name
