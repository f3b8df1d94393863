"""Rows of a source as facts, without Spark: what a run would accept if there were no conflicts."""

from __future__ import annotations

import json
from collections.abc import Iterable

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import (
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.source_row import PLACEMENTS, STATEMENTS, Row
from lakewarden.service.system import System
from lakewarden.service.warden import Warden


def believed(rows: Iterable[Row], system: System) -> Facts:
    """The facts from the valid rows."""
    sound: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        if not row.reason:
            sound.setdefault(row.table, []).append(row.cells)
    parents = {Entity(*c[:2]): Entity(*c[2:]) for c in sound.get(PLACEMENTS, ())}
    tables = [json.loads(cells[1]) for cells in sound.get(STATEMENTS, ())]
    return Facts(
        entities=[
            EntityRow(Entity(*cells), parents.get(Entity(*cells)))
            for cells in sound.get("entities", ())
        ],
        relations=[
            RelationRow(c[0], Entity(*c[1:3]), Entity(*c[3:])) for c in sound.get("relations", ())
        ],
        owners=[
            OwnerRow(Entity(*c[:2]), Principal(*c[2:4]), c[4]) for c in sound.get("owners", ())
        ],
        principals=[Principal(*cells) for cells in sound.get("principals", ())],
        memberships=[
            MembershipRow(Principal(*c[:2]), Principal(*c[2:]))
            for c in sound.get("memberships", ())
        ],
        statements=read_statements(tables, system.model, system.spelling, "rows"),
    )


def warden_of(rows: Iterable[Row], system: System, now: float = 0.0) -> Warden:
    """A `Warden` over these rows."""
    return Warden(system, believed(rows, system), clock=lambda: now)
