"""The tables of a review that are as many rows as there are classes, users or questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER
from lakewarden.kernel.statement import Effect
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.review.audience import principals_of
from lakewarden.pipeline.review.found import At, Class, Found, matters
from lakewarden.pipeline.review.question import Chosen, Matter, Question
from lakewarden.pipeline.review.residue import Free, Given, Owned
from lakewarden.pipeline.review.role_sets import RoleSets
from lakewarden.pipeline.review.schemas import (
    BY_PRINCIPAL,
    INACTIVE,
    PRINCIPALS,
    QUESTIONS,
    REVIEW,
    ROLE_SETS,
    SCHEMAS,
)
from lakewarden.pipeline.review.words import words

Counts = NDArray[np.int64]

IDLE: Final = "may do nothing that was asked about"
REMOVED: Final = "removed"
BEYOND: Final = "denied: too many memberships follow on one another"


@dataclass(frozen=True, slots=True)
class _Row:
    """A question with its number, and that of its matter."""

    number: int
    question: Question
    at: At
    matter: int


class Tables:
    """The tables, worked out from what was found."""

    def __init__(self, found: Found, chosen: Chosen) -> None:
        self._found = found
        self._people = found.people
        self._chosen = chosen
        self._matters = {at: number for number, at in enumerate(matters(found, chosen))}
        self._sets = RoleSets(found.people, found.audience)
        self._questions = list(self._asked())

    def _asked(self) -> Iterator[_Row]:
        number = 0
        for at, matter in self._matters.items():
            for question in self._matter(at).questions:
                yield _Row(number, question, at, matter)
                number += 1

    def _matter(self, at: At) -> Matter:
        return self._chosen.agenda(self._people.model, at[0]).matters[at[1]]

    def _users(self, one: Class) -> BitMap:
        return self._found.audience.stated(one.residue)

    def matters(self) -> pa.Table:
        """The numbers of matters: type, the place in the type's agenda, number."""
        rows = [(*at, number) for at, number in self._matters.items()]
        types = (pa.string(), pa.int32(), pa.int32())
        columns = zip(*rows, strict=True) if rows else ((),) * len(types)
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        return pa.table(arrays, names=["type", "place", "matter"])

    def all(self) -> Iterator[tuple[str, pa.Table]]:
        """Every table, by name."""
        rows = {
            QUESTIONS: self._question_rows(),
            REVIEW: self._review_rows(),
            PRINCIPALS: self._principal_rows(),
        }
        for name, found in rows.items():
            yield name, table(name, zip(*found, strict=True))
        reach = self._reach()
        yield ROLE_SETS, table(ROLE_SETS, self._set_columns(reach))
        by_principal = self._by_principal(reach)
        yield BY_PRINCIPAL, table(BY_PRINCIPAL, by_principal)
        yield INACTIVE, table(INACTIVE, zip(*self._inactive(reach), strict=True))

    # questions and classes

    def _question_rows(self) -> Iterator[tuple[Any, ...]]:
        for row in self._questions:
            classes = self._found.classes.get(row.at, ())
            users = [self._users(one) for one in classes]
            yield (
                row.number,
                row.question.kind,
                row.question.name,
                row.question.title,
                row.at[0],
                row.matter,
                row.question.request,
                self._found.census[row.at[0]],
                len(classes),
                sum(one.entities for one, found in zip(classes, users, strict=True) if found),
                len(BitMap.union(BitMap(), *users)),
            )

    def _review_rows(self) -> Iterator[tuple[Any, ...]]:
        known: dict[At, list[tuple[Any, ...]]] = {}
        for row in self._questions:
            if row.at not in known:
                classes = self._found.classes.get(row.at, ())
                known[row.at] = [self._class_cells(one) for one in classes]
            for cells in known[row.at]:
                yield row.number, row.question.kind, row.question.name, row.at[0], *cells

    def _class_cells(self, one: Class) -> tuple[Any, ...]:
        leaves = self._found.residues.leaves(one.residue)
        users, sets = self._users(one), self._sets.of(one.residue)
        statements = {
            id
            for leaf in leaves
            if isinstance(leaf, (Given, Free, Owned))
            for id in leaf.statements
        }
        return (
            one.key.hex(),
            one.entities,
            self._found.names.get(one.first, ""),
            len(users),
            len(sets),
            list(self._found.audience.opens(one.residue)),
            self._names(self._people.named(leaves, Effect.ALLOW)),
            self._names(self._people.named(leaves, Effect.DENY)),
            sorted(statements),
            canonical(users),
            canonical(sets),
        )

    def _names(self, ids: Iterable[int]) -> list[str]:
        return list(map(words, principals_of(self._people, ids)))

    def _principal_rows(self) -> Iterator[tuple[Any, ...]]:
        acting = self._people.acting
        for id, (kind, name) in enumerate(acting.principals):
            yield id, kind, name, id in acting.stored

    # people

    def _reach(self) -> Mapping[int, Counts]:
        """By matter, on how many entities each role set may, by statements."""
        reach = {}
        for at, classes in self._found.classes.items():
            counts = np.zeros(len(self._sets), dtype=np.int64)
            for residue in {one.residue for one in classes}:
                size = sum(one.entities for one in classes if one.residue == residue)
                counts[np.asarray(self._sets.of(residue).to_array())] += size
            if counts.any():
                reach[self._matters[at]] = counts
        return reach

    def _set_columns(self, reach: Mapping[int, Counts]) -> Sequence[Any]:
        sets = self._sets
        matters, entities = _sparse(reach, len(sets))
        return (
            range(len(sets)),
            [self._names(found) for found in sets.principals],
            [len(users) for users in sets.users],
            [canonical(users) for users in sets.users],
            matters,
            entities,
        )

    def _by_principal(self, reach: Mapping[int, Counts]) -> Sequence[Any]:
        users = sorted(self._people.crowd.everyone)
        sets = np.array([self._sets.set_of[user] for user in users], dtype=np.int64)
        gains = {self._matters[at]: counts[users] for at, counts in self._found.gains.items()}
        stated = [self._by_way(way, reach, len(self._sets))[sets] for way in range(len(WAYS))]
        owned = [self._by_way(way, gains, len(users)) for way in range(len(WAYS))]
        names = [self._people.acting.principals[user].name for user in users]
        return (users, names, sets, *stated, *owned, *_sparse(gains, len(users)))

    def _by_way(self, way: int, counts: Mapping[int, Counts], size: int) -> Counts:
        """The counts of a way, over all types."""
        total = np.zeros(size, dtype=np.int64)
        for type in self._found.census:
            number = self._chosen.agenda(self._people.model, type).ways[way]
            if number is not None:
                total += counts.get(self._matters[type, number], 0)
        return total

    def _inactive(self, reach: Mapping[int, Counts]) -> Iterator[tuple[Any, ...]]:
        sets = sum(reach.values(), np.zeros(len(self._sets), dtype=np.int64))
        owning = {u for found in self._found.gains.values() for u in np.flatnonzero(found).tolist()}
        everyone = self._people.crowd.everyone
        for user in sorted(self._people.acting.stored):
            principal = self._people.acting.principals[user]
            if principal.kind != USER:
                continue
            if user in self._found.gone:
                yield user, *principal, REMOVED
            if user not in everyone:
                yield user, *principal, BEYOND
            elif not sets[self._sets.set_of[user]] and user not in owning:
                yield user, *principal, IDLE


def _sparse(counts: Mapping[int, Counts], size: int) -> tuple[pa.Array, pa.Array]:
    """For each of `size` things the matters with a count, and the counts, as lists."""
    places = [np.flatnonzero(found) for found in counts.values()]
    at = np.concatenate([*places, np.zeros(0, dtype=np.int64)])
    numbers = np.repeat(np.fromiter(counts, np.int32, len(counts)), [len(p) for p in places])
    values = [found[p] for found, p in zip(counts.values(), places, strict=True)]
    order = np.lexsort((numbers, at))
    offsets = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(np.bincount(at, minlength=size), out=offsets[1:])
    flat = np.concatenate([*values, np.zeros(0, dtype=np.int64)])[order]
    lists = (pa.ListArray.from_arrays(offsets, part) for part in (numbers[order], flat))
    first, second = lists
    return first, second


def table(name: str, columns: Iterable[Any]) -> pa.Table:
    """The table of that name; no columns: no rows."""
    schema = SCHEMAS[name]
    found = list(columns) or [[] for _ in schema]
    arrays = [
        column.cast(field.type) if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(found, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)
