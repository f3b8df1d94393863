"""A statement of an application that is not a query: what it changes, and the queries in it.

Like a query, a statement is accepted only if all its parts are known. Its text is never passed
on: it becomes one of the values below, from which new text is written, with the table names that
the caller gives. Parts that read (`WHERE`, `SET`, `MERGE … ON`) form a query, which is checked
against the same lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from lakewarden.expressions.query import (
    MAX_LENGTH,
    Name,
    Query,
    check_text,
    parsed,
    read_query,
    written,
)
from lakewarden.expressions.query_grammar import TYPES, refused
from lakewarden.kernel.errors import BadInput

MAX_ROWS: Final = 500
"""Maximum rows of `VALUES`: they become a query."""

_DIALECT: Final = "spark"
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
_UNSAID: Final[tuple[object, ...]] = (False, None, "", [], ())


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows of a query into a table: into `columns`, by their names, or in order."""

    table: Name
    query: Query
    columns: tuple[str, ...] = ()
    by_name: bool = False
    overwrites: bool = False

    def text(self, table: str, names: Mapping[Name, Name]) -> str:
        """The statement with other names for its table and for those of the query."""
        columns = f" ({', '.join(map(quoted, self.columns))})" if self.columns else ""
        verb = "INSERT OVERWRITE TABLE" if self.overwrites else "INSERT INTO TABLE"
        by_name = " BY NAME" if self.by_name else ""
        return f"{verb} {table}{columns}{by_name} {self.query.renamed(names)}"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table, with the rows of a query or with `columns` (names and types)."""

    table: Name
    query: Query | None = None
    columns: tuple[tuple[str, str], ...] = ()
    format: str = ""
    replaces: bool = False
    unless_there: bool = False

    def text(self, table: str, names: Mapping[Name, Name]) -> str:
        """As `Insert.text`."""
        replace, there = _clauses(self.replaces, self.unless_there)
        columns = ", ".join(f"{quoted(name)} {type}" for name, type in self.columns)
        using = f" USING {self.format}" if self.format else ""
        query = "" if self.query is None else f" AS {self.query.renamed(names)}"
        listed = f" ({columns})" if columns else ""
        return f"CREATE {replace}TABLE {there}{table}{listed}{using}{query}"


@dataclass(frozen=True, slots=True)
class CreateView:
    """A stored view, or a view of the session."""

    view: Name
    query: Query
    is_temporary: bool = False
    replaces: bool = False
    unless_there: bool = False

    def text(self, view: str, names: Mapping[Name, Name]) -> str:
        """As `Insert.text`."""
        replace, there = _clauses(self.replaces, self.unless_there)
        return f"CREATE {replace}VIEW {there}{view} AS {self.query.renamed(names)}"


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A new schema."""

    schema: Name
    unless_there: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """Removes a `table`, `view` or `schema`."""

    kind: str
    name: Name
    if_there: bool = False


@dataclass(frozen=True, slots=True)
class Truncate:
    """Removes all rows of a table."""

    table: Name


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Adds columns, with their types."""

    table: Name
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rename:
    """Renames a table."""

    table: Name
    new: Name


@dataclass(frozen=True, slots=True)
class Describe:
    """The columns of a table."""

    table: Name


@dataclass(frozen=True, slots=True)
class Change:
    """`DELETE`, `UPDATE` or `MERGE`: `does` lists its effects on the rows of the table.

    `query` reads the table, and whatever else the statement reads.
    """

    table: Name
    query: Query
    does: frozenset[str]
    _write: Callable[[exp.Select], str]

    def text(self, names: Mapping[Name, Name]) -> str:
        """The statement with other names for its tables, including the changed one."""
        again = parsed(self.query.renamed(names), _DIALECT)
        if not isinstance(again, exp.Select):
            raise BadInput("the statement cannot be written")
        return self._write(again)


DELETE, UPDATE, INSERT = "delete", "update", "insert"
Statement = (
    Insert
    | CreateTable
    | CreateView
    | CreateSchema
    | Drop
    | Truncate
    | AddColumns
    | Rename
    | Describe
    | Change
)


def read_statement(text: str) -> Statement | None:
    """Parses a statement in Spark's SQL; None for a query, or any other beginning.

    Raises:
        BadInput: The statement has a part that is not known to be harmless.
    """
    if len(text) > MAX_LENGTH:
        raise BadInput(f"expected at most {MAX_LENGTH} characters, got {len(text)}")
    check_text(text, _DIALECT)
    try:
        root = parsed(text, _DIALECT)
        reader = _READERS.get(type(root))
        return None if reader is None else reader(root)
    except RecursionError:
        raise BadInput("the statement is nested too deeply") from None


def quoted(name: str) -> str:
    """A name in backticks."""
    return f"`{name.replace('`', '``')}`"


def _clauses(replaces: bool, unless_there: bool) -> tuple[str, str]:
    return "OR REPLACE " if replaces else "", "IF NOT EXISTS " if unless_there else ""


def _only(node: exp.Expr, allowed: str) -> None:
    """Raises `BadInput` if the node has a part that is not in `allowed`."""
    for name, value in node.args.items():
        if value not in _UNSAID and name not in allowed.split():
            title = type(node).__name__.upper()
            raise refused(f"{title} takes no {name.strip('_').upper()}", node)


def _table(node: object) -> Name:
    if not isinstance(node, exp.Table):
        raise BadInput("expected the name of a table")
    _only(node, "this db catalog")
    return _names(node)


def _names(node: exp.Table) -> Name:
    parts = [part for part in (node.args.get(n) for n in ("catalog", "db", "this")) if part]
    for part in parts:
        if not isinstance(part, exp.Identifier) or not part.name:
            raise refused("expected a plain name", node)
    return tuple(part.name for part in parts)


def _identifier(node: object) -> str:
    if isinstance(node, exp.Column) and not node.table:
        node = node.this
    if not isinstance(node, exp.Identifier) or not node.name:
        raise BadInput("expected the name of a column")
    return node.name


def _query(node: object) -> Query:
    if isinstance(node, exp.Values):
        node = _rows(node)
    if not isinstance(node, exp.Expr):
        raise BadInput("expected a query")
    return read_query(written(node, _DIALECT), _DIALECT)


def _rows(values: exp.Values) -> exp.Expr:
    """The rows of VALUES as a query."""
    _only(values, "expressions")
    rows = values.expressions
    if not rows or len(rows) > MAX_ROWS:
        raise refused(f"expected at most {MAX_ROWS} rows", values)
    selects = [
        exp.Select(expressions=[cell.copy() for cell in _cells(row)]).sql(dialect=_DIALECT)
        for row in rows
    ]
    return parsed(" UNION ALL ".join(selects), _DIALECT)


def _cells(row: exp.Expr) -> Sequence[exp.Expr]:
    cells: Sequence[exp.Expr] = row.expressions if isinstance(row, exp.Tuple) else [row]
    return cells


def _read_insert(node: exp.Expr) -> Insert:
    _only(node, "this expression overwrite by_name")
    target: exp.Expr = node.this
    columns: tuple[str, ...] = ()
    if isinstance(target, exp.Schema):
        _only(target, "this expressions")
        columns = tuple(map(_identifier, target.expressions))
        target = target.this
    return Insert(
        _table(target),
        _query(node.expression),
        columns,
        bool(node.args.get("by_name")),
        bool(node.args.get("overwrite")),
    )


def _read_create(node: exp.Expr) -> Statement:
    _only(node, "this kind replace exists expression properties")
    kind = str(node.args.get("kind")).upper()
    replaces, there = bool(node.args.get("replace")), bool(node.args.get("exists"))
    properties = node.args.get("properties")
    said = list(properties.expressions) if properties else []
    match kind:
        case "TABLE":
            return _read_create_table(node, said, replaces, there)
        case "VIEW":
            is_temporary = [type(one) for one in said] == [exp.TemporaryProperty]
            if said and not is_temporary:
                raise refused("a view takes no properties", node)
            view = _table(node.this)
            return CreateView(view, _query(node.expression), is_temporary, replaces, there)
        case "SCHEMA" | "DATABASE" | "NAMESPACE" if not (said or replaces or node.expression):
            return CreateSchema(_table(node.this), there)
        case _:
            raise refused(f"CREATE {kind} is not part of governed statements", node)


def _read_create_table(
    node: exp.Expr, said: list[exp.Expr], replaces: bool, there: bool
) -> CreateTable:
    target: exp.Expr = node.this
    columns: tuple[tuple[str, str], ...] = ()
    if isinstance(target, exp.Schema):
        _only(target, "this expressions")
        columns = tuple(map(_column, target.expressions))
        target = target.this
    query = None if node.expression in _UNSAID else _query(node.expression)
    if (query is None) == (not columns):
        raise refused("a table has either columns or a query", node)
    return CreateTable(_table(target), query, columns, _format(said), replaces, there)


def _format(said: Sequence[exp.Expr]) -> str:
    if not said:
        return ""
    (first, *others) = said
    if others or not isinstance(first, exp.FileFormatProperty):
        raise refused("a table takes no properties but its format", first)
    name = first.name
    if not _WORD.fullmatch(name):
        raise refused("the format is no plain word", first)
    return name


def _column(node: exp.Expr) -> tuple[str, str]:
    if not isinstance(node, exp.ColumnDef):
        raise refused("expected a column with its type", node)
    _only(node, "this kind")
    type = node.args.get("kind")
    if not isinstance(type, exp.DataType) or type.this.name not in TYPES:
        raise refused("this type of a column is not part of governed statements", node)
    for parameter in type.expressions:
        if not isinstance(parameter, exp.DataTypeParam) or not parameter.name.isdigit():
            raise refused("this type of a column is not part of governed statements", node)
    return _identifier(node.this), type.sql(dialect=_DIALECT)


def _read_drop(node: exp.Expr) -> Drop:
    _only(node, "tables kind exists restrict")
    kind = str(node.args.get("kind")).lower()
    kind = "schema" if kind in ("database", "namespace") else kind
    tables = node.args.get("tables") or []
    if kind not in ("table", "view", "schema") or len(tables) != 1:
        raise refused("expected one table, view or schema", node)
    return Drop(kind, _table(tables[0]), bool(node.args.get("exists")))


def _read_truncate(node: exp.Expr) -> Truncate:
    _only(node, "expressions")
    if len(node.expressions) != 1:
        raise refused("expected one table", node)
    return Truncate(_table(node.expressions[0]))


def _read_alter(node: exp.Expr) -> AddColumns | Rename:
    _only(node, "this kind actions")
    actions, table = node.args.get("actions") or [], _table(node.this)
    if str(node.args.get("kind")).upper() != "TABLE" or not actions:
        raise refused("expected ALTER TABLE", node)
    if isinstance(actions[0], exp.AlterRename) and len(actions) == 1:
        _only(actions[0], "this")
        return Rename(table, _table(actions[0].this))
    columns = [
        column
        for action in actions
        for column in (action.expressions if isinstance(action, exp.Schema) else [action])
    ]
    return AddColumns(table, tuple(map(_column, columns)))


def _read_describe(node: exp.Expr) -> Describe:
    _only(node, "this kind")
    if str(node.args.get("kind") or "table").lower() != "table":
        raise refused("expected the name of a table", node)
    return Describe(_table(node.this))


def _read_delete(node: exp.Expr) -> Change:
    _only(node, "this where")
    target = _target(node.this)
    query = _reading(target, [exp.Star()], node.args.get("where"))
    return Change(_names(target), query, frozenset({DELETE}), _write_delete)


def _write_delete(select: exp.Select) -> str:
    return f"DELETE FROM {_source_text(select)}{_where_text(select)}"  # noqa: S608 — parsed before


def _read_update(node: exp.Expr) -> Change:
    _only(node, "this expressions where")
    target = _target(node.this)
    columns, values = _assignments(node.expressions, target)
    query = _reading(target, values, node.args.get("where"))

    def write(select: exp.Select) -> str:
        texts = map(_text, select.expressions)
        sets = [f"{quoted(name)} = {text}" for name, text in zip(columns, texts, strict=True)]
        source, where = _source_text(select), _where_text(select)
        return f"UPDATE {source} SET {', '.join(sets)}{where}"  # noqa: S608 — parsed before

    return Change(_names(target), query, frozenset({UPDATE}), write)


def _target(node: object) -> exp.Table:
    if not isinstance(node, exp.Table):
        raise BadInput("expected the name of a table")
    _only(node, "this db catalog alias")
    if node.args.get("alias"):
        _only(node.args["alias"], "this")
    return node


def _assignments(
    nodes: Iterable[exp.Expr], target: exp.Table
) -> tuple[tuple[str, ...], list[exp.Expr]]:
    """The assigned columns, and their values."""
    names, values = [], []
    for node in nodes:
        if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
            raise refused("expected COLUMN = VALUE", node)
        if node.this.table and node.this.table.lower() != target.alias_or_name.lower():
            raise refused("a column of another table cannot be set", node)
        names.append(_identifier(node.this.this))
        values.append(node.expression)
    if not names:
        raise BadInput("expected COLUMN = VALUE")
    return tuple(names), values


def _reading(
    target: exp.Table, values: Sequence[exp.Expr], where: exp.Expr | None, join: str = ""
) -> Query:
    """The query that reads what a statement reads."""
    listed = ", ".join(value.sql(dialect=_DIALECT) for value in values)
    source = target.sql(dialect=_DIALECT)
    text = f"SELECT {listed} FROM {source}{join}"  # noqa: S608 — it is parsed next
    if where is not None:
        text += f" {where.sql(dialect=_DIALECT)}"
    return read_query(text, _DIALECT)


def _text(node: exp.Expr) -> str:
    return written(node, _DIALECT)


def _source_text(select: exp.Select) -> str:
    return _text(select.args["from_"].this)


def _where_text(select: exp.Select) -> str:
    where = select.args.get("where")
    return f" {_text(where)}" if where else ""


@dataclass(frozen=True, slots=True)
class _When:
    """A clause of MERGE: its head, its action, and how many expressions of the query it uses."""

    head: str
    has_condition: bool
    does: str
    columns: tuple[str, ...]

    def text(self, expressions: Sequence[str]) -> str:
        condition, values = (
            (f" AND {expressions[0]}", expressions[1:]) if self.has_condition else ("", expressions)
        )
        names = [quoted(name) for name in self.columns]
        match self.does:
            case "delete":
                act = "DELETE"
            case "update" if names:
                sets = (f"{name} = {value}" for name, value in zip(names, values, strict=True))
                act = f"UPDATE SET {', '.join(sets)}"
            case "update":
                act = "UPDATE SET *"
            case _ if names:
                listed, given = ", ".join(names), ", ".join(values)
                act = f"INSERT ({listed}) VALUES ({given})"  # noqa: S608 — parsed before
            case _:
                act = "INSERT *"
        return f" WHEN {self.head}{condition} THEN {act}"

    @property
    def size(self) -> int:
        return int(self.has_condition) + len(self.columns)


def _read_merge(node: exp.Expr) -> Change:
    _only(node, "this using on whens")
    target, source, on = _target(node.this), node.args.get("using"), node.args.get("on")
    if not isinstance(source, (exp.Table, exp.Subquery)) or not isinstance(on, exp.Expr):
        raise refused("expected MERGE INTO TABLE USING SOURCE ON CONDITION", node)
    whens: list[_When] = []
    values: list[exp.Expr] = []
    for when in node.args["whens"].expressions:
        clause, expressions = _read_when(when, target)
        whens.append(clause)
        values += expressions
    if not whens:
        raise refused("expected a WHEN", node)
    join = f" JOIN {source.sql(dialect=_DIALECT)} ON {on.sql(dialect=_DIALECT)}"
    query = _reading(target, [exp.Literal.number(1), *values], None, join)

    def write(select: exp.Select) -> str:
        texts = [_text(one) for one in select.expressions][1:]
        joins = select.args["joins"]
        if len(joins) != 1:
            raise BadInput("expected one source of MERGE")
        (joined,) = joins
        text = f"MERGE INTO {_source_text(select)} USING {_text(joined.this)}"
        text += f" ON {_text(joined.args['on'])}"
        for when in whens:
            text += when.text(texts[: when.size])
            texts = texts[when.size :]
        return text

    return Change(_names(target), query, frozenset(one.does for one in whens), write)


def _read_when(node: exp.Expr, target: exp.Table) -> tuple[_When, list[exp.Expr]]:
    _only(node, "matched source condition then")
    matched, by_source = bool(node.args.get("matched")), bool(node.args.get("source"))
    head = "MATCHED" if matched else "NOT MATCHED"
    head += " BY SOURCE" if by_source and not matched else ""
    condition, then = node.args.get("condition"), node.args.get("then")
    conditions = [] if condition is None else [condition]
    does, columns, values = _read_action(then, target)
    if (does == INSERT) != (head == "NOT MATCHED"):
        raise refused("this clause of MERGE does something else", node)
    return _When(head, bool(conditions), does, columns), [*conditions, *values]


def _read_action(then: object, target: exp.Table) -> tuple[str, tuple[str, ...], list[exp.Expr]]:
    match then:
        case exp.Var() if then.name.lower() == DELETE:
            return DELETE, (), []
        case exp.Update():
            _only(then, "expressions")
            if [type(one) for one in then.expressions] == [exp.Star]:
                return UPDATE, (), []
            return UPDATE, *_assignments(then.expressions, target)
        case exp.Insert(this=exp.Star()):
            _only(then, "this")
            return INSERT, (), []
        case exp.Insert(this=exp.Tuple(), expression=exp.Tuple()):
            _only(then, "this expression")
            columns = tuple(map(_identifier, then.this.expressions))
            values = list(then.expression.expressions)
            if len(columns) != len(values):
                raise refused("expected a value for each column", then)
            return INSERT, columns, values
    raise BadInput("expected UPDATE, DELETE or INSERT after THEN")


_READERS: Final[Mapping[type[exp.Expr], Callable[[exp.Expr], Statement]]] = {
    exp.Insert: _read_insert,
    exp.Create: _read_create,
    exp.Drop: _read_drop,
    exp.TruncateTable: _read_truncate,
    exp.Alter: _read_alter,
    exp.Describe: _read_describe,
    exp.Delete: _read_delete,
    exp.Update: _read_update,
    exp.Merge: _read_merge,
}
