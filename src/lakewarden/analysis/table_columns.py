"""Columns of tables: the stored ones, and those that a filter or a mask reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyroaring import BitMap

from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.statement import Effect, Statement

if TYPE_CHECKING:
    from lakewarden.expressions.parser import Expression
    from lakewarden.expressions.types import Type


def stored_columns(coded: Coded, table: int) -> frozenset[str]:
    """The stored columns of a table, if their names contain the table's name; else none."""
    types = coded.model.types
    below = map(coded.tree.entity, coded.tree.below(BitMap([table])) & coded.tree.stored)
    names = (coded.spelling.parts(entity) for entity in below if types[entity.type].masked)
    return frozenset(parts[-1] for parts in names if len(parts) > 1)


def missing_columns(coded: Coded, table: int, read: frozenset[str]) -> list[str]:
    """The columns that are read but missing in a table with stored columns, in order.

    A column whose name no entity can have is not missing, since it could not be stored.
    """
    known = stored_columns(coded, table)
    if not known:
        return []
    return sorted(name for name in read - known if _can_be_stored(coded, table, name))


def _can_be_stored(coded: Coded, table: int, name: str) -> bool:
    of = coded.tree.entity(table)
    for type, declared in coded.model.types.items():
        if declared.masked and of.type in declared.parents:
            try:
                parsed = coded.spelling.parse(type, f"{of.name}.{name}")
            except WardenError:
                return False
            return coded.spelling.parent(parsed) == of
    return False


def columns_read(statement: Statement) -> frozenset[str]:
    """The columns that the expression reads. Raises `BadInput` if it cannot be parsed."""
    expression = expression_of(statement)
    return frozenset() if expression is None else expression.columns


def expression_problem(
    statement: Statement, lookups: Mapping[str, Sequence[Type]], engines: Sequence[str]
) -> str:
    """Why the expression cannot be evaluated with the lookup tables, on the engines; "" if it can.

    `lookups` are the types of the columns of each. Raises `BadInput` if it cannot be parsed.
    """
    expression = expression_of(statement)
    if expression is None:
        return ""
    from lakewarden.expressions.checker import Table, check_expression

    try:
        check_expression(expression, Table(None, lookups), result=None, engines=engines)
    except BadInput as error:
        return error.message
    return ""


def expression_of(statement: Statement, where: str = "") -> Expression | None:
    """The expression of a filter or a mask; None for a mask without one.

    Raises `BadInput` if it cannot be parsed; `where` is the field that it is from.
    """
    # Imported here: the SQL parser takes a while to load, and few processes need it.
    from lakewarden.expressions.masks import parse_mask
    from lakewarden.expressions.parser import parse_expression

    if statement.effect is Effect.FILTER:
        return parse_expression(statement.expression, where)
    return parse_mask(statement.expression, where).expression
