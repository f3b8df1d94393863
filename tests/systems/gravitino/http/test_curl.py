"""The calls of Gravitino's access control page, with curl, exactly as written there.

Address `http://localhost:8090`, trailing slashes as on the page, no credentials: the caller is the
user `anonymous`, who owns the metalake here. Only curl's connection address is overridden, so the
port need not be free.
SOURCE: Apache Gravitino 1.1.0, access control page, Operations.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.app.serving import Served
from tests.app.threaded import threaded
from tests.systems.gravitino.http.court import allow, objects, on, role

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here"),
]

ROOT = "http://localhost:8090/api/metalakes/test"
ACCEPT = "Accept: application/vnd.gravitino.v1+json"
JSON = "Content-Type: application/json"
SELECT = {"privileges": allow("SELECT_TABLE")}
ROLE = {**role("role1", on("TABLE", "catalog1.schema1.table1", allow("SELECT_TABLE")))}
ROLE1 = {"roleNames": ["role1"]}


class Caller:
    """A caller with curl and without credentials, and a service admin for the setup."""

    def __init__(self, served: Served) -> None:
        self.served = served

    def curl(self, method: str, path: str, body: object = None, headers: str = "both") -> Any:
        """The body of the response to one call of the page."""
        command = ["curl", "-s", "-X", method, "-H", ACCEPT]
        command += ["-H", JSON] if headers == "both" else []
        command += [] if body is None else ["-d", json.dumps(body, indent=2)]
        there = ["--connect-to", f"localhost:8090:127.0.0.1:{self.served.port}"]
        ran = subprocess.run(
            [*command, *there, ROOT + path], capture_output=True, text=True, timeout=30, check=True
        )
        answer = json.loads(ran.stdout)
        assert answer["code"] == 0, (path, answer)
        return answer

    def admin(self, method: str, path: str, body: object) -> None:
        answer = self.served.ask(method, f"/api{path}", body, user="admin")
        assert answer.status == 200, answer.body


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    folder: Path = tmp_path_factory.mktemp("curl")
    with threaded(folder, admin="admin") as served:
        made = Caller(served)
        made.admin("POST", "/metalakes", {"name": "test"})
        made.admin("POST", "/metalakes/test/users", {"name": "anonymous"})
        owner = {"name": "anonymous", "type": "USER"}
        made.admin("PUT", "/metalakes/test/owners/metalake/test", owner)
        catalog = {"name": "catalog1", "type": "RELATIONAL", "provider": "hive"}
        made.curl("POST", "/catalogs", catalog)
        made.curl("POST", "/catalogs/catalog1/schemas", {"name": "schema1"})
        table = {"name": "table1", "columns": [{"name": "id", "type": "long"}]}
        made.curl("POST", "/catalogs/catalog1/schemas/schema1/tables", table)
        yield made


def names(items: list[Mapping[str, Any]]) -> list[str]:
    return [item["name"] for item in items]


def test_user_operations(caller: Caller) -> None:
    added = caller.curl("POST", "/users", {"name": "user1"})
    assert added["user"]["name"] == "user1"
    assert caller.curl("GET", "/users/")["names"] == ["admin", "anonymous", "user1"]
    detailed = caller.curl("GET", "/users/?details=true")["users"]
    assert names(detailed) == ["admin", "anonymous", "user1"]
    assert caller.curl("GET", "/users/user1")["user"] == added["user"]
    assert caller.curl("DELETE", "/users/user1") == {"code": 0, "removed": True}


def test_group_operations(caller: Caller) -> None:
    added = caller.curl("POST", "/groups", {"name": "group1"})
    assert added["group"]["roles"] == []
    assert caller.curl("GET", "/groups/")["names"] == ["group1"]
    assert names(caller.curl("GET", "/groups/?details=true")["groups"]) == ["group1"]
    assert caller.curl("GET", "/groups/group1")["group"] == added["group"]
    assert caller.curl("DELETE", "/groups/group1") == {"code": 0, "removed": True}


def test_role_operations(caller: Caller) -> None:
    made = caller.curl("POST", "/roles", ROLE)["role"]
    assert objects(made) == {"table catalog1.schema1.table1": [("select_table", "allow")]}
    assert caller.curl("GET", "/roles/")["names"] == ["role1"]
    for path in ("/objects/catalog/catalog1/roles", "/objects/schema/catalog1.schema1/roles"):
        assert caller.curl("GET", path, headers="accept")["names"] == []
    assert caller.curl("GET", "/roles/role1")["role"] == made
    assert caller.curl("DELETE", "/roles/role1")["dropped"] is True


def test_permission_operations(caller: Caller) -> None:
    caller.curl("POST", "/users", {"name": "user1"})
    caller.curl("POST", "/groups", {"name": "group1"})
    caller.curl("POST", "/roles", ROLE)
    held = "/permissions/roles/role1"
    schema, table = "schema/catalog1.schema1", "table/catalog1.schema1.table1"
    granted = caller.curl("PUT", f"{held}/{schema}/grant", SELECT)["role"]
    assert list(objects(granted)) == ["schema catalog1.schema1", "table catalog1.schema1.table1"]
    caller.curl("PUT", f"{held}/{table}/grant", SELECT)
    caller.curl("PUT", f"{held}/{schema}/revoke", SELECT)
    revoked = caller.curl("PUT", f"{held}/{table}/revoke", SELECT)["role"]
    assert objects(revoked) == {}
    for kind, name in (("user", "user1"), ("group", "group1")):
        path = f"/permissions/{kind}s/{name}"
        assert caller.curl("PUT", f"{path}/grant", ROLE1)[kind]["roles"] == ["role1"]
        assert caller.curl("PUT", f"{path}/revoke", ROLE1)[kind]["roles"] == []


def test_ownership_operations(caller: Caller) -> None:
    path = "/owners/table/catalog1.schema1.table1"
    assert caller.curl("GET", path)["owner"] == {"name": "anonymous", "type": "user"}
    if "user1" not in caller.curl("GET", "/users/")["names"]:
        caller.curl("POST", "/users", {"name": "user1"})
    answer = caller.curl("PUT", path, {"name": "user1", "type": "USER"})
    assert answer == {"code": 0, "set": True}
    assert caller.curl("GET", path)["owner"] == {"name": "user1", "type": "user"}


def test_whoever_is_not_given_anything_gets_nothing_without_credentials(caller: Caller) -> None:
    caller.admin("POST", "/metalakes", {"name": "closed"})
    there = ["--connect-to", f"localhost:8090:127.0.0.1:{caller.served.port}"]
    url = "http://localhost:8090/api/metalakes/closed/users/"
    ran = subprocess.run(["curl", "-s", *there, url], capture_output=True, check=True, timeout=30)
    answer = json.loads(ran.stdout)
    assert (answer["code"], answer["type"]) == (1008, "ForbiddenException")
