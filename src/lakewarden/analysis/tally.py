"""Merges changes of access: who, through what, on which cells, and the totals.

Users are kept by group and entities by cell for as long as possible. Users with the same
change are merged, regardless of its cause: otherwise every combination of roles would be a
separate part. If there would still be too many parts, the cells of one type are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroaring import BitMap

from lakewarden.analysis.cell import Cells
from lakewarden.kernel.principal import USER, Principal

SOMEBODY: Final = Principal(USER, "")
"""Stands for every user who is not stored: it acts as all users, and as nothing else."""

PART_LIMIT = 2_000
"""With more parts of one privilege than this, classes of one type are merged."""

WORK_LIMIT = 200_000
"""With more combinations of user groups and cells than this, classes are merged as well."""

Cause = tuple[Principal, ...]


@dataclass(slots=True)
class Change:
    """What users of one role set gain: whole cells, adjusted for ownership.

    `less[user]` are entities of those cells that the user had already, `more[user]` are further
    entities that only this user gains.
    """

    cells: BitMap
    less: dict[Principal, BitMap] = field(default_factory=dict)
    more: dict[Principal, BitMap] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TallyPart:
    """Users who gain, or lose, on entities of one type: `first` of `entities` many.

    `cause` are the principals through which any of the users does; `pairs` counts (user,
    entity); `others` says that users who are not stored are affected as well.
    """

    gained: bool
    cause: Cause
    users: tuple[Principal, ...]
    others: bool
    first: int
    entities: int
    pairs: int


@dataclass(slots=True)
class _Sum:
    """The sums of a part so far: groups of users with all of `cells`, single ones with less.

    `ids` are entities that only single users gain.
    """

    cells: BitMap = field(default_factory=BitMap)
    ids: BitMap = field(default_factory=BitMap)
    groups: list[Sequence[Principal]] = field(default_factory=list)
    single: set[Principal] = field(default_factory=set)
    cause: set[Principal] = field(default_factory=set)
    pairs: int = 0


_Added = tuple[Change, bool, Cause, Sequence[Principal]]


class Tally:
    """The changes of one privilege."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._added: list[_Added] = []
        self._work = 0
        self._fine: dict[tuple[bool, bool], BitMap] = {}
        # By gained or lost, whether ownership is the only reason, and the cells.
        self._sums: dict[tuple[bool, bool, int], _Sum] = {}

    def add(self, change: Change, gained: bool, cause: Cause, users: Sequence[Principal]) -> None:
        """Adds what one group of users gains or loses."""
        if change.cells or change.more:
            self._added.append((change, gained, cause, users))
            self._work += len(change.cells)
            self._fine.setdefault((gained, not cause), BitMap()).update(change.cells)

    def parts(self) -> Iterator[TallyPart]:
        """All that was added, with gains, or losses, on the same cell merged."""
        parts = sum(map(len, self._fine.values()))
        coarse = parts > PART_LIMIT or self._work > WORK_LIMIT
        for added in self._added:
            self._sum(added, coarse)
        known: dict[tuple[int, ...], tuple[Principal, ...]] = {}
        for (gained, _, _), part in self._sums.items():
            left = part.ids - self._cells.within(part.ids, part.cells)
            entities = self._cells.size(part.cells) + len(left)
            if not entities:
                continue
            key = tuple(map(id, part.groups)) if not part.single else ()
            users = known.get(key) if key else None
            if users is None:
                everyone = part.single.union(*part.groups)
                users = known[key] = tuple(sorted(everyone))
            first = [self._cells.first(part.cells)] if part.cells else []
            yield TallyPart(
                gained=gained,
                cause=tuple(sorted(part.cause)),
                users=tuple(user for user in users if user != SOMEBODY),
                others=SOMEBODY in users,
                first=min([*first, *([left.min()] if left else [])]),
                entities=entities,
                pairs=part.pairs,
            )

    def entities(self) -> BitMap:
        """All entities of any part."""
        cells = BitMap.union(BitMap(), *(sum_of_part.cells for sum_of_part in self._sums.values()))
        ids = BitMap.union(BitMap(), *(sum_of_part.ids for sum_of_part in self._sums.values()))
        return self._cells.ids(cells) | ids

    def _sum(self, added: _Added, coarse: bool) -> None:
        change, gained, cause, users = added
        for number, cells in self._cells.bundles(change.cells, coarse=coarse):
            sum_of_part = self._sum_of(gained, cause, number)
            less = {user: self._cells.within(ids, cells) for user, ids in change.less.items()}
            self._add_cells(
                sum_of_part, cells, users, {user: ids for user, ids in less.items() if ids}
            )
        for user, ids in change.more.items():
            inside = self._cells.of(ids)
            for number, cells in self._cells.bundles(inside, coarse=coarse):
                sum_of_part = self._sum_of(gained, cause, number)
                mine = self._cells.within(ids, cells)
                sum_of_part.ids |= mine
                sum_of_part.single.add(user)
                sum_of_part.pairs += len(mine) if user != SOMEBODY else 0

    def _sum_of(self, gained: bool, cause: Cause, number: int) -> _Sum:
        sum_of_part = self._sums.setdefault((gained, not cause, number), _Sum())
        sum_of_part.cause.update(cause)
        return sum_of_part

    def _add_cells(
        self,
        sum_of_part: _Sum,
        cells: BitMap,
        users: Sequence[Principal],
        less: Mapping[Principal, BitMap],
    ) -> None:
        """Adds users who gain the cells, some of them `less` than that."""
        size = self._cells.size(cells)
        sum_of_part.pairs += size * (len(users) - (SOMEBODY in users))
        sum_of_part.pairs -= sum(len(ids) for user, ids in less.items() if user != SOMEBODY)
        if not less:
            sum_of_part.groups.append(users)
            sum_of_part.cells |= cells
            return
        sum_of_part.single.update(user for user in users if len(less.get(user, ())) < size)
        if len(less) < len(users):
            sum_of_part.cells |= cells
        else:
            sum_of_part.ids |= self._cells.ids(cells) - BitMap.intersection(*less.values())
