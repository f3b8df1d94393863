"""Who has the ties to an entity that a need names: principals, entity by entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.pipeline.export.need import Need, Tie
from lakewarden.pipeline.review.audience import People
from lakewarden.pipeline.review.column import Codes, joined
from lakewarden.pipeline.review.reduction import Reduction
from lakewarden.pipeline.review.residue import Owned

Ids = NDArray[np.int32]

Who = tuple[int, bool]
"""A principal, and whether it is meant exactly: that very user, and none who acts as it."""


class Matched(NamedTuple):
    """Entities, and beside each a principal that has the ties to it."""

    entities: Ids
    principals: Ids


class NeedMatcher:
    """Who meets needs around the entities of a block."""

    def __init__(self, reduction: Reduction, people: People) -> None:
        self._reduction = reduction
        self._people = people
        self._size = len(people.memberships.principals)

    def of(self, need: Need, ids: Ids) -> dict[bool, Matched]:
        """Who meets the need on which of the entities, by whether they are meant exactly."""
        ties = sorted(need, key=repr)
        codes, stands = joined([self._column(tie, ids) for tie in ties])
        met = [self._together(ties, row) for row in stands.tolist()]
        return {exactly: _spread(met, codes, ids, exactly) for exactly in (False, True)}

    def _column(self, tie: Tie, ids: Ids) -> tuple[Codes, int]:
        """For each entity a code of who has the tie to it."""
        at = self._reduction.snapshot.path(tie.path)[ids]
        if isinstance(tie, Owned):
            codes, owners = self._reduction.owners
            return np.where(at >= 0, codes[at], 0), len(owners)
        return self._reduction.persons(at) + 2, self._size + 2

    def _who(self, tie: Tie, code: int) -> frozenset[Who]:
        """Whom a code of a tie means."""
        if not isinstance(tie, Owned):
            return frozenset({(code - 2, tie.exactly)} if code >= 2 else ())
        names, pairs = self._people.ownerships, self._reduction.owners[1][code]
        return frozenset(
            (owner, False)
            for owner, label in pairs
            if tie.types is None or names[label] in tie.types
        )

    def _together(self, ties: Sequence[Tie], codes: Sequence[int]) -> frozenset[Who]:
        """Whoever has all the ties: principals that have, and users who have by several."""
        each = [self._who(tie, code) for tie, code in zip(ties, codes, strict=True)]
        common = frozenset.intersection(*each)
        if len(each) == 1 or not all(each):
            return common
        users = BitMap.intersection(*map(self._users, each)) - self._users(common)
        return common.union((user, True) for user in users)

    def _users(self, who: frozenset[Who]) -> BitMap:
        found = (self._people.one(principal, exactly=exactly) for principal, exactly in who)
        return BitMap.union(BitMap(), *found)


def _spread(met: Sequence[frozenset[Who]], codes: Codes, ids: Ids, exactly: bool) -> Matched:
    """The principals of each code, beside every entity that has it."""
    of_code = [sorted(one for one, is_exact in who if is_exact == exactly) for who in met]
    lists = pa.array(of_code, pa.list_(pa.int32())).take(pa.array(codes))
    places = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return Matched(ids[places], lists.flatten().to_numpy(zero_copy_only=False))
