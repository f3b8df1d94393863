"""What a review finds in one block: classes, who gains by ownership, and the assets themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.aspects.meaning import REMOVED
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.expression import Compare
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.point import Point
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.subject import Subject
from lakewarden.pipeline.index.estate import Estate, Judged
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.review.audience import Audience, People, people_of
from lakewarden.pipeline.review.column import Column, small
from lakewarden.pipeline.review.owning import Owning
from lakewarden.pipeline.review.question import Agenda, Chosen
from lakewarden.pipeline.review.reduction import Reduction, Spots
from lakewarden.pipeline.review.residue import NOBODY, Residues, Told

Ids = NDArray[np.int32]

FOUND: Final = (
    "what int, type string, matter int, key binary, n long, id int, bits binary, text string,"
    " container string, owners array<int>, keys array<binary>, counts array<long>"
)
"""What is found, of six kinds.

    RESIDUE   key, text
    CLASS     type, matter, key, n, id = the first entity, bits = the entities, by block
    GAINS     type, matter, owners = users, counts = how many entities by owning, or being, them
    ASSET     id, type, text = name, container, owners; keys and counts by way
    CENSUS    type, n
    REMOVED   id = a user who was removed
"""

_ARROW = pa.schema(
    [
        ("what", pa.int32()),
        ("type", pa.string()),
        ("matter", pa.int32()),
        ("key", pa.binary()),
        ("n", pa.int64()),
        ("id", pa.int32()),
        ("bits", pa.binary()),
        ("text", pa.string()),
        ("container", pa.string()),
        ("owners", pa.list_(pa.int32())),
        ("keys", pa.list_(pa.binary())),
        ("counts", pa.list_(pa.int64())),
    ]
)

RESIDUE: Final = 0
CLASS: Final = 1
GAINS: Final = 2
ASSET: Final = 3
CENSUS: Final = 4
GONE: Final = 5

TOLD: Final = "told int, user int, id int, truth boolean"
"""Whether a comparison holds for a user, as the entity `id` says that is the user."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, and what is known of users before."""

    chosen: Chosen
    telling: Mapping[Told, BitMap] = field(default_factory=dict)


def finder(estate: Estate, plan: Plan) -> Callable[[Judged], Iterator[pa.RecordBatch]]:
    """What judges a block of the estate; the columns are `FOUND`."""

    def judge(judged: Judged) -> Iterator[pa.RecordBatch]:
        return find(judged, plan, people_of(estate))

    return judge


def find(judged: Judged, plan: Plan, people: People) -> Iterator[pa.RecordBatch]:
    """What is found in one block of an estate with these people."""
    return _Finder(judged, plan, people).batches()


class _Finder:
    """One block."""

    def __init__(self, judged: Judged, plan: Plan, people: People) -> None:
        self._block = judged.block
        self._snapshot = judged.snapshot
        self._plan = plan
        self._residues = Residues()
        self._reduction = Reduction(judged.snapshot, self._residues)
        self._audience = Audience(people, self._residues, plan.telling)
        self._owning = Owning(self._reduction, self._audience, people)
        self._shown: set[int] = set()
        self._keys: dict[int, tuple[Column, Ids]] = {}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All that is found."""
        assets = []
        for type, ids in self._types():
            agenda = self._plan.chosen.agenda(self._snapshot.model, type)
            yield _batch(what=[CENSUS], type=[type], n=[len(ids)])
            columns: dict[int, Column] = {}
            spots = Spots(ids)
            for number, matter in enumerate(agenda.matters):  # also of ways that nobody asked for
                column = self._reduction.evaluate(matter.rule, spots)
                if number in agenda.ways:
                    columns[number] = column
                yield from self._classes(type, number, column, ids)
            if type:
                assets.append(self._assets(type, ids, agenda, columns))
        yield from assets
        yield from self._gone()
        yield self._texts()

    def _types(self) -> Iterator[tuple[str, Ids]]:
        """The types of the block's own entities that are judged, with their ids."""
        tree, own = self._snapshot.coded.tree, self._block.own
        if ROOT in own and tree.entity(ROOT) == NO_RESOURCE:
            yield "", np.array([ROOT], dtype=np.int32)
        for type in tree.kinds:
            ids = self._snapshot.of_type(type) & own if type else BitMap()
            if ids:
                yield type, np.asarray(ids.to_array(), dtype=np.int32)

    def _classes(
        self, type: str, number: int, column: Column, ids: Ids
    ) -> Iterator[pa.RecordBatch]:
        plain = [self._residues.plain(residue) for residue in column.of]
        if set(plain) == {NOBODY}:
            return
        rows = list(self._members(column, plain, ids))
        yield _batch(
            what=[CLASS] * len(rows),
            type=[type] * len(rows),
            matter=[number] * len(rows),
            key=[self._residues.digest(residue) for residue, _ in rows],
            n=[len(members) for _, members in rows],
            id=[members.min() for _, members in rows],
            bits=[canonical(members) for _, members in rows],
        )
        gains = self._owning.gains(column, ids)
        users = np.flatnonzero(gains)
        if len(users):
            yield _batch(
                what=[GAINS],
                type=[type],
                matter=[number],
                owners=_one_list(users.astype(np.int32)),
                counts=_one_list(gains[users]),
            )

    def _members(self, column: Column, plain: list[int], ids: Ids) -> Iterator[tuple[int, BitMap]]:
        """The classes but for that of nobody: the residue, and the entities of the estate."""
        distinct = sorted(set(plain))
        places = np.searchsorted(distinct, plain).astype(small(len(distinct)))[column.codes]
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(distinct)))
        moved = (ids[order] - self._block.start + self._block.first).astype(np.uint32)
        for residue, members in zip(distinct, np.split(moved, ends[:-1]), strict=True):
            if residue != NOBODY:
                self._shown.add(residue)
                yield residue, BitMap(members)

    def _texts(self) -> pa.RecordBatch:
        """What the keys of all classes mean."""
        within = (self._residues.within(number) for number in self._shown)
        numbers = sorted(frozenset[int]().union(*within))
        return _batch(
            what=[RESIDUE] * len(numbers),
            key=[self._residues.digest(number) for number in numbers],
            text=[self._residues.text(number) for number in numbers],
        )

    # the assets

    def _assets(
        self, type: str, ids: Ids, agenda: Agenda, columns: Mapping[int, Column]
    ) -> pa.RecordBatch:
        names = self._snapshot.coded.tree.names
        found = [self._reached(None if at is None else columns[at], ids) for at in agenda.ways]
        return _batch(
            what=np.full(len(ids), ASSET, dtype=np.int32),
            type=[type] * len(ids),
            id=(ids - self._block.start + self._block.first).astype(np.int32),
            text=[names[id] for id in ids.tolist()],
            container=self._containers(ids),
            owners=self._owners(ids),
            keys=_rows_of([keys for keys, _ in found], pa.binary()),
            counts=_rows_of([counts for _, counts in found], pa.int64()),
        )

    def _reached(self, column: Column | None, ids: Ids) -> tuple[pa.Array, pa.Array]:
        """The class of each entity for one way, and how many users statements let in."""
        if column is None:
            return pa.nulls(len(ids), pa.binary()), pa.nulls(len(ids), pa.int64())
        plain = [self._residues.plain(residue) for residue in column.of]
        keys = [None if n == NOBODY else self._residues.digest(n) for n in plain]
        counts = [len(self._audience.stated(n)) for n in plain]
        self._shown.update(n for n in plain if n != NOBODY)
        places = pa.array(column.codes)
        return pa.array(keys, pa.binary()).take(places), pa.array(counts, pa.int64()).take(places)

    def _containers(self, ids: Ids) -> pa.Array:
        """The name of the outermost entity above each that may itself lie in something."""
        model, tree = self._snapshot.model, self._snapshot.coded.tree
        declared = (model.types.get(kind) for kind in tree.kinds)
        inner = np.array([t is not None and bool(t.parents) for t in declared], dtype=bool)
        found = np.full(len(ids), -1, dtype=np.int64)
        at = tree.above[ids]
        while (at >= 0).any():
            found = np.where((at >= 0) & inner[tree.types[at]], at, found)
            at = np.where(at >= 0, tree.above[at], -1)
        distinct, places = np.unique(found, return_inverse=True)
        names = [None if id < 0 else ":".join(tree.entity(id)) for id in distinct.tolist()]
        return pa.array(names, pa.string()).take(pa.array(places.reshape(-1)))

    def _owners(self, ids: Ids) -> pa.Array:
        codes, owners = self._reduction.owners
        distinct = [sorted({owner for owner, _ in pairs}) for pairs in owners]
        return pa.array(distinct, pa.list_(pa.int32())).take(pa.array(codes[ids]))

    def _gone(self) -> Iterator[pa.RecordBatch]:
        attributes, own = self._snapshot.coded.attributes, self._block.own
        removed = [id for id, of in attributes.items() if "true" in of.get(REMOVED, ())]
        stored = self._snapshot.coded.tree.stored
        here = np.array([id for id in removed if id in own and id in stored], dtype=np.int32)
        people = sorted({n for n in self._reduction.persons(here).tolist() if n >= 0})
        if people:
            yield _batch(what=[GONE] * len(people), id=people)


def _rows_of(columns: list[pa.Array], type: pa.DataType) -> pa.Array:
    """Some columns of equal length as one column of lists."""
    size, width = len(columns[0]), len(columns)
    order = np.arange(size * width).reshape(width, size).T.reshape(-1)
    flat = pa.concat_arrays(columns).take(pa.array(order))
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * width)
    return pa.ListArray.from_arrays(offsets, flat.cast(type))


def _one_list(values: NDArray[Any]) -> pa.Array:
    """One row: the list of all values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values))


def _batch(**columns: Any) -> pa.RecordBatch:
    """Rows of which the columns not given are null."""
    size = len(columns["what"])
    return pa.record_batch(
        [
            pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(size, f.type)
            for f in _ARROW
        ],
        schema=_ARROW,
    )


def teller(asked: Iterable[Told]) -> Callable[[Judged], Iterator[pa.RecordBatch]]:
    """What finds, in a block, which comparisons hold for the users that are its entities."""
    questions = tuple(asked)

    def tell(judged: Judged) -> Iterator[pa.RecordBatch]:
        block, coded = judged.block, judged.snapshot.coded
        nobody = Subject(
            Principal(USER, ""), frozenset(), frozenset(), frozenset(), BitMap(), BitMap()
        )
        point = Point(judged.snapshot, nobody, None)
        rows = []
        for id in block.own & coded.tree.stored:
            principal = coded.model.principal_kind(coded.tree.entity(id))
            user = None if principal is None else coded.acting.ids.get(Principal(*principal))
            if principal is None or user is None or principal[0] != USER:
                continue
            for number, one in enumerate(questions):
                node = Compare(one.attribute, one.operator, one.value)
                truth = point.compare_for(node, id, Principal(*principal))
                rows.append((number, user, id - block.start + block.first, truth))
        types = (pa.int32(), pa.int32(), pa.int32(), pa.bool_())
        columns = zip(*rows, strict=True) if rows else ((),) * 4
        arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
        yield pa.record_batch(arrays, names=["told", "user", "id", "truth"])

    return tell


def telling(
    asked: Iterable[Told], rows: Iterable[tuple[int, int, int, bool]]
) -> dict[Told, BitMap]:
    """The users of whom each comparison holds; of several entities the first one speaks."""
    questions = tuple(asked)
    found = {one: BitMap() for one in questions}
    first: dict[tuple[int, int], tuple[int, bool]] = {}
    for number, user, id, truth in rows:
        known = first.get((number, user))
        if known is None or id < known[0]:
            first[number, user] = id, truth
    for (number, user), (_, truth) in first.items():
        if truth:
            found[questions[number]].add(user)
    return found
