"""A query of an application, with every table limited to what its user may see.

A query is accepted only if all its parts are known: statements, clauses, operators, functions and
types are listed in `query_grammar`, and syntax that a newer sqlglot adds is rejected. Then each
table becomes a subquery with the filters as its condition and the masks as its columns;
predicates, joins and groups see only masked values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from sqlglot import exp, parse, parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from lakewarden.expressions.nested_types import check_nested_types
from lakewarden.expressions.query_grammar import (
    DIALECTS,
    check_grammar,
    refused,
)
from lakewarden.kernel.errors import BadInput

MAX_LENGTH: Final = 100_000
"""Maximum characters of a query."""

MAX_NODES: Final = 20_000
"""Maximum nodes of a query."""

Name = tuple[str, ...]
"""The parts of a table's name, as written: the catalog and the schema may be omitted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query sees of a table.

    `columns` are the visible columns, by name, with the SQL of the mask, or None for unmasked
    values; for the query, a column that is not listed does not exist. `filters` are SQL conditions;
    all of them apply. Filters and masks may also read the columns of `unseen`. `source` is the name
    that the rows are read from, by default the name in the query.
    """

    columns: Mapping[str, str | None]
    filters: Sequence[str] = ()
    unseen: frozenset[str] = frozenset()
    source: Name = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: its `tables` by their names, without those that it defines itself."""

    dialect: str
    tables: tuple[Name, ...]
    _root: exp.Expr

    def columns(self, names: Iterable[str]) -> frozenset[str]:
        """The columns of a table that the query may read: at least those that it reads.

        A column counts if anything in the query has its name. All columns count if a row is read
        as a whole.
        """
        known = frozenset(names)
        rows = {_folded(row.alias_or_name) for row in self._root.find_all(exp.Table, exp.Subquery)}
        if any(_is_whole_row(node, rows) for node in self._root.walk()):
            return known
        said = {_folded(node.name) for node in self._root.find_all(exp.Identifier)}
        return frozenset(name for name in known if _folded(name) in said)

    def governed(self, limits: Mapping[Name, Limits]) -> str:
        """The query with every table limited, in its dialect.

        Args:
            limits: What the query sees of each of `tables`.

        Raises:
            BadInput: A table has no limits or no visible column, a filter or mask reads something
                that the table does not have, or the engine cannot express it.
        """
        root = self._root.copy()
        sources: list[Name] = []
        for table in _stored(root):
            name = _name(table)
            if name not in limits:
                raise refused(f"unknown table `{'.'.join(name)}`", table)
            _replace(table, _limited(name, limits[name], self.dialect))
            sources.append(limits[name].source or name)
        _shorten(root, self.tables)
        text = written(root, self.dialect)
        _check_tables(text, self.dialect, sources)
        return text

    def renamed(self, names: Mapping[Name, Name]) -> str:
        """The query with each of `tables` read from another name, in its dialect.

        Raises:
            BadInput: A table has no other name, or the engine cannot express the query.
        """
        root = self._root.copy()
        sources: list[Name] = []
        for table in _stored(root):
            name = _name(table)
            if name not in names:
                raise refused(f"unknown table `{'.'.join(name)}`", table)
            alias = table.args.get("alias") or exp.TableAlias(this=_quoted(table.name))
            source = _source(names[name])
            source.set("alias", alias)
            source.set("joins", table.args.get("joins"))
            table.replace(source)
            sources.append(names[name])
        _shorten(root, self.tables)
        text = written(root, self.dialect)
        _check_tables(text, self.dialect, sources)
        return text


def read_expression(text: str, dialect: str) -> str:
    """A column expression without tables, in the SQL of the dialect.

    Raises:
        BadInput: The text is not a single expression, or `read_query` rejects it.
    """
    query = read_query(f"SELECT {text}", dialect)
    root = query._root
    parts = [name for name, value in root.args.items() if value]
    if not isinstance(root, exp.Select) or parts != ["expressions"] or len(root.expressions) != 1:
        raise BadInput("expected one expression")
    if query.tables:
        raise BadInput("an expression reads no table")
    return written(root.expressions[0], dialect)


def read_query(text: str, dialect: str) -> Query:
    """Parses a query.

    Raises:
        BadInput: The text is not a single query, or has a part that is not known to be harmless;
            the message says which, and where in the text.
    """
    if dialect not in DIALECTS:
        raise BadInput(f"unknown dialect `{dialect}`; expected one of {', '.join(DIALECTS)}")
    if len(text) > MAX_LENGTH:
        raise BadInput(f"expected at most {MAX_LENGTH} characters, got {len(text)}")
    check_text(text, dialect)
    try:
        root = parsed(text, dialect)
        check_grammar(root, dialect, MAX_NODES)
        tables = {_name(table) for table in _stored(root)}
        # A round trip rejects what is nested too deep, or reads differently after writing.
        again = parsed(written(root, dialect), dialect)
        check_grammar(again, dialect, 2 * MAX_NODES)
        return Query(dialect, tuple(sorted(tables)), root)
    except RecursionError:
        raise BadInput("the query is nested too deeply") from None


def check_text(text: str, dialect: str) -> None:
    """Raises `BadInput` for text that an engine may read differently than this parser does."""
    for mark in _SUBSTITUTED[dialect]:
        if mark in text:
            raise BadInput(f"unexpected `{mark}`: the engine replaces it before it reads the query")


_SUBSTITUTED: Final = {"duckdb": ("\0",), "spark": ("\0", "${", "\\")}
"""Text that an engine may read differently than sqlglot, depending on its settings."""


def parsed(text: str, dialect: str) -> exp.Expr:
    """The single statement of the text; raises `BadInput`."""
    try:
        check_nested_types(text, dialect)
        statements = parse(text, read=dialect)
    except SqlglotError:
        raise BadInput("the query cannot be read") from None
    found = [statement for statement in statements if statement is not None]
    if len(found) != 1:
        raise BadInput(f"expected one query, got {len(found)}")
    return found[0]


def _stored(root: exp.Expr) -> list[exp.Table]:
    """The tables that are read, without those that the query defines."""
    made = _with_tables(root)
    return [table for table in root.find_all(exp.Table) if not _is_with_table(table, made)]


def _with_tables(root: exp.Expr) -> dict[str, exp.CTE]:
    """The tables that the query defines, by folded name. Raises `BadInput` for duplicates."""
    made: dict[str, exp.CTE] = {}
    for cte in root.find_all(exp.CTE):
        name = cte.alias
        if not name.isascii():
            raise refused(f"expected a name in ASCII after WITH, got `{name}`", cte)
        if _folded(name) in made:
            raise refused(f"`{name}` stands twice after WITH", cte)
        made[_folded(name)] = cte
    return made


def _is_with_table(table: exp.Table, made: Mapping[str, exp.CTE]) -> bool:
    """Whether the name refers to a WITH entry, and not to a stored table.

    Raises `BadInput` for a stored table with the name of a WITH entry: a table that the limits
    read by its short name could be confused with it.
    """
    cte = made.get(_folded(table.name))
    if cte is None or len(_name(table)) > 1:
        return False
    if table.name.isascii() and _is_seen(table, cte):
        return True
    raise refused(f"`{table.name}` is also a name after WITH; choose another there", table)


def _is_seen(table: exp.Table, cte: exp.CTE) -> bool:
    """Whether the table is in the scope of the WITH entry: after it, in the query that has it."""
    entries, place = cte.parent, table.parent
    below: exp.Expr = table
    while place is not None and entries is not None:
        if place is entries:
            return (below.index or 0) > (cte.index or 0)
        if place is entries.parent:
            return True
        below, place = place, place.parent
    return False


def _check_tables(text: str, dialect: str, sources: Sequence[Name]) -> None:
    """Raises `BadInput` unless the written text reads exactly the sources."""
    if sorted(map(_name, _stored(parsed(text, dialect)))) != sorted(sources):
        raise BadInput("the limited query would read other tables")


def _name(table: exp.Table) -> Name:
    return tuple(part.name for part in table.parts)


def _folded(name: str) -> str:
    return name.casefold()


def _is_whole_row(node: exp.Expr, rows: Set[str]) -> bool:
    """Whether all columns are read or renamed; `rows` are the names of tables."""
    match node:
        case exp.Star():
            return not isinstance(node.parent, exp.Count)
        case exp.Join():
            return node.method == "NATURAL"
        case exp.TableAlias():
            return bool(node.columns)
        case exp.Column():
            # Some engines then return the row.
            return not node.table and _folded(node.name) in rows
    return False


def _limited(name: Name, limits: Limits, dialect: str) -> exp.Select:
    """The subquery that replaces a table."""
    where = ".".join(name)
    if not limits.columns:
        raise BadInput("no column of it can be read", where=where)
    known = frozenset(map(_folded, limits.columns)) | frozenset(map(_folded, limits.unseen))
    shown = [
        exp.column(_quoted(column))
        if mask is None
        else exp.alias_(exp.Paren(this=_trusted(mask, known, dialect, where)), _quoted(column))
        for column, mask in limits.columns.items()
    ]
    select = exp.Select(expressions=shown).from_(_source(limits.source or name))
    for text in limits.filters:
        condition = exp.Paren(this=_trusted(text, known, dialect, where))
        select = select.where(condition)
    return select


def _source(name: Name) -> exp.Table:
    parts = [_quoted(part) for part in reversed(name)]
    return exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=False)))


def _trusted(text: str, known: frozenset[str], dialect: str, where: str) -> exp.Expr:
    """A filter or mask. It may only read the table: other names could refer to the query."""
    try:
        found = parse_one(text, read=dialect)
    except SqlglotError:
        raise BadInput("a filter or mask cannot be read", where=where) from None
    for column in found.find_all(exp.Column):
        if column.table or _folded(column.name) not in known:
            raise BadInput(f"a filter or mask reads `{column.sql()}`, no column", where=where)
    return found


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _replace(table: exp.Table, select: exp.Select) -> None:
    alias = table.args.get("alias") or exp.TableAlias(this=_quoted(table.name))
    table.replace(exp.Subquery(this=select, alias=alias, joins=table.args.get("joins")))


def _shorten(root: exp.Expr, tables: Sequence[Name]) -> None:
    """Replaces the long table names of columns by short ones; the long ones no longer exist."""
    for column in root.find_all(exp.Column):
        *above, _ = (part.name for part in column.parts)
        if len(above) > 1 and tuple(above) in tables:
            column.set("db", None)
            column.set("catalog", None)


def written(root: exp.Expr, dialect: str) -> str:
    """The SQL of a node, with quoted names; raises `BadInput`."""
    try:
        return root.sql(
            dialect=dialect, identify=True, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except SqlglotError:
        raise BadInput(f"the query cannot be written for {dialect}") from None
