"""Entities on which the same users have the same accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

Rows = Sequence[tuple[str, int, BitMap]]
"""Accesses, each with the number of the readers who have it, and the places."""

Grants = tuple[tuple[str, tuple[int, ...]], ...]
"""Accesses, each with the numbers of the readers who have it."""


def equivalent_entities(rows: Rows, size: int) -> Iterator[tuple[list[int], Grants]]:
    """The places, grouped by their grants.

    COST: a pass over each bitmap. Each place gets the sum of the marks of its rows, 128 bits wide,
    so equal sums mean equal rows.
    """
    sums: NDArray[np.uint64] = np.zeros((size, 2), dtype=np.uint64)
    everything = BitMap()
    for access, number, ids in rows:
        mark = blake2b(f"{access} {number}".encode(), digest_size=16).digest()
        sums[np.asarray(ids.to_array())] ^= np.frombuffer(mark, dtype=np.uint64)
        everything |= ids
    places = np.asarray(everything.to_array(), dtype=np.int64)
    if not len(places):
        return
    _, groups = np.unique(sums[places], axis=0, return_inverse=True)
    group_of = np.zeros(size, dtype=np.int64)
    group_of[places] = groups.reshape(-1)
    order = np.argsort(group_of[places], kind="stable")
    ends = np.cumsum(np.bincount(group_of[places]))[:-1]
    members = np.split(places[order], ends)
    # The rows of each place: those of one access adjacent, readers in order.
    ordered = sorted(range(len(rows)), key=lambda index: rows[index][:2])
    inside = [np.unique(group_of[np.asarray(rows[index][2].to_array())]) for index in ordered]
    row_of = np.repeat(np.arange(len(ordered)), [len(groups) for groups in inside])
    by_group = np.argsort(np.concatenate(inside), kind="stable")
    starts = np.cumsum(np.bincount(np.concatenate(inside), minlength=len(members)))[:-1]
    accesses = [rows[index][0] for index in ordered]
    bounds = {access: (accesses.index(access), accesses.count(access)) for access in {*accesses}}
    numbers = np.asarray([rows[index][1] for index in ordered])
    for group, own in zip(members, np.split(row_of[by_group], starts), strict=True):
        grants = []
        for access, (first, count) in sorted(bounds.items()):
            start, end = np.searchsorted(own, (first, first + count)).tolist()
            if end > start:
                grants.append((access, tuple(numbers[own[start:end]].tolist())))
        yield group.tolist(), tuple(grants)
