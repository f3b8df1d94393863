"""Groups of entities, those of one type that lie in one container, and bounds for who is let in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.expression import Node
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.review.column import Codes
from lakewarden.pipeline.review.residue import DIGEST_BYTES, Residue

Ids = NDArray[np.int32]
Atoms = frozenset[Residue]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Entities of one type, and in which group each is.

    `codes` are those of `ids`, `names` the containers of groups (None: what lies in nothing);
    `order` has the places of the entities group by group, as they are to be asked, those of
    group g from `starts[g]` to before `starts[g + 1]`.
    """

    type: str
    ids: Ids
    codes: Codes
    names: tuple[str | None, ...]
    order: Codes
    starts: Codes
    known: dict[Node, Sides] = field(default_factory=dict)
    touched: dict[int, tuple[Codes, NDArray[np.bool_]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)


class Sides(NamedTuple):
    """For each group: users let in on any of its entities at least, and at most; and on all.

    `atoms` are what is said there.
    """

    some: Sequence[BitMap]
    most: Sequence[BitMap]
    every: Sequence[BitMap]
    atoms: Sequence[Atoms]


def digest_of(type: str, container: str | None) -> bytes:
    """What tells the group from others, in any version."""
    text = json.dumps([type, container], ensure_ascii=False)
    return blake2b(text.encode(), digest_size=DIGEST_BYTES, person=b"group").digest()


def groups_of(
    snapshot: Snapshot, type: str, ids: Ids, codes: Codes, names: Sequence[str | None]
) -> Groups:
    """The groups of entities of one type, by codes and names of what they lie in."""
    scopes = np.zeros(len(snapshot.coded.tree), dtype=np.int64)
    for bits in snapshot.bitmaps:
        scopes[np.asarray(bits.to_array())] += 1
    starts = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=len(names)), out=starts[1:])
    return Groups(type, ids, codes, tuple(names), np.lexsort((scopes[ids], codes)), starts)


def either(one: Sides, other: Sides) -> Sides:
    """Bounds for whom one of two lets in."""
    return Sides(
        [a | b for a, b in zip(one.some, other.some, strict=True)],
        [a | b for a, b in zip(one.most, other.most, strict=True)],
        [a | b for a, b in zip(one.every, other.every, strict=True)],
        [a | b for a, b in zip(one.atoms, other.atoms, strict=True)],
    )


def both(one: Sides, other: Sides) -> Sides:
    """Bounds for whom both of two let in."""
    # Somebody is let in on one entity by both where one of them lets in on all of them.
    some = [
        (a & d) | (b & c)
        for a, b, c, d in zip(one.some, one.every, other.some, other.every, strict=True)
    ]
    return Sides(
        some,
        [a & b for a, b in zip(one.most, other.most, strict=True)],
        [a & b for a, b in zip(one.every, other.every, strict=True)],
        [a | b for a, b in zip(one.atoms, other.atoms, strict=True)],
    )
