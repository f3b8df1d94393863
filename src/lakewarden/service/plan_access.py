"""The access difference of a plan as JSON; every name and every set of users occurs once.

So the size of a plan grows with the number of lines plus the number of people, not with their
product.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lakewarden.analysis.access import Access, HeldChange, Idle, Reached, WayCount
from lakewarden.kernel.advice import Need
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text, read_principal

Table = dict[str, object]
UserSets = Sequence[tuple[Principal, ...]]


def access_table(access: Access) -> Table:
    """The access as JSON.

    `people` are all principals that any line names, sorted, including those through which access
    comes. `crowds` are sets of them: indexes into that list, and pairs of indexes, from and to,
    both inclusive. A line's `users` and `through` are the index of a crowd.
    """
    lines: tuple[Reached | HeldChange, ...] = (*access.reached, *access.held)
    users = {user for line in lines for user in line.users}
    user_sets = _UserSets(users.union(*(bare.through for bare in access.held)))
    effect = [
        {"ways": list(r.ways), "operations": list(r.operations), **_line(r, user_sets)}
        for r in access.reached
    ]
    privileges = [_held_table(bare, user_sets) for bare in access.held]
    return {
        "users": access.users,
        "entities": access.entities,
        "gained": access.gained,
        "lost": access.lost,
        "whole": access.is_whole,
        "ways": [
            {"way": w.way, "gained": w.gained, "users": w.users, "entities": w.entities}
            for w in access.ways
        ],
        "people": [principal_text(user) for user in user_sets.people],
        "crowds": [_runs(places) for places in user_sets.places],
        "effect": effect,
        "privileges": privileges,
    }


class _UserSets:
    """Sets of people, each with a number."""

    def __init__(self, people: Iterable[Principal]) -> None:
        self.people = sorted(people)
        self.places: list[tuple[int, ...]] = []
        self._place = {user: place for place, user in enumerate(self.people)}
        self._numbers: dict[tuple[Principal, ...], int] = {}

    def number(self, users: tuple[Principal, ...]) -> int:
        """The number of a sorted set."""
        if users not in self._numbers:
            self._numbers[users] = len(self.places)
            self.places.append(tuple(self._place[user] for user in users))
        return self._numbers[users]


def _held_table(line: HeldChange, user_sets: _UserSets) -> Table:
    return {
        "privileges": list(line.privileges),
        **_line(line, user_sets),
        "through": user_sets.number(line.through),
        "technical": line.technical,
        "idle": [
            {
                "users": user_sets.number(idle.users),
                "others": idle.others,
                "lacks": [{"privilege": n.privilege, **n.entity._asdict()} for n in idle.lacks],
            }
            for idle in line.idle
        ],
    }


def _line(line: Reached | HeldChange, user_sets: _UserSets) -> Table:
    return {
        "gained": line.gained,
        "users": user_sets.number(line.users),
        "others": line.others,
        "type": line.type,
        "entities": line.entities,
        "pairs": line.pairs,
        "sample": line.sample._asdict(),
    }


def _runs(places: Iterable[int]) -> list[int | list[int]]:
    """Ascending numbers; a run is a pair of its first and its last number.

    >>> _runs([0, 1, 2, 5])
    [[0, 2], 5]
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return [first if first == last else [first, last] for first, last in runs]


def read_access(table: Mapping[str, Any]) -> Access:
    """The access from the table that `access_table` returned."""
    people = tuple(read_principal(text) for text in table["people"])
    user_sets = tuple(tuple(_users_of(runs, people)) for runs in table["crowds"])
    return Access(
        reached=tuple(_read_reached(row, user_sets) for row in table["effect"]),
        held=tuple(_read_held(row, user_sets) for row in table["privileges"]),
        ways=tuple(
            WayCount(row["way"], row["gained"], row["users"], row["entities"])
            for row in table["ways"]
        ),
        users=table["users"],
        entities=table["entities"],
        is_whole=table["whole"],
    )


def _read_reached(row: Mapping[str, Any], user_sets: UserSets) -> Reached:
    return Reached(
        ways=tuple(row["ways"]),
        operations=tuple(row["operations"]),
        gained=row["gained"],
        users=user_sets[row["users"]],
        others=row["others"],
        type=row["type"],
        entities=row["entities"],
        pairs=row["pairs"],
        sample=Entity(**row["sample"]),
    )


def _read_held(row: Mapping[str, Any], user_sets: UserSets) -> HeldChange:
    return HeldChange(
        privileges=tuple(row["privileges"]),
        gained=row["gained"],
        through=user_sets[row["through"]],
        users=user_sets[row["users"]],
        others=row["others"],
        type=row["type"],
        entities=row["entities"],
        pairs=row["pairs"],
        sample=Entity(**row["sample"]),
        technical=row["technical"],
        idle=tuple(
            Idle(
                user_sets[idle["users"]],
                idle["others"],
                tuple(Need(n["privilege"], Entity(n["type"], n["name"])) for n in idle["lacks"]),
            )
            for idle in row["idle"]
        ),
    )


def _users_of(runs: Iterable[int | list[int]], people: Sequence[Principal]) -> Iterator[Principal]:
    for run in runs:
        first, last = (run, run) if isinstance(run, int) else run
        yield from people[first : last + 1]
