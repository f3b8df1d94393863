"""A review names as readers of a column's values whom the kernel lets read and binds by no mask."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lakewarden.kernel.model import READ
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Owners
from lakewarden.kernel.who import who
from lakewarden.pipeline.review.labels import TAGS, TERMS
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import NOW, WorldDraft
from lakewarden.testing.worlds import Size, World
from tests.pipeline.review.whole import Reviewed, review, some

SIZE = Size(entities=60, users=8, groups=3, roles=4, statements=30, goals=20)
MASKS = 8
OWNED = (Owners(), None, None)
"""Some masks bind owners, some spare them."""


def masked(name: str, first: int, count: int) -> Iterator[World]:
    """Worlds with columns, and masks on them."""
    for world in some(name, first, count, SIZE):
        draft = WorldDraft.of(world.system, world.facts, random.Random(first))
        drawn = (StatementGenerator(draft).obligation(Effect.MASK) for _ in range(MASKS))
        masks = [
            replace(mask, id=f"mask-{n}", owners=OWNED[n % 3], except_owners=OWNED[(n + 1) % 3])
            for n, mask in enumerate(drawn)
            if mask
        ]
        facts = replace(world.facts, statements=(*world.facts.statements, *masks))
        yield replace(world, facts=facts)


@pytest.mark.parametrize(
    ("name", "first", "count"), [("gravitino", 9_000, 3), ("datahub", 9_200, 1)]
)
def test_columns_are_told_with_who_reads_their_values(name: str, first: int, count: int) -> None:
    reviews = [review(world) for world in masked(name, first, count)]
    bound = sum(map(told, reviews))
    assert any(found.columns for found in reviews)
    assert bound or name != "gravitino"


def told(found: Reviewed) -> int:
    """Compares the rows with the kernel; returns how often somebody reads masked values."""
    bound = 0
    snapshot, model = found.matrix.snapshot, found.model
    coded, types = snapshot.coded, found.model.types
    labels = {*TAGS, *TERMS} & coded.relations.keys()
    for id in coded.tree.stored:
        column = coded.tree.entity(id)
        if column.type not in types or not types[column.type].masked:
            assert id not in found.columns
            continue
        masks = [
            mask for mask in snapshot.table.obligations(Effect.MASK) if snapshot.lies_in(id, mask)
        ]
        table = next((e for e in coded.ancestors(column) if types[e.type].filtered), None)
        is_told = table and (masks or any(coded.relations[label].of(id) for label in labels))
        assert (id in found.columns) == bool(is_told), column
        if table is None or id not in found.columns:
            continue
        ids, unmasked, masked = found.columns[id]
        assert ids == sorted(mask.statement.id for mask in masks)
        request = Request(Principal(USER, ""), model.reaching(READ, table.type) or "", table, NOW)
        readers = set(who(found.matrix, request)) if request.operation else set()
        on_it = replace(request, target=column)
        seeing = {
            one
            for one in readers
            if not obligations(found.matrix, replace(on_it, principal=one), Effect.MASK)
        }
        principals = coded.memberships.principals
        assert {principals[user] for user in unmasked} == seeing, column
        assert {principals[user] for user in masked} == readers - seeing, column
        bound += len(masked)
    return bound
