"""Workload W's question, answered by its literal definition: the truth of this bench.

It reads the drawn numbers and shares nothing with an engine. Its answers to the queries have the
published digest, so its lists, which the same lines of code produce, can be trusted too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lakewarden.testing.workload import CATALOGS, SCHEMAS, USERS, Workload

Truths = NDArray[np.bool_]
USE_CATALOG, USE_SCHEMA, SELECT_TABLE, MODIFY_TABLE = range(4)


class Void(Exception):
    """An engine's answer differs from the truth: its figures are void."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What one user holds and owns, table by table.

    `holds[p]`: an ALLOW of privilege p on the table or an ancestor, and no DENY. `denied[p]`: such
    a DENY. `owns[level]`: the user owns the table, or its ancestor, at that level.
    """

    holds: Sequence[Truths]
    denied: Sequence[Truths]
    owns: Mapping[str, Truths]

    @property
    def loads(self) -> Truths:
        """Whether the user may load the table.

        SOURCE: apache/gravitino, server-common, AuthorizationExpressionConstants and
        AuthorizationExpressionConverter@f461aa31aa75.
        """
        holds, owns = self.holds, self.owns
        reads = owns["table"] | holds[SELECT_TABLE] | holds[MODIFY_TABLE]
        loads: Truths = (
            owns["metalake"]
            | owns["catalog"]
            | (owns["schema"] & holds[USE_CATALOG])
            | (holds[USE_CATALOG] & holds[USE_SCHEMA] & reads)
        )
        return loads


class Literal:
    """The truth about one drawn workload. Tables are numbered from 0 in node order."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._tables = CATALOGS * SCHEMAS * workload.tables
        self._owned: dict[int, list[int]] = {}
        for node, owner in workload.owner.items():
            self._owned.setdefault(owner, []).append(node)

    def roles(self, user: int) -> list[int]:
        """The user's roles: its own and those of its groups."""
        workload = self._workload
        through = (r for g in workload.groups[user] for r in workload.group_roles[g])
        return sorted({*workload.user_roles[user], *through})

    def standing(self, user: int) -> Standing:
        """What the user holds and owns."""
        allowed, denied = [self._nowhere() for _ in range(4)], [self._nowhere() for _ in range(4)]
        for role in self.roles(user):
            for node, privilege, deny in self._workload.grants[role]:
                (denied if deny else allowed)[privilege][self._span(node)] = True
        owns = {level: self._nowhere() for level in ("metalake", "catalog", "schema", "table")}
        for node in self._owned.get(user, ()):
            owns[self._workload.entity(node).type][self._span(node)] = True
        holds = [a & ~d for a, d in zip(allowed, denied, strict=True)]
        return Standing(holds, denied, owns)

    def _nowhere(self) -> Truths:
        return np.zeros(self._tables, dtype=bool)

    def _span(self, node: int) -> slice[int, int, None]:
        """The tables at or below a node."""
        workload, per_schema = self._workload, self._workload.tables
        if node == 0:
            return slice(0, self._tables)
        if node <= CATALOGS:
            size = SCHEMAS * per_schema
            return slice((node - 1) * size, node * size)
        if node < workload.first_table:
            schema = node - 1 - CATALOGS
            return slice(schema * per_schema, (schema + 1) * per_schema)
        table = node - workload.first_table
        return slice(table, table + 1)

    def answers(self) -> list[bool]:
        """The answers to the workload's queries, in order."""
        answers = [False] * len(self._workload.queries)
        asked: dict[int, list[int]] = {}
        for index, (user, _) in enumerate(self._workload.queries):
            asked.setdefault(user, []).append(index)
        for user in range(USERS):
            loads = self.standing(user).loads if user in asked else ()
            for index in asked.get(user, ()):
                table = self._workload.queries[index][1] - self._workload.first_table
                answers[index] = bool(loads[table])
        return answers
