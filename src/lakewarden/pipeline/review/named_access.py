"""Who reaches the assets of one block, by name."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.expression import Node
from lakewarden.pipeline.review.audience import Audience, People, Telling
from lakewarden.pipeline.review.audience_by_entity import audiences
from lakewarden.pipeline.review.column import Column
from lakewarden.pipeline.review.ownership_access import Owning
from lakewarden.pipeline.review.reduction import Reduction, Spots
from lakewarden.pipeline.review.residue import DIGEST_BYTES, Residues
from lakewarden.pipeline.review.row import PEOPLE, batch

Ids = NDArray[np.int32]

NAMES: Final = 25
"""How many users of an asset are named, by way; of the others only the number is kept."""

_STEP: Final = 1 << 12
"""How many entities are processed at once, if a rule distinguishes very many kinds."""


class Naming:
    """Finds the `people` of entities, and keeps the meaning of their keys."""

    def __init__(self, reduction: Reduction, people: People, telling: Telling) -> None:
        self.people = people
        self._reduction = reduction
        self._telling = telling
        self._known: dict[bytes, tuple[int, tuple[int, ...]]] = {}

    def few(self, column: Column, ids: Ids, audience: Audience, owning: Owning) -> pa.Array:
        """For each entity the key of its audience, from the residues of a rule."""
        codes, allowed = audiences(column, ids, audience, owning)
        keys = np.array([self.key(users) for users in allowed], dtype=object)
        return pa.array(keys[codes], pa.binary())

    def many(self, rule: Node, ids: Ids) -> pa.Array:
        """The same for a rule that distinguishes many kinds of entities, step by step."""
        steps = [self.few(*step) for step in self._steps(rule, ids)]
        return pa.chunked_array(steps, pa.binary()).combine_chunks()

    def readers(self, rule: Node, ids: Ids) -> Iterator[BitMap]:
        """The users whom a rule allows on each entity. Must not be modified."""
        for step in self._steps(rule, ids):
            codes, allowed = audiences(*step)
            yield from (allowed[code] for code in codes.tolist())

    def _steps(self, rule: Node, ids: Ids) -> Iterator[tuple[Column, Ids, Audience, Owning]]:
        for start in range(0, len(ids), _STEP):
            some = ids[start : start + _STEP]
            residues = Residues()
            reduction = Reduction(self._reduction.snapshot, residues, like=self._reduction)
            audience = Audience(self.people, residues, self._telling)
            column = reduction.evaluate(rule, Spots(some))
            yield column, some, audience, Owning(reduction, audience, self.people)

    def key(self, users: BitMap) -> bytes:
        """The key of an audience: the same for the same users, in every block."""
        key = blake2b(users.serialize(), digest_size=DIGEST_BYTES, person=b"people").digest()
        if key not in self._known:
            self._known[key] = len(users), tuple(islice(users, NAMES))
        return key

    def audiences(self) -> pa.RecordBatch:
        """The meaning of the keys: the number of users, and the first of them."""
        keys = sorted(self._known)
        known = [self._known[key] for key in keys]
        return batch(
            what=[PEOPLE] * len(keys),
            key=keys,
            n=[count for count, _ in known],
            owners=[list(first) for _, first in known],
        )
