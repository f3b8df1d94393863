"""The conditions for being allowed: which ties to the entity users need, class by class.

A class is the residue of a rule on some entities. Statements allow the same people on all of them;
owners, and the principal that the entity itself is, differ from one entity to the next. So a class
is read as pairs: a *need*, which is a set of ties that a user must have to the entity, and the
users for whom it suffices. The users with the ties are listed per entity (`NeedMatcher`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.pipeline.review.audience import Audience, People, condition_text
from lakewarden.pipeline.review.column import Codes, joined
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.residue import All, Any, Itself, One, Owned, Owners, Residues

Tie = Owned | Itself
"""Owning, or being, the entity at a path; without the statements that make it count."""

Need = frozenset[Tie]
"""Ties, all of which are required."""

NOTHING: Final[Need] = frozenset()

UsersByNeed = Mapping[Need, BitMap]
"""The users for whom a need suffices, some of them not by less; no set is empty."""


class Needs:
    """The needs of the residues of a collection."""

    def __init__(self, people: People, residues: Residues, audience: Audience) -> None:
        self._people = people
        self._residues = residues
        self._audience = audience
        self._known: dict[int, UsersByNeed] = {}

    def of(self, number: int) -> UsersByNeed:
        """The needs of a residue; cached. `NOTHING` has the users who need no tie.

        They are allowed by statements, or by owning, or being, an entity behind a relation.
        """
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = _least(self._read(number))
        return known

    def _read(self, number: int) -> UsersByNeed:
        if not self._residues.is_own(number):
            return {NOTHING: self._audience.stated(number)}
        match self._residues[number]:
            case All(parts):
                return reduce(_both, map(self.of, parts))
            case Any(parts):
                return reduce(_either, map(self.of, parts))
            case Owned(path, types, _):
                return {frozenset({Owned(path, types)}): self._people.users.everyone}
            case Itself() as tie:
                return {frozenset({tie}): self._people.users.everyone}
            case Owners(_, _, _, principals):
                return {NOTHING: self._people.of(principals)}
            case One(_, exactly, principal):
                return {NOTHING: self._people.one(principal, exactly=exactly)}
            case residue:
                raise AssertionError(f"{residue} turns on ownership and is not read")


def _either(first: UsersByNeed, second: UsersByNeed) -> UsersByNeed:
    union = dict(first)
    for need, users in second.items():
        union[need] = union.get(need, BitMap()) | users
    return _least(union)


def _both(first: UsersByNeed, second: UsersByNeed) -> UsersByNeed:
    combined: dict[Need, BitMap] = {}
    for need, users in first.items():
        for more, others in second.items():
            common = users & others
            if common:
                joined = need | more
                combined[joined] = combined.get(joined, BitMap()) | common
    return _least(combined)


def _least(users_by_need: UsersByNeed) -> UsersByNeed:
    """The same without needs that allow nobody beyond those with a smaller need.

    Users with a smaller need stay in the other sets: a whole crowd has a shorter description.
    """
    minimal: dict[Need, BitMap] = {}
    for need in sorted(users_by_need, key=len):
        less = (users for smaller, users in minimal.items() if smaller < need)
        if not users_by_need[need].issubset(BitMap.union(BitMap(), *less)):
            minimal[need] = users_by_need[need]
    return minimal


# as text, which is the same in all tasks


def need_text(need: Need) -> str:
    """The need in the form that `need_of` reads; equal needs have equal texts."""
    cells = ([type(tie).__name__, *_cells(tie)] for tie in need)
    return json.dumps(sorted(cells, key=repr), ensure_ascii=False)


def _cells(tie: Tie) -> list[object]:
    if isinstance(tie, Owned):
        return [list(tie.path), None if tie.types is None else list(tie.types)]
    return [list(tie.path), tie.exactly]


def need_of(text: str) -> Need:
    """The need from the text of `need_text`.

    >>> need_of(need_text(frozenset({Owned(("schema",), None)})))
    frozenset({Owned(path=('schema',), types=None, statements=())})
    """
    return frozenset(
        Owned(tuple(path), None if more is None else tuple(more))
        if form == Owned.__name__
        else Itself(tuple(path), more)
        for form, path, more in json.loads(text)
    )


def need_words(need: Need) -> str:
    """The need in words.

    >>> need_words(frozenset({Owned(("schema",), None), Itself((), True)}))
    'owner of schema and self'
    """
    return " and ".join(sorted(map(condition_text, need)))


Ids = NDArray[np.int32]

Who = tuple[int, bool]
"""A principal, and whether it is exact: only that user, not principals who act as it."""


class Matched(NamedTuple):
    """Entities, and for each a principal that has the ties to it."""

    entities: Ids
    principals: Ids


class NeedMatcher:
    """Finds who meets needs around the entities of a block."""

    def __init__(self, reduction: Reduction, people: People) -> None:
        self._reduction = reduction
        self._people = people
        self._size = len(people.memberships.principals)

    def of(self, need: Need, ids: Ids) -> dict[bool, Matched]:
        """The principals that meet the need, with their entities, by whether they are exact."""
        ties = sorted(need, key=repr)
        codes, stands = joined([self._column(tie, ids) for tie in ties])
        met = [self._together(ties, row) for row in stands.tolist()]
        return {exactly: _spread(met, codes, ids, exactly) for exactly in (False, True)}

    def _column(self, tie: Tie, ids: Ids) -> tuple[Codes, int]:
        """For each entity, a code of the principals that have the tie to it."""
        at = self._reduction.snapshot.path(tie.path)[ids]
        if isinstance(tie, Owned):
            codes, owners = self._reduction.owners
            return np.where(at >= 0, codes[at], 0), len(owners)
        return self._reduction.persons(at) + 2, self._size + 2

    def _who(self, tie: Tie, code: int) -> frozenset[Who]:
        """The principals of a tie's code."""
        if not isinstance(tie, Owned):
            return frozenset({(code - 2, tie.exactly)} if code >= 2 else ())
        names, pairs = self._people.ownerships, self._reduction.owners[1][code]
        return frozenset(
            (owner, False)
            for owner, label in pairs
            if tie.types is None or names[label] in tie.types
        )

    def _together(self, ties: Sequence[Tie], codes: Sequence[int]) -> frozenset[Who]:
        """The principals that have all the ties, and the users who have them through several."""
        each = [self._who(tie, code) for tie, code in zip(ties, codes, strict=True)]
        common = frozenset.intersection(*each)
        if len(each) == 1 or not all(each):
            return common
        users = BitMap.intersection(*map(self._users, each)) - self._users(common)
        return common.union((user, True) for user in users)

    def _users(self, who: frozenset[Who]) -> BitMap:
        sets = (self._people.one(principal, exactly=exactly) for principal, exactly in who)
        return BitMap.union(BitMap(), *sets)


def _spread(met: Sequence[frozenset[Who]], codes: Codes, ids: Ids, exactly: bool) -> Matched:
    """The principals of each code, for every entity with the code."""
    of_code = [sorted(user for user, is_exact in who if is_exact == exactly) for who in met]
    lists = pa.array(of_code, pa.list_(pa.int32())).take(pa.array(codes))
    places = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return Matched(ids[places], lists.flatten().to_numpy(zero_copy_only=False))
