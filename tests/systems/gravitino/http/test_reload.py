"""After any operations, a process that loads everything responds like the original one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lakewarden.service.decision_service import DecisionService
from tests.servers import fresh_database
from tests.systems.gravitino.http.small_lake import COLUMNS, ML, fill
from tests.systems.gravitino.http.wire import Json, Wire

USERS = ("admin", "eve", "bob", "zed")
NAMES = ("a", "b", "c")
PRIVILEGES = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "CREATE_TABLE")


def catalog(chance: random.Random) -> str:
    return f"{ML}/catalogs/{chance.choice((*NAMES, 'rel'))}"


def step(chance: random.Random) -> tuple[str, str, object]:
    """One request, which may fail."""
    name, other = chance.choice(NAMES), chance.choice(NAMES)
    at = catalog(chance)
    rename = {"updates": [{"@type": "rename", "newName": other}]}
    role = f"role_{name}"
    on = chance.choice(
        (f"catalog/{at.rpartition('/')[2]}", f"schema/{name}.s", f"table/{name}.s.{other}")
    )
    privilege = {"name": chance.choice(PRIVILEGES), "condition": chance.choice(("ALLOW", "DENY"))}
    steps: list[tuple[str, str, object]] = [
        ("POST", f"{ML}/catalogs", {"name": name, "type": "relational", "provider": "p"}),
        ("POST", f"{at}/schemas", {"name": "s"}),
        ("POST", f"{at}/schemas/s/tables", {"name": name, "columns": COLUMNS}),
        ("PUT", at, rename),
        ("PUT", f"{at}/schemas/s/tables/{name}", rename),
        ("PATCH", at, {"inUse": chance.random() < 0.7}),
        ("DELETE", f"{at}/schemas/s/tables/{name}", None),
        ("DELETE", f"{at}?force=true", None),
        ("POST", f"{ML}/roles", {"name": role, "securableObjects": []}),
        ("DELETE", f"{ML}/roles/{role}", None),
        ("PUT", f"{ML}/permissions/roles/{role}/{on}/grant", {"privileges": [privilege]}),
        ("PUT", f"{ML}/permissions/roles/{role}/{on}/revoke", {"privileges": [privilege]}),
        ("PUT", f"{ML}/permissions/users/eve/grant", {"roleNames": [role]}),
        ("PUT", f"{ML}/permissions/users/eve/revoke", {"roleNames": [role]}),
        ("PUT", f"{ML}/owners/{on}", {"name": chance.choice(USERS), "type": "USER"}),
        ("DELETE", f"{ML}/users/bob", None),
        ("POST", f"{ML}/users", {"name": "bob"}),
        ("POST", f"{ML}/tags", {"name": name}),
        ("POST", f"{ML}/objects/{on}/tags", {"tagsToAdd": [other], "tagsToRemove": []}),
        ("DELETE", f"{ML}/tags/{name}", None),
    ]
    return chance.choice(steps)


def picture(wire: Wire) -> dict[str, tuple[int, Json]]:
    """The responses to all users, for all possible objects."""
    paths = [ML, f"{ML}/catalogs?details=true", f"{ML}/roles", f"{ML}/users?details=true"]
    paths += [f"{ML}/tags?details=true", *(f"{ML}/tags/{name}/objects" for name in NAMES)]
    paths += [f"{ML}/roles/role_{name}" for name in NAMES]
    for name in (*NAMES, "rel"):
        schema = f"{ML}/catalogs/{name}/schemas/s"
        paths += [f"{ML}/catalogs/{name}", f"{schema}/tables"]
        paths += [f"{schema}/tables/{table}" for table in NAMES]
        paths += [f"{ML}/owners/table/{name}.s.{table}" for table in NAMES]
    return {f"{user} {path}": wire.ask("GET", path, user=user) for user in USERS for path in paths}


@pytest.mark.parametrize("seed", range(4))
def test_a_fresh_process_answers_alike(seed: int, lake: Wire) -> None:
    compare(lake, seed)


def test_a_fresh_process_answers_alike_from_postgresql(postgres_url: str, tmp_path: Path) -> None:
    with fresh_database(postgres_url, stores=True) as url, Wire(tmp_path, url=url) as wire:
        fill(wire)
        compare(wire, 4)


def compare(lake: Wire, seed: int) -> None:
    """Performs many random requests, and compares this process with a fresh one."""
    chance = random.Random(seed)
    done = 0
    for _ in range(150):
        method, path, body = step(chance)
        status, answer = lake.ask(method, path, body, user=chance.choice(("admin", "admin", "eve")))
        assert status < 500, answer
        done += status == 200
    assert done > 20
    before = picture(lake)
    lake.service = DecisionService(lake.store)
    lake.service.open()
    assert picture(lake) == before
