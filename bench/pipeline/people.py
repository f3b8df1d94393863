"""Users, nested groups, and roles: memberships as numbers.

The same in every world; each world defines the names and where people are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from lakewarden.kernel.principal import GROUP, ROLE, USER

Edge = tuple[int, int]
Name = Callable[[int], str]
Cells = tuple[str, ...]

SECOND_PARENT = 0.05
"""Share of the groups that have two parents."""

FEW_TOP = 0.02
"""Share of the groups without a parent."""


@dataclass(frozen=True, slots=True)
class People:
    """Members and their groups and roles, each edge once.

    A group's parent is among the first third of the groups before it, so nesting is a few levels
    deep and has no cycle. Roles are given to groups, and individually to some users.
    """

    users: int
    groups: int
    roles: int
    group_groups: frozenset[Edge]
    user_groups: frozenset[Edge]
    group_roles: frozenset[Edge]
    user_roles: frozenset[Edge]

    @staticmethod
    def draw(users: int, groups: int, roles: int, random: Random) -> People:
        """People with these numbers of users, groups and roles."""
        return People(
            users,
            groups,
            roles,
            frozenset(_nested(groups, random)),
            frozenset(_joined(users, groups, random)),
            frozenset(_given(roles, groups, random, most=3)),
            frozenset(_given(roles, users, random, most=5)),
        )

    def with_everybody(self) -> People:
        """The same, with every user in the first group."""
        everybody = frozenset((user, 0) for user in range(self.users))
        return replace(self, user_groups=self.user_groups | everybody)

    def memberships(self, user: Name, group: Name, role: Name) -> Iterator[Cells]:
        """The rows of the table, in any order."""
        sides = (
            (self.group_groups, (GROUP, group), (GROUP, group)),
            (self.user_groups, (USER, user), (GROUP, group)),
            (self.group_roles, (GROUP, group), (ROLE, role)),
            (self.user_roles, (USER, user), (ROLE, role)),
        )
        for edges, (kind, name), (of_kind, of_name) in sides:
            for member, of in edges:
                yield kind, name(member), of_kind, of_name(of)

    def principals(self, user: Name, group: Name, role: Name) -> Iterator[Cells]:
        """All stored principals."""
        sides = ((USER, user, self.users), (GROUP, group, self.groups), (ROLE, role, self.roles))
        for kind, name, count in sides:
            for number in range(count):
                yield kind, name(number)


def _nested(groups: int, random: Random) -> Iterator[Edge]:
    for group in range(max(1, int(groups * FEW_TOP)), groups):
        upper = max(1, group // 3)
        yield group, random.randrange(upper)
        if random.random() < SECOND_PARENT:
            yield group, random.randrange(upper)


def _joined(users: int, groups: int, random: Random) -> Iterator[Edge]:
    """Every user in one to four groups; groups at lower levels are more likely."""
    for user in range(users):
        for _ in range(random.randint(1, 4)):
            yield user, int(groups * (1 - random.random() ** 2) * 0.999_999)


def _given(roles: int, holders: int, random: Random, most: int) -> Iterator[Edge]:
    for role in range(roles):
        for _ in range(random.randint(0, most)):
            yield random.randrange(holders), role
