"""The types of an expression over the columns of a table, and what an engine does not support."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from lakewarden.expressions.engines import REFUSED, check_engine
from lakewarden.expressions.functions import FUNCTIONS, STRING, TRUTH, Function
from lakewarden.expressions.nodes import (
    Call,
    Cast,
    Column,
    InGroups,
    InLookup,
    Literal,
    Node,
    UserValue,
    walk,
)
from lakewarden.expressions.parser import Expression
from lakewarden.expressions.types import NUMBERS, Type
from lakewarden.kernel.errors import BadInput

CASTS: Final = {
    Type.INTEGER: frozenset({Type.STRING, Type.DOUBLE}),
    Type.DECIMAL: frozenset({Type.DOUBLE}),
    Type.DATE: frozenset({Type.STRING, Type.TIMESTAMP}),
    Type.TIMESTAMP: frozenset({Type.DATE}),
    Type.STRING: frozenset(),
}
"""Casts with the same result on every engine, by the type that is converted."""

CONSTANT_CASTS: Final = frozenset({Type.INTEGER, Type.DATE})
"""Target types for constants and user values: these are converted before the query runs."""


@dataclass(frozen=True, slots=True)
class Table:
    """The table against which an expression is checked.

    `columns` are the types of the columns by name, None if they are unknown; `lookups` the
    types of the columns of each lookup table.
    """

    columns: Mapping[str, Type] | None
    lookups: Mapping[str, Sequence[Type]] = field(default_factory=dict)

    def column(self, name: str) -> Type:
        """The type of a column. Raises `BadInput` if it does not exist."""
        if self.columns is None:
            return Type.NULL
        if name not in self.columns:
            near = get_close_matches(name, self.columns, 1)
            hint = f"; did you mean `{near[0]}`" if near else ""
            raise BadInput(f"the table has no column `{name}`{hint}")
        return self.columns[name]


def check_expression(
    expression: Expression,
    table: Table,
    *,
    result: Type | None = Type.BOOLEAN,
    engines: Iterable[str] = (),
    where: str = "",
) -> Type:
    """The type of the expression. `result` is the type that it must have, None for any.

    Raises `BadInput` if a column or lookup table does not exist, a type does not fit, or one of
    the `engines` does not support it. Unknown columns fit everywhere, like NULL.
    """
    try:
        type = type_of(expression.root, table)
        if result is not None and type not in (result, Type.NULL):
            raise BadInput(f"expected a value of type {result}, got {type}")
        for engine in engines:
            _check_engine(expression, table, engine)
    except BadInput as error:
        raise BadInput(error.message, where=where) from None
    return type


def _check_engine(expression: Expression, table: Table, engine: str) -> None:
    check_engine(engine)
    for node in walk(expression.root):
        names = {node.function} if isinstance(node, Call) else set[str]()
        if isinstance(node, Column):
            names.add(table.column(node.name))
        elif isinstance(node, Cast | Literal):
            names.add(node.type)
        for name in sorted(names):
            if (name, engine) in REFUSED:
                raise BadInput(f"{engine} cannot say `{name}`: {REFUSED[name, engine]}")


def type_of(node: Node, table: Table) -> Type:
    """The type of a node. Raises `BadInput` if a type does not fit."""
    match node:
        case Column(name):
            return table.column(name)
        case UserValue():
            return Type.STRING
        case Literal(type=type):
            return type
        case Cast(argument, type):
            return _cast(argument, type_of(argument, table), type)
        case InGroups(argument):
            _expect(type_of(argument, table), STRING, "x in $user.groups")
            return Type.BOOLEAN
        case InLookup(arguments, lookup):
            return _in_lookup(arguments, lookup, table)
        case Call("case", arguments):
            return _case(arguments, table)
        case Call(function, arguments):
            return _call(function, arguments, table)


def _cast(argument: Node, source: Type, target: Type) -> Type:
    is_constant = isinstance(argument, UserValue | Literal) and source is Type.STRING
    if is_constant and target in CONSTANT_CASTS:
        return target
    if source not in (target, Type.NULL) and target not in CASTS.get(source, ()):
        raise BadInput(f"engines do not agree on the cast of a {source} to a {target}")
    return target


def _in_lookup(arguments: Sequence[Node], lookup: str, table: Table) -> Type:
    if lookup not in table.lookups:
        known = ", ".join(sorted(table.lookups)) or "none is declared"
        raise BadInput(f"unknown lookup table `{lookup}`; known: {known}")
    types = table.lookups[lookup]
    if len(types) != len(arguments):
        raise BadInput(f"`lookup.{lookup}` has {len(types)} columns, got {len(arguments)} values")
    for argument, type in zip(arguments, types, strict=True):
        _expect(type_of(argument, table), frozenset({type}), f"lookup.{lookup}")
    return Type.BOOLEAN


def _case(arguments: Sequence[Node], table: Table) -> Type:
    for condition in arguments[:-1:2]:
        _expect(type_of(condition, table), TRUTH, "CASE WHEN")
    values = [*arguments[1:-1:2], arguments[-1]]
    return _common([type_of(value, table) for value in values], "CASE")


def _call(function: str, arguments: Sequence[Node], table: Table) -> Type:
    declared = FUNCTIONS[function]
    _check_count(declared, len(arguments))
    types = [type_of(argument, table) for argument in arguments]
    for place, (argument, type) in enumerate(zip(arguments, types, strict=True)):
        _expect(type, declared.takes[min(place, len(declared.takes) - 1)], declared.title)
        if place in declared.literal:
            _check_constant(function, place, argument)
    common = _common(types, declared.title) if declared.is_uniform else None
    return common if declared.result is None and common is not None else _result(declared)


def _result(declared: Function) -> Type:
    return Type.OTHER if declared.result is None else declared.result


def _check_count(declared: Function, count: int) -> None:
    fewest = declared.fewest or len(declared.takes)
    most = count if declared.is_variadic else len(declared.takes)
    if not fewest <= count <= most:
        raise BadInput(f"expected `{declared.title}`, got {count} arguments")


def _check_constant(function: str, place: int, argument: Node) -> None:
    title = FUNCTIONS[function].title
    if not isinstance(argument, Literal) or argument.type is Type.NULL:
        raise BadInput(f"`{title}` takes a constant as argument {place + 1}")
    if function == "substr" and place == 1 and int(argument.text) < 1:
        raise BadInput(f"`{title}` counts from 1")
    if function == "replace" and place == 1 and not argument.text:
        raise BadInput(f"`{title}` takes a text that is not empty")


def _expect(type: Type, takes: frozenset[Type], title: str) -> None:
    if type is not Type.NULL and type not in takes:
        raise BadInput(f"`{title}` takes {' or '.join(sorted(takes))}, got {type}")


def _common(types: Iterable[Type], title: str) -> Type:
    """The common type of all; an integer with a decimal or a double gives the latter."""
    kinds = set(types) - {Type.NULL}
    if len(kinds) == 2 and Type.INTEGER in kinds and kinds <= NUMBERS:
        kinds -= {Type.INTEGER}
    if len(kinds) > 1:
        names = " and ".join(sorted(kinds))
        raise BadInput(f"`{title}` takes values of one type, got {names}; use a cast")
    return kinds.pop() if kinds else Type.NULL
