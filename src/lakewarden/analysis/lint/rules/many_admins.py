"""`many-admins`: a role that administers, held by many."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, who
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ROLE
from lakewarden.kernel.statement import Effect

MANY = 10
"""More users than this with one such role are many."""


def _ships_roles(model: Model) -> bool:
    return bool(model.roles)


def _find(context: LintContext) -> Iterator[Found]:
    for id in sorted(context.memberships.members):
        role = context.principal(id)
        alone = frozenset({id})
        granting = sorted(context.meaning.granting)
        if role.kind != ROLE or not any(
            context.reach(Effect.ALLOW, name, alone) for name in granting
        ):
            continue
        users = context.users_of(id)
        if len(users) > MANY:
            yield Found(
                who(role),
                f"administers, and {len(users):,} users hold it:"
                f" {some(context.principal(user).name for user in users)}",
                "leave it to those who operate the platform",
            )


RULE = Rule(
    id="many-admins",
    title=f"A role that administers, held by more than {MANY} users",
    severity=Severity.NOTE,
    why="Whoever holds Admin sees and changes everything, whatever the policies say.",
    mend="Reserve it for platform operators; a policy can give the others what they need.",
    source="DataHub documentation, Policies Guide: roles and VBAC, reserve the Admin role",
    find=_find,
    applies=_ships_roles,
    misses="Whoever was given the same by a policy; see `may-grant`.",
)
