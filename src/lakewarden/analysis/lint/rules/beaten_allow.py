"""`beaten-allow`: an ALLOW that a DENY to the same one beats everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, words
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import Effect


def denies(model: Model) -> bool:
    """The rule speaks about systems that have DENY."""
    return model.denies


def _find(context: LintContext) -> Iterator[Found]:
    beaten: dict[str, set[str]] = {}
    for statement, (privilege, grant) in context.bears(Effect.ALLOW):
        stored = context.stored(grant)
        if not stored or not grant.principals or not context.table.denies(privilege).every:
            continue
        if all(
            stored <= context.reach(Effect.DENY, privilege, context.acts_as(principal))
            for principal in grant.principals
        ):
            beaten.setdefault(statement.id, set()).add(privilege)
    for statement in context.in_force:
        if statement.id in beaten:
            names = words(beaten[statement.id])
            yield Found(
                at(statement),
                f"allows {names}, which a DENY to the same takes away everywhere",
                f"delete the ALLOW of {names}, or the DENY that beats it",
            )


RULE = Rule(
    id="beaten-allow",
    title="An ALLOW that is always beaten by a DENY",
    severity=Severity.WARNING,
    why="A DENY wins at any level. The ALLOW reads as if it opened something, and opens nothing.",
    mend="Delete one of the two.",
    source="Apache Gravitino 1.1.0, access control page: deny takes precedence",
    find=_find,
    applies=denies,
    misses="DENYs that reach only some of those whom the ALLOW is for.",
)
