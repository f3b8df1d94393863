"""The findings of an export in one block: classes with their entities, users, and ties.

Nothing is merged on the driver, so there may be as many classes as entities. Equal findings of
several blocks are one row of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.statement import Effect
from lakewarden.pipeline.export.need import NOTHING, Need, NeedMatcher, Needs, need_text
from lakewarden.pipeline.export.user_sets import UserSet, UserSets, user_sets_of
from lakewarden.pipeline.index.task_context import CompiledBlock, TaskContext
from lakewarden.pipeline.parquet_output import batch
from lakewarden.pipeline.review.audience import Audience
from lakewarden.pipeline.review.column import Column, small
from lakewarden.pipeline.review.finding import Plan
from lakewarden.pipeline.review.reduction import Reduction, Spots
from lakewarden.pipeline.review.residue import Free, Given, Owned, Owners, Residue, Residues

Ids = NDArray[np.int32]

BLOCK_ROWS: Final = (
    "what int, type string, matter int, key string, word string, other string,"
    " ids array<long>, numbers array<int>, principals array<int>"
)
"""Rows of eight kinds.

    TYPE      type: entities of this type exist
    CLASS     type, matter = its place in the agenda of the type, key = the class, ids = entities
    DECISION  key = the class, word = a need, other = the crowd for which it suffices
    CROWD     key, principals, ids = role sets and numbers = users beside them
    REASON    key = the class, word = effect, type = privilege, other = a statement
    MEETS     word = a need, other = whether exactly, ids = entities, numbers = principals
    ABOVE     ids = an entity that holds others, word = its path
    WIDE      type, matter: it distinguishes too many kinds of entities
"""

TYPE: Final = 0
CLASS: Final = 1
DECISION: Final = 2
CROWD: Final = 3
REASON: Final = 4
MEETS: Final = 5
ABOVE: Final = 6
WIDE: Final = 7

ELSEWHERE: Final = "elsewhere"
"""In place of a need: users allowed by owning, or being, an entity behind a relation."""

TO_OWNERS: Final = "owners"
"""The effect of an ALLOW that names owners, whoever they are."""

STEP: Final = " > "
"""The separator of names in a path."""

_ARROW: Final = pa.schema(
    [
        ("what", pa.int32()),
        ("type", pa.string()),
        ("matter", pa.int32()),
        ("key", pa.string()),
        ("word", pa.string()),
        ("other", pa.string()),
        ("ids", pa.list_(pa.int64())),
        ("numbers", pa.list_(pa.int32())),
        ("principals", pa.list_(pa.int32())),
    ]
)


def unroller(
    context: TaskContext, plan: Plan
) -> Callable[[CompiledBlock], Iterator[pa.RecordBatch]]:
    """The judge for blocks of the estate; its columns are `BLOCK_ROWS`."""

    def evaluate_block(compiled_block: CompiledBlock) -> Iterator[pa.RecordBatch]:
        return unroll(compiled_block, plan, user_sets_of(context, plan.telling))

    return evaluate_block


def unroll(
    compiled_block: CompiledBlock, plan: Plan, user_sets: UserSets
) -> Iterator[pa.RecordBatch]:
    """The findings in one block of an estate with these users."""
    return _Unroller(compiled_block, plan, user_sets).batches()


class _Unroller:
    """The findings of one block."""

    def __init__(self, compiled_block: CompiledBlock, plan: Plan, user_sets: UserSets) -> None:
        people = user_sets.people
        self._compiled_block = compiled_block
        self._block = compiled_block.block
        self._snapshot = compiled_block.snapshot
        self._plan = plan
        self._user_sets = user_sets
        self._residues = Residues()
        self._reduction = Reduction(compiled_block.snapshot, self._residues, plan.limit)
        self._audience = Audience(people, self._residues, plan.telling)
        self._needs = Needs(people, self._residues, self._audience)
        self._meeting = NeedMatcher(self._reduction, people)
        self._shown: set[int] = set()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All findings; after a matter that is too wide, only further ones that are."""
        is_wide = False
        for type, ids in self._compiled_block.types():
            yield batch(_ARROW, what=[TYPE], type=[type])
            columns = self._columns(type, Spots(ids))
            wide = [number for number, column in columns.items() if column is None]
            if wide:
                is_wide = True
                yield batch(_ARROW, what=[WIDE] * len(wide), type=[type] * len(wide), matter=wide)
            elif not is_wide:
                yield from self._of_type(type, ids, columns)
        if is_wide:
            return
        yield from self._decisions()
        yield self._reasons()
        yield self._above()

    def _columns(self, type: str, spots: Spots) -> dict[int, Column | None]:
        """The residual rules of the questions, by their places in the agenda of the type.

        None for a rule that distinguishes too many kinds of entities.
        """
        agenda, columns = self._plan.chosen.agenda(self._snapshot.model, type), {}
        for number, matter in enumerate(agenda.matters):
            if matter.questions:
                columns[number] = self._reduction.evaluate_few(matter.rule, spots)
        return columns

    def _of_type(
        self, type: str, ids: Ids, columns: Mapping[int, Column | None]
    ) -> Iterator[pa.RecordBatch]:
        needed: dict[Need, BitMap] = {}
        for number, column in columns.items():
            rows = [] if column is None else list(self._members(column, ids))
            for residue, members in rows:
                for need in self._needs.of(residue).keys() - {NOTHING}:
                    needed.setdefault(need, BitMap()).update(members)
            yield batch(
                _ARROW,
                what=[CLASS] * len(rows),
                type=[type] * len(rows),
                matter=[number] * len(rows),
                key=[self._residues.digest(residue).hex() for residue, _ in rows],
                ids=[self._block.ids_of(members) for _, members in rows],
            )
        for need, bits in needed.items():
            yield from self._need_batches(need, np.asarray(bits.to_array(), dtype=np.int32))

    def _members(self, column: Column, ids: Ids) -> Iterator[tuple[int, Ids]]:
        """The residues that allow anybody, and their entities."""
        distinct = sorted(set(column.of))
        places = np.searchsorted(distinct, column.of).astype(small(len(distinct)))[column.codes]
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(distinct)))
        for residue, members in zip(distinct, np.split(ids[order], ends[:-1]), strict=True):
            if len(members) and self._needs.of(residue):
                self._shown.add(residue)
                yield residue, members

    def _need_batches(self, need: Need, ids: Ids) -> Iterator[pa.RecordBatch]:
        for exactly, met in self._meeting.of(need, ids).items():
            if len(met.entities):
                yield batch(
                    _ARROW,
                    what=[MEETS],
                    word=[need_text(need)],
                    other=[str(exactly).lower()],
                    ids=[self._block.ids_of(met.entities)],
                    numbers=[met.principals],
                )

    # who may, by class

    def _decisions(self) -> Iterator[pa.RecordBatch]:
        people, rows = self._user_sets.people, []
        user_sets: dict[str, UserSet] = {}
        for residue in sorted(self._shown):
            key = self._residues.digest(residue).hex()
            spoken_to = people.named(self._residues.leaves(residue), Effect.ALLOW)
            for decision, users in self._allowed_users(residue).items():
                rows.append((key, decision, self._user_sets.of(users, spoken_to, user_sets).name))
        yield batch(
            _ARROW,
            what=[DECISION] * len(rows),
            key=[key for key, _, _ in rows],
            word=[decision for _, decision, _ in rows],
            other=[name for _, _, name in rows],
        )
        yield batch(
            _ARROW,
            what=[CROWD] * len(user_sets),
            key=[user_set.name for user_set in user_sets.values()],
            principals=[user_set.principals for user_set in user_sets.values()],
            ids=[user_set.role_sets.astype(np.int64) for user_set in user_sets.values()],
            numbers=[user_set.users.astype(np.int32) for user_set in user_sets.values()],
        )

    def _allowed_users(self, residue: int) -> Mapping[str, BitMap]:
        """The users who are allowed, by their need."""
        users_by_need = {need_text(need): users for need, users in self._needs.of(residue).items()}
        nothing, stated = need_text(NOTHING), self._audience.stated(residue)
        beside = users_by_need.pop(nothing, BitMap()) - stated
        ways = {nothing: stated, ELSEWHERE: beside, **users_by_need}
        return {decision: users for decision, users in ways.items() if users}

    def _reasons(self) -> pa.RecordBatch:
        rows = [
            (self._residues.digest(number).hex(), *cells)
            for number in sorted(self._shown)
            for cells in sorted(set(self._stated(number)))
        ]
        return batch(
            _ARROW,
            what=[REASON] * len(rows),
            key=[row[0] for row in rows],
            type=[row[1] for row in rows],
            word=[row[2] for row in rows],
            other=[row[3] for row in rows],
        )

    def _stated(self, number: int) -> Iterator[tuple[str, str, str]]:
        """Privilege, effect and id of the statements of a class; without privilege for owners."""
        for leaf in self._residues.leaves(number):
            effect, privilege = _effect(leaf)
            if isinstance(leaf, (Given, Free, Owned, Owners)):
                yield from ((privilege, effect, id) for id in leaf.statements)

    # where things lie

    def _above(self) -> pa.RecordBatch:
        """The paths of the containers of the block's entities."""
        tree, block = self._snapshot.coded.tree, self._block
        holders = np.unique(tree.parents[block.start : block.stop])
        holders = holders[holders >= 0].tolist()
        return batch(
            _ARROW,
            what=[ABOVE] * len(holders),
            ids=[[int(block.ids[id])] for id in holders],
            word=[self._path(id) for id in holders],
        )

    def _path(self, id: int) -> str:
        """The ancestors, the outermost first, and the entity itself."""
        tree = self._snapshot.coded.tree
        steps = [":".join(tree.entity(at)) for at in (id, *tree.ancestors(id))]
        return STEP.join(reversed(steps))


def _effect(leaf: Residue) -> tuple[str, str]:
    """The effect and the privilege of the statements in this part of a class."""
    match leaf:
        case Given(privilege, _):
            return Effect.ALLOW.value, privilege
        case Free(privilege, _):
            return Effect.DENY.value, privilege
        case _:
            return TO_OWNERS, ""
