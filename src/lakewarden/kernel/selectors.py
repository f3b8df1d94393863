"""What the selectors of a rule select for an entity: its parent, an ancestor, its type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import Coded

Ids = NDArray[np.int32]


def step(coded: Coded, ids: Ids, selector: str) -> Ids:
    """For each id, the id that one selector leads to, or -1; every id leads to the platform."""
    tree = coded.tree
    absent = np.int32(-1)
    if selector == "platform":
        return np.zeros(len(ids), dtype=np.int32)
    if selector == "parent":
        return np.where(ids >= 0, tree.above[ids], absent).astype(np.int32)
    if selector == "type":
        by_code = [coded.tree.find(Entity(kind, "")) for kind in tree.kinds]
        table = np.array([-1 if id is None else id for id in by_code], dtype=np.int32)
        return np.where(ids >= 0, table[tree.types[ids]], absent).astype(np.int32)
    code = tree.codes.get(selector, -1)
    reached = np.full(len(ids), -1, dtype=np.int32)
    at = ids.copy()
    above = tree.above
    for _ in range(len(tree)):
        live = (at >= 0) & (reached < 0)
        if not live.any():
            break
        hit = live & (tree.types[at] == code)
        reached[hit] = at[hit]
        at = np.where(live & ~hit, above[at], absent).astype(np.int32)
    return reached
