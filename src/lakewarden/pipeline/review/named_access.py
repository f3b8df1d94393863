"""Who reaches the assets of one block, by name: by statements, ownership and identity together.

Assets of one class with the same owners around them have the same audience. So an audience is
computed once per such kind; there are few, unless each asset has its own.
"""

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
from lakewarden.pipeline.review.audience import Audience, Own, People, Telling
from lakewarden.pipeline.review.column import Codes, Column, joined
from lakewarden.pipeline.review.ownership_access import Clause, Owning, clause_of
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
        self._with_progress = telling
        self._known: dict[bytes, tuple[int, tuple[int, ...]]] = {}

    def few(self, column: Column, ids: Ids, audience: Audience, owning: Owning) -> pa.Array:
        """For each entity the key of its audience, from the residues of a rule."""
        keys = np.empty(len(ids), dtype=object)
        for rows, codes, audiences in self._audiences(column, ids, audience, owning):
            made = np.array([self.key(users) for users in audiences], dtype=object)
            keys[rows] = made[codes]
        return pa.array(keys, pa.binary())

    def many(self, rule: Node, ids: Ids) -> pa.Array:
        """The same for a rule that distinguishes many kinds of entities, step by step."""
        steps = [self.few(*step) for step in self._steps(rule, ids)]
        return pa.chunked_array(steps, pa.binary()).combine_chunks()

    def readers(self, rule: Node, ids: Ids) -> Iterator[BitMap]:
        """The users whom a rule allows on each entity. Must not be modified."""
        for step in self._steps(rule, ids):
            found: dict[int, BitMap] = {}
            for rows, codes, audiences in self._audiences(*step):
                found |= {
                    row: audiences[code]
                    for row, code in zip(rows.tolist(), codes.tolist(), strict=True)
                }
            yield from (found[row] for row in range(len(found)))

    def _steps(self, rule: Node, ids: Ids) -> Iterator[tuple[Column, Ids, Audience, Owning]]:
        for start in range(0, len(ids), _STEP):
            some = ids[start : start + _STEP]
            residues = Residues()
            reduction = Reduction(self._reduction.snapshot, residues, like=self._reduction)
            audience = Audience(self.people, residues, self._with_progress)
            column = reduction.evaluate(rule, Spots(some))
            yield column, some, audience, Owning(reduction, audience, self.people)

    def _audiences(
        self, column: Column, ids: Ids, audience: Audience, owning: Owning
    ) -> Iterator[tuple[Codes, Codes, list[BitMap]]]:
        """The places of some entities, the code of each, and the audience of each code."""
        clauses_by_code = [owning.clauses_of(number) for number in column.of]
        for clauses in sorted(set(clauses_by_code), key=repr):
            is_matching = np.array(
                [code_clauses == clauses for code_clauses in clauses_by_code], dtype=bool
            )
            rows = np.flatnonzero(is_matching[column.codes])
            parts = self._parts(clauses, ids[rows], owning)
            codes, stands = joined([(column.codes[rows], len(column.of)), *parts])
            audiences = []
            for code, *around in stands.tolist():
                met = {
                    clause: owning.users_satisfying(clause, at)
                    for clause, at in zip(clauses, around, strict=True)
                }
                audiences.append(self._users(column.of[code], met, audience))
            yield rows, codes, audiences

    def _parts(
        self, clauses: tuple[Clause, ...], ids: Ids, owning: Owning
    ) -> list[tuple[Codes, int]]:
        return [owning.around(clause, ids) for clause in clauses]

    def _users(self, number: int, met: dict[Clause, BitMap], audience: Audience) -> BitMap:
        def ownership(atom: Own) -> BitMap:
            return met.get(clause_of(atom), BitMap())

        return audience.with_owners(number, ownership)

    def key(self, users: BitMap) -> bytes:
        """The key of an audience: the same for the same users, in every block."""
        key = blake2b(users.serialize(), digest_size=DIGEST_BYTES, person=b"people").digest()
        if key not in self._known:
            self._known[key] = len(users), tuple(islice(users, NAMES))
        return key

    def audiences(self) -> pa.RecordBatch:
        """The meaning of the keys: the number of users, and the first of them."""
        keys = sorted(self._known)
        audiences = [self._known[key] for key in keys]
        return batch(
            what=[PEOPLE] * len(keys),
            key=keys,
            n=[count for count, _ in audiences],
            owners=[list(first) for _, first in audiences],
        )
