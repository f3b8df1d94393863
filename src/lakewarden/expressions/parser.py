"""Text to an expression; rejects everything that is not in the language.

sqlglot parses the text. Only the node types that are listed here are accepted; syntax that a
newer sqlglot adds is therefore rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from lakewarden.expressions.functions import CALLED
from lakewarden.expressions.lookup import MAX_ROWS
from lakewarden.expressions.nested_types import check_nested_types
from lakewarden.expressions.nodes import (
    Call,
    Cast,
    Column,
    InGroups,
    InLookup,
    Literal,
    Node,
    UserValue,
    children,
    walk,
)
from lakewarden.expressions.types import Type, is_moment
from lakewarden.kernel.errors import BadInput

MAX_LENGTH: Final = 4_000
"""Maximum characters of an expression."""

MAX_NODES: Final = 500
"""Maximum nodes of an expression."""

MAX_NESTING: Final = 40
"""Maximum nesting of parentheses."""

MAX_DEPTH: Final = 100
"""Maximum depth of the node tree."""

MAX_WRITTEN: Final = 50_000
"""Maximum nodes of the SQL for an engine; some forms repeat an argument, a lookup for each row."""

NAME: Final = "name"
GROUPS: Final = "groups"
_USER: Final = "$user."
_LOOKUP: Final = "lookup"

_PARTS: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<user>\$user\.[A-Za-z_][A-Za-z0-9_]*)|(?P<bad>--|/\*|;|[$`\\])"""
)


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression; `text` is the original text."""

    text: str
    root: Node

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset(node.name for node in walk(self.root) if isinstance(node, Column))

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes of the user that it reads, except `name` and `groups`."""
        values = (node.name for node in walk(self.root) if isinstance(node, UserValue))
        return frozenset(values) - {NAME}

    @property
    def lookups(self) -> frozenset[str]:
        """The lookup tables that it reads."""
        return frozenset(node.lookup for node in walk(self.root) if isinstance(node, InLookup))


def parse_expression(text: str, where: str = "") -> Expression:
    """Parses an expression. Raises `BadInput`; `where` is the field that the text is from.

    >>> sorted(parse_expression("region = $user.region or region is null").columns)
    ['region']
    """
    if len(text) > MAX_LENGTH:
        raise BadInput(f"expected at most {MAX_LENGTH} characters, got {len(text)}", where=where)
    reader = _Reader(where)
    try:
        root = reader.read(_parsed(text, where))
        _check_size(root, where)
    except RecursionError:
        raise BadInput("the expression is nested too deeply", where=where) from None
    return Expression(text, root)


def _check_size(root: Node, where: str) -> None:
    nodes = sum(1 for _ in walk(root))
    if nodes > MAX_NODES:
        raise BadInput(f"expected at most {MAX_NODES} parts, got {nodes}", where=where)
    if _depth(root) > MAX_DEPTH:
        raise BadInput(f"parts are nested deeper than {MAX_DEPTH}", where=where)
    if _written(root) > MAX_WRITTEN:
        raise BadInput("the expression becomes too long when it is written out", where=where)


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, children(node)), default=0)


_REPEATING: Final = frozenset({"nullif", "between"})
"""Functions whose first argument is written twice."""


def _written(node: Node) -> int:
    """How many nodes the SQL for an engine has."""
    sizes = [_written(child) for child in children(node)]
    if isinstance(node, InLookup):
        return MAX_ROWS * (1 + sum(sizes) + 2 * len(sizes))
    if isinstance(node, Call) and node.function in _REPEATING:
        return 1 + sum(sizes) + sizes[0]
    return 1 + sum(sizes)


def _parsed(text: str, where: str) -> exp.Expr:
    quoted = _with_quoted_user(text, where)
    if _nesting(quoted) > MAX_NESTING:
        raise BadInput(f"parentheses are nested deeper than {MAX_NESTING}", where=where)
    try:
        check_nested_types(quoted, "", where)
        statements = parse(quoted)
    except SqlglotError as error:
        details = getattr(error, "errors", None) or [{}]
        near = str(details[0].get("highlight") or "").strip()
        problem = f"cannot be read near `{near}`" if near else "cannot be read"
        raise BadInput(f"the expression {problem}", where=where) from None
    if len(statements) != 1 or statements[0] is None:
        raise BadInput("expected one expression", where=where)
    return statements[0]


def _with_quoted_user(text: str, where: str) -> str:
    """The text with `$user.NAME` as quoted identifiers, which sqlglot reads as columns."""

    def quoted(match: re.Match[str]) -> str:
        if match["bad"]:
            raise BadInput(
                f"unexpected `{match['bad']}` at character {match.start() + 1}", where=where
            )
        if match["user"]:
            return f'"{match["user"]}"'
        if match[0].startswith(f'"{_USER}'):
            raise BadInput(f"a column cannot be called {match[0]}", where=where)
        return match[0]

    return _PARTS.sub(quoted, text)


def _nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest


_BINARY: Final[dict[type[exp.Expr], str]] = {
    exp.And: "and",
    exp.Or: "or",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeNEQ: "is distinct from",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.DPipe: "||",
}
_UNARY: Final[dict[type[exp.Expr], str]] = {
    exp.Not: "not",
    exp.Neg: "negate",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
    exp.Abs: "abs",
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
}
_CASTS: Final[dict[exp.DType, Type]] = {
    exp.DType.VARCHAR: Type.STRING,
    exp.DType.TEXT: Type.STRING,
    exp.DType.INT: Type.INTEGER,
    exp.DType.BIGINT: Type.INTEGER,
    exp.DType.DOUBLE: Type.DOUBLE,
    exp.DType.DATE: Type.DATE,
    exp.DType.TIMESTAMP: Type.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: Type.INSTANT,
}
_MOMENTS: Final = {
    Type.DATE: re.compile(r"\d{4}-\d\d-\d\d"),
    Type.TIMESTAMP: re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?"),
    Type.INSTANT: re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})? ?[+-]\d\d:\d\d"),
}


class _Reader:
    """Converts the nodes of the language, and rejects all others."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._others: dict[type[exp.Expr], Callable[[exp.Expr], Node]] = {
            exp.Paren: lambda node: self.read(node.this),
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.Boolean: lambda node: Literal(str(bool(node.this)).lower(), Type.BOOLEAN),
            exp.Null: lambda _: Literal("", Type.NULL),
            exp.Is: self._is,
            exp.NullSafeEQ: lambda node: Call(
                "not", (self._call("is distinct from", node.this, node.expression),)
            ),
            exp.Between: lambda node: self._call(
                "between", node.this, node.args["low"], node.args["high"]
            ),
            exp.In: self._in,
            exp.Like: lambda node: self._like(node, ""),
            exp.Escape: self._escape,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Coalesce: lambda node: self._call("coalesce", node.this, *node.expressions),
            exp.Nullif: lambda node: self._call("nullif", node.this, node.expression),
            exp.Cast: self._cast,
            exp.Trim: self._trim,
            exp.Substring: self._substring,
            exp.Replace: lambda node: self._call(
                "replace", node.this, node.expression, node.args.get("replacement")
            ),
            exp.StartsWith: lambda node: self._call("starts_with", node.this, node.expression),
            exp.Concat: self._concat,
            exp.Extract: self._extract,
        }

    def read(self, node: exp.Expr) -> Node:
        """The converted node; raises `BadInput` for one that is not in the language."""
        kind = type(node)
        if kind in _BINARY:
            return self._call(_BINARY[kind], node.this, node.expression)
        if kind in _UNARY:
            return self._call(_UNARY[kind], node.this)
        if kind in self._others:
            return self._others[kind](node)
        raise self._refused(node)

    def _refused(self, node: exp.Expr) -> BadInput:
        shown = node.sql()[:60]
        if isinstance(node, exp.Query | exp.Subquery):
            return BadInput(
                f"`{shown}`: no queries; use `in lookup.NAME`, or a column", where=self._where
            )
        if isinstance(node, exp.Func):
            known = ", ".join(CALLED)
            return BadInput(f"`{shown}`: expected one of the functions {known}", where=self._where)
        return BadInput(f"`{shown}` is not part of expressions", where=self._where)

    def _only(self, node: exp.Expr, *known: str) -> None:
        """Rejects a node that has more parts than are converted."""
        more = [key for key, value in node.args.items() if value and key not in known]
        if more:
            raise self._refused(node)

    def _call(self, function: str, *arguments: exp.Expr | None) -> Node:
        """The call; None stands for an omitted argument."""
        given = (argument for argument in arguments if argument is not None)
        return Call(function, tuple(map(self.read, given)))

    def _column(self, node: exp.Expr) -> Node:
        self._only(node, "this")
        identifier = node.this
        if not isinstance(identifier, exp.Identifier) or not identifier.name:
            raise self._refused(node)
        if identifier.name.startswith(_USER):
            name = identifier.name.removeprefix(_USER)
            if name == GROUPS:
                raise BadInput("`$user.groups` stands behind `in` alone", where=self._where)
            return UserValue(name)
        return Column(identifier.name)

    def _literal(self, node: exp.Expr) -> Node:
        text = str(node.this)
        if node.is_string:
            return Literal(text, Type.STRING)
        if re.fullmatch(r"\d{1,18}", text):
            return Literal(text, Type.INTEGER)
        if re.fullmatch(r"\d{0,28}\.\d{1,10}", text):
            return Literal(text if text[0] != "." else f"0{text}", Type.DECIMAL)
        raise BadInput(f"`{text[:60]}`: expected an integer or a decimal", where=self._where)

    def _is(self, node: exp.Expr) -> Node:
        if not isinstance(node.expression, exp.Null):
            raise self._refused(node)
        return self._call("is null", node.this)

    def _in(self, node: exp.Expr) -> Node:
        self._only(node, "this", "expressions", "field")
        source = node.args.get("field")
        if source is None:
            return self._call("in", node.this, *node.expressions)
        if isinstance(source, exp.Column) and source.name == f"{_USER}{GROUPS}":
            return InGroups(self.read(node.this))
        if isinstance(source, exp.Column) and source.table == _LOOKUP:
            rows = node.this.unnest()
            parts = rows.expressions if isinstance(rows, exp.Tuple) else [rows]
            return InLookup(tuple(self.read(part) for part in parts), source.name)
        raise self._refused(node)

    def _like(self, node: exp.Expr, escape: str) -> Node:
        pattern = node.expression
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            raise BadInput("LIKE takes a pattern that is a constant", where=self._where)
        plain = _canonical_pattern(str(pattern.this), escape)
        if plain is None:
            raise BadInput(f"`{escape}` escapes nothing in the pattern", where=self._where)
        return Call("like", (self.read(node.this), Literal(plain, Type.STRING)))

    def _escape(self, node: exp.Expr) -> Node:
        sign = node.expression
        is_one = isinstance(sign, exp.Literal) and sign.is_string and len(str(sign.this)) == 1
        if not (is_one and isinstance(node.this, exp.Like)):
            raise self._refused(node)
        return self._like(node.this, str(sign.this))

    def _case(self, node: exp.Expr) -> Node:
        self._only(node, "ifs", "default")
        parts: list[Node] = []
        for branch in node.args["ifs"]:
            parts += [self.read(branch.this), self.read(branch.args["true"])]
        otherwise = node.args.get("default")
        parts.append(Literal("", Type.NULL) if otherwise is None else self.read(otherwise))
        return Call("case", tuple(parts))

    def _if(self, node: exp.Expr) -> Node:
        otherwise = node.args.get("false")
        last = Literal("", Type.NULL) if otherwise is None else self.read(otherwise)
        return Call("case", (self.read(node.this), self.read(node.args["true"]), last))

    def _cast(self, node: exp.Expr) -> Node:
        self._only(node, "this", "to", "_type")
        target = node.args["to"]
        type = _CASTS.get(target.this)
        if type is None or target.expressions:
            raise BadInput(
                f"`{node.sql()[:60]}`: expected a cast to {', '.join(sorted(set(_CASTS.values())))}"
                " without a length",
                where=self._where,
            )
        argument = self.read(node.this)
        if type in _MOMENTS and isinstance(argument, Literal) and argument.type is Type.STRING:
            if not (_MOMENTS[type].fullmatch(argument.text) and is_moment(argument.text)):
                raise BadInput(f"`{argument.text[:60]}` is not a {type}", where=self._where)
            return Literal(argument.text, type)
        return Cast(argument, type)

    def _trim(self, node: exp.Expr) -> Node:
        self._only(node, "this")
        return self._call("trim", node.this)

    def _substring(self, node: exp.Expr) -> Node:
        self._only(node, "this", "start", "length")
        return self._call("substr", node.this, node.args.get("start"), node.args.get("length"))

    def _concat(self, node: exp.Expr) -> Node:
        """`concat(a, b)` is `a || b`: NULL if one of them is NULL."""
        self._only(node, "expressions", "safe", "coalesce")
        parts: Sequence[Node] = [self.read(part) for part in node.expressions]
        if len(parts) < 2:
            raise self._refused(node)
        joined = parts[0]
        for part in parts[1:]:
            joined = Call("||", (joined, part))
        return joined

    def _extract(self, node: exp.Expr) -> Node:
        field = str(node.this).lower()
        if field not in ("year", "month", "day"):
            raise self._refused(node)
        return self._call(field, node.expression)


def _canonical_pattern(pattern: str, escape: str) -> str | None:
    """The pattern with `!` as its escape character; None if an `escape` escapes nothing.

    >>> _canonical_pattern("10#%_!", "#")
    '10!%_!!'
    """
    parts: list[str] = []
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            following = next(signs, "")
            if following not in ("%", "_", escape) or not following:
                return None
            parts.append(f"!{following}" if following in "%_!" else following)
        else:
            parts.append("!!" if sign == "!" else sign)
    return "".join(parts)
