"""Filters and masks before they are stored: what they say has to be in the expression language.

Columns are looked for where those of the table are stored. Elsewhere the engine knows them: one
that is asked about a column that does not exist denies the read.
"""

from __future__ import annotations

from difflib import get_close_matches

from lakewarden.analysis.table_columns import columns_read, missing_columns, stored_columns
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.statement import Effect, On, Statement


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
    # Here, because the library that reads SQL takes a while to load, and few processes need it.
    from lakewarden.expressions.masks import parse_mask
    from lakewarden.expressions.parser import Expression, parse_expression

    if statement.effect is Effect.FILTER:
        expression: Expression | None = parse_expression(statement.expression, where)
    else:
        expression = parse_mask(statement.expression, where).expression
    if expression is None:
        return
    if expression.lookups:
        raise BadInput(f"no lookup table `{min(expression.lookups)}` is declared", where=where)


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
