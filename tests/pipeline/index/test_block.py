"""A realm cut into blocks: each is evaluated alone; together they equal the realm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from lakewarden.kernel.edges import Edges
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.snapshot import compile
from lakewarden.pipeline.index import block as blocks
from lakewarden.pipeline.index.matching import canonical
from lakewarden.testing.questions import ask
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.pipeline.index import worlds

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(10)


@pytest.mark.by_day(2, turns=True)
@pytest.mark.parametrize("name", harness.SYSTEMS)
@few
@given(seed=seeds, bits=st.integers(0, 4), first_block=st.sampled_from([0, 1 << 30]))
@example(seed=215, bits=0, first_block=0)  # an ancestor, spelled as unstored names, is elsewhere
@example(seed=0, bits=4, first_block=1 << 30)  # ids of 64 bits
def test_the_blocks_of_a_world_lie_in_the_scopes_that_the_whole_lies_in(
    name: str, seed: int, bits: int, first_block: int
) -> None:
    first = first_block << bits
    system = harness.system(name)
    facts = make(system, seed).facts
    whole = compile(facts, system.model, system.spelling, now=NOW)
    if not worlds.is_plain(whole.coded):
        return
    together = [BitMap() for _ in whole.bitmaps]
    for judged in worlds.compiled_blocks(whole, system, bits, first):
        for number, found in enumerate(judged.snapshot.bitmaps):
            members = judged.block.everywhere(found)
            assert judged.block.here(members) == found & judged.block.own
            together[number] |= BitMap(id - first for id in members)
    for number, (found, expected) in enumerate(zip(together, whole.bitmaps, strict=True)):
        assert found == expected, whole.table.scopes[number]


@pytest.mark.by_day(2, turns=True)
@pytest.mark.parametrize("name", harness.SYSTEMS)
@few
@given(seed=seeds)
@example(seed=120)  # a rule's input about the user is in another block
@example(seed=4348)  # an additional entity of a request is in another block
def test_the_block_of_an_entity_decides_about_it_as_the_whole_does(name: str, seed: int) -> None:
    system = harness.system(name)
    world = make(system, seed)
    whole = Matrix(compile(world.facts, system.model, system.spelling, now=NOW))
    tree = whole.snapshot.coded.tree
    if not worlds.is_plain(whole.snapshot.coded):
        return
    matrices = {
        each.number: Matrix(each.snapshot)
        for each in worlds.compiled_blocks(whole.snapshot, system)
    }
    for request in ask(world, seed, 25):
        id = tree.find(request.target)
        elsewhere = request.targets or request.lists or request.subresources
        if id is not None and not elsewhere:
            alone = harness.outcome(lambda r=request, i=id: harness.decided(matrices[i >> 3], r))  # type: ignore[misc]
            assert alone == harness.outcome(lambda r=request: harness.decided(whole, r))  # type: ignore[misc]


def test_edges_from_columns_are_in_order_and_each_there_once() -> None:
    ids = np.array([2, 0, 2, 2, 0], dtype=np.int32)
    targets, labels = np.array([5, 1, 3, 5, 1]), np.array([0, 1, 0, 0, 0], dtype=np.int32)
    found = blocks.edges_of(4, ids, targets, labels)
    assert [found.of(source) for source in range(4)] == [((1, 0), (1, 1)), (), ((3, 0), (5, 0)), ()]


@given(
    edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**31 - 1), st.integers(0, 3))),
    count=st.integers(10, 12),
)
def test_edges_from_columns_are_those_that_the_kernel_builds(
    edges: list[tuple[int, int, int]], count: int
) -> None:
    columns = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    found, built = blocks.edges_of(count, *columns), Edges.build(count, edges)
    for name in ("offsets", "targets", "labels"):
        ours, theirs = getattr(found, name), getattr(built, name)
        assert ours.tolist() == theirs.tolist()
        assert ours.dtype == theirs.dtype


def test_more_edges_than_a_number_tells_apart_are_refused_not_mixed_up() -> None:
    source, last = np.array([9], dtype=np.int32), np.array([2**31 - 1], dtype=np.int32)
    assert blocks.edges_of(10, source, last, source).of(9) == ((2**31 - 1, 9),)
    with pytest.raises(LimitExceeded, match="too many entities, principals"):
        blocks.edges_of(10, source, last, last)


def test_bitmaps_of_the_same_entities_have_the_same_bytes() -> None:
    one, other = BitMap(range(1000)), BitMap()
    for id in reversed(range(1000)):
        other.add(id)
    assert canonical(one) == canonical(other)
    assert BitMap.deserialize(canonical(one)) == one


def test_more_edges_than_offsets_count_are_refused_and_never_wrap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources, targets = np.array([0, 1, 1], dtype=np.int32), np.array([5, 5, 5], dtype=np.int32)
    labels = np.zeros(3, dtype=np.int32)
    monkeypatch.setattr(blocks, "_MOST_EDGES", 2)
    assert blocks.edges_of(2, sources, targets, labels).offsets.tolist() == [0, 1, 2]
    with pytest.raises(LimitExceeded, match="too many relations or owners"):
        blocks.edges_of(2, sources, np.array([5, 5, 6], dtype=np.int32), labels)
