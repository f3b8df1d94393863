"""An expression as the SQL of one engine, with the values of one user.

`FORMS` has each engine's SQL for a function, with `a`, `b` and `c` for the
arguments; sqlglot parses and combines these forms. Strings are compared by their code
points on every engine, regardless of the collation of the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from sqlglot import exp, parse_one

from lakewarden.expressions.checker import Table, type_of
from lakewarden.expressions.lookup import MAX_ROWS
from lakewarden.expressions.nodes import (
    Call,
    Cast,
    Column,
    InGroups,
    InLookup,
    Literal,
    Node,
    UserValue,
)
from lakewarden.expressions.parser import NAME, Expression
from lakewarden.expressions.types import Type, is_comparable, is_constant
from lakewarden.kernel.errors import BadInput, LimitExceeded

DIALECTS: Final = {
    "trino": "trino",
    "spark": "spark",
    "postgresql": "postgres",
    "mysql": "mysql",
    "hive": "hive",
    "duckdb": "duckdb",
}

Values = Sequence[str | int | None]
"""A row of a lookup table."""


@dataclass(frozen=True, slots=True)
class User:
    """The user who reads: the name, the groups and the attributes that the directory knows."""

    name: str
    groups: frozenset[str] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)


_SUBSTITUTING: Final = ("spark", "hive")
_VARIABLE: Final = "${"

_LETTERS: Final = (ascii_uppercase, ascii_lowercase)
_CHARACTERS: Final = "(CONVERT(a USING utf8mb4) COLLATE utf8mb4_bin)"
_BYTES: Final = "CAST(CONVERT(a USING utf8mb4) AS BINARY)"
"""For MariaDB and MySQL: as characters, and as bytes, where trailing blanks count."""


def _replaced(old: str, new: str) -> str:
    """One REPLACE for each letter, for an engine without `translate`."""
    text = _CHARACTERS
    for one, other in zip(old, new, strict=True):
        text = f"REPLACE({text}, '{one}', '{other}')"
    return text


def _translated(old: str, new: str) -> dict[str, str]:
    return {"": f"TRANSLATE(a, '{old}', '{new}')", "mysql": _replaced(old, new)}


def _by_code_points(place: str) -> str:
    """For Hive: SUBSTR counts a character beyond the first 65,536 twice, LENGTH counts it once."""
    return f"DECODE(MID(ENCODE(a, 'UTF-32BE'), {place}), 'UTF-32BE')"


FORMS: Final[dict[str, dict[str, str]]] = {
    "and": {"": "a AND b"},
    "or": {"": "a OR b"},
    "not": {"": "NOT a"},
    "=": {"": "a = b"},
    "<>": {"": "a <> b"},
    "<": {"": "a < b"},
    "<=": {"": "a <= b"},
    ">": {"": "a > b"},
    ">=": {"": "a >= b"},
    "is null": {"": "a IS NULL"},
    "is distinct from": {
        "": "a IS DISTINCT FROM b",
        "mysql": "NOT a <=> b",
        "spark": "NOT a <=> b",
        "hive": "NOT a <=> b",
    },
    "like": {"": "a LIKE b ESCAPE '!'"},
    "matches": {"": "REGEXP_LIKE(a, b)", "hive": "a RLIKE b"},
    "+": {"": "a + b"},
    "-": {"": "a - b"},
    "*": {"": "a * b"},
    "negate": {"": "-a"},
    "||": {"": "a || b", "mysql": "CONCAT(a, b)", "hive": "CONCAT(a, b)", "spark": "CONCAT(a, b)"},
    "lower": _translated(*_LETTERS),
    "upper": _translated(*reversed(_LETTERS)),
    "trim": {
        "": "TRIM(a)",
        "trino": "TRIM(BOTH ' ' FROM a)",
        "postgresql": "TRIM(BOTH ' ' FROM a)",
        "duckdb": "TRIM(a, ' ')",
    },
    "length": {"": "LENGTH(a)", "mysql": "CHAR_LENGTH(a)"},
    "substr": {"": "SUBSTR(a, b, c)", "hive": _by_code_points("4 * b - 3, 4 * c")},
    "substr from": {"": "SUBSTR(a, b)", "hive": _by_code_points("4 * b - 3")},
    "replace": {
        "": "REPLACE(a, b, c)",
        "mysql": f"REPLACE({_CHARACTERS}, b, c)",
        "postgresql": 'REPLACE(a COLLATE "C", b, c)',
    },
    "abs": {"": "ABS(a)"},
    "year": {"": "YEAR(a)", "postgresql": "CAST(EXTRACT(YEAR FROM a) AS INTEGER)"},
    "month": {"": "MONTH(a)", "postgresql": "CAST(EXTRACT(MONTH FROM a) AS INTEGER)"},
    "day": {"": "DAY(a)", "postgresql": "CAST(EXTRACT(DAY FROM a) AS INTEGER)"},
    "sha256": {
        "": "SHA2(a, 256)",
        "trino": "LOWER(TO_HEX(SHA256(TO_UTF8(a))))",
        "postgresql": "ENCODE(SHA256(CONVERT_TO(a, 'UTF8')), 'hex')",
        "mysql": "SHA2(CONVERT(a USING utf8mb4), 256)",
        "duckdb": "SHA256(a)",
    },
    "year_start": {
        "": "DATE_TRUNC('year', a)",
        "spark": "DATE_TRUNC('YEAR', a)",
        "postgresql": "DATE_TRUNC('year', CAST(a AS TIMESTAMP))",
        "mysql": "MAKEDATE(YEAR(a), 1)",
        "hive": "TRUNC(a, 'YYYY')",
    },
    "last": {
        "": "SUBSTR(a, LENGTH(a) - b + 1)",
        "mysql": "RIGHT(a, b)",
        "hive": _by_code_points("4 * (LENGTH(a) - b) + 1"),
    },
}
"""The SQL of each function by engine; "" covers all engines that are not listed."""

_MAX_UNIT: Final = 0xFFFF

_COLLATED: Final = {
    "mysql": {"": _BYTES, "like": _CHARACTERS},
    "postgresql": {"": 'a COLLATE "C"'},
    "duckdb": {"": "CAST(a AS VARCHAR) COLLATE C"},
}
"""The form of a compared string, for engines whose columns may have another collation."""

_NEEDS_TYPES: Final = frozenset({"mysql", "postgresql"})
"""Engines on which values other than strings would be compared differently in this form."""

_COMPARES: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "is distinct from", "like"})

_TYPES: Final = {
    Type.STRING: exp.DType.TEXT,
    Type.INTEGER: exp.DType.BIGINT,
    Type.DOUBLE: exp.DType.DOUBLE,
    Type.DATE: exp.DType.DATE,
    Type.TIMESTAMP: exp.DType.TIMESTAMP,
    Type.INSTANT: exp.DType.TIMESTAMPTZ,
    Type.BOOLEAN: exp.DType.BOOLEAN,
}
_MOMENTS: Final = {
    Type.DATE: {"": "CAST(a AS DATE)"},
    Type.TIMESTAMP: {
        "": "CAST(a AS TIMESTAMP)",
        "trino": "CAST(a AS TIMESTAMP(6))",
        "mysql": "CAST(a AS DATETIME(6))",
        "spark": "CAST(a AS TIMESTAMP_NTZ)",
    },
    Type.INSTANT: {
        "": "CAST(a AS TIMESTAMPTZ)",
        "trino": "CAST(a AS TIMESTAMP(6) WITH TIME ZONE)",
        "spark": "CAST(a AS TIMESTAMP)",
    },
}


def render(
    expression: Expression | Node,
    engine: str,
    table: Table,
    user: User,
    lookups: Mapping[str, Sequence[Values]] | None = None,
) -> str:
    """The SQL of the expression, with the values of the user.

    The expression must have been checked (`check_expression`) against the table and the engine.
    Raises `LimitExceeded` for a lookup table with too many rows, `BadInput` for a text that no
    engine accepts.
    """
    root = expression.root if isinstance(expression, Expression) else expression
    if table.columns is None and engine in _NEEDS_TYPES:
        raise BadInput(f"{engine} can be told only with the types of the columns")
    writer = _Writer(engine, table, user, lookups or {})
    try:
        sql: str = writer.write(root).sql(dialect=DIALECTS[engine])
    except RecursionError:
        raise BadInput(f"the expression is nested too deeply for {engine}") from None
    if engine in _SUBSTITUTING and _VARIABLE in sql:
        raise BadInput(f"{engine} would take `{_VARIABLE}` in a name for one of its variables")
    return sql


def has_collations(engine: str) -> bool:
    """Whether the engine needs a form for comparing strings, and hence the columns' types.

    >>> has_collations("duckdb"), has_collations("trino")
    (True, False)
    """
    return engine in _COLLATED


@cache
def _form(engine: str, sql: str) -> exp.Expr:
    # Within a query, because some functions are also called as commands.
    query = parse_one(f"SELECT {sql}", dialect=DIALECTS[engine])
    form: exp.Expr = query.expressions[0]
    return form


def _filled(engine: str, sql: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """The form with the arguments in place of `a`, `b` and `c`."""
    by_name = {name: _closed(argument) for name, argument in zip("abc", arguments, strict=False)}

    def filled(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in by_name and not node.this.quoted:
            return by_name[node.name].copy()
        return node

    return _form(engine, sql).copy().transform(filled)


def _closed(node: exp.Expr) -> exp.Expr:
    """The node, in parentheses if an adjacent operator could bind to a part of it."""
    if isinstance(node, exp.Paren):
        return node
    if isinstance(node, exp.Binary | exp.Unary | exp.Between | exp.In | exp.Case):
        return exp.Paren(this=node)
    return node


def _literal_of(value: str | int | None, type: Type) -> Literal:
    """A value of a lookup table."""
    return Literal("", Type.NULL) if value is None else Literal(str(value), type)


class _Writer:
    """Writes the nodes of one expression."""

    def __init__(
        self, engine: str, table: Table, user: User, lookups: Mapping[str, Sequence[Values]]
    ) -> None:
        self._engine = engine
        self._table = table
        self._user = user
        self._lookups = lookups
        self._within = ""
        self._rewritten: dict[str, Callable[[tuple[Node, ...]], exp.Expr]] = {
            "between": self._between,
            "in": self._in,
            "case": self._case,
            "coalesce": self._coalesce,
            "nullif": self._nullif,
            "starts_with": self._starts_with,
        }

    def write(self, node: Node) -> exp.Expr:
        match node:
            case Column(name):
                return exp.column(exp.to_identifier(name, quoted=True))
            case UserValue(name):
                return self._user_value(name)
            case Literal():
                return self._literal(node)
            case Cast(argument, type):
                return self._cast(argument, type)
            case InGroups(argument):
                groups = [Literal(group, Type.STRING) for group in sorted(self._user.groups)]
                return self._in((argument, *groups))
            case InLookup(arguments, lookup):
                return self._in_lookup(arguments, lookup)
            case Call(function, arguments):
                return self._call(function, arguments)

    def _form(self, forms: Mapping[str, str], *arguments: exp.Expr) -> exp.Expr:
        return _filled(self._engine, forms.get(self._engine, forms[""]), arguments)

    def _call(self, function: str, arguments: tuple[Node, ...]) -> exp.Expr:
        if function in self._rewritten:
            return self._rewritten[function](arguments)
        written = self._arguments(function, arguments)
        if function in _COMPARES and self._is_text(arguments):
            written = self._collated(function, arguments, written)
        if function == "substr" and len(arguments) == 2:
            function = "substr from"
        if function == "like" and self._misreads(arguments[1]):
            function, written[1] = "matches", self._text(_regular_expression(arguments[1]))
        if self._engine == "hive" and self._is_merged(function, arguments):
            form = f"COALESCE(a {function} b, CAST(NULL AS BOOLEAN))"
            return _filled(self._engine, form, written)
        return self._form(FORMS[function], *written)

    def _arguments(self, function: str, arguments: tuple[Node, ...]) -> list[exp.Expr]:
        above = self._within
        self._within += f"{function} " if function in ("and", "or") else ""
        written = [self.write(argument) for argument in arguments]
        self._within = above
        return written

    def _misreads(self, pattern: Node) -> bool:
        """Whether the engine's LIKE misreads the pattern: a regular expression is used then.

        Hive has no ESCAPE. Trino finds no character beyond the first 65,536 if `_` follows it,
        unless the pattern begins with it.
        """
        has_beyond = isinstance(pattern, Literal) and any(ord(s) > _MAX_UNIT for s in pattern.text)
        return self._engine == "hive" or (self._engine == "trino" and has_beyond)

    def _is_merged(self, function: str, arguments: tuple[Node, ...]) -> bool:
        """Whether Hive merges this comparison with others into one operator.

        It turns a range into a BETWEEN, which is NULL, not FALSE, if one bound is NULL; and
        alternatives into an IN over structs, which is FALSE, not NULL, if one field is NULL.
        """
        if function in ("<=", ">="):
            return not any(map(_is_constant, arguments))
        return function == "=" and "and" in self._within.partition("or")[2]

    def _is_text(self, arguments: Sequence[Node]) -> bool:
        """Whether the compared values are strings that may have a collation on this engine.

        A constant next to a column of unknown type may not be compared as a string there.
        """
        if not has_collations(self._engine):
            return False
        telling = [one for one in arguments if not _is_constant(one)] or arguments
        return any(self._is(one, Type.STRING) for one in telling)

    def _is(self, node: Node, type: Type) -> bool:
        try:
            return type_of(node, self._table) is type
        except BadInput:
            return False  # it fits no type; the engine reports that

    def _collated(
        self, function: str, arguments: Sequence[Node], written: Sequence[exp.Expr]
    ) -> list[exp.Expr]:
        """The arguments for a comparison; the form applies to the first and to non-constants."""
        forms = _COLLATED[self._engine]
        form = forms.get(function, forms[""])
        return [
            node
            if place and _is_constant(argument)
            else exp.Paren(this=_filled(self._engine, form, [node]))
            for place, (argument, node) in enumerate(zip(arguments, written, strict=True))
        ]

    def _between(self, arguments: tuple[Node, ...]) -> exp.Expr:
        value, low, high = arguments
        return self._call("and", (Call(">=", (value, low)), Call("<=", (value, high))))

    def _in(self, arguments: tuple[Node, ...]) -> exp.Expr:
        if len(arguments) == 1:
            return exp.false()
        written = [self.write(argument) for argument in arguments]
        written[0] = _closed(written[0])
        if self._is_text(arguments):
            written = self._collated("in", arguments, written)
        return exp.In(this=written[0], expressions=written[1:])

    def _in_lookup(self, arguments: tuple[Node, ...], lookup: str) -> exp.Expr:
        rows = self._lookups.get(lookup, ())
        if len(rows) > MAX_ROWS:
            raise LimitExceeded(f"`lookup.{lookup}` has more than {MAX_ROWS} rows")
        types = self._table.lookups.get(lookup)
        if types is None:
            raise BadInput(f"unknown lookup table `{lookup}`")
        literals = [tuple(map(_literal_of, row, types)) for row in rows]
        if len(types) == 1:
            return self._in((*arguments, *(literal for (literal,) in literals)))
        return _closed(self._any([self._alike(arguments, row) for row in literals]))

    def _alike(self, arguments: tuple[Node, ...], row: Sequence[Literal]) -> exp.Expr:
        """Whether the arguments are the values of the row."""
        same = [Call("=", pair) for pair in zip(arguments, row, strict=True)]
        together: Node = same[0]
        for one in same[1:]:
            together = Call("and", (together, one))
        return _closed(*self._arguments("or", (together,)))

    def _any(self, conditions: Sequence[exp.Expr]) -> exp.Expr:
        """Any of the conditions, split in halves because engines limit the depth of expressions."""
        if not conditions:
            return exp.false()
        if len(conditions) == 1:
            return conditions[0]
        middle = len(conditions) // 2
        halves = (self._any(half) for half in (conditions[:middle], conditions[middle:]))
        one, other = map(_closed, halves)
        return exp.Or(this=one, expression=other)

    def _case(self, arguments: tuple[Node, ...]) -> exp.Expr:
        branches = [
            exp.If(this=self.write(condition), true=self.write(value))
            for condition, value in zip(arguments[:-1:2], arguments[1:-1:2], strict=True)
        ]
        return exp.Case(ifs=branches, default=self.write(arguments[-1]))

    def _coalesce(self, arguments: tuple[Node, ...]) -> exp.Expr:
        first, *others = (self.write(argument) for argument in arguments)
        return exp.Coalesce(this=first, expressions=others)

    def _nullif(self, arguments: tuple[Node, ...]) -> exp.Expr:
        value, other = arguments
        return self._case((Call("=", (value, other)), Literal("", Type.NULL), value))

    def _starts_with(self, arguments: tuple[Node, ...]) -> exp.Expr:
        value, start = arguments
        if not isinstance(start, Literal):
            raise BadInput("`starts_with` takes a constant as argument 2")
        length = len(start.text)
        places = (Literal("1", Type.INTEGER), Literal(str(length), Type.INTEGER))
        return self._call("=", (Call("substr", (value, *places)), start))

    def _user_value(self, name: str) -> exp.Expr:
        value = self._value_of_user(name)
        if value is None:
            return exp.cast(exp.null(), exp.DType.TEXT)
        return self._literal(Literal(value, Type.STRING))

    def _value_of_user(self, name: str) -> str | None:
        return self._user.name if name == NAME else self._user.attributes.get(name)

    def _literal(self, literal: Literal) -> exp.Expr:
        match literal.type:
            case Type.NULL:
                return exp.null()
            case Type.BOOLEAN:
                return exp.true() if literal.text == "true" else exp.false()
            case Type.INTEGER | Type.DECIMAL | Type.DOUBLE:
                return exp.Literal.number(literal.text)
            case Type.STRING:
                return self._text(literal.text)
            case type:
                return self._form(_MOMENTS[type], exp.Literal.string(literal.text))

    def _text(self, text: str) -> exp.Expr:
        if not is_comparable(text):
            raise BadInput("a text with control characters cannot be compared on every engine")
        if self._engine in _SUBSTITUTING and _VARIABLE in text:
            # In parts: the engine replaces variables before parsing, even in constants.
            first, *others = text.split(_VARIABLE)
            parts = [f"{first}$", *(f"{{{part}$" for part in others[:-1]), f"{{{others[-1]}"]
            return exp.func("CONCAT", *(exp.Literal.string(part) for part in parts))
        return exp.Literal.string(text)

    def _cast(self, argument: Node, type: Type) -> exp.Expr:
        if isinstance(argument, UserValue | Literal) and type in (Type.INTEGER, Type.DATE):
            text = (
                argument.text
                if isinstance(argument, Literal)
                else self._value_of_user(argument.name)
            )
            return self._constant(text, type)
        is_day = type is Type.STRING and self._is(argument, Type.DATE)
        return self._form(_DAY_AS_TEXT if is_day else _CAST_FORMS[type], self.write(argument))

    def _constant(self, text: str | None, type: Type) -> exp.Expr:
        """A text as an integer or a date; NULL if it is neither."""
        if text is not None and is_constant(text, type):
            return self._literal(Literal(text, type))
        return exp.cast(exp.null(), _TYPES[type])


def _is_constant(node: Node) -> bool:
    node = node.argument if isinstance(node, Cast) else node
    return isinstance(node, Literal | UserValue)


def _regular_expression(pattern: Node) -> str:
    """A LIKE pattern as a Java regular expression."""
    if not isinstance(pattern, Literal):
        raise BadInput("LIKE takes a pattern that is a constant")
    parts, is_escaped = [], False
    for sign in pattern.text:
        if sign == "!" and not is_escaped:
            is_escaped = True
            continue
        wildcard = None if is_escaped else {"%": ".*", "_": "."}.get(sign)
        is_plain = sign.isalnum() or not sign.isascii()
        parts.append(wildcard or (sign if is_plain else f"\\{sign}"))
        is_escaped = False
    return rf"(?s)\A{''.join(parts)}\z"


_AS_TEXT: Final = {
    "": "CAST(a AS VARCHAR)",
    "spark": "CAST(a AS STRING)",
    "hive": "CAST(a AS STRING)",
    "mysql": "CAST(a AS CHAR)",
    "postgresql": "CAST(a AS TEXT)",
}
_DAY_AS_TEXT: Final = {**_AS_TEXT, "postgresql": "(TO_JSONB(a) #>> '{}')"}
"""For dates: PostgreSQL's cast follows `DateStyle`, which every reader sets for their session; its
JSON has dates in ISO 8601 always."""

_CAST_FORMS: Final = {
    Type.STRING: _AS_TEXT,
    Type.INTEGER: {"": "CAST(a AS BIGINT)", "mysql": "CAST(a AS SIGNED)"},
    Type.DOUBLE: {
        "": "CAST(a AS DOUBLE)",
        "mysql": "a + 0e0",
        "postgresql": "CAST(a AS DOUBLE PRECISION)",
    },
    **_MOMENTS,
}
