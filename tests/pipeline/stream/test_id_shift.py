"""Ids after additions, removals and moves equal those of the new tree, numbered again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.pipeline.index.preorder import TOP
from lakewarden.pipeline.stream.id_shift import new_subtree_sizes, shifted
from lakewarden.pipeline.stream.nodes import Changed
from lakewarden.pipeline.stream.reused_matches import parts

FAR = 1 << 33

Tree = dict[int, int]
Names = dict[int, Entity]


def laid_out(tree: Tree, names: Names) -> tuple[list[int], Mapping[int, int]]:
    """The nodes in preorder, and the end of each one's subtree."""
    inner: dict[int, list[int]] = {}
    for node, parent in tree.items():
        inner.setdefault(parent, []).append(node)
    order: list[int] = []
    ends: dict[int, int] = {}

    def walk(parent: int) -> None:
        for node in sorted(inner.get(parent, ()), key=lambda n: names[n][::-1]):
            order.append(node)
            walk(node)
            ends[node] = len(order)

    walk(TOP)
    return order, ends


def name(rng: random.Random, mark: str) -> Entity:
    """A name with a unique mark."""
    return Entity(rng.choice("ab"), f"n{rng.randrange(10)}.{mark}")


def grown(rng: random.Random) -> tuple[Tree, Names]:
    """A tree whose nodes are numbered in preorder."""
    count = rng.randint(2, 25)
    tree = {node: rng.choice([TOP, *range(node)]) for node in range(count)}
    names = {node: name(rng, f"{node}") for node in tree}
    order, _ = laid_out(tree, names)
    ids = {node: id for id, node in enumerate(order)} | {TOP: TOP}
    return {ids[n]: ids[p] for n, p in tree.items()}, {ids[n]: e for n, e in names.items()}


def changed(rng: random.Random, before: Tree, known: Names) -> tuple[Tree, Names]:
    """The tree after some additions, moves, renames and removals."""
    tree, names = dict(before), dict(known)
    for node in range(len(before), len(before) + rng.randrange(5)):
        tree[node], names[node] = rng.choice([TOP, *tree]), name(rng, f"new{node}")
    for node in rng.sample(sorted(before), min(len(before), rng.randrange(5))):
        parent = above = rng.choice([TOP, *tree])
        while above not in (TOP, node):
            above = tree[above]
        tree[node] = parent if above == TOP else tree[node]
        names[node] = name(rng, f"new{node}") if rng.random() < 0.3 else names[node]
    for node in rng.sample(sorted(before), min(len(before) - 1, rng.randrange(4))):
        for other in [other for other, parent in tree.items() if parent == node]:
            tree[other] = rng.choice([TOP, tree[node]])
        del tree[node]
    return tree, names


@given(st.integers(0, 2**32 - 1))
def test_pieces_come_to_lie_where_their_names_say(seed: int) -> None:
    rng = random.Random(seed)
    before, known = grown(rng)
    tree, names = changed(rng, before, known)
    count = len(before)
    _, ended = laid_out(before, known)
    parents = np.array([before[node] for node in range(count)], np.int64)
    ends = np.array([ended[node] for node in range(count)], np.int64)
    stay = [node for node in range(count) if node in tree]
    moved = {n: tree[n] for n in stay if (tree[n], names[n]) != (before[n], known[n])}
    fresh = {node: parent for node, parent in tree.items() if node >= count}
    gone = frozenset(before) - tree.keys()
    follows = {
        node: [
            other
            for other in stay
            if other not in moved and before[other] == parent
            if names[other][::-1] > names[node][::-1]
        ]
        for node, parent in (*moved.items(), *fresh.items())
    }
    next_ones = {node: min(others) for node, others in follows.items() if others}
    changes = Changed(moved, fresh, gone, frozenset())
    shift = shifted(parents, ends, changes, names, next_ones, len(tree))
    order, ends_now = laid_out(tree, names)
    ids = {node: id for id, node in enumerate(order)}
    assert {node: shift.id(node) for node in tree} == ids
    assert shift.count == len(tree)
    old = np.array(stay, np.int64)
    assert shift.ends(old, ends[old]).tolist() == [ends_now[node] for node in stay]
    sizes = new_subtree_sizes(changes, shift, ends)
    assert {node: ids[node] + sizes[node] for node in fresh} == {n: ends_now[n] for n in fresh}
    some = BitMap(rng.sample(sorted(before), rng.randrange(count)))
    found = list(parts(some, shift, 2))
    expected = [ids[node] for node in sorted(some) if node in ids]
    assert sorted(id for _, part in found for id in part) == sorted(expected)
    assert all(id >> 2 == block for block, part in found for id in part)

    # Ids beyond 32 bits are moved alike.
    pieces = {name: getattr(shift, name) + FAR for name in ("starts", "stops", "to")}
    far = replace(shift, **pieces, grown={FAR + id: n for id, n in shift.grown.items()})
    assert far.ends(old + FAR, ends[old] + FAR).tolist() == [FAR + ends_now[n] for n in stay]
    wide = list(parts(BitMap64(FAR + id for id in some), far, 2))
    near = [(block - (FAR >> 2), [id - FAR for id in part]) for block, part in wide]
    assert near == [(block, list(part)) for block, part in found]


def test_more_ids_than_tables_can_hold_are_refused() -> None:
    parents, ends = np.array([TOP, 0], np.int64), np.array([2, 2], np.int64)
    names = {2: Entity("a", "n"), 3: Entity("a", "m")}
    one = Changed({}, {2: 0}, frozenset(), frozenset())
    assert shifted(parents, ends, one, names, {}, 3).count == 3
    with pytest.raises(LimitExceeded, match="4 entities, and the ids of this index end at 3"):
        shifted(parents, ends, replace(one, fresh={2: 0, 3: 0}), names, {}, 3)
