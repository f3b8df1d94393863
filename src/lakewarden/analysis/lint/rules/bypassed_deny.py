"""`bypassed-deny`: a DENY beside which another privilege stays open that does the same."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, union
from lakewarden.analysis.lint.rules.beaten_allow import denies
from lakewarden.kernel.statement import Effect


def _find(context: LintContext) -> Iterator[Found]:
    for statement, (privilege, grant) in context.bears(Effect.DENY):
        types = context.meaning.companions(privilege)
        ids = context.stored(grant) & union(context.snapshot.of_type(type) for type in types)
        if not ids or not grant.principals:
            continue
        for other in sorted(context.meaning.stand_ins(privilege)):
            if all(_keeps(context, other, one, ids) for one in grant.principals):
                yield Found(
                    at(statement),
                    f"denies {privilege}, but {other} stays allowed there and opens the same",
                    f"deny {other} as well, or take its ALLOW away",
                )


def _keeps(context: LintContext, privilege: str, principal: int, ids: BitMap) -> bool:
    """Whether the principal itself is allowed the privilege on all of it, and denied it nowhere."""
    roles = context.acts_as(principal)
    allowed = context.reach(Effect.ALLOW, privilege, roles)
    return ids <= allowed and ids.isdisjoint(context.reach(Effect.DENY, privilege, roles))


RULE = Rule(
    id="bypassed-deny",
    title="A DENY that closes nothing, because another privilege opens the same",
    severity=Severity.WARNING,
    why=(
        "Operations that take either of two privileges are closed only when both are denied:"
        " MODIFY_TABLE reads a table, too, and a DENY of SELECT_TABLE leaves it as it is."
    ),
    mend="Deny the other privilege, too, or take its ALLOW away.",
    source="Apache Gravitino 1.1.0, access control page: required conditions for loading a table",
    find=_find,
    applies=denies,
    misses="The other privilege when it comes from a further role of the one who is denied.",
)
