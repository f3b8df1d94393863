"""`everyone-may-write`: something that everybody may change."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, IMPLIED, Principal
from lakewarden.kernel.statement import Effect

_MEMBERS = "members:"


def _find(context: LintContext) -> Iterator[Found]:
    changing = context.meaning.changing
    for statement in context.in_force:
        if statement.effect is not Effect.ALLOW or not any(map(_is_all, statement.principals)):
            continue
        opens = sorted(context.privileges(statement) & changing)
        if opens and statement.constraint is None:
            yield Found(
                at(statement),
                f"lets everybody change things: {some(opens)}",
                "name the groups that need it; leave everybody what only shows",
            )


def _is_all(principal: Principal) -> bool:
    is_members = principal.kind == IMPLIED and principal.name.startswith(_MEMBERS)
    return principal in (ALL_USERS, ANY_GROUP) or is_members


RULE = Rule(
    id="everyone-may-write",
    title="A privilege to change something that everybody has",
    severity=Severity.WARNING,
    why=(
        "All users, all groups and all members of a metalake are everybody who logs in: trainees,"
        " contractors, whoever registers next."
    ),
    mend="Give it to groups.",
    source="DataHub documentation, Policies Guide: default policies can and should be altered",
    find=_find,
    misses="Groups that everybody is in. Statements with a constraint.",
)
