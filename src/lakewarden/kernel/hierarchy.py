"""The maximum depth of a hierarchy, and which stored edges are not followed.

SOURCE: Security and reliability, rule R-17 and 5.6. Writes close no cycle and nest nothing deeper
than `MAX_LEVELS`. If such edges are stored nevertheless, they stay and give no access: a member
of a cycle reaches only itself, and an entity that is nested too deep is denied.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

Ints = NDArray[np.int32]
Node = TypeVar("Node", bound=Hashable)
Edges = Mapping[Node, Collection[Node]]

MAX_LEVELS: Final = 64
"""The maximum number of levels above an entity, and of memberships in a chain."""


# A tree: every id has one parent, or -1


def on_cycles(parents: Ints, ids: Iterable[int]) -> BitMap:
    """The ids that lie on a cycle at or above one of the given ids."""
    done: set[int] = set()
    cyclic = BitMap()
    for start in ids:
        chain: list[int] = []
        at = start
        while at >= 0 and at not in done:
            done.add(at)
            chain.append(at)
            at = int(parents[at])
        if at in chain:
            cyclic.update(chain[chain.index(at) :])
    return cyclic


def too_deep(parents: Ints, ids: Ints) -> BitMap:
    """The ids that have too many levels above them; expects no cycle."""
    above = parents[ids]
    levels = 0
    while len(ids) and levels < MAX_LEVELS:
        inner = above >= 0
        ids, above = ids[inner], parents[above[inner]]
        levels += 1
    return BitMap(ids[above >= 0].astype(np.uint32))


# A graph: a member may belong to several groups


def circular(of: Edges[Node], members: Edges[Node]) -> frozenset[Node]:
    """The nodes that lie on a cycle; `members` is the inverse of `of`."""
    left = {node for node in of.keys() & members.keys() if of[node] and members[node]}
    before = len(left) + 1
    while len(left) < before:  # a node without outgoing or incoming edges is on no cycle
        before = len(left)
        left = {n for n in left if not left.isdisjoint(of[n]) and not left.isdisjoint(members[n])}
    return frozenset(node for node in left if node in reached(of[node], of))


def too_nested(of: Edges[Node], members: Edges[Node], cut: Collection[Node]) -> frozenset[Node]:
    """The nodes with too long a chain of memberships above them; `cut` nodes lead nowhere."""
    level = set(members)
    inner = {node for node in of.keys() & members.keys() if node not in cut}
    for _ in range(MAX_LEVELS):
        level = {node for node in inner if not level.isdisjoint(of[node])}
        if not level:
            return frozenset()
    return frozenset(node for node in of if node not in cut and not level.isdisjoint(of[node]))


def height(node: Node, of: Edges[Node], limit: int = MAX_LEVELS) -> int:
    """The longest path of edges from the node; `limit` + 1 if it is longer than `limit`."""
    level: set[Node] = {node}
    for steps in range(limit + 1):
        level = {group for member in level for group in of.get(member, ())}
        if not level:
            return steps
    return limit + 1


def reached(start: Iterable[Node], edges: Edges[Node]) -> set[Node]:
    """Everything that can be reached from the start, including the start."""
    nodes = set(start)
    todo = list(nodes)
    while todo:
        for node in edges.get(todo.pop(), ()):
            if node not in nodes:
                nodes.add(node)
                todo.append(node)
    return nodes
