"""The access of users in an ingested directory, and their gains over an earlier one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.directory import load
from lakewarden.service.warden import Warden

Access = frozenset[tuple[str, str, str]]
"""The access of users by access level, and the members of groups."""


def access(directory: Path) -> Access:
    """The access of all stored users to all stored entities."""
    loaded = load(directory)
    warden, model = Warden(loaded.system, loaded.facts), loaded.system.model
    reached = {
        (user, way, ":".join(row.entity))
        for row, way in product(loaded.facts.entities, WAYS)
        for operation in [model.reaching(way, row.entity.type)]
        if operation is not None
        for user in warden.who(operation, ":".join(row.entity))
    }
    members = {(row.member.name, "member", row.of.name) for row in loaded.facts.memberships}
    return frozenset(reached | members)


def gained(before: Access, after: Access) -> list[tuple[str, str, str]]:
    """The gains of users who existed before, on entities that existed before."""
    people, things = ({row[place] for row in before} for place in (0, 2))
    return sorted(row for row in after - before if row[0] in people and row[2] in things)
