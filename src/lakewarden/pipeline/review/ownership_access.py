"""The users whom ownership allows in addition to statements, counted user by user.

The outcome for a user depends on the class and on the *mask*: which of the rule's conditions about
ownership, its *clauses*, the user meets. An entity has owners on several levels (its own, those of
its containers), and few of them differ from one entity to the next. So gains are counted level by
level, from the most shared one on: the additional gains of a level's owners over the levels before.
Only owners are considered, never all users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.pipeline.review.audience import Audience, Own, People
from lakewarden.pipeline.review.column import Codes, Column, distinct, joined, small
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.residue import Itself, Owned, Path, Types

Ids = NDArray[np.int32]
Flags = NDArray[np.bool_]
Short = NDArray[np.integer[Any]]
"""Numbers in a short type: there is one for each pair of an owner's code and a user."""

Clause = tuple[Path, bool, Types, bool]
"""What an atom requires: its path; is it about owners; of which types; the exact principal."""

_CELLS = 1 << 25
"""How many user cells are processed at once, one byte each."""

_MEMBERS = 1 << 22
"""How many pairs of an owner's code and a user are processed at once, some 50 bytes each."""

Part = tuple[Path, bool]
"""What a clause refers to: the owners of the entity at a path, or that entity as a principal."""


def clause_of(atom: Own) -> Clause:
    """The clause of an atom."""
    if isinstance(atom, Owned):
        return atom.path, True, atom.types, False
    return atom.path, False, None, atom.exactly


@dataclass(frozen=True, slots=True)
class _Members:
    """The users who meet clauses of one part, by its code.

    The users of code c are `users[offsets[c]:offsets[c+1]]`, and `masks` has the clauses that each
    meets. `keys` are code times the number of principals plus user, ascending. `mine` is the mask
    of all clauses of the part.
    """

    codes: Codes
    count: int
    offsets: Codes
    users: Short
    masks: Short
    keys: Codes
    mine: int

    def masks_of(self, keys: Codes) -> Short:
        """The mask of each key; 0 for one that is not among them."""
        if not len(self.keys):
            return np.zeros(len(keys), self.masks.dtype)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.masks[places], 0)


@dataclass(frozen=True, slots=True)
class _Level:
    """The users of one part around each of some entities.

    `codes` has a code for each entity. The users of code c are `users[offsets[c]:offsets[c+1]]`,
    and `turns` are their turns: how this part changes their masks. `masks[t]` are the masks of turn
    t: with this part and those before it, and without this part. `people` are all of the users.
    """

    codes: Codes
    offsets: Codes
    users: Short
    turns: Short
    people: BitMap
    masks: tuple[tuple[int, int], ...]


class Standing(NamedTuple):
    """Users of one part, by row: the group, the number of entities, and the turn of each.

    `masks[t]` are the masks of turn t, as in `_Level`.
    """

    groups: Codes
    users: Codes
    counts: Codes
    turns: Codes
    masks: tuple[tuple[int, int], ...]


class Owning:
    """Counts, over the entities of a block, what users gain by owning or being them."""

    def __init__(self, reduction: Reduction, audience: Audience, people: People) -> None:
        self._reduction = reduction
        self._residues = reduction.residues
        self._audience = audience
        self._people = people
        self.size = len(people.memberships.principals)
        self._owners: dict[frozenset[int], Codes] = {}
        self._levels: dict[tuple[Clause, ...], list[_Level]] = {}
        self._ids: Ids | None = None
        self._clauses: dict[frozenset[Clause], tuple[Clause, ...]] = {}
        self._clause_sets: dict[int, frozenset[Clause]] = {}
        self._known: dict[tuple[int, int], BitMap] = {}
        self._met: dict[tuple[Clause, int], BitMap] = {}

    def gains(self, column: Column, ids: Ids) -> Codes:
        """For each principal, the number of entities on which ownership alone allows it."""
        counts = np.zeros(self.size, dtype=np.int64)
        by_clauses: dict[tuple[Clause, ...], list[int]] = {}
        for code, number in enumerate(column.of):
            if self._residues.is_own(number):
                by_clauses.setdefault(self.clauses_of(number), []).append(code)
        sizes = np.bincount(column.codes, minlength=len(column.of))
        for clauses, codes in by_clauses.items():
            for code in codes:
                number = column.of[code]
                always = self._allowed_users(number, 0, clauses) - self._audience.stated(number)
                counts[np.asarray(always.to_array())] += sizes[code]
            is_gaining = np.zeros(len(column.of), dtype=bool)
            is_gaining[codes] = True
            rows = np.flatnonzero(is_gaining[column.codes])
            for level in self._around(clauses, ids):
                self._add(counts, column, rows, level, clauses)
        return counts

    def clauses_of(self, number: int) -> tuple[Clause, ...]:
        """The conditions of a residue on ownership of the entities at the target's paths."""
        clauses = self._clause_set(number)
        known = self._clauses.get(clauses)
        if known is None:
            known = self._clauses[clauses] = tuple(sorted(clauses, key=repr))
        return known

    def _clause_set(self, number: int) -> frozenset[Clause]:
        known = self._clause_sets.get(number)
        if known is None:
            residue = self._residues[number]
            of_parts = map(self._clause_set, self._residues.parts(number))
            known = frozenset[Clause]().union(*of_parts)
            if isinstance(residue, (Owned, Itself)):
                known = frozenset({clause_of(residue)})
            self._clause_sets[number] = known
        return known

    def _add(
        self,
        counts: Codes,
        column: Column,
        rows: Codes,
        level: _Level,
        clauses: tuple[Clause, ...],
    ) -> None:
        """Adds what users of the level gain through it, on some rows of the column."""
        parts = [
            (column.codes[rows], len(column.of)),
            (level.codes[rows], len(level.offsets) - 1),
        ]
        groups, stands = joined(parts)
        sizes = np.bincount(groups, minlength=len(stands))
        for batch in _batches(level.offsets, stands[:, 1]):
            at, places = _spread(level.offsets, stands[batch, 1])
            of_column = stands[batch, 0][places], len(column.of)
            of_level = level.turns[at].astype(np.int64), len(level.masks)
            kinds, combinations = joined([of_column, of_level])
            users, n = level.users[at], sizes[batch][places]
            opened = [
                self._by_level(column.of[code], level, level.masks[turn], clauses)
                for code, turn in combinations.tolist()
            ]
            for inside, first, table in self._tables(kinds, opened):
                gaining = inside[table[kinds[inside] - first, users[inside]]]
                # Sums of whole numbers stay exact in floats.
                counts += np.bincount(users[gaining], n[gaining], self.size).astype(np.int64)

    def _by_level(
        self, number: int, level: _Level, masks: tuple[int, int], clauses: tuple[Clause, ...]
    ) -> BitMap:
        """The users of a level whom the first of two masks allows, and the second one does not."""
        after, before = (self._allowed_users(number, mask, clauses) for mask in masks)
        return (after & level.people) - before

    def _tables(self, kinds: Codes, opened: Sequence[BitMap]) -> Iterator[tuple[Codes, int, Flags]]:
        """By batch of kinds: the rows of these kinds, the first kind, and the gaining users."""
        step = max(1, _CELLS // self.size)
        for first in range(0, len(opened), step):
            part = opened[first : first + step]
            if not any(part):
                continue
            table = np.zeros((len(part), self.size), dtype=bool)
            for place, users in enumerate(part):
                table[place, np.asarray(users.to_array())] = True
            inside = (kinds >= first) & (kinds < first + step)
            yield np.flatnonzero(inside), first, table

    def _allowed_users(self, number: int, mask: int, clauses: tuple[Clause, ...]) -> BitMap:
        """The users who are allowed if they meet the clauses of the mask. Must not be modified."""
        known = self._known.get((number, mask))
        if known is None:
            everyone, nobody = self._people.users.everyone, BitMap()
            met = {clause for place, clause in enumerate(clauses) if mask >> place & 1}
            known = self._known[number, mask] = self._audience.with_owners(
                number, lambda atom: everyone if clause_of(atom) in met else nobody
            )
        return known

    # who owns what around the entities

    def standing(
        self, clauses: tuple[Clause, ...], groups: Codes, count: int, ids: Ids
    ) -> Iterator[Standing]:
        """Which users meet which clauses, part by part, counted in `count` groups of entities."""
        for level in self._around(clauses, ids):
            rows, stands = joined([(groups, count), (level.codes, len(level.offsets) - 1)])
            sizes = np.bincount(rows, minlength=len(stands))
            keys = counts = np.zeros(0, dtype=np.int64)
            for batch in _batches(level.offsets, stands[:, 1]):
                at, places = _spread(level.offsets, stands[batch, 1])
                users = stands[batch, 0][places] * self.size + level.users[at]
                keys = np.concatenate([keys, users * len(level.masks) + level.turns[at]])
                keys, same = distinct(keys, count * self.size * len(level.masks))
                counts = np.concatenate([counts, sizes[batch][places]])
                # Sums of whole numbers stay exact in floats.
                counts = np.bincount(same, counts, len(keys)).astype(np.int64)
            users, turns = np.divmod(keys, max(1, len(level.masks)))
            yield Standing(users // self.size, users % self.size, counts, turns, level.masks)

    def _around(self, clauses: tuple[Clause, ...], ids: Ids) -> list[_Level]:
        if ids is not self._ids:
            self._ids = ids
            self._levels.clear()
        known = self._levels.get(clauses)
        if known is None:
            parts = {(path, is_owner) for path, is_owner, _, _ in clauses}
            members = [self._members(part, clauses, ids) for part in sorted(parts)]
            members.sort(key=lambda level: level.count)
            known = self._levels[clauses] = list(self._leveled(members, clauses))
        return known

    def _leveled(
        self, members: Sequence[_Members], clauses: tuple[Clause, ...]
    ) -> Iterator[_Level]:
        for number, own in enumerate(members):
            parts = [(part.codes, part.count) for part in members[: number + 1]]
            codes, stands = joined(parts)
            lengths = np.diff(own.offsets)[stands[:, number]]
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            users = np.empty(offsets[-1], own.users.dtype)
            masks = np.empty(offsets[-1], own.masks.dtype)
            for batch in _batches(own.offsets, stands[:, number]):
                at, places = _spread(own.offsets, stands[batch, number])
                rows = slice(offsets[batch.start], offsets[batch.stop])
                users[rows], masks[rows] = own.users[at], own.masks[at]
                for part, column in zip(members[:number], stands[batch].T, strict=False):
                    masks[rows] |= part.masks_of(column[places] * self.size + users[rows])
            distinct_masks, of_row = distinct(masks, 1 << len(clauses))
            turns = of_row.astype(small(len(distinct_masks)))
            pairs = tuple((mask, mask & ~own.mine) for mask in distinct_masks.tolist())
            people = BitMap(np.flatnonzero(np.bincount(users)).astype(np.uint32))
            yield _Level(codes, offsets, users, turns, people, pairs)

    def around(self, clause: Clause, ids: Ids) -> tuple[Codes, int]:
        """For each entity the code of the users that a clause refers to, and the number of codes.

        `users_satisfying` returns those users.
        """
        return self._column(clause[:2], ids)

    def _column(self, part: Part, ids: Ids) -> tuple[Codes, int]:
        path, is_owner = part
        at = self._reduction.snapshot.path(path)[ids]
        if is_owner:
            owner_codes, owners = self._reduction.owners
            return np.where(at >= 0, owner_codes[at], 0), len(owners)
        return self._reduction.persons(at) + 2, self.size + 2

    def _members(self, part: Part, clauses: tuple[Clause, ...], ids: Ids) -> _Members:
        codes, stands = joined([self._column(part, ids)])
        distinct_codes = stands[:, 0].tolist()
        met: dict[int, Codes] = {}
        for number, clause in enumerate(clauses):
            if clause[:2] == part:
                users = [self._compute_users(clause, code) for code in distinct_codes]
                bases = np.arange(len(distinct_codes)) * self.size
                keys = np.repeat(bases, [len(of_code) for of_code in users])
                keys += _flat(users)
                met[1 << number] = keys
        keys = _together(list(met.values()))
        masks = np.zeros(len(keys), _mask_type(clauses))
        for bit, of_clause in met.items():
            is_whole = len(of_clause) == len(keys)
            masks[slice(None) if is_whole else np.searchsorted(keys, of_clause)] |= bit
        lengths = np.bincount(keys // self.size, minlength=len(distinct_codes))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        short_users = (keys % self.size).astype(np.int32)
        return _Members(codes, len(distinct_codes), offsets, short_users, masks, keys, sum(met))

    def users_satisfying(self, clause: Clause, code: int) -> BitMap:
        """The users who meet a clause where `around` has the code. Must not be modified."""
        known = self._met.get((clause, code))
        if known is None:
            users = BitMap(self._compute_users(clause, code).astype(np.uint32))
            known = self._met[clause, code] = users
        return known

    def _compute_users(self, clause: Clause, code: int) -> Codes:
        """The users who meet a clause where its part has the code, ascending."""
        _, is_owner, types, exactly = clause
        if not is_owner:
            users = self._people.one(code - 2, exactly=exactly)
            return np.asarray(users.to_array(), dtype=np.int64)
        names, pairs = self._people.ownerships, self._reduction.owners[1][code]
        owners = frozenset(owner for owner, n in pairs if types is None or names[n] in types)
        known = self._owners.get(owners)
        if known is None:
            users = self._people.of(owners)
            known = self._owners[owners] = np.asarray(users.to_array(), dtype=np.int64)
        return known


def _flat(parts: Sequence[Codes]) -> Codes:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _together(parts: Sequence[Codes]) -> Codes:
    """The distinct numbers of several ascending lists, ascending."""
    if len(parts) == 1:
        return parts[0]
    # Sorting nearly sorted numbers is fast; numpy's hashing of them is slow.
    keys = np.sort(_flat(parts), kind="stable")
    return keys[np.flatnonzero(np.diff(keys, prepend=-1))]


def _mask_type(clauses: Sequence[Clause]) -> type[np.integer[Any]]:
    """A short type for masks of the clauses."""
    types = (np.uint8, np.uint16, np.uint32)
    return next((type for type in types if len(clauses) <= np.iinfo(type).bits), np.int64)


def _batches(offsets: Codes, codes: Codes) -> Iterator[slice]:
    """The codes in batches, each with about `_MEMBERS` members together."""
    ends = np.cumsum(np.diff(offsets)[codes])
    start = done = 0
    while start < len(codes):
        stop = max(start + 1, int(np.searchsorted(ends, done + _MEMBERS, "right")))
        yield slice(start, stop)
        start, done = stop, int(ends[stop - 1])


def _spread(offsets: Codes, codes: Codes) -> tuple[Codes, Codes]:
    """All members of the codes, concatenated, and for each the index of its code."""
    lengths = np.diff(offsets)[codes]
    places = np.repeat(np.arange(len(codes)), lengths)
    before = np.cumsum(lengths) - lengths
    return offsets[codes][places] + np.arange(len(places)) - before[places], places
