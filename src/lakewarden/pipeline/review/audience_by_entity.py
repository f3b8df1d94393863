"""The users whom a rule allows on each entity: by statements, ownership and identity together.

Entities of one class with the same owners around them have the same audience. So an audience is
computed once per such kind; there are few, unless each entity has its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.pipeline.review.audience import Audience, Own
from lakewarden.pipeline.review.column import Codes, Column, joined
from lakewarden.pipeline.review.ownership_access import Clause, Owning, clause_of

Ids = NDArray[np.int32]


def audiences(
    column: Column, ids: Ids, audience: Audience, owning: Owning
) -> tuple[Codes, list[BitMap]]:
    """For each entity a code, and for each code the allowed users, who must not be modified."""
    codes = np.zeros(len(ids), dtype=np.int64)
    allowed: list[BitMap] = []
    for clauses, rows in _by_clauses(column, owning):
        parts = [owning.around(clause, ids[rows]) for clause in clauses]
        kinds, stands = joined([(column.codes[rows], len(column.of)), *parts])
        codes[rows] = kinds + len(allowed)
        for code, *around in stands.tolist():
            met = {
                clause: owning.users_satisfying(clause, at)
                for clause, at in zip(clauses, around, strict=True)
            }
            allowed.append(_users(column.of[code], met, audience))
    return codes, allowed


def _by_clauses(column: Column, owning: Owning) -> Iterator[tuple[tuple[Clause, ...], Codes]]:
    """The rows of the column by the conditions on ownership that their residues have."""
    codes_by_clauses: dict[tuple[Clause, ...], list[int]] = {}
    for code, number in enumerate(column.of):
        codes_by_clauses.setdefault(owning.clauses_of(number), []).append(code)
    for clauses, codes in codes_by_clauses.items():
        has_them = np.zeros(len(column.of), dtype=bool)
        has_them[codes] = True
        rows = np.flatnonzero(has_them[column.codes])
        if len(rows):
            yield clauses, rows


def _users(number: int, met: dict[Clause, BitMap], audience: Audience) -> BitMap:
    def ownership(atom: Own) -> BitMap:
        return met.get(clause_of(atom), BitMap())

    return audience.with_owners(number, ownership)
