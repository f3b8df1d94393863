"""Ids in preorder without collecting all entities: the containers alone determine the order.

An entity without members (a *leaf*) lies between two containers among the members of its container:
in a *gap*. Containers and gaps form a fixed sequence; the leaves, sorted by gap and name, fill it.
So a table gets its id from the number of its gap and its rank in one global sort. The ids are those
of `lakewarden.kernel.numbering`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.errors import BadInput

Ints = NDArray[np.int64]
TOP: Final = -1
"""Stands for the container of the top-level entities."""


@dataclass(frozen=True, slots=True)
class Containers:
    """The entities that hold others: type, name and the container of each."""

    types: Sequence[str]
    names: Sequence[str]
    parents: Ints

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Sequenced:
    """The places of containers and gaps in the sequence.

    `places[c]` is the place of container c, `ends[c]` that of its last gap. The gaps of the
    container p (or `TOP`) are `gaps[first[p + 1]:first[p + 2]]`. `members[p]` are the (name, type)
    of the containers directly in p, in order, if there are any. `size` counts places.
    """

    places: Ints
    ends: Ints
    gaps: Ints
    first: Ints
    members: dict[int, list[tuple[str, str]]]
    size: int

    def gap(self, parent: int, name: str, type: str) -> int:
        """The place of the gap of a leaf in this container."""
        members = self.members.get(parent)
        passed = 0 if members is None else bisect_left(members, (name, type))
        return int(self.gaps[self.first[parent + 1] + passed])


def sequence(containers: Containers) -> Sequenced:
    """The sequence of containers and gaps; raises `BadInput` for a cycle."""
    count = len(containers)
    order = sorted(range(count), key=lambda c: (containers.names[c], containers.types[c]))
    children: dict[int, list[int]] = {}
    for container in order:
        children.setdefault(int(containers.parents[container]), []).append(container)
    first = np.zeros(count + 2, dtype=np.int64)
    widths = [len(children.get(p, ())) + 1 for p in range(TOP, count)]
    np.cumsum(widths, out=first[1:])
    places, ends = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    gaps = np.zeros(int(first[-1]), dtype=np.int64)
    at = 0
    todo = [(TOP, 0)]
    while todo:
        parent, passed = todo.pop()
        gaps[first[parent + 1] + passed] = at
        inner = children.get(parent, ())
        if passed < len(inner):
            todo.append((parent, passed + 1))
            todo.append((inner[passed], 0))
            places[inner[passed]] = at + 1
            at += 1
        elif parent != TOP:
            ends[parent] = at
        at += 1
    if (places < 0).any():
        lost = int(np.flatnonzero(places < 0)[0])
        raise BadInput(f"`{containers.types[lost]}:{containers.names[lost]}` lies below itself")
    members = {
        parent: [(containers.names[c], containers.types[c]) for c in inner]
        for parent, inner in children.items()
    }
    return Sequenced(places, ends, gaps, first, members, at)


@dataclass(frozen=True, slots=True)
class Ids:
    """Converts ranks to ids.

    `containers[c]` and `ends[c]` are the id of container c and the id after its last member; a leaf
    of rank r in the gap g has the id r + `before[g]`. `count` is the number of ids.
    """

    containers: Ints
    ends: Ints
    before: Ints
    count: int


def ids(sequenced: Sequenced, leaves: Ints, first: int = 0) -> Ids:
    """The ids from `first` on, given the number of leaves at each place of the sequence."""
    is_container = np.zeros(sequenced.size, dtype=np.int64)
    is_container[sequenced.places] = 1
    behind = np.cumsum(leaves + is_container)
    start = behind - leaves - is_container
    return Ids(
        containers=first + start[sequenced.places],
        ends=first + behind[sequenced.ends],
        before=first + np.cumsum(is_container) - is_container,
        count=int(behind[-1]),
    )
