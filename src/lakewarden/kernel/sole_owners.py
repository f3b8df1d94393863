"""The owner of each entity that has exactly one, as an array for lookups in batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

NO_OWNER: Final = -2
SEVERAL: Final = -1
"""Columns, counted from the end, for entities without an owner and with more than one."""


@dataclass(frozen=True, slots=True)
class SoleOwners:
    """`index[e]` is the position of e's only owner in `principals`, or `NO_OWNER`, `SEVERAL`."""

    principals: tuple[int, ...]
    index: NDArray[np.int32]

    @staticmethod
    def of(owned_by: Mapping[int, BitMap], size: int) -> SoleOwners:
        """The owners of `size` entities, from what each principal owns."""
        index = np.full(size, NO_OWNER, dtype=np.int32)
        principals = tuple(sorted(owned_by))
        for place, owner in enumerate(principals):
            ids = np.asarray(owned_by[owner].to_array())
            index[ids] = np.where(index[ids] == NO_OWNER, place, SEVERAL)
        return SoleOwners(principals, index)
