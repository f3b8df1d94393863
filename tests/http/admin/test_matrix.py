"""Every endpoint with every kind of caller, and with hostile words in every parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.http.admin.dialect import ENDPOINTS
from lakewarden.http.admin.endpoint import Endpoint
from tests.http.admin.api import Api
from tests.http.lock_spy import only_recorded
from tests.own_model import TEXT

TABLE = "table:lk:sales.raw.orders"
POLICY = {"name": "policy.toml", "policy": {"members": {"members:lk": ["user:guest"]}}}
BODIES: dict[str, dict[str, Any]] = {
    "ModelUpgrade": {"model_text": TEXT},
    "NewRealm": {"name": "fresh", "model": "gravitino"},
    "RealmChange": {"settings": {"mode": "seed", "postgresql": "on"}},
    "PrincipalRequest": {"principal": "user:guest"},
    "Membership": {"member": "user:guest", "of": "group:guests"},
    "DirectoryMembership": {"member": "user:guest", "of": "group:guests"},
    "SignIn": {"user": "guest"},
    "PasswordRequest": {"password": "correct horse 7"},
    "NewToken": {"user": "guest", "title": "x"},
    "StatementRequest": {"privileges": ["MANAGE_USERS"], "to": ["user:guest"], "on": "metalake:lk"},
    "ObligationRequest": {"expression": "null", "on": "table:lk:sales.raw.orders"},
    "PreviewRequest": {"members": {"add": [{"member": "user:guest", "of": "group:guests"}]}},
    "DismissalRequest": {
        "reason": "known",
        "until": (datetime.now(UTC) + timedelta(days=10)).isoformat(),
    },
    "MatrixQuestion": {"ask": "table.load"},
    "CompareQuestion": {
        "a": {"principal": "guest"},
        "b": {"principal": "eve"},
        "ask": "table.load",
    },
    "ScenarioRequest": {"scenario": ""},
    "EntityRequest": {"entity": "metalake:lk"},
    "Question": {"operation": "table.load", "entity": TABLE, "principal": "guest"},
    "Questions": {"questions": [{"operation": "table.load", "principal": "guest"}]},
    "ListQuestion": {"operation": "table.load", "principal": "guest"},
    "WhoQuestion": {"operation": "table.load", "entity": TABLE},
    "PrincipalQuestion": {"entity": TABLE, "principal": "guest"},
    "SightQuestion": {"entity": TABLE, "principal": "guest"},
    "AccessQuestion": {"entity": TABLE},
    "PlanRequest": {"files": [POLICY]},
    "ApplyRequest": {"files": [POLICY], "revision": 0, "digest": "0" * 64},
    "LinkRequest": {
        "one": {"realm": "gravitino", "entity": "metalake:lk"},
        "other": {"realm": "cdap", "entity": "dataset:shop.orders"},
    },
    "LinkRows": {"keeper": "rules", "links": [["gravitino", "metalake:lk", "cdap", "dataset:a.b"]]},
    "EventSecretRequest": {"secret": "0123456789abcdef" * 2},
    "TargetRequest": {"catalog": "lk.sales", "url": "postgresql://keeper:x@db.example/sales"},
    "PushRequest": {"digest": "0" * 64},
    "LookupRequest": {"columns": [{"name": "region"}], "rows": [["eu"]]},
    "UserAttributesRequest": {"attributes": {"region": "EU"}},
    "UnmaskedQuestion": {"entity": "column:lk:sales.raw.orders.iban"},
    "CrossRealmWhoQuestion": {"operation": "read", "entity": TABLE},
    "CrossRealmListQuestion": {"operation": "read", "principal": "guest"},
    "CrossRealmExplainQuestion": {"operation": "read", "entity": TABLE, "principal": "guest"},
    "AccessTableQuestion": {"asset": TABLE, "realm": "gravitino"},
    "ReachQuestion": {"asset": TABLE, "realm": "gravitino"},
    "LoadRequest": {"model": "gravitino", "entities": [["metalake", "lk", None, None]]},
}
PARAMS = {
    "fingerprint": "0" * 32,
    "decision": "d" + "0" * 16,
    "realm": "gravitino",
    "directory": "main",
    "target": "pg",
    "name": "guest",
    "id": "x",
}
QUERIES = {
    "entity": "metalake:lk",
    "principal": "user:guest",
    "p": "user:guest",
    "member": "user:guest",
    "of": "group:guests",
    "all": "true",
    "realm": "gravitino",
    "one_realm": "gravitino",
    "one": "metalake:lk",
    "other_realm": "cdap",
    "other": "dataset:shop.orders",
}
OF_PATH = {"/links/suggestions": {"other": "cdap"}}
"""Parameters with another meaning there."""

FOR_EVERYBODY = {"/whoami", "/realms", "/directories", "/session", "/search"}
FOR_THE_REALM_S_PEOPLE = {
    "/realms/{realm}",
    "/realms/{realm}/operations",
    "/realms/{realm}/children",
}
PLAYGROUND = "/playground/run"
"""Open to everybody, and independent of stored data."""

SIGNING_IN_AND_OUT = {("POST", "/session"), ("DELETE", "/session")}
HOSTILE = [
    "' OR 1=1 --",
    "../../etc/passwd",
    "a\x00b",
    "\u202eabc",
    "<script>alert(1)</script>",
    "%s%n{0}${x}",
    "*",
    "ä" * 300,
    "user:",
    ":",
    "urn:li:dataset:(((",
    "a\nb",
]


def _id(one: Endpoint) -> str:
    return f"{one.method} {one.path}"


each = pytest.mark.parametrize("one", ENDPOINTS, ids=_id)
guarded = pytest.mark.parametrize(
    "one", [one for one in ENDPOINTS if (one.method, one.path) not in SIGNING_IN_AND_OUT], ids=_id
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("matrix")
    with Api(folder, push={"hosts": ["db.example"]}) as made:
        made.must("PATCH", "/realms/gravitino", {"settings": {"postgresql": "on"}})
        made.must("PUT", "/realms/gravitino/entity", {"entity": "metalake:lk"})
        made.must("POST", "/realms", {"name": "far", "model": "gravitino", "directory": "other"})
        yield made


def path_of(one: Endpoint, **instead: str) -> str:
    params = {**PARAMS, **instead}
    return re.sub(r"\{(\w+)\}", lambda found: quote(params[found[1]], safe=""), one.path)


def body_of(one: Endpoint) -> dict[str, Any] | None:
    return None if one.request is None else BODIES[one.request.__name__]


def query_of(one: Endpoint) -> dict[str, str]:
    names = {parameter.name for parameter in one.query}
    if one.path.endswith("/children"):
        names.discard("of")  # an entity there, not a group
    if one.path.endswith("/history"):
        names = {"entity"}  # one of three
    return {
        name: value
        for name, value in (QUERIES | OF_PATH.get(one.path, {})).items()
        if name in names
    }


@guarded
def test_nobody_is_answered_without_a_credential(api: Api, one: Endpoint) -> None:
    for token in (None, "lw_none", "x.y.z"):
        answer = api.ask(one.method, path_of(one), body_of(one), user=None, token=token)
        assert answer.status == 401


@guarded
def test_names_in_headers_make_nobody_somebody(api: Api, one: Endpoint) -> None:
    spoofed = {"x-remote-user": "admin", "x-forwarded-user": "admin", "x-user": "admin"}
    answer = api.ask(one.method, path_of(one), body_of(one), user=None, headers=spoofed)
    assert answer.status == 401


@guarded
def test_a_plain_user_is_refused_whatever_is_not_its_own(api: Api, one: Endpoint) -> None:
    with only_recorded(api.service):
        answer = api.ask(one.method, path_of(one), body_of(one), user="eve", query=query_of(one))
    if (
        one.path in FOR_EVERYBODY | FOR_THE_REALM_S_PEOPLE and one.method == "GET"
    ) or one.path == PLAYGROUND:
        assert answer.status == 200
    else:
        assert answer.status == 403
        assert answer.body["operation"]
        assert answer.body["object"]


@guarded
def test_somebody_from_another_directory_is_refused_everything(api: Api, one: Endpoint) -> None:
    made = api.must("POST", "/tokens", {"user": "admin", "directory": "other"})
    query = query_of(one)
    if any(parameter.name == "directory" for parameter in one.query):
        query["directory"] = "main"
    body = body_of(one)
    if body is not None and one.path == "/tokens":
        body = {**body, "directory": "main"}
    with only_recorded(api.service):
        answer = api.ask(one.method, path_of(one), body, token=made["token"], query=query)
    is_open = one.path == PLAYGROUND or (one.path in FOR_EVERYBODY and one.method == "GET")
    expected = 200 if is_open else 403
    assert answer.status == expected


@each
def test_an_administrator_is_never_refused(api: Api, one: Endpoint) -> None:
    if one.method == "DELETE" and one.path == "/realms/{realm}":
        path = path_of(one, realm="far")
    else:
        path = path_of(one)
    answer = api.ask(one.method, path, body_of(one), query=query_of(one))
    assert answer.status in (200, 201, 204, 404, 409), answer


@pytest.mark.by_day(113)
@each
@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_bad_input_and_never_an_error_of_ours(
    api: Api, one: Endpoint, word: str
) -> None:
    for name in re.findall(r"\{(\w+)\}", one.path):
        answer = api.ask(
            one.method, path_of(one, **{name: word}), body_of(one), query=query_of(one)
        )
        assert answer.status < 500
    for parameter in one.query:
        if "\x00" in word:
            continue
        query = {**query_of(one), parameter.name: word}
        assert api.ask(one.method, path_of(one), body_of(one), query=query).status < 500
    for member, value in (body_of(one) or {}).items():
        for instead in (word, [word], {word: word}, None, -1, True):
            if instead == value:
                continue
            body = {**(body_of(one) or {}), member: instead}
            answer = api.ask(one.method, path_of(one), body, query=query_of(one))
            assert answer.status < 500, (member, instead)
