"""The large estate for measuring the pages.

Realm `gravitino`: 100,000 tables in one schema, 400 schemas of one table each that differ in who
may read them, 400 roles, 20,000 users in 400 groups. Realm `datahub`: 10,000 policies.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

from lakewarden.cli import main
from lakewarden.cli.admin_target import opened, operator
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.load import LoadResult, load_rows
from tests.app.serving import Served

WIDE: Final = "schema:big:wide.all"
TABLES: Final = 100_000
KINDS: Final = 400
"""The number of schemas that differ in access, of roles, and of groups."""
USERS: Final = 20_000
POLICIES: Final = 10_000
_READ: Final = frozenset({"USE_SCHEMA", "SELECT_TABLE"})
_AT_ONCE: Final = 100


def make_store(folder: Path) -> str:
    """Writes the lake into a fresh store; returns its URL."""
    url = f"sqlite:///{folder}/store.db"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = main(["init", "--admin", "admin", "--database", url])
    if code != 0:
        raise RuntimeError("the store could not be made")
    with opened(url) as service:
        system = service.state.realm("gravitino").system
        done = load_rows(service, operator(service), "gravitino", system, _facts())
        if not isinstance(done, LoadResult):
            raise RuntimeError("the lake was refused")
    return url


def _facts() -> Facts:
    metalake, wide = Entity("metalake", "big"), Entity("catalog", "big:wide")
    schema, deep = Entity("schema", "big:wide.all"), Entity("catalog", "big:deep")
    entities = [
        EntityRow(metalake, None),
        EntityRow(wide, metalake),
        EntityRow(deep, metalake),
        EntityRow(schema, wide),
        *(
            EntityRow(Entity("table", f"big:wide.all.t{number:06}"), schema)
            for number in range(TABLES)
        ),
    ]
    for number in range(KINDS):
        one = Entity("schema", f"big:deep.s{number:03}")
        entities += [EntityRow(one, deep), EntityRow(Entity("table", f"{one.name}.t"), one)]
    users = [Principal(USER, f"u{number:05}") for number in range(USERS)]
    groups = [Principal(GROUP, f"g{number:03}") for number in range(KINDS)]
    roles = [Principal(ROLE, f"big:r{number:03}") for number in range(KINDS)]
    inside = members_of(metalake.name)
    memberships = [MembershipRow(one, inside) for one in (*users, *groups)]
    memberships += [MembershipRow(u, groups[n % KINDS]) for n, u in enumerate(users)]
    memberships += [MembershipRow(g, r) for g, r in zip(groups, roles, strict=True)]
    return Facts(
        entities=entities,
        principals=(*users, *groups, *roles),
        memberships=memberships,
        statements=[*_grants(roles, schema)],
    )


def _grants(roles: list[Principal], wide: Entity) -> Iterator[Statement]:
    for number, role in enumerate(roles):
        scopes = [Entity("schema", f"big:deep.s{(number + step) % KINDS:03}") for step in range(3)]
        for scope in (*scopes, *([wide] if number % 2 else [])):
            yield Statement(
                id=f"{role.name}/{scope.name}",
                effect=Effect.ALLOW,
                privileges=_READ,
                scope=On(scope),
                principals=frozenset({role}),
            )
        yield Statement(
            id=f"{role.name}/catalogs",
            effect=Effect.ALLOW,
            privileges=frozenset({"USE_CATALOG"}),
            scope=On(Entity("metalake", "big")),
            principals=frozenset({role}),
        )


def add_policies(served: Served) -> None:
    """Writes the policies over DataHub's own API."""
    policies = [_policy(number) for number in range(POLICIES)]
    for start in range(0, POLICIES, _AT_ONCE):
        body = {"proposals": policies[start : start + _AT_ONCE]}
        path = "/r/datahub/aspects?action=ingestProposalBatch"
        answer = served.ask("POST", path, body, user="admin")
        if answer.status != 200:
            raise RuntimeError(answer.body.decode()[:300])


def _policy(number: int) -> dict[str, Any]:
    team = number % 100
    value = {
        "displayName": f"team {team:02} reads area {number:05}",
        "description": f"what team {team:02} needs of area {number:05}",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE"],
        "resources": {
            "filter": {
                "criteria": [
                    {
                        "field": "DOMAIN",
                        "condition": "EQUALS",
                        "values": [f"urn:li:domain:area-{number:05}"],
                    }
                ]
            }
        },
        "actors": {
            "users": [],
            "groups": [f"urn:li:corpGroup:team-{team:02}"],
            "roles": [],
            "resourceOwners": False,
            "allUsers": False,
            "allGroups": False,
        },
        "editable": True,
    }
    return {
        "entityType": "dataHubPolicy",
        "entityUrn": f"urn:li:dataHubPolicy:bench-{number:05}",
        "changeType": "UPSERT",
        "aspectName": "dataHubPolicyInfo",
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
    }
