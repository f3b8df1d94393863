"""The guests that a block needs: exactly the entities reachable from it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Reach
from lakewarden.kernel.scopes import Reaching
from lakewarden.kernel.statement import Anything, On
from lakewarden.pipeline.index import guests
from lakewarden.service.system import load_system
from tests.agreement import harness

BITS = 2


@given(seed=st.integers(0, 2**32 - 1))
def test_the_guests_are_what_parents_and_relations_lead_to_step_by_step(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 30)
    parents = [rng.randint(-1, max(id - 1, -1)) for id in range(count)]
    edges = sorted({(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 9))})
    start = {(rng.randrange(count) >> BITS, rng.randrange(count)) for _ in range(rng.randint(0, 6))}
    reached = guests.Reached(
        np.arange(count, dtype=np.int64),
        np.array(parents, dtype=np.int64),
        np.array([source for source, _ in edges], dtype=np.int64),
        np.array([target for _, target in edges], dtype=np.int64),
    )
    first = np.array(sorted(start), dtype=np.int64).reshape(-1, 2).T
    found = guests.closure(guests.Pairs(*first), reached, BITS)
    pairs = list(zip(found.blocks.tolist(), found.ids.tolist(), strict=True))

    expected, todo = set(), [pair for pair in start if pair[1] >> BITS != pair[0]]
    while todo:
        block, id = todo.pop()
        if (block, id) in expected:
            continue
        expected.add((block, id))
        further = [parents[id], *(target for source, target in edges if source == id)]
        todo += [(block, other) for other in further if other >= 0 and other >> BITS != block]
    assert pairs == sorted(expected)


@given(seed=st.integers(0, 2**32 - 1))
def test_common_guests_that_are_followed_once_are_those_that_each_block_follows(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 30)
    blocks = -(-count >> BITS)
    parents = np.array([rng.randint(-1, max(id - 1, -1)) for id in range(count)], dtype=np.int64)
    edges = sorted({(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 9))})
    sources, targets = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    everyone = np.arange(count, dtype=np.int64)
    reached = guests.Reached(everyone, parents, sources, targets)
    inner = everyone[parents >= 0]
    crossing = guests.Pairs(
        np.concatenate([inner >> BITS, sources >> BITS]), np.concatenate([parents[inner], targets])
    )
    common = np.unique(np.array([rng.randrange(count) for _ in range(4)], dtype=np.int64))
    numbers = np.arange(blocks, dtype=np.int64)
    each = guests.Pairs(
        np.concatenate([np.repeat(numbers, len(common)), crossing.blocks]),
        np.concatenate([np.tile(common, blocks), crossing.ids]),
    )
    expected = guests.closure(each, reached, BITS)
    found = guests.guests_of(common, crossing, reached, BITS)
    every = found.every_pair(range(blocks), BITS)
    assert every.blocks.tolist() == expected.blocks.tolist()
    assert every.ids.tolist() == expected.ids.tolist()
    assert found.count(range(blocks)) == len(expected)


def test_every_block_knows_what_scopes_reach_up_from_and_what_is_spelled_above_it() -> None:
    spelling = load_system("cdap").spelling
    program, dataset = Entity("program", "sales.a.workflow.w"), Entity("dataset", "sales.t")
    scopes = [
        Reaching(On(program), Reach.ABOVE),
        Reaching(On(dataset), Reach.EXACTLY),
        Reaching(Anything(), Reach.ABOVE),
    ]
    above = spelling.parent(program)
    assert above is not None
    assert guests.anchors(scopes, spelling) >= {program, above, Entity("namespace", "sales")}
    assert dataset not in guests.anchors(scopes, spelling)


@pytest.mark.parametrize("name", harness.SYSTEMS)
def test_every_relation_of_a_field_or_a_rule_is_looked_at(name: str) -> None:
    model = harness.system(name).model
    kinds = guests.relations_read(model)
    assert kinds <= set(model.relations)
    fields = {origin for field in model.fields.values() for origin in field.origin}
    assert fields & set(model.relations) <= kinds


def test_a_relation_that_only_a_rule_follows_is_looked_at_too() -> None:
    model = load_system("datahub").model
    fields = {origin for field in model.fields.values() for origin in field.origin}
    assert guests.relations_read(model) - fields
