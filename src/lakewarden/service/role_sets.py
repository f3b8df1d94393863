"""Role sets: users with the same effective principals, among those that statements name.

The decisions for one of them apply to all, except for ownership.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import IMPLIED, USER, Principal
from lakewarden.service.cancellation import checked


@dataclass(frozen=True, slots=True)
class RoleSet:
    """Users with the same effective principals; `principals` are the named ones, sorted.

    A user named by a statement is alone, and among its `principals`.
    """

    principals: tuple[Principal, ...]
    users: tuple[Principal, ...]


def role_sets(matrix: Matrix, users: Iterable[Principal] | None = None) -> list[RoleSet]:
    """The role sets of some users, or of all stored ones; the largest first.

    Principals that only follow from other facts are not included, though they distinguish users.
    """
    return _grouped([_Naming(matrix)], _users(matrix) if users is None else users)


def joint_role_sets(first: Matrix, second: Matrix) -> list[RoleSet]:
    """The role sets of two matrices together; `principals` are those of `first`."""
    users = dict.fromkeys([*_users(first), *_users(second)])
    return _grouped([_Naming(first), _Naming(second)], users)


def _users(matrix: Matrix) -> Iterator[Principal]:
    memberships = matrix.snapshot.coded.memberships
    everybody = (memberships.principals[id] for id in memberships.stored)
    return (principal for principal in everybody if principal.kind == USER)


class _Naming:
    """The principals that the statements of a matrix name."""

    def __init__(self, matrix: Matrix) -> None:
        self._memberships = matrix.snapshot.coded.memberships
        self._named: set[int] = set()
        self._shown: set[int] = set()
        self._by_direct: dict[tuple[int, ...], frozenset[int]] = {}
        ids = self._memberships.ids
        for statement in matrix.snapshot.table.statements.values():
            named = {ids[principal] for principal in statement.principals if principal in ids}
            self._named |= named
            if not is_implied(statement):
                self._shown |= named

    def of(self, user: Principal) -> frozenset[int]:
        """What the user acts as, among the named principals.

        Users with the same direct memberships differ only in the users themselves.
        """
        id = self._memberships.ids.get(user, -1)
        direct = self._memberships.of.get(id, ())
        others = self._by_direct.get(direct)
        if others is None:
            others = (self._memberships.acts_as(user) & self._named) - {id}
            self._by_direct[direct] = others
        return others | {id} if id in self._named else others

    def shown(self, ids: frozenset[int]) -> tuple[Principal, ...]:
        """The displayed principals among these, sorted."""
        principals = (self._memberships.principals[id] for id in ids & self._shown)
        return tuple(sorted(principal for principal in principals if principal.kind != IMPLIED))


def _grouped(namings: Sequence[_Naming], users: Iterable[Principal]) -> list[RoleSet]:
    sets: dict[tuple[frozenset[int], ...], list[Principal]] = {}
    for user in checked(users):
        sets.setdefault(tuple(naming.of(user) for naming in namings), []).append(user)
    grouped = [
        RoleSet(namings[0].shown(ids[0]), tuple(sorted(members))) for ids, members in sets.items()
    ]
    return sorted(
        grouped, key=lambda role_set: (-len(role_set.users), role_set.principals, role_set.users)
    )
