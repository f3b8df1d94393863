"""Where the sorted leaves are cut into parts of about the same size, before they are sorted.

Of most containers the number of leaves says enough, for all of them lie in one part. Of those
that hold more than a part, rows are sampled. Where cuts are changes no id, only how even the
parts are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from lakewarden.pipeline.index.preorder import TOP, Sequenced

Cut = tuple[int, str]
"""The gap and the name with which a part begins."""

SAMPLED: Final = 200
"""How many rows are sampled for a part."""


class Weight(NamedTuple):
    """About so many leaves lie from here on, and before the next."""

    gap: int
    name: str
    leaves: float


Sample = Callable[[Sequence[int]], Iterable[tuple[int, str, str]]]
"""Some leaves of the given containers: container, name and type."""


def weights(
    sequenced: Sequenced, leaves: Sequence[int], most: int, sample: Sample
) -> Iterator[Weight]:
    """Where the leaves lie; `leaves[c + 1]` is how many the container c (or `TOP`) has.

    Only containers with more than `most` are sampled.
    """
    large = [parent for parent, count in enumerate(leaves, TOP) if count > most]
    met: dict[int, list[Cut]] = {}
    for parent, name, type in sample(large) if large else ():
        met.setdefault(parent, []).append((sequenced.gap(parent, name, type), name))
    for parent, count in enumerate(leaves, TOP):
        places = met.get(parent) or [(last_gap(sequenced, parent), "")]
        for gap, name in places if count else ():
            yield Weight(gap, name, count / len(places))


def last_gap(sequenced: Sequenced, parent: int) -> int:
    """The gap behind all containers in the container; where it has none, its only one."""
    return int(sequenced.gaps[sequenced.first[parent + 2] - 1])


def cuts(found: Iterable[Weight], parts: int) -> list[Cut]:
    """The beginnings of the second part and all others, ascending; there may be fewer parts."""
    ordered = sorted(found)
    size = sum(weight.leaves for weight in ordered) / parts
    made: list[Cut] = []
    passed, part = 0.0, 0
    for gap, name, count in ordered:
        if int(passed / size) > part and (gap, name) not in made[-1:]:
            part = int(passed / size)
            made.append((gap, name))
        passed += count
    return made


def part_of(made: Sequence[Cut], gap: int, name: str) -> int:
    """The part in which a leaf lies."""
    return bisect_right(made, (gap, name))
