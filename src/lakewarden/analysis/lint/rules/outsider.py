"""`outsider`: whoever holds a role and is no member of what it is about."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, who
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ROLE, members_of


def _has_members(model: Model) -> bool:
    return bool(model.membership_types)


def _find(context: LintContext) -> Iterator[Found]:
    memberships = context.memberships
    roles = (id for id in memberships.members if context.principal(id).kind == ROLE)
    for id in sorted(roles):
        principal = context.principal(id)
        container = principal.name.partition(":")[0]
        gate = memberships.ids.get(members_of(container))
        known = any(context.is_stored(Entity(t, container)) for t in context.model.membership_types)
        if gate is None or not known:
            continue
        holders = context.users_of(id)
        outside = holders - context.users_of(gate)
        if outside:
            names = (context.principal(user).name for user in sorted(outside))
            # A group may well hold a role for those few of its people who are users there.
            direct = outside & BitMap(memberships.members[id])
            yield Found(
                who(principal),
                f"is held by {some(names)}, who {'is' if len(outside) == 1 else 'are'} not in"
                f" `{container}` and refused whatever they hold",
                f"add them to `{container}`, or take the role away",
                Severity.WARNING if direct or outside == holders else Severity.NOTE,
            )


RULE = Rule(
    id="outsider",
    title="Somebody who holds a role and is no user of its metalake",
    severity=Severity.WARNING,
    why="Membership stands in front of every operation: without it no privilege counts.",
    mend="Add the user to the metalake, or take the role away.",
    source="Apache Gravitino 1.1.0, access control page: users are added to a metalake",
    find=_find,
    applies=_has_members,
    misses="Groups of which some are users there; for the others it is a note.",
)
