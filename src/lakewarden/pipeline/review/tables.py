"""The tables of a review with a row for each class, user or question."""

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
from lakewarden.pipeline.review.activity import Use
from lakewarden.pipeline.review.audience import RoleSets, principals_of
from lakewarden.pipeline.review.block_merge import At, Class, Group, MergedFindings, matters
from lakewarden.pipeline.review.question import Chosen, Question
from lakewarden.pipeline.review.residue import Free, Given, Owned, Residue
from lakewarden.pipeline.review.schemas import (
    BY_PRINCIPAL,
    COARSE,
    EXACT,
    INACTIVE,
    PRINCIPALS,
    QUESTIONS,
    REVIEW,
    ROLE_SETS,
    SCHEMAS,
    principal_label,
)

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


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a class or a group: whom statements allow on any entity, and on all.

    `sets` are the role sets of `some`.
    """

    some: BitMap
    every: BitMap
    sets: BitMap
    atoms: frozenset[Residue]
    opens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ClassRow:
    """A class or a group of a matter, its outcome, and its cells."""

    of: Class | Group
    outcome: _Outcome
    cells: tuple[Any, ...]


_KNOWN: Final = 1 << 13
"""How many residues have their cells cached; several matters share residues."""


class Tables:
    """The tables, computed from the findings.

    `review` comes first, matter by matter: it collects the counts for the other tables.
    """

    def __init__(self, findings: MergedFindings, chosen: Chosen, used: Use | None = None) -> None:
        self._findings = findings
        self._used = used
        self._people = findings.people
        self._chosen = chosen
        self._matters = {at: number for number, at in enumerate(matters(findings, chosen))}
        self._sets = RoleSets(findings.people, findings.audience)
        self._question_rows: list[tuple[Any, ...]] = []
        self._known: dict[int, tuple[_Outcome, tuple[Any, ...]]] = {}
        self._reach: dict[int, Counts] = {}
        self._surely: dict[int, Counts] = {}

    def _questions(self) -> Iterator[tuple[At, list[_Row]]]:
        """The questions, matter by matter."""
        number = 0
        for at, matter in self._matters.items():
            questions = self._chosen.agenda(self._people.model, at[0]).matters[at[1]].questions
            yield (
                at,
                [
                    _Row(number + n, matter_class, at, matter)
                    for n, matter_class in enumerate(questions)
                ],
            )
            number += len(questions)

    def matters(self) -> pa.Table:
        """The numbers of matters: type, the place in the type's agenda, number; is it coarse."""
        rows = [(*at, number, at in self._findings.coarse) for at, number in self._matters.items()]
        types = (pa.string(), pa.int32(), pa.int32(), pa.bool_())
        columns = zip(*rows, strict=True) if rows else ((),) * len(types)
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        return pa.table(arrays, names=["type", "place", "matter", "coarse"])

    def review(self) -> Iterator[pa.Table]:
        """The rows of classes and groups, a limited number at a time."""
        for at, rows_of_matter in self._questions():
            parts = list(self._parts(at))
            self._count(at, parts)
            self._question_rows += (self._question_cells(row, parts) for row in rows_of_matter)
            if rows_of_matter:
                rows = _tailed(map(self._part_cells, parts))
                yield pa.concat_tables([_headed(row, rows) for row in rows_of_matter])

    def others(self) -> Iterator[tuple[str, pa.Table]]:
        """Every other table, by name; `review` must have been consumed before."""
        yield QUESTIONS, table(QUESTIONS, zip(*self._question_rows, strict=True))
        yield PRINCIPALS, table(PRINCIPALS, zip(*self._principal_rows(), strict=True))
        yield ROLE_SETS, table(ROLE_SETS, self._set_columns())
        yield BY_PRINCIPAL, table(BY_PRINCIPAL, self._by_principal())
        yield INACTIVE, table(INACTIVE, zip(*self._inactive(), strict=True))

    # questions and classes

    def _parts(self, at: At) -> Iterator[_ClassRow]:
        for judged_class in self._findings.classes.get(at, ()):
            yield _ClassRow(judged_class, *self._of_residue(judged_class.residue))
        for group in self._findings.groups(at) if at in self._findings.coarse else ():
            if group.some or group.opens:
                sets = self._sets.of(group.some)
                outcome = _Outcome(group.some, group.every, sets, group.atoms, group.opens)
                yield _ClassRow(group, outcome, self._outcome_cells(outcome))

    def _of_residue(self, number: int) -> tuple[_Outcome, tuple[Any, ...]]:
        known = self._known.get(number)
        if known is None:
            audience = self._findings.audience
            users, atoms = audience.stated(number), self._findings.residues.leaves(number)
            outcome = _Outcome(users, users, self._sets.of(users), atoms, audience.opens(number))
            if len(self._known) == _KNOWN:
                self._known.clear()
            known = self._known[number] = outcome, self._outcome_cells(outcome)
        return known

    def _count(self, at: At, parts: Sequence[_ClassRow]) -> None:
        """Counts the entities that statements open to each role set: at most, and at least."""
        upper, lower = (np.zeros(len(self._sets), dtype=np.int64) for _ in range(2))
        for part in parts:
            outcome = part.outcome
            surely = outcome.sets if outcome.every is outcome.some else self._sets.of(outcome.every)
            upper[np.asarray(outcome.sets.to_array())] += part.of.entities
            lower[np.asarray(surely.to_array())] += part.of.entities
        if upper.any():
            self._reach[self._matters[at]], self._surely[self._matters[at]] = upper, lower

    def _question_cells(self, row: _Row, parts: Sequence[_ClassRow]) -> tuple[Any, ...]:
        return (
            row.number,
            row.question.kind,
            row.question.name,
            row.question.title,
            row.at[0],
            row.matter,
            row.question.request,
            row.at in self._findings.coarse,
            self._findings.census[row.at[0]],
            len(parts),
            sum(part.of.entities for part in parts if part.outcome.some),
            len(BitMap.union(BitMap(), *(part.outcome.some for part in parts))),
        )

    def _part_cells(self, part: _ClassRow) -> tuple[Any, ...]:
        is_group = isinstance(part.of, Group)
        return (
            COARSE if is_group else EXACT,
            part.of.key.hex(),
            part.of.container if isinstance(part.of, Group) else None,
            part.of.entities,
            self._findings.names.get(part.of.first, ""),
            *part.cells,
        )

    def _outcome_cells(self, outcome: _Outcome) -> tuple[Any, ...]:
        users = canonical(outcome.some)
        stated = (a for a in outcome.atoms if isinstance(a, (Given, Free, Owned)))
        return (
            len(outcome.some),
            len(outcome.every),
            len(outcome.sets),
            list(outcome.opens),
            self._names(self._people.named(outcome.atoms, Effect.ALLOW)),
            self._names(self._people.named(outcome.atoms, Effect.DENY)),
            sorted({id for atom in stated for id in atom.statements}),
            users,
            users if outcome.every is outcome.some else canonical(outcome.every),
            canonical(outcome.sets),
        )

    def _names(self, ids: Iterable[int]) -> list[str]:
        return list(map(principal_label, principals_of(self._people, ids)))

    def _principal_rows(self) -> Iterator[tuple[Any, ...]]:
        memberships = self._people.memberships
        for id, (kind, name) in enumerate(memberships.principals):
            yield id, kind, name, id in memberships.stored

    # people

    def _set_columns(self) -> Sequence[Any]:
        sets = self._sets
        counted = _sparse(self._reach, len(sets), self._surely)
        return (
            range(len(sets)),
            [self._names(of_set) for of_set in sets.principals],
            [len(users) for users in sets.users],
            [canonical(users) for users in sets.users],
            *counted,
        )

    def _by_principal(self) -> Sequence[Any]:
        users = sorted(self._people.users.everyone)
        sets = np.array([self._sets.set_of[user] for user in users], dtype=np.int64)
        gains = {self._matters[at]: counts[users] for at, counts in self._findings.gains.items()}
        ways, count = range(len(WAYS)), len(self._sets)
        upper = [self._by_way(way, self._reach, count)[sets] for way in ways]
        lower = [self._by_way(way, self._surely, count)[sets] for way in ways]
        owned = [self._by_way(way, gains, len(users)) for way in ways]
        names = [self._people.memberships.principals[user].name for user in users]
        return (users, names, sets, *upper, *lower, *owned, *_sparse(gains, len(users)))

    def _by_way(self, way: int, counts: Mapping[int, Counts], size: int) -> Counts:
        """The counts of a way, over all types."""
        total = np.zeros(size, dtype=np.int64)
        for type in self._findings.census:
            number = self._chosen.agenda(self._people.model, type).ways[way]
            if number is not None:
                total += counts.get(self._matters[type, number], 0)
        return total

    def _inactive(self) -> Iterator[tuple[Any, ...]]:
        reach = sum(self._reach.values(), np.zeros(len(self._sets), dtype=np.int64))
        owning = {
            u for gains in self._findings.gains.values() for u in np.flatnonzero(gains).tolist()
        }
        everyone = self._people.users.everyone
        for user in sorted(self._people.memberships.stored):
            principal = self._people.memberships.principals[user]
            if principal.kind != USER:
                continue
            if user in self._findings.removed_users:
                yield user, *principal, REMOVED
            if user not in everyone:
                yield user, *principal, BEYOND
            elif not reach[self._sets.set_of[user]] and user not in owning:
                yield user, *principal, IDLE
            if self._used is not None:
                unused = self._used.reason(principal)
                if unused:
                    yield user, *principal, unused


def _tailed(cells: Iterable[tuple[Any, ...]]) -> pa.Table:
    """The columns of `review` after those that name the question."""
    schema = pa.schema(list(SCHEMAS[REVIEW])[_HEAD:])
    columns = list(zip(*cells, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, of.type) for column, of in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _headed(row: _Row, rows: pa.Table) -> pa.Table:
    """The rows of a question."""
    cells = (row.number, row.question.kind, row.question.name, row.at[0])
    schema = SCHEMAS[REVIEW]
    fields = list(schema)[:_HEAD]
    head = [
        pa.repeat(pa.scalar(cell, of.type), rows.num_rows)
        for cell, of in zip(cells, fields, strict=True)
    ]
    return pa.Table.from_arrays([*head, *rows.columns], schema=schema)


_HEAD: Final = 4
"""How many columns of `review` name the question."""


def _sparse(counts: Mapping[int, Counts], size: int, *more: Mapping[int, Counts]) -> list[pa.Array]:
    """For each of `size` items, the matters with a count, and the counts, as lists.

    `more` are counts that are zero where the first ones are zero.
    """
    places = [np.flatnonzero(by_user) for by_user in counts.values()]
    at = np.concatenate([*places, np.zeros(0, dtype=np.int64)])
    numbers = np.repeat(np.fromiter(counts, np.int32, len(counts)), [len(p) for p in places])
    values = [
        np.concatenate([*(of[n][p] for n, p in zip(counts, places, strict=True)), at[:0]])
        for of in (counts, *more)
    ]
    order = np.lexsort((numbers, at))
    offsets = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(np.bincount(at, minlength=size), out=offsets[1:])
    return [pa.ListArray.from_arrays(offsets, part[order]) for part in (numbers, *values)]


def table(name: str, columns: Iterable[Any]) -> pa.Table:
    """The table of that name; without columns it is empty."""
    schema = SCHEMAS[name]
    cells = list(columns) or [[] for _ in schema]
    arrays = [
        column.cast(field.type) if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(cells, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)
