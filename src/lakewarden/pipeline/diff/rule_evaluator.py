"""What rules allow on one side of a comparison, for many entities at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.analysis.tally import SOMEBODY
from lakewarden.kernel.expression import Compare, Node
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.who import Users
from lakewarden.pipeline.diff.user_numbering import NumberedPeople, digest_of
from lakewarden.pipeline.review.audience import Audience, Telling
from lakewarden.pipeline.review.audience_by_entity import audiences
from lakewarden.pipeline.review.column import Codes, Column
from lakewarden.pipeline.review.ownership_access import Owning
from lakewarden.pipeline.review.question import attribute_comparisons
from lakewarden.pipeline.review.reduction import Reduction, Spots
from lakewarden.pipeline.review.residue import (
    All,
    Any,
    Itself,
    One,
    Owned,
    Owners,
    Path,
    Residues,
)

Ids = NDArray[np.int32]

_RESIDUES = 1 << 18
"""With more residues than this, those of earlier questions are discarded."""


class Meanings:
    """Numbers for what residues mean, equal for equal meanings on both sides."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}

    def number(self, meaning: tuple[object, ...]) -> int:
        """The number of a meaning."""
        return self._numbers.setdefault(meaning, len(self._numbers))


class RuleEvaluator:
    """Evaluates rules on the entities of a snapshot; all sets of users are by number."""

    def __init__(
        self, snapshot: Snapshot, people: NumberedPeople, meanings: Meanings | None = None
    ) -> None:
        self.snapshot = snapshot
        self.people = people
        self.telling = _users_by_comparison(snapshot, people)
        self._meanings = Meanings() if meanings is None else meanings
        self._base = Reduction(snapshot, Residues())
        self._begin()

    def _begin(self) -> None:
        self._residues = Residues()
        self._reduction = Reduction(self.snapshot, self._residues, like=self._base)
        self._audience = Audience(self.people, self._residues, self.telling)
        self._owning = Owning(self._reduction, self._audience, self.people)
        self._meaning_numbers: dict[int, int] = {}

    def discard(self) -> bool:
        """Discards all residues if they are many: columns and spots are then no longer valid."""
        many = len(self._residues) > _RESIDUES
        if many:
            self._begin()
        return many

    def column(self, rule: Node, spots: Spots) -> Column:
        """The residues of a rule."""
        return self._reduction.evaluate(rule, spots)

    def users(self, column: Column, ids: Ids) -> tuple[Codes, list[BitMap]]:
        """For each entity a code, and for each code the users whom the column allows there.

        The users must not be modified.
        """
        return audiences(column, ids, self._audience, self._owning)

    def is_own(self, number: int) -> bool:
        """Whether a residue depends on the owners of the entity, or on whom it is."""
        return self._residues.is_own(number)

    def paths(self, column: Column) -> frozenset[Path]:
        """The paths from an entity to those whose owners or identity a column depends on."""
        return frozenset(path for n in column.of for path, *_ in self._owning.clauses_of(n))

    def meaning(self, number: int) -> int:
        """The number of what a residue means: equal ones allow the same users.

        Where a residue depends on ownership, the same owners must be around.
        """
        known = self._meaning_numbers.get(number)
        if known is None:
            known = self._meaning_numbers[number] = self._meanings.number(self._meaning(number))
        return known

    def _meaning(self, number: int) -> tuple[object, ...]:
        match residue := self._residues[number]:
            case All(parts) | Any(parts):
                return type(residue).__name__, *sorted(map(self.meaning, parts))
            case Owned(path, types, _):
                return "owned", path, types
            case Itself(path, exactly):
                return "itself", path, exactly
            case Owners(_, _, _, principals):
                return ("users", digest_of(self.people.of(principals)))
            case One(_, exactly, principal):
                return ("users", digest_of(self.people.one(principal, exactly=exactly)))
            case _:
                return ("users", digest_of(self._audience.stated(number)))

    # what rules read of entities

    def owner_meanings(self) -> Codes:
        """For each entity id a number for its owners: who acts as them, and their types."""
        codes, distinct_owners = self._base.owners
        return np.array([self._owners(pairs) for pairs in distinct_owners], dtype=np.int64)[codes]

    def _owners(self, pairs: tuple[tuple[int, int], ...]) -> int:
        names, digest = self.snapshot.coded.ownerships, self.people.numbering.digest
        owners = {(digest(frozenset({owner})), names[label]) for owner, label in pairs}
        return self._meanings.number(("owners", *sorted(owners)))

    def identity_meanings(self) -> Codes:
        """For each entity id a number for the principal that it represents, if any."""
        principals = self._base.persons(np.arange(len(self.snapshot.coded.tree), dtype=np.int32))
        distinct, codes = np.unique(principals, return_inverse=True)
        numbers = [self._identity(principal) for principal in distinct.tolist()]
        return np.array(numbers, dtype=np.int64)[codes.reshape(-1)]

    def _identity(self, principal: int) -> int:
        users = (self.people.one(principal, exactly=exactly) for exactly in (True, False))
        return self._meanings.number(("identity", principal < -1, *map(digest_of, users)))


def _users_by_comparison(snapshot: Snapshot, people: NumberedPeople) -> Telling:
    """For each comparison with an attribute of the subject, the users who satisfy it."""
    comparisons = attribute_comparisons(snapshot.model)
    if not comparisons:
        return {}
    users = Users(snapshot, Request(SOMEBODY, ""))
    nodes = (Compare(one.attribute, one.operator, one.value) for one in comparisons)
    satisfying = (people.numbering.numbered(users.compare(node, ROOT)) for node in nodes)
    return dict(zip(comparisons, satisfying, strict=True))
