"""The hand-specialised engine: a byte matrix for workload W's one rule, names in.

It knows only this rule, these four levels and these four privileges. A change requires a rebuild
from all grants, and there are no explanations. It is the ceiling against which the cost of
declared models is measured, and exists only here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.testing.workload import CATALOGS, ROLES, SCHEMAS, USERS, Grant, Workload

ALLOWED, USES_CATALOG, USES_SCHEMA = 1, 2, 4
"""Bits of a cell: the verdict by grants alone; has(USE_CATALOG); both has(USE_CATALOG) and
has(USE_SCHEMA)."""

Masks = tuple[int, ...]
"""The roles that ALLOW, then that DENY, each of the four privileges, as bits of eight integers."""

_NO_MASKS: Masks = (0,) * 8


class Baseline:
    """Role sets × grant classes, one byte each; tables are numbered from 0 in node order."""

    def __init__(self, workload: Workload, extra: dict[int, list[Grant]] | None = None) -> None:
        first, tables = workload.first_table, CATALOGS * SCHEMAS * workload.tables
        self._per_schema = workload.tables
        self._per_catalog = SCHEMAS * workload.tables
        self._users = {f"u{u:04d}": u for u in range(USERS)}
        self._tables = {workload.entity(first + t).name: t for t in range(tables)}
        self._top = workload.owner[0]
        self._catalogs = [workload.owner[1 + c] for c in range(CATALOGS)]
        self._high = frozenset({self._top, *self._catalogs})
        self._schemas = [workload.owner.get(1 + CATALOGS + s) for s in range(CATALOGS * SCHEMAS)]
        self._owners = {n - first: u for n, u in workload.owner.items() if n >= first}
        self._owned = _owned(workload)
        self._role_sets = _role_sets(workload)
        self.rebuild(workload, extra or {})

    def rebuild(self, workload: Workload, extra: dict[int, list[Grant]]) -> None:
        """Rebuilds classes, matrix and bitmaps; `extra` holds additional grants by role."""
        numbers, classes = _classes(workload, extra)
        self._classes = classes.data
        self._codes = _codes(self._role_sets, list(numbers))
        self._rows = [row.tobytes() for row in self._codes]
        self._bitmaps = [_members(classes, number) for number in range(len(numbers))]
        self._sizes = np.bincount(classes, minlength=len(numbers))

    def check(self, user: str, table: str) -> bool:
        """May the user load the table?"""
        u, t = self._users[user], self._tables[table]
        flags = self._rows[u][self._classes[t]]
        if flags & ALLOWED:
            return True
        if u in self._high and (u == self._top or self._catalogs[t // self._per_catalog] == u):
            return True
        if flags & USES_CATALOG and self._schemas[t // self._per_schema] == u:
            return True
        return bool(flags & USES_SCHEMA) and self._owners.get(t) == u

    def visible(self, user: str) -> BitMap:
        """The numbers of the tables that the user may load."""
        u = self._users[user]
        found = np.flatnonzero(self._codes[u] & ALLOWED).tolist()
        tables = BitMap.union(BitMap(), *[self._bitmaps[number] for number in found])
        row, classes = self._rows[u], self._classes
        for first, last, needed in self._owned.get(u, ()):
            if not needed or row[classes[first]] & needed:
                tables.add_range(first, last)
        return tables


def _owned(workload: Workload) -> dict[int, list[tuple[int, int, int]]]:
    """What each user owns: first table, last + 1, and the bit that is required as well."""
    size, first = workload.tables, workload.first_table
    found: dict[int, list[tuple[int, int, int]]] = {}
    for node, user in workload.owner.items():
        if node == 0:
            span = (0, CATALOGS * SCHEMAS * size, 0)
        elif node <= CATALOGS:
            span = ((node - 1) * SCHEMAS * size, node * SCHEMAS * size, 0)
        elif node < first:
            span = ((node - 1 - CATALOGS) * size, (node - CATALOGS) * size, USES_CATALOG)
        else:
            span = (node - first, node - first + 1, USES_SCHEMA)
        found.setdefault(user, []).append(span)
    return found


def _role_sets(workload: Workload) -> NDArray[np.float32]:
    """A row for each user, with 1 for each of its roles."""
    held = np.zeros((USERS, ROLES), dtype=np.float32)
    for user in range(USERS):
        held[user, workload.user_roles[user]] = 1
        for group in workload.groups[user]:
            held[user, workload.group_roles[group]] = 1
    return held


def _classes(
    workload: Workload, extra: dict[int, list[Grant]]
) -> tuple[dict[Masks, int], NDArray[np.uint16]]:
    """The distinct combinations of the ancestors' masks, and the class of each table."""
    own: dict[int, list[int]] = {}
    for role, grants in enumerate(workload.grants):
        for node, privilege, deny in [*grants, *extra.get(role, ())]:
            own.setdefault(node, [0] * 8)[privilege + 4 * deny] |= 1 << role

    def below(above: Masks, node: int) -> Masks:
        masks = own.get(node)
        if masks is None:
            return above
        return tuple(a | b for a, b in zip(above, masks, strict=True))

    numbers: dict[Masks, int] = {}
    top = below(_NO_MASKS, 0)
    catalogs = [below(top, 1 + c) for c in range(CATALOGS)]
    schemas = [below(catalogs[s // SCHEMAS], 1 + CATALOGS + s) for s in range(CATALOGS * SCHEMAS)]
    by_schema = [numbers.setdefault(masks, len(numbers)) for masks in schemas]
    classes = np.repeat(np.array(by_schema, dtype=np.uint16), workload.tables)
    for node in own:
        table = node - workload.first_table
        if table >= 0:
            masks = below(schemas[table // workload.tables], node)
            classes[table] = numbers.setdefault(masks, len(numbers))
    return numbers, classes


def _codes(role_sets: NDArray[np.float32], classes: list[Masks]) -> NDArray[np.uint8]:
    """The matrix, by two products of 0/1 matrices for each privilege."""

    def some(side: int) -> NDArray[np.bool_]:
        bits = np.zeros((ROLES, len(classes)), dtype=np.float32)
        for number, masks in enumerate(classes):
            bits[[r for r in range(ROLES) if masks[side] >> r & 1], number] = 1
        found: NDArray[np.bool_] = role_sets @ bits > 0
        return found

    uses_catalog, uses_schema, selects, modifies = (some(p) & ~some(p + 4) for p in range(4))
    inside = uses_catalog & uses_schema
    codes: NDArray[np.uint8] = (
        (inside & (selects | modifies)) * np.uint8(ALLOWED)
        | uses_catalog * np.uint8(USES_CATALOG)
        | inside * np.uint8(USES_SCHEMA)
    )
    return codes


def _members(classes: NDArray[np.uint16], number: int) -> BitMap:
    members = BitMap(np.flatnonzero(classes == number).astype(np.uint32))
    members.run_optimize()
    return members
