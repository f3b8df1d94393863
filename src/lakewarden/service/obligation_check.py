"""Filters and masks before they are stored: what they say has to be in the expression language.

Columns are looked for where those of the table are stored. Elsewhere the engine knows them: one
that is asked about a column that does not exist denies the read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from lakewarden.analysis.table_columns import (
    columns_read,
    expression_of,
    missing_columns,
    stored_columns,
)
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.statement import Effect, On, Statement

LOOKUP: Final = "lookup"
"""What stands before the name of a lookup table."""


def check_obligation(statement: Statement, where: str) -> None:
    """Refuses a filter or a mask whose expression cannot be read. Raises `BadInput`.

    `where` is the place of the statement. An id must not be a URN: systems that keep policies
    under their URNs would take it for a policy.
    """
    if not statement.obliges:
        return
    if statement.id.startswith("urn:"):
        raise BadInput(
            f"the id `{statement.id}` of a filter or a mask must not be a URN", where=where
        )
    where = f"{where}.expression"
    if not statement.expression:
        raise BadInput("expected an expression", where=where)
    expression_of(statement, where)


def check_types(statement: Statement, lookups: Mapping[str, Sequence[Type]], where: str) -> None:
    """Refuses a filter or a mask with a value of another type than is asked there.

    `lookups` are the types of the columns of each lookup table; one that is not declared is
    refused. `where` is the place of the statement. Raises `BadInput`.
    """
    if not statement.obliges:
        return
    expression = expression_of(statement)
    if expression is None:
        return
    # Here, because the library that reads SQL takes a while to load, and few processes need it.
    from lakewarden.expressions.checker import Table, check_expression

    result = Type.BOOLEAN if statement.effect is Effect.FILTER else None
    where = f"{where}.expression"
    check_expression(expression, Table(None, lookups), result=result, where=where)


def newly_broken(
    statements: Iterable[Statement],
    before: Mapping[str, Sequence[Type]],
    after: Mapping[str, Sequence[Type]],
) -> list[str]:
    """The ids of those that can be evaluated with the lookup tables of before, and not of after."""
    gone = {name for name, types in before.items() if after.get(name) != types}
    using = (one for one in statements if lookups_read(one) & gone)
    return sorted(one.id for one in using if _fits(one, before) and not _fits(one, after))


def lookups_read(statement: Statement) -> frozenset[str]:
    """The lookup tables that a filter or a mask reads; none where it cannot be read."""
    if not statement.obliges or LOOKUP not in statement.expression.lower():
        return frozenset()
    try:
        expression = expression_of(statement)
    except BadInput:
        return frozenset()
    return frozenset() if expression is None else expression.lookups


def _fits(statement: Statement, lookups: Mapping[str, Sequence[Type]]) -> bool:
    try:
        check_types(statement, lookups, "")
    except BadInput:
        return False
    return True


def check_columns(statement: Statement, coded: Coded, where: str) -> None:
    """Refuses a filter or a mask on a table whose stored columns lack one that it reads.

    `where` is the place of the statement. Raises `BadInput`; the expression has to be readable.
    """
    if not statement.obliges or not isinstance(statement.scope, On):
        return
    at = (statement.scope.entity, *coded.ancestors(statement.scope.entity))
    types = coded.model.types
    tables = (e for e in at if e.type in types and types[e.type].filtered)
    table = next((coded.tree.find(entity) for entity in tables), None)
    if table is None:
        return
    for name in missing_columns(coded, table, columns_read(statement)):
        near = get_close_matches(name, stored_columns(coded, table), 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise BadInput(f"the table has no column `{name}`{hint}", where=f"{where}.expression")
