"""Filters and masks before they are stored: what they say has to be in the expression language.

What a table's columns are is not known here: an engine that is asked about a column that does not
exist denies the read.
"""

from __future__ import annotations

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement import Effect, Statement


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
