"""The realm of `sessions.toml`: its users, their ownership and their grants."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.system import load_system
from tests.http.opa.test_served import SETTINGS

FILE: Final = tomllib.loads((Path(__file__).parent / "sessions.toml").read_text("utf-8"))
WORLD: Final[Mapping[str, Any]] = FILE["world"]
NOBODY: Final = "eve"
"""A name that is not a user of the metalake."""

USERS: Final = (*WORLD["roles"], NOBODY)
CONFIGURATION: Final = """
[trino.gravitino]
metalake = "lk"
catalogs = { memory = "lake", tpch = "samples" }
"""


def world_facts() -> Facts:
    """The rows that `[world]` declares."""
    system = load_system("gravitino", SETTINGS)
    entities = [system.entity(text) for text in WORLD["entities"]]
    roles: Mapping[str, Sequence[str]] = WORLD["roles"]
    users = {name: system.principal(name) for name in roles}
    granted = {**WORLD["grants"], **WORLD["denials"]}
    named = {name: Principal("role", f"lk:{name}") for name in granted}
    memberships = [MembershipRow(user, members_of("lk")) for user in users.values()]
    for name, held in roles.items():
        memberships += [MembershipRow(users[name], named[role]) for role in held]
    owners = [OwnerRow(system.entity(of), users[who]) for of, who in WORLD["owners"].items()]
    statements = [
        {
            "id": f"{role}-{number}",
            "effect": effect,
            "privileges": privileges,
            "on": on,
            "to": [f"role:lk:{role}"],
        }
        for effect, table in (("allow", "grants"), ("deny", "denials"))
        for role, grants in WORLD[table].items()
        for number, (on, privileges) in enumerate(grants.items())
    ]
    return Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        owners=owners,
        principals=[*users.values(), *named.values()],
        memberships=memberships,
        statements=read_statements(statements, system.model, system.spelling, "sessions.toml"),
    )
