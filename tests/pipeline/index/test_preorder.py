"""Ids computed only from containers and sorted leaves equal the kernel's numbering."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.numbering import Numbering
from lakewarden.kernel.relations import EntityColumns, EntityRow
from lakewarden.pipeline.index.preorder import TOP, Containers, ids, sequence

Forest = dict[Entity, Entity | None]


def forest(seed: int) -> Forest:
    """Entities of a few types, in random order, each below an earlier one or at the top."""
    rng = random.Random(seed)
    found: Forest = {NO_RESOURCE: None}
    for _ in range(rng.randint(1, 60)):
        entity = Entity(rng.choice("abc"), f"n{rng.randint(0, 60)}")
        found.setdefault(entity, rng.choice([None, *list(found)[1:]]))
    return found


def containers(found: Forest) -> tuple[Containers, dict[Entity, int]]:
    above = {parent for parent in found.values() if parent is not None}
    held = [entity for entity in found if entity in above]
    numbers = {entity: number for number, entity in enumerate(held)}
    parents = [TOP if (p := found[entity]) is None else numbers[p] for entity in held]
    types, names = [e.type for e in held], [e.name for e in held]
    return Containers(types, names, np.array(parents, dtype=np.int64)), numbers


@given(seed=st.integers(0, 2**32 - 1))
def test_the_ids_of_any_forest_are_those_of_the_kernel(seed: int) -> None:
    found = forest(seed)
    held, numbers = containers(found)
    order = sequence(held)
    leaves = sorted(
        (order.gap(TOP if parent is None else numbers[parent], e.name, e.type), e.name, e.type)
        for e, parent in found.items()
        if e not in numbers
    )
    counts = np.bincount([gap for gap, _, _ in leaves], minlength=order.size)
    known = ids(order, counts)
    got = {
        Entity(type, name): rank + int(known.before[gap])
        for rank, (gap, name, type) in enumerate(leaves)
    }
    got |= {entity: int(known.containers[number]) for entity, number in numbers.items()}
    rows = [EntityRow(entity, parent) for entity, parent in found.items() if entity.type]
    tree = Numbering(EntityColumns.of(rows)).tree()
    assert known.count == len(tree)
    assert got == {tree.entity(id): id for id in range(len(tree))}
    for entity, number in numbers.items():
        assert known.ends[number] == tree.ends[got[entity]]


def test_containers_that_hold_each_other_are_refused_by_name() -> None:
    around = Containers(["a", "a", "a"], ["x", "y", "z"], np.array([1, 0, TOP], dtype=np.int64))
    with pytest.raises(BadInput, match="`a:x` lies below itself"):
        sequence(around)


@pytest.mark.parametrize("first", [0, 1 << 34])
def test_ids_beyond_32_bits_do_not_wrap(first: int) -> None:
    order = sequence(Containers(["a", "a"], ["x", "z"], np.array([TOP, TOP], dtype=np.int64)))
    leaves = np.zeros(order.size, dtype=np.int64)
    leaves[order.gap(0, "y", "a")] = most = 1 << 40
    known = ids(order, leaves, first)
    assert known.count == most + 2
    assert known.containers.tolist() == [first, first + most + 1]
    assert known.ends.tolist() == [first + most + 1, first + most + 2]
    assert int(known.before[order.gap(0, "y", "a")]) == first + 1
