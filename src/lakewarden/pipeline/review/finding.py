"""The findings of a review in one block: classes, gains by ownership, and the assets themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.expression import Compare, Node
from lakewarden.kernel.model import Model
from lakewarden.kernel.point_evaluator import PointEvaluator
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.subject import nobody
from lakewarden.pipeline.index.id_space import Bits
from lakewarden.pipeline.index.index import Index
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import CompiledBlock, TaskContext, write_each_block
from lakewarden.pipeline.review.asset_rows import Listing, containers
from lakewarden.pipeline.review.audience import Audience, People, people_of
from lakewarden.pipeline.review.column import Codes, Column, small
from lakewarden.pipeline.review.column_readers import ColumnReaders
from lakewarden.pipeline.review.group import Group, Grouping
from lakewarden.pipeline.review.group_bounds import Groups, OwnershipBounds, digest_of, groups_of
from lakewarden.pipeline.review.named_access import Naming
from lakewarden.pipeline.review.ownership_access import Owning
from lakewarden.pipeline.review.question import Agenda, Chosen, attribute_comparisons
from lakewarden.pipeline.review.reduction import Reduction, Spots
from lakewarden.pipeline.review.residue import NOBODY, Compared, Residues
from lakewarden.pipeline.review.row import (
    CENSUS,
    CLASS,
    GAINS,
    GROUP,
    MOST,
    RESIDUE,
    batch,
    one_list,
)
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import read_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Ids = NDArray[np.int32]

COMPARED: Final = "comparison int, user int, id long, truth boolean"
"""Whether a comparison holds for a user, according to the entity `id` that represents the user."""


Matters = frozenset[tuple[str, int]]
"""Matters: the type of entities, and the place in that type's agenda."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The questions, and what is already known about users.

    A matter that distinguishes more than `limit` kinds of entities is evaluated by groups (None: no
    limit). `again` are matters with too many classes over all blocks: only these are evaluated, by
    groups, in blocks where they have few classes.
    """

    chosen: Chosen
    telling: Mapping[Compared, BitMap] = field(default_factory=dict)
    limit: int | None = None
    again: Matters | None = None


def finder(context: TaskContext, plan: Plan) -> Callable[[CompiledBlock], Iterator[pa.RecordBatch]]:
    """The judge for blocks of the estate; its columns are `row.FINDINGS`."""

    def evaluate_block(compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        return find(compiled_block, plan, people_of(context))

    return evaluate_block


def find(compiled_block: CompiledBlock, plan: Plan, people: People) -> Iterator[pa.RecordBatch]:
    """The findings in one block of an estate with these people."""
    finder = _Finder(compiled_block, plan, people)
    return finder.batches() if plan.again is None else finder.grouped(plan.again)


class _Finder:
    """The findings of one block."""

    def __init__(self, compiled_block: CompiledBlock, plan: Plan, people: People) -> None:
        self._compiled_block = compiled_block
        self._block = compiled_block.block
        self._snapshot = compiled_block.snapshot
        self._plan = plan
        self._residues = Residues()
        self._reduction = Reduction(compiled_block.snapshot, self._residues, plan.limit)
        self._audience = Audience(people, self._residues, plan.telling)
        self._owning = Owning(self._reduction, self._audience, people)
        self._grouping = Grouping(self._reduction, people, plan.telling)
        self._listing = Listing(compiled_block, self._reduction, self._audience)
        self._naming = Naming(self._reduction, people, plan.telling)
        self._column_readers = ColumnReaders(
            compiled_block, plan.chosen, self._reduction, self._owning, self._naming
        )
        self._shown: set[int] = set()
        self._counting: tuple[Groups, OwnershipBounds] | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All findings."""
        assets = []
        for type, ids in self._compiled_block.types():
            agenda = self._plan.chosen.agenda(self._snapshot.model, type)
            yield batch(what=[CENSUS], type=[type], n=[len(ids)])
            columns: dict[int, Column] = {}
            spots, groups = Spots(ids), None
            for number, matter in enumerate(agenda.matters):  # also of ways without questions
                column = self._reduction.evaluate_few(matter.rule, spots)
                if column is None:
                    groups = groups or self._groups(type, ids)
                    yield from self._in_groups(number, matter.rule, groups)
                    continue
                if number in agenda.ways:
                    columns[number] = column
                yield from self._classes(type, number, column, ids)
            if type:
                named = self._people(agenda, columns, ids)
                assets.append(self._listing.assets(type, ids, agenda, columns, named))
                assets.extend(self._column_readers.rows(type, ids))
        yield from assets
        yield self._naming.audiences()
        yield from self._listing.removed_users()
        yield self._texts()

    def grouped(self, again: Matters) -> Iterator[pa.RecordBatch]:
        """Some matters by groups, without those that the block evaluated by groups before."""
        for type, ids in self._compiled_block.types():
            agenda = self._plan.chosen.agenda(self._snapshot.model, type)
            spots, groups = Spots(ids), None
            for number, matter in enumerate(agenda.matters):
                if (type, number) in again and self._reduction.evaluate_few(
                    matter.rule, spots
                ) is not None:
                    groups = groups or self._groups(type, ids)
                    yield from self._in_groups(number, matter.rule, groups)
        yield self._texts()

    def _people(self, agenda: Agenda, columns: Mapping[int, Column], ids: Ids) -> list[pa.Array]:
        """By way, the keys of the users who reach each of the entities, including owners."""
        named: list[pa.Array] = []
        for number in agenda.ways:
            if number is None:
                named.append(pa.nulls(len(ids), pa.binary()))
            elif number in columns:
                column = columns[number]
                named.append(self._naming.few(column, ids, self._audience, self._owning))
            else:
                named.append(self._naming.many(agenda.matters[number].rule, ids))
        return named

    # classes

    def _classes(
        self, type: str, number: int, column: Column, ids: Ids
    ) -> Iterator[pa.RecordBatch]:
        plain = [self._residues.plain(residue) for residue in column.of]
        if set(plain) == {NOBODY}:
            return
        rows = list(self._members(column, plain, ids))
        yield batch(
            what=[CLASS] * len(rows),
            type=[type] * len(rows),
            matter=[number] * len(rows),
            key=[self._residues.digest(residue) for residue, _ in rows],
            n=[len(members) for _, members in rows],
            id=[members.min() for _, members in rows],
            bits=[canonical(members) for _, members in rows],
        )
        yield from _gained(GAINS, type, number, self._owning.gains(column, ids))

    def _members(self, column: Column, plain: list[int], ids: Ids) -> Iterator[tuple[int, Bits]]:
        """The classes, except that of nobody: the residue, and its entities in the estate."""
        distinct = sorted(set(plain))
        places = np.searchsorted(distinct, plain)[column.codes]
        for place, members in enumerate(self._parted(places, len(distinct), ids)):
            residue = distinct[place]
            if residue != NOBODY:
                self._shown.add(residue)
                yield residue, members

    def _parted(self, codes: NDArray[np.int64], count: int, ids: Ids) -> Iterator[Bits]:
        """The entities of the estate by code."""
        order = np.argsort(codes.astype(small(count)), kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=count))
        moved = self._block.ids_of(ids[order])
        yield from map(self._block.width.bitmap, np.split(moved, ends[:-1]))

    # groups

    def _groups(self, type: str, ids: Ids) -> Groups:
        codes, names = containers(self._snapshot, ids)
        return groups_of(self._snapshot, type, ids, codes, names)

    def _in_groups(self, number: int, rule: Node, groups: Groups) -> Iterator[pa.RecordBatch]:
        """The outcomes of the matter by groups, and upper bounds of what ownership allows."""
        classes = self._grouping.outcomes(rule, groups)
        members = list(self._parted(groups.codes, len(groups), groups.ids))
        size = len(groups)
        yield batch(
            what=[GROUP] * size,
            type=[groups.type] * size,
            matter=[number] * size,
            key=[digest_of(groups.type, name) for name in groups.names],
            n=[len(of) for of in members],
            id=[of.min() for of in members],
            bits=[canonical(of) for of in members],
            container=groups.names,
            users=[canonical(judged_class.some) for judged_class in classes],
            every=[canonical(judged_class.every) for judged_class in classes],
            keys=[self._atom_digests(judged_class) for judged_class in classes],
        )
        # A user who is allowed by owning or being an entity satisfies one of the atoms on that.
        gains = self._ownership_bounds(groups).gains(
            [judged_class.atoms for judged_class in classes]
        )
        yield from _gained(MOST, groups.type, number, gains)

    def _ownership_bounds(self, groups: Groups) -> OwnershipBounds:
        """The ownership counts of the groups, cached while the same groups are evaluated."""
        if self._counting is None or self._counting[0] is not groups:
            self._counting = groups, OwnershipBounds(self._owning, self._residues, groups)
        return self._counting[1]

    def _numbers(self, group: Group) -> list[int]:
        return [self._residues.number(atom) for atom in group.atoms]

    def _atom_digests(self, group: Group) -> list[bytes]:
        """The residues of a group, without the names of principals behind relations."""
        numbers = {self._residues.plain(number) for number in self._numbers(group)}
        self._shown |= numbers
        return sorted(map(self._residues.digest, numbers))

    def _texts(self) -> pa.RecordBatch:
        """The residues behind the keys of all classes."""
        shown = self._shown | self._listing.shown
        within = (self._residues.within(number) for number in shown)
        numbers = sorted(frozenset[int]().union(*within))
        return batch(
            what=[RESIDUE] * len(numbers),
            key=[self._residues.digest(number) for number in numbers],
            text=[self._residues.text(number) for number in numbers],
        )


def _gained(kind: int, type: str, matter: int, gains: Codes) -> Iterator[pa.RecordBatch]:
    """The number of entities on which ownership allows each principal, if there are any."""
    users = np.flatnonzero(gains)
    if len(users):
        yield batch(
            what=[kind],
            type=[type],
            matter=[matter],
            owners=one_list(users.astype(np.int32)),
            counts=one_list(gains[users]),
        )


def comparison_evaluator(
    comparisons: Iterable[Compared],
) -> Callable[[CompiledBlock], Iterator[pa.RecordBatch]]:
    """A judge that finds which comparisons hold for the users that are entities of a block."""
    questions = tuple(comparisons)

    def tell(compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        block, coded = compiled_block.block, compiled_block.snapshot.coded
        point = PointEvaluator(compiled_block.snapshot, nobody(Principal(USER, "")), None)
        rows = []
        for id in block.own & coded.tree.stored:
            principal = coded.model.principal_kind(coded.tree.entity(id))
            user = None if principal is None else coded.memberships.ids.get(Principal(*principal))
            if principal is None or user is None or principal[0] != USER:
                continue
            for number, comparison in enumerate(questions):
                node = Compare(comparison.attribute, comparison.operator, comparison.value)
                truth = point.compare_for(node, id, Principal(*principal))
                rows.append((number, user, id - block.start + block.first, truth))
        types = (pa.int32(), pa.int32(), pa.int64(), pa.bool_())
        columns = zip(*rows, strict=True) if rows else ((),) * 4
        arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
        yield pa.record_batch(arrays, names=["comparison", "user", "id", "truth"])

    return tell


def evaluate_comparisons(
    index: Index, context: TaskContext, answers: Location, spark: SparkSession
) -> dict[str, int]:
    """Writes which users satisfy the comparisons in rules; returns how many there are."""
    comparisons = attribute_comparisons(index.system.model)
    if comparisons:
        write_each_block(
            index, context, comparison_evaluator(comparisons), COMPARED, answers, spark
        )
    return {"comparisons": len(comparisons)}


def answers_of(model: Model, answers: Location) -> dict[Compared, BitMap]:
    """By comparison in the model's rules: the users who satisfy it, by `evaluate_comparisons`."""
    if not answers.exists():
        return {}
    columns = read_table(answers).select(["comparison", "user", "id", "truth"]).columns
    return users_by_comparison(
        attribute_comparisons(model), zip(*(c.to_pylist() for c in columns), strict=True)
    )


def users_by_comparison(
    comparisons: Iterable[Compared], rows: Iterable[tuple[int, int, int, bool]]
) -> dict[Compared, BitMap]:
    """By comparison: the users who satisfy it; of several entities of a user the first decides."""
    questions = tuple(comparisons)
    users = {comparison: BitMap() for comparison in questions}
    first: dict[tuple[int, int], tuple[int, bool]] = {}
    for number, user, id, truth in rows:
        known = first.get((number, user))
        if known is None or id < known[0]:
            first[number, user] = id, truth
    for (number, user), (_, truth) in first.items():
        if truth:
            users[questions[number]].add(user)
    return users
