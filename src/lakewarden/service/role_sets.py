"""Users whom no statement tells apart: those who act as the same of the principals that are named.

What decides for one of them decides for all, but for what they own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakewarden.kernel.facts import IMPLIED_ID
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import IMPLIED, USER, Principal
from lakewarden.service.cancellation import checked


@dataclass(frozen=True, slots=True)
class RoleSet:
    """Users who act as the same; `principals` are those of it that statements name, in order.

    A user whom a statement names is alone, and among its `principals`.
    """

    principals: tuple[Principal, ...]
    users: tuple[Principal, ...]


def role_sets(matrix: Matrix, users: Iterable[Principal] | None = None) -> list[RoleSet]:
    """The role sets of some users, or of all that are stored; the largest first.

    Principals that only follow from other facts are not told, though they tell users apart.
    """
    memberships = matrix.snapshot.coded.memberships
    named: set[int] = set()
    told: set[int] = set()
    for statement in matrix.snapshot.table.statements.values():
        ids = {memberships.ids[one] for one in statement.principals if one in memberships.ids}
        named |= ids
        if not statement.id.startswith(IMPLIED_ID):
            told |= ids
    if users is None:
        everybody = (memberships.principals[id] for id in memberships.stored)
        users = (one for one in everybody if one.kind == USER)
    sets: dict[frozenset[int], list[Principal]] = {}
    for user in checked(users):
        sets.setdefault(memberships.acts_as(user) & named, []).append(user)
    found = [
        RoleSet(
            tuple(
                sorted(
                    one
                    for one in (memberships.principals[id] for id in ids & told)
                    if one.kind != IMPLIED
                )
            ),
            tuple(sorted(members)),
        )
        for ids, members in sets.items()
    ]
    return sorted(found, key=lambda one: (-len(one.users), one.principals, one.users))
