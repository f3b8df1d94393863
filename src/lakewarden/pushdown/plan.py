"""The steps from the held roles to the wanted ones, in an order that never opens more.

First everything unwanted is revoked, then members are added, then grants: a new member gets what
is left of a role, which is wanted for them, and new grants go to members who should have them. So
a target that stops in between allows no more than the old or the new state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from lakewarden.pushdown.grants import COLUMN, GRANTABLE, Grant, MaskingView, Role, Roles, RowPolicy
from lakewarden.pushdown.statement import Statement
from lakewarden.service.push import PushPlan

_NAME_DIGITS: Final = 16
_NOBODY: Final[frozenset[str]] = frozenset()
NOTHING: Final = Roles()
NO_ROLES: Final[Mapping[str, Role]] = {}


class Act(StrEnum):
    """The action of a step."""

    REVOKE_MEMBER = "revoke member"
    REVOKE = "revoke"
    DROP_VIEW = "drop view"
    DROP_POLICY = "drop policy"
    DROP_ROLE = "drop role"
    CREATE_ROLE = "create role"
    ADD_POLICY = "add policy"
    ADD_VIEW = "add view"
    ADD_MEMBER = "add member"
    GRANT = "grant"
    REVOKE_FOREIGN = "revoke grant of others"


class Step(NamedTuple):
    """One change of a role: of itself, a member, a grant, a row policy or a masking view.

    A tuple, because a plan has hundreds of thousands, and tuples are created twice as fast.
    """

    act: Act
    role: str
    member: str = ""
    grant: Grant | None = None
    policy: RowPolicy | None = None
    view: MaskingView | None = None


def named(
    desired: Iterable[Role],
    held: Roles,
    pushed: Roles,
    prefix: str,
    fixed: Mapping[str, Role] = NO_ROLES,
    others: Collection[str] = (),
    tag: str = "",
) -> Roles:
    """The wanted roles with names: pushed or held roles keep theirs.

    A role gets the name of an identical role, otherwise of one with the same members, otherwise of
    one with the same grants. A new name begins with the prefix and the tag, followed by a digest
    of the role. No role gets a name of the `others`. The `fixed` roles already have names.
    """
    orders = {role: _order(role) for role in desired if not role.is_empty}
    roles = sorted(orders, key=orders.__getitem__)
    known = {**held.roles, **pushed.roles}
    free = {
        name: role
        for name, role in sorted(known.items())
        if name not in fixed and name.startswith(prefix) and name not in others
    }
    names: dict[Role, str] = {}
    for alike in (_whole, _members, _grants):
        by_key: dict[object, list[str]] = {}
        for name, role in reversed(free.items()):
            by_key.setdefault(alike(role), []).append(name)
        for role in roles if by_key else ():
            candidates = by_key.get(alike(role))
            if candidates and role not in names:
                names[role] = candidates.pop()
                del free[names[role]]
    taken = {*known, *others}
    for role in roles:
        if role not in names:
            names[role] = _new_name(orders[role], prefix, tag, taken)
            taken.add(names[role])
    return Roles({**fixed, **{name: role for role, name in names.items()}})


def _whole(role: Role) -> object:
    return role


def _members(role: Role) -> object:
    return role.members


def _grants(role: Role) -> object:
    return role.grants, role.policies, role.views


def _order(role: Role) -> list[str]:
    return [*sorted(role.members), "", *map(str, sorted(role.grants))]


def _new_name(order: Sequence[str], prefix: str, tag: str, taken: set[str]) -> str:
    number = 0
    while True:
        digest = sha256(msgspec.json.encode([order, number])).hexdigest()
        name = f"{prefix}{tag}{digest[: _NAME_DIGITS - len(tag)]}"
        if name not in taken:
            return name
        number += 1


def replaced(irrevocable: Roles, desired: Roles) -> Roles:
    """The roles that are dropped as a whole, and recreated if they are wanted.

    `irrevocable` has the members and grants of held roles that the account cannot revoke. They only
    matter if they are not wanted.
    """
    return Roles(
        {
            name: role
            for name, role in irrevocable.roles.items()
            for after in (desired.roles.get(name, Role(_NOBODY)),)
            if role.members - after.members or role.grants - after.grants
        }
    )


def steps(held: Roles, desired: Roles, recreated: Roles = NOTHING) -> Iterator[Step]:
    """The steps in their order of execution.

    Roles in `recreated` are dropped with what cannot be revoked: see `replaced`. Everything else is
    revoked from them first, because such a role may stay if another object depends on it.
    """
    before = {name: role for name, role in held.roles.items() if name not in recreated.roles}
    after = desired.roles
    for name, role in sorted(held.roles.items()):
        irrevocable = recreated.roles.get(name)
        if irrevocable is None:
            yield from _removal_steps(name, role, after.get(name, Role(_NOBODY)))
        else:
            yield from _removal_steps(name, role, irrevocable)
    for name in sorted(held.roles):
        if name not in before or name not in after:
            yield Step(Act.DROP_ROLE, name)
    for name in sorted(after):
        if name not in before:
            yield Step(Act.CREATE_ROLE, name)
    for part in (_policies, _views, _joined, _granted):
        for name in sorted(after):
            yield from part(name, before.get(name, Role(frozenset())), after[name])


def _removal_steps(name: str, before: Role, after: Role) -> Iterator[Step]:
    """A row policy goes last: while there are rights on the table, it limits them.

    The role may not read a view's table before the view is dropped, or afterwards.
    """
    for member in sorted(before.members - after.members):
        yield Step(Act.REVOKE_MEMBER, name, member=member)
    for grant in sorted(before.grants - after.grants, key=_by_privilege):
        yield Step(Act.REVOKE, name, grant=grant)
    for view in sorted(before.views - after.views):
        yield Step(Act.DROP_VIEW, name, view=view)
    for policy in sorted(before.policies - after.policies):
        yield Step(Act.DROP_POLICY, name, policy=policy)


def _policies(name: str, before: Role, after: Role) -> Iterator[Step]:
    for policy in sorted(after.policies - before.policies):
        yield Step(Act.ADD_POLICY, name, policy=policy)


def _views(name: str, before: Role, after: Role) -> Iterator[Step]:
    """Adding a view includes the right of the role to read it."""
    for view in sorted(after.views - before.views):
        yield Step(Act.ADD_VIEW, name, view=view)


def _joined(name: str, before: Role, after: Role) -> Iterator[Step]:
    for member in sorted(after.members - before.members):
        yield Step(Act.ADD_MEMBER, name, member=member)


def _granted(name: str, before: Role, after: Role) -> Iterator[Step]:
    """Grants again on columns: a REVOKE on a table also revokes the privilege on its columns."""
    gone = before.grants - after.grants
    lost = {(one.path, one.privilege.removesuffix(GRANTABLE)) for one in gone}
    again = {
        one
        for one in after.grants
        if one.level == COLUMN and (one.path[:-1], one.privilege) in lost
    }
    for grant in sorted((after.grants - before.grants) | again, key=_by_privilege):
        yield Step(Act.GRANT, name, grant=grant)


def _by_privilege(grant: Grant) -> tuple[object, ...]:
    """Sorts grants of one privilege on one kind of object next to each other."""
    return grant.privilege, len(grant.path), grant.path


@dataclass(frozen=True, slots=True)
class AccessChange:
    """Users who gain or lose a privilege, and the number of objects."""

    gained: bool
    privilege: str
    users: tuple[str, ...]
    objects: int
    example: tuple[str, ...]


def access_changes(held: Roles, desired: Roles) -> list[AccessChange]:
    """The effect of a plan on users; changes for the same users and privilege are combined."""
    before, after = ({**one.holders(), **one.readers()} for one in (held, desired))
    return holder_changes(before, after)


def holder_changes(
    before: Mapping[Grant, frozenset[str]], after: Mapping[Grant, frozenset[str]]
) -> list[AccessChange]:
    """The same, computed from the holders of each grant."""
    alike: dict[tuple[bool, str, frozenset[str]], list[Grant]] = {}
    for grant in {*before, *after}:
        had, has = before.get(grant, _NOBODY), after.get(grant, _NOBODY)
        for gained, users in ((True, has - had), (False, had - has)):
            if users:
                alike.setdefault((gained, grant.privilege, users), []).append(grant)
    changes = (
        AccessChange(gained, privilege, tuple(sorted(users)), len(grants), min(grants).path)
        for (gained, privilege, users), grants in alike.items()
    )
    return sorted(changes, key=lambda one: (not one.gained, one.privilege, one.users, one.example))


def counted(acts: Iterable[StrEnum]) -> Mapping[str, int]:
    """The number of steps of each kind, in the order of the first of each."""
    return dict(Counter(act.value for act in acts))


FORMAT: Final = "lakewarden push plan 1"


class PlanInTable(PushPlan, Protocol):
    """What the table of a plan shows of a plan of any kind."""

    @property
    def statements(self) -> Sequence[Statement]: ...

    @property
    def access(self) -> Sequence[AccessChange]: ...


def plan_table(
    made: PlanInTable, acts: Iterable[StrEnum], adopted: Iterable[tuple[str, Grant]]
) -> dict[str, Any]:
    """A plan as JSON values; `acts` are those of its steps, `adopted` the grants it revokes."""
    return {
        "format": FORMAT,
        "target": made.target.name,
        "realm": made.target.realm,
        "revision": made.revision,
        "digest": made.digest,
        "steps": counted(acts),
        "script": [one.table() for one in made.statements],
        "unfinished": bool(made.target.journal),
        "adopted": [
            {"grantee": grantee, "path": list(grant.path), "privilege": grant.privilege}
            for grantee, grant in adopted
        ],
        "access": [msgspec.to_builtins(change) for change in made.access],
        "residue": {
            "count": made.residues.count,
            "rows": [msgspec.to_builtins(residue) for residue in made.residues],
        },
    }
