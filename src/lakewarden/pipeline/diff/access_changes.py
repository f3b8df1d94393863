"""The entities of two snapshots on which users gain or lose access, and what they gain or lose.

Every rule is evaluated over many entities at once, on both sides: over those at which differing
statements may matter. Where the two residual rules differ, the users are computed, once for
entities with the same residual rules and the same owners around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.expression import TYPE
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.principal import SERVICE_ADMINS
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.diff.entity_signature import levels
from lakewarden.pipeline.diff.part import Comparison, Part, class_of
from lakewarden.pipeline.diff.profile import domain
from lakewarden.pipeline.diff.question import TypedQuestion, questions
from lakewarden.pipeline.diff.rule_evaluator import Ids, Meanings, RuleEvaluator
from lakewarden.pipeline.diff.statement_differences import StatementPlaces, entities_by_privilege
from lakewarden.pipeline.review.column import Codes, Column, joined
from lakewarden.pipeline.review.reduction import Spots

Flags = NDArray[np.bool_]

SpotsOfSides = tuple[Spots, Spots]
"""The same entities for both sides, each of which caches its own columns."""


class Change(NamedTuple):
    """Entities of one type with the same gains and losses, by their ids, and these parts.

    `number` identifies their class.
    """

    type: str
    number: str
    parts: tuple[Part, ...]
    ids: BitMap


def changes(
    before: Snapshot, after: Snapshot, comparison: Comparison, ids: BitMap
) -> Iterator[Change]:
    """The differences of some entities between two snapshots with the same entities.

    Statements, memberships and owners may differ, but not places, relations and attributes.
    """
    differing = _SnapshotComparison(before, after, comparison)
    tree = after.coded.tree
    every = np.asarray((ids & domain(after)).to_array(), dtype=np.int32)
    types = tree.types[every]
    for code in np.unique(types).tolist():
        yield from differing.of_type(tree.kinds[code], every[types == code])


class _SnapshotComparison:
    """Finds the differences between two snapshots, type by type."""

    def __init__(self, before: Snapshot, after: Snapshot, comparison: Comparison) -> None:
        people = comparison.before.people, comparison.after.people
        meanings = Meanings()
        self._comparison = comparison
        self._snapshot = after
        self._sides = (
            RuleEvaluator(before, people[0], meanings),
            RuleEvaluator(after, people[1], meanings),
        )
        numberings = people[0].numbering, people[1].numbering
        self._entities = entities_by_privilege((before, after), numberings)
        self._places = StatementPlaces((before, after), comparison.same)
        self._moved = self._with_other_owners()
        self._everything = bool(self._moved.any()) or self._other_people()
        self._spots: dict[object, tuple[Codes, SpotsOfSides]] = {}
        self._flags: dict[frozenset[str], Flags] = {}
        self._reach = _Reach(after)

    def _with_other_owners(self) -> Flags:
        """The entities that have other owners, or that other users act as."""
        owners, identities = (
            [read(side) for side in self._sides]
            for read in (RuleEvaluator.owner_meanings, RuleEvaluator.identity_meanings)
        )
        flags: Flags = (owners[0] != owners[1]) | (identities[0] != identities[1])
        return flags

    def _other_people(self) -> bool:
        """Whether something differs that rules read of people alone."""
        (everyone, admins, telling), after = (
            (
                side.people.users.everyone,
                side.people.of([side.people.memberships.ids[SERVICE_ADMINS]]),
                side.telling,
            )
            for side in self._sides
        )
        return (everyone, admins, telling) != after

    def of_type(self, type: str, ids: Ids) -> Iterator[Change]:
        """The differences of entities of one type."""
        if not self._entities and not self._everything:
            return
        self._spots.clear()
        collection = _Collection(len(ids))
        for typed in questions(self._snapshot.model, type):
            rows, spots = self._candidates(typed, ids)
            if len(rows):
                at, codes, of_codes = self._differences(type, typed, spots)
                collection.add(rows[at], codes, of_codes)
                discarded = [side.discard() for side in self._sides]
                if any(discarded):
                    self._spots.clear()
        for parts, rows in collection.classes():
            number = class_of(type, (part.digest() for part in parts))
            yield Change(type, number, parts, BitMap(ids[rows].astype(np.uint32)))

    # the entities for which an answer may differ

    def _candidates(self, typed: TypedQuestion, ids: Ids) -> tuple[Codes, SpotsOfSides]:
        """The entities for which it may differ: their places in `ids`, and themselves."""
        privileges = typed.privileges.intersection(self._entities)
        key = None if self._everything else (privileges, typed.paths, typed.beyond)
        known = self._spots.get(key)
        if known is None:
            rows = np.arange(len(ids))
            if not self._everything:
                rows = np.flatnonzero(self._reaches(privileges, typed)[ids])
            known = self._spots[key] = rows, (Spots(ids[rows]), Spots(ids[rows]))
        return known

    def _reaches(self, privileges: frozenset[str], typed: TypedQuestion) -> Flags:
        """The entities from which the rule may reach a differing grant of the privileges."""
        flags = self._flags.get(privileges)
        if flags is None:
            # One more place, for entities that are absent: -1.
            flags = self._flags[privileges] = np.zeros(len(self._moved) + 1, dtype=bool)
            for privilege in privileges:
                flags[np.asarray(self._entities[privilege].to_array())] = True
        if typed.beyond:
            return self._reach.of(flags)
        reached = np.zeros(len(self._moved), dtype=bool)
        for path in typed.paths:
            reached |= flags[self._snapshot.path(path)]
        return reached

    # their answers

    def _differences(
        self, type: str, typed: TypedQuestion, spots: SpotsOfSides
    ) -> tuple[Codes, Codes, list[tuple[Part, ...]]]:
        """The places of some entities, a code for each, and what each code gains and loses."""
        before, after = (
            side.column(typed.rule, of_side)
            for side, of_side in zip(self._sides, spots, strict=True)
        )
        every = spots[0].ids
        at = self._possible(before, after, every)
        if not len(at):
            return at, at, []
        ids = every[at]
        (had_codes, had), (has_codes, has) = (
            side.users(Column(column.codes[at], column.of), ids)
            for side, column in zip(self._sides, (before, after), strict=True)
        )
        places = self._places
        columns = (had_codes, len(had)), (has_codes, len(has)), (places.codes[ids], len(places))
        codes, stands = joined(columns)
        parts = [
            tuple(
                self._comparison.differences(
                    type, typed.question, had[first], has[second], places[statement_ids]
                )
            )
            for first, second, statement_ids in stands.tolist()
        ]
        return at, codes, parts

    def _possible(self, before: Column, after: Column, ids: Ids) -> Codes:
        """The places of entities that other users may be allowed on."""
        old, new = self._sides
        codes, stands = joined([(before.codes, len(before.of)), (after.codes, len(after.of))])
        pairs = [(before.of[first], after.of[second]) for first, second in stands.tolist()]
        differs = np.array([old.meaning(a) != new.meaning(b) for a, b in pairs], dtype=bool)
        possible: Flags = differs[codes]
        if self._moved.any():
            is_own = np.array([old.is_own(a) for a, _ in pairs], dtype=bool)
            for path in old.paths(before):
                at = self._snapshot.path(path)[ids]
                possible |= is_own[codes] & (at >= 0) & self._moved[at]
        return np.flatnonzero(possible)


class _Reach:
    """From which entities rules may reach others: by ancestors, relations, the platform, types."""

    def __init__(self, snapshot: Snapshot) -> None:
        tree = snapshot.coded.tree
        every = np.arange(len(tree), dtype=np.int32)
        self._above = tree.above
        self._levels = list(levels(tree.above))
        self._edges = [e.flat(every)[:2] for e in snapshot.coded.relations.values()]
        self._common = np.unique(np.concatenate([[ROOT], snapshot.path((TYPE,))]))

    def of(self, targets: Flags) -> Flags:
        """The entities from which some target may be reached; the last place is of no entity."""
        reached: Flags = targets.copy()
        if reached[self._common].any():
            return np.ones(len(reached) - 1, dtype=bool)
        count = -1
        while count != (count := int(reached.sum())):
            for ids in self._levels:
                reached[ids] |= reached[self._above[ids]]
            for sources, ends in self._edges:
                reached[sources[reached[ends]]] = True
        return reached[:-1]


class _Collection:
    """Gathers what entities gain and lose, question by question.

    `_codes` has for each entity the number of its last link, or 0; a link has the parts of one
    question, and the link before.
    """

    def __init__(self, size: int) -> None:
        self._codes = np.zeros(size, dtype=np.int64)
        self._links: list[tuple[int, tuple[Part, ...]]] = [(0, ())]

    def add(self, rows: Codes, codes: Codes, parts: list[tuple[Part, ...]]) -> None:
        """Adds the parts of a question: rows of entities, a code for each, and the codes' parts."""
        is_some = np.array([bool(some) for some in parts], dtype=bool)
        kept = is_some[codes] if len(codes) else np.zeros(0, dtype=bool)
        rows, codes = rows[kept], codes[kept]
        if not len(rows):
            return
        # Equal parts of different codes make no difference.
        numbers: dict[tuple[Part, ...], int] = {}
        alike = np.array([numbers.setdefault(some, len(numbers)) for some in parts])[codes]
        distinct_parts = list(numbers)
        keys = self._codes[rows] * len(numbers) + alike
        distinct, places = np.unique(keys, return_inverse=True)
        self._codes[rows] = places.reshape(-1) + len(self._links)
        for key in distinct.tolist():
            link, number = divmod(key, len(numbers))
            self._links.append((link, distinct_parts[number]))

    def classes(self) -> Iterator[tuple[tuple[Part, ...], Codes]]:
        """All parts of entities with the same differences, and the rows of these entities."""
        order = np.argsort(self._codes, kind="stable")
        codes = self._codes[order]
        starts = np.flatnonzero(np.diff(codes, prepend=0))
        for link, rows in zip(codes[starts].tolist(), np.split(order, starts)[1:], strict=True):
            yield self._parts(link), rows

    def _parts(self, link: int) -> tuple[Part, ...]:
        steps: list[tuple[Part, ...]] = []
        while link:
            link, parts = self._links[link]
            steps.append(parts)
        return tuple(part for parts in reversed(steps) for part in parts)
