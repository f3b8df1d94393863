"""Wanted roles, divided so that few users are members of few roles.

Roles made of rows have one role for each set of users: a user with five roles in the realm may be a
member of hundreds of these, one for each way in which sets of roles meet on an object. Memberships
can be expensive: MariaDB computes all rights of a user anew for each. For such engines, a set of
users is composed of the users of roles and groups of the realm, and of single users, as long as
all of them have the grants.

INVARIANT: each user keeps exactly the same grants. A role of the realm is only a candidate: it is
used only if all of its users hold the grant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.kernel.principal import USER
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.grants import Grant, Role
from lakewarden.service.state import RealmState

_MOST_PARTS: Final = 16
"""The most roles of the realm and single users that make up one set of users."""

_GRANTS_FOR_A_MEMBER: Final = 16
"""The number of additional grants that may replace one membership."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The users of a role or group of the realm."""

    name: str
    users: frozenset[str]


def divide_roles(realm: RealmState, desired: DesiredRoles) -> DesiredRoles:
    """The same grants for each user, in roles composed of roles and groups of the realm.

    Roles with row policies or masking views stay as they are.
    """
    parts_by_user = _parts_by_user(realm, desired)
    roles: list[Role] = []
    grants: dict[frozenset[str], set[Grant]] = {}
    for role in desired.roles:
        if role.policies or role.views:
            roles.append(role)
            continue
        for users in _cover(role, parts_by_user):
            grants.setdefault(users, set()).update(role.grants)
    roles += (Role(users, frozenset(given)) for users, given in grants.items())
    return replace(desired, roles=tuple(roles))


def _parts_by_user(realm: RealmState, desired: DesiredRoles) -> Mapping[str, Sequence[_Part]]:
    """The roles and groups of each user; only one of several with the same users.

    COST: one step for each user of each role or group.
    """
    memberships = realm.matrix.snapshot.coded.memberships
    principals = memberships.principals
    parts: dict[frozenset[str], _Part] = {}
    for id, principal in enumerate(principals):
        if principal.kind == USER:
            continue
        acting = (principals[one] for one in memberships.acting_as(id))
        users = frozenset(desired.users[one] for one in acting if one in desired.users)
        if len(users) > 1:
            parts.setdefault(users, _Part(f"{principal.kind}:{principal.name}", users))
    found: dict[str, list[_Part]] = {}
    for part in parts.values():
        for user in part.users:
            found.setdefault(user, []).append(part)
    return found


def _cover(role: Role, parts_by_user: Mapping[str, Sequence[_Part]]) -> Iterator[frozenset[str]]:
    """Sets of users that together make up the role's users, or just the role's own if cheaper."""
    counts: Counter[_Part] = Counter()
    for user in role.members:
        counts.update(parts_by_user.get(user, ()))
    inside = [part for part, count in counts.items() if count == len(part.users)]
    chosen: list[frozenset[str]] = []
    left = role.members
    while inside and left and len(chosen) < _MOST_PARTS:
        best = max(inside, key=lambda one: (len(one.users & left), -len(one.users), one.name))
        if len(best.users & left) <= 1:
            break
        chosen.append(best.users)
        left = left - best.users
    if len(left) <= _MOST_PARTS - len(chosen):
        chosen += (frozenset((user,)) for user in sorted(left))
        left = frozenset()
    more = len(chosen) - 1 + bool(left)
    if not chosen or more * len(role.grants) > _GRANTS_FOR_A_MEMBER * len(role.members - left):
        yield role.members
        return
    yield from chosen
    if left:
        yield left
