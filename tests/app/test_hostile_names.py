r"""Names of people as identity providers send them: `/eng/data`, `DOM\user`, `O'Hara; 50%`.

One application in process, without a socket: a user with such a name is added, found under exactly
that name by every interface, allowed exactly what was granted, and removed without a trace.
Source: security reference, R-40.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from lakewarden.service import toml_text
from lakewarden.systems.datahub import names as datahub
from tests.app.asgi import AppClient, close
from tests.app.serving import PATIENT_LIMITS, Answer
from tests.hostile_names import PIECES, is_name

ROOT = "root-token-of-the-tests-9Kw3Yb7QzP"
Json = dict[str, Any]

NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join).filter(is_name)


class Server:
    """The application, called with a token."""

    def __init__(self, client: AppClient) -> None:
        self._asked = client

    def ask(
        self, method: str, path: str, body: object = None, *, token: str = ROOT
    ) -> tuple[int, Any]:
        """One request: its status, and its body, as text if it is not JSON."""
        sent = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {token}"}
        answer: Answer = self._asked.ask(method, path, sent, headers.items(), user=None)
        assert answer.status < 500, answer
        text = answer.body.decode()
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, json.loads(text) if text and is_json else text

    def must(self, method: str, path: str, body: object = None, *, token: str = ROOT) -> Any:
        """One successful request."""
        status, found = self.ask(method, path, body, token=token)
        assert status < 300, found
        return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A lake with two tables, one of which the role `readers` may load, and a namespace."""
    folder = tmp_path_factory.mktemp("names")
    given = {"database": f"sqlite:///{folder}/store", "auth": "token", "root_token": ROOT}
    application = Application(load(None, {**given, "limits": PATIENT_LIMITS}, {}))
    application.open()
    client = AppClient(application, asyncio.new_event_loop())
    server = Server(client)
    for name in (
        "metalake:lk",
        "catalog:lk:c",
        "schema:lk:c.s",
        "table:lk:c.s.t",
        "table:lk:c.s.u",
    ):
        server.must("PUT", "/api/v1/realms/gravitino/entity", {"entity": name})
    server.must("PUT", "/api/v1/realms/gravitino/entity", {"entity": "role:lk:readers"})
    to, on = ["role:lk:readers"], "table:lk:c.s.t"
    for id, privilege, place in (
        ("select", "SELECT_TABLE", on),
        ("schema", "USE_SCHEMA", "catalog:lk:c"),
        ("catalog", "USE_CATALOG", "catalog:lk:c"),
    ):
        body = {"privileges": [privilege], "to": to, "on": place}
        server.must("PUT", f"/api/v1/realms/gravitino/statements/{id}", body)
    owner = {"member": "user:admin", "of": "members:lk"}
    server.must("PUT", "/api/v1/realms/gravitino/memberships", owner)
    admin = {"privileges": ["MANAGE_USERS", "MANAGE_GROUPS", "MANAGE_GRANTS"], "on": "metalake:lk"}
    server.must("PUT", "/api/v1/realms/gravitino/statements/own", {**admin, "to": ["user:admin"]})
    yield server
    close(client)


LIMITS = settings(
    max_examples=settings().max_examples // 5,
    suppress_health_check=[
        *settings().suppress_health_check,
        HealthCheck.function_scoped_fixture,
    ],
)


@LIMITS
@given(name=NAMES)
@example(name="/eng/data")
@example(name="DOM\\user")
@example(name="main/eng")
@example(name='O\'Hara; drop table "x" --')
@example(name="%2e%2e/%")
def test_a_user_is_one_and_the_same_on_every_wire(server: Server, name: str) -> None:
    token = _arrives(server, name)
    try:
        _on_gravitino(server, name, token)
        _on_cdap(server, name, token)
        _on_datahub(server, name)
        _in_policy_and_audit(server, name)
    finally:
        server.must("DELETE", f"/api/v1/directories/main/users/{_quoted(name)}")
    assert name not in _names(server, "user")
    assert server.ask("GET", "/api/v1/whoami", token=token)[0] == 401


@LIMITS
@given(name=NAMES)
@example(name="/eng/data")
@example(name="DOM\\staff")
def test_a_group_is_one_and_the_same_on_every_wire(server: Server, name: str) -> None:
    one = f"/api/metalakes/lk/groups/{_quoted(name)}"
    server.must("PUT", f"/api/v1/directories/main/groups/{_quoted(name)}")
    try:
        assert name in _names(server, "group")
        member = {"member": "user:zoe", "of": f"group:{name}"}
        server.must("PUT", "/api/v1/directories/main/memberships", member)
        server.must("POST", "/api/metalakes/lk/groups", {"name": name})
        assert server.must("GET", one)["group"]["name"] == name
        assert name in server.must("GET", "/api/metalakes/lk/groups")["names"]
        server.must("DELETE", one)
        assert _cdap_grant(server, name, "GROUP") == ["READ"]
        assert (
            server.must("DELETE", f"/api/v1/directories/main/memberships?{urlencode(member)}") == ""
        )
    finally:
        server.must("DELETE", f"/api/v1/directories/main/groups/{_quoted(name)}")
    assert name not in _names(server, "group")


@pytest.mark.parametrize("name", [".", ".."])
def test_what_no_path_can_name_comes_by_none(server: Server, name: str) -> None:
    for method, path, body in (
        ("PUT", f"/api/v1/directories/main/users/{_quoted(name)}", None),
        ("PUT", "/api/v1/realms/cdap/principals", {"principal": f"user:{name}"}),
        ("PUT", "/api/v1/realms/cdap/principals", {"principal": f"role:{name}"}),
        ("PUT", "/api/v1/directories/main/memberships", _membership(name, "staff")),
        ("PUT", "/api/v1/directories/main/memberships", _membership("ana", name)),
        ("POST", "/api/v1/tokens", {"user": name, "directory": "main"}),
        ("POST", "/api/metalakes/lk/users", {"name": name}),
        ("POST", "/api/metalakes/lk/groups", {"name": name}),
        ("POST", f"{_CDAP}/privileges/grant", _privileges(name, "USER")),
        ("PUT", f"{_CDAP}/roles/{_quoted(name)}", None),
    ):
        status, answer = server.ask(method, path, body)
        assert status == 400, (path, answer)
    assert name not in _names(server, "user")


# Expectations for each interface


def _arrives(server: Server, name: str) -> str:
    """Adds the user, by our own API, and returns the user's token."""
    server.must("PUT", f"/api/v1/directories/main/users/{_quoted(name)}")
    assert name in _names(server, "user")
    issued = server.must("POST", "/api/v1/tokens", {"user": name, "directory": "main"})
    token = str(issued["token"])
    assert server.must("GET", "/api/v1/whoami", token=token)["user"] == name
    return token


def _on_gravitino(server: Server, name: str, token: str) -> None:
    users, one = "/api/metalakes/lk/users", f"/api/metalakes/lk/users/{_quoted(name)}"
    tables = "/api/metalakes/lk/catalogs/c/schemas/s/tables"
    assert server.ask("GET", f"{tables}/t", token=token)[0] == 403
    server.must("POST", users, {"name": name})
    assert name in server.must("GET", users)["names"]
    grant = f"/api/metalakes/lk/permissions/users/{_quoted(name)}"
    found = server.must("PUT", f"{grant}/grant", {"roleNames": ["readers"]})
    assert found["user"]["name"] == name
    assert server.must("GET", one, token=token)["user"]["roles"] == ["readers"]
    server.must("GET", f"{tables}/t", token=token)
    status, denied = server.ask("GET", f"{tables}/u", token=token)
    assert (status, denied["code"]) == (403, 1008)
    assert f"'{name}'" in denied["message"] or len(name) > 80
    for table, decision in (("t", True), ("u", False)):
        question = {
            "subject": {"type": "user", "id": name},
            "action": {"name": "table.load"},
            "resource": {
                "type": "table",
                "id": f"lk:c.s.{table}",
                "properties": {"realm": "gravitino"},
            },
        }
        assert server.must("POST", "/access/v1/evaluation", question)["decision"] is decision
    server.must("DELETE", one)
    assert server.ask("GET", f"{tables}/t", token=token)[0] == 403


_CDAP = "/v3/security/authorization"


def _on_cdap(server: Server, name: str, token: str) -> None:
    status, text = server.ask("GET", "/v3/namespaces/sales", token=token)
    assert (status, f"name='{name}', type=USER" in text) == (403, True)
    assert _cdap_grant(server, name, "USER") == ["READ"]


def _cdap_grant(server: Server, name: str, kind: str) -> list[str]:
    """The principal's actions between a grant and its revocation."""
    server.must("POST", f"{_CDAP}/privileges/grant", _privileges(name, kind))
    held = f"{_CDAP}/{kind.lower()}/{_quoted(name)}/privileges"
    found = [one["action"] for one in server.must("GET", held)]
    server.must("POST", f"{_CDAP}/privileges/revoke", _privileges(name, kind))
    assert server.must("GET", held) == []
    return found


def _privileges(name: str, kind: str) -> Json:
    return {
        "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "sales"}},
        "principal": {"name": name, "type": kind},
        "actions": ["READ"],
    }


def _on_datahub(server: Server, name: str) -> None:
    urn = datahub.user_urn(name)
    info = {"urn": urn, "corpUserInfo": {"value": {"active": True, "displayName": name}}}
    server.must("POST", "/openapi/v3/entity/corpuser?async=false", [info])
    found = server.must("GET", f"/openapi/v3/entity/corpuser/{_quoted(urn)}")
    assert (found["urn"], found["corpUserInfo"]["value"]["displayName"]) == (urn, name)
    document = "query q($urn: String!) { corpUser(urn: $urn) { urn username } }"
    json_of = server.must("POST", "/api/graphql", {"query": document, "variables": {"urn": urn}})
    assert json_of["data"]["corpUser"]["urn"] == urn
    server.must("DELETE", f"/openapi/v3/entity/corpuser/{_quoted(urn)}")


def _in_policy_and_audit(server: Server, name: str) -> None:
    statement = "/api/v1/realms/gravitino/statements/hostile"
    body = {"privileges": ["SELECT_TABLE"], "to": [f"user:{name}"], "on": "table:lk:c.s.u"}
    server.must("PUT", statement, body)
    policy = server.must("GET", "/api/v1/realms/gravitino/policy")
    (written,) = [one for one in policy["statement"] if one["id"] == "hostile"]
    assert written["to"] == [f"user:{name}"]
    assert tomllib.loads("".join(toml_text.lines(written))) == written
    server.must("DELETE", statement)
    rows = server.must("GET", "/api/v1/audit?last=60")["rows"]
    assert name in {row["event"]["actor"] for row in rows}


def _names(server: Server, kind: str) -> set[str]:
    """The names of the directory's users or groups."""
    query = urlencode({"kind": kind, "page.limit": 1_000})
    found = server.must("GET", f"/api/v1/directories/main/principals?{query}")
    return {text.removeprefix(f"{kind}:") for text in found["principals"]}


def _membership(member: str, of: str) -> Json:
    return {"member": f"user:{member}", "of": f"group:{of}"}


def _quoted(name: str) -> str:
    # Like clients: those that send a dot segment unescaped would have it removed from the path.
    return quote(name, safe="").replace(".", "%2E")
