"""`may-grant`: whoever may hand out privileges may hand them out to himself."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some, words
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import Effect


def _grants(model: Model) -> bool:
    return model.granting is not None


def _find(context: LintContext) -> Iterator[Found]:
    granting = context.meaning.granting
    for statement in context.in_force:
        named = context.privileges(statement) & granting
        if statement.effect is not Effect.ALLOW or not named or not statement.principals:
            continue
        ids = {context.memberships.ids[principal] for principal in statement.principals}
        users = frozenset[int]().union(*map(context.users_of, ids))
        if users:
            people = (context.principal(user).name for user in sorted(users))
            yield Found(
                at(statement),
                f"allows {words(named)}: {some(people)} may give anything to anybody, themselves"
                " included",
                "leave it to owners and administrators, and let others ask them",
            )


RULE = Rule(
    id="may-grant",
    title="A privilege with which its holders can give themselves everything",
    severity=Severity.WARNING,
    why="Whoever hands out roles or writes policies is, in effect, an administrator of it all.",
    mend="Leave it to the few who administer, and review them as such.",
    source="DataHub Policies Guide: Manage Policies; Gravitino 1.1.0: MANAGE_GRANTS",
    find=_find,
    applies=_grants,
    misses="Statements and roles that the system ships; who holds those is not looked at.",
)
