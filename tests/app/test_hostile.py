"""Hostile bytes at every entrance: never a failure or an allow, always its own error body.

A real application over a real store, without a socket: the drawn bytes arrive unchanged. The caller
`eve` is authenticated without permissions, so any allow or any new revision is a vulnerability.
Source: security reference, T-51.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lakewarden.app.build import Application
from lakewarden.app.dialects import all_dialects
from lakewarden.config.settings import load
from lakewarden.http.admin import endpoint
from lakewarden.http.exchange import Route
from lakewarden.http.strict_json import read
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import split_path
from tests.app.asgi import AppClient, close
from tests.app.serving import PATIENT_LIMITS, Answer

ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"
HOSTILE = settings(
    suppress_health_check=[
        *settings().suppress_health_check,
        HealthCheck.function_scoped_fixture,
    ],
)

ROUTES: Mapping[str, list[Route]] = {
    dialect.name: [route for route in dialect.routes() if not route.public]
    for dialect in all_dialects()
}
OWN = {("POST", "/api/v1/tokens"), ("DELETE", "/api/v1/tokens/{id}")}
"""Operations that everybody may perform: their own tokens."""

TABLE = "table:lk:c.s.t"
ANSWERS: Mapping[str, type] = {"admin": dict, "gravitino": dict, "authzen": str}
"""The JSON type of an error body, by dialect."""


# Requests

HOSTILE_TEXT = st.sampled_from(
    [
        *("", " ", ".", "..", "/", "\\", "%", "%2f", "*", "a\0b", "\r\nX-Injected: b", "\x7f"),
        *("\u202e", "\ufeff", "\ufdd0", "\U0010ffff", "ﬁ", "A\u0301", "K", "é" * 200, "x" * 5_000),
        *("' or 1=1 --", "${jndi:x}", "{{x}}", "<b>", "__proto__", "None", "null", "-1", "9" * 40),
        *("urn:li:dataset:(", "urn:li:dataset:(a,b,PROD)", "table:", ":", "user:", "lk:c.s.t.x.y"),
    ]
)
KNOWN_TEXT = st.sampled_from(
    [
        *("lk", "c", "s", "t", "eve", "zoe", "table", "TABLE", "metalake", "catalog", "readers"),
        *("gravitino", "datahub", "cdap", "_server", "main", "user:eve", "user:zoe", TABLE),
        *("table.load", "metalake.create", "SELECT_TABLE", "role:lk:readers", "all-users", "USER"),
        *("lk/c.s.t", "metalake/lk", "name", "2026-01-01T00:00:00Z", "allow", "deny", "1"),
    ]
)
TEXT = st.one_of(
    KNOWN_TEXT, HOSTILE_TEXT, st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
)
MEMBER = st.sampled_from(
    [
        *("name", "comment", "properties", "type", "provider", "updates", "@type", "newName"),
        *("securableObjects", "privileges", "condition", "fullName", "roleNames", "columns"),
        *("tagsToAdd", "tagsToRemove", "rules", "uris", "aliases", "content", "jobConf", "names"),
        *("subject", "action", "resource", "context", "id", "evaluations", "options", "page"),
        *(
            "token",
            "limit",
            "at_least_revision",
            "evaluations_semantic",
            "realm",
            "groups",
            "roles",
        ),
        *(
            "roles",
            "principal",
            "operation",
            "entity",
            "on",
            "to",
            "where",
            "matching",
            "effect",
            "member",
        ),
        *("of", "settings", "spellings", "model", "directory", "seconds", "user", "within"),
        *("targets", "lists", "attributes", "subresources", "questions", "owners", "parent"),
        *("valid_from", "valid_until", "field", "values", "statements", "entities", "after"),
    ]
)
SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.sampled_from([2**53 + 1, 2**64, -(2**63) - 1, 1e308, -0.0, 1e-320]),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(MEMBER, TEXT), inner, max_size=5)
    ),
    max_leaves=12,
)
QUESTION: Mapping[str, Any] = {
    "subject": {"type": "user", "id": "eve"},
    "action": {"name": "table.load"},
    "resource": {"type": "table", "id": "lk/c.s.t", "properties": {"realm": "gravitino"}},
    "context": {"at_least_revision": 0},
    "options": {"evaluations_semantic": "execute_all"},
    "evaluations": [{}, {"action": {"name": "SELECT_TABLE"}}],
    "page": {"token": "", "limit": 10},
    "principal": "user:eve",
    "operation": "table.load",
    "entity": TABLE,
    "name": "new",
    "type": "RELATIONAL",
    "provider": "hive",
    "updates": [{"@type": "rename", "newName": "x"}],
    "roleNames": ["readers"],
    "securableObjects": [
        {
            "type": "TABLE",
            "fullName": "c.s.t",
            "privileges": [{"name": "SELECT_TABLE", "condition": "ALLOW"}],
        }
    ],
    "privileges": ["SELECT_TABLE"],
    "to": ["user:eve"],
    "on": TABLE,
    "member": "user:eve",
    "of": "members:lk",
}
"""Members that a route may read, with plausible values."""


@st.composite
def _near(draw: st.DrawFn) -> Any:
    """Some valid members, some of them with other values, at any depth."""
    names = draw(st.lists(st.sampled_from(sorted(QUESTION)), min_size=1, unique=True))
    found = json.loads(json.dumps({name: QUESTION[name] for name in names}))
    for _ in range(draw(st.integers(0, 3))):
        place: Any = found
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(place[key], (dict, list)) and draw(st.booleans()):
                place = place[key]
                continue
            place[key] = draw(VALUE)
            break
    return found


SPLINTERS = st.sampled_from(
    [
        *(b"{", b"[", b'"', b"\\", b"\\ud800", b"\\u0000", b"\x00", b"\xff", b"\xed\xa0\x80", b","),
        *(b"\xef\xbb\xbf", b"NaN", b"1e999", b"-", b"9" * 400, b"[" * 200, b'{"a":' * 90, b"//"),
        *(b'"subject":{},', b'"name":"x",', b"true", b"null", b"\xc3", b"\r\n", b'"\\ud800":1,'),
    ]
)


@st.composite
def _broken(draw: st.DrawFn) -> bytes:
    """A valid body with invalid bytes in it."""
    body = json.dumps(draw(_near()), ensure_ascii=draw(st.booleans())).encode()
    for _ in range(draw(st.integers(1, 3))):
        at, cut = draw(st.integers(0, len(body))), draw(st.integers(0, 4))
        body = body[:at] + draw(SPLINTERS) + body[at + cut :]
    return body


BODY = st.one_of(
    st.binary(max_size=64),
    _near().map(lambda value: json.dumps(value).encode()),
    VALUE.map(lambda value: json.dumps(value).encode()),
    _broken(),
)

HEADER = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=20)
REVISION = st.one_of(
    HEADER,
    st.integers(-5, 2**70).map(str),
    st.sampled_from(["", "0", "1", "\xb2", "1\xb9", "+1", "1_0", " 1", "1e3", "0x1", "9" * 18]),
)
AGE = st.one_of(
    HEADER,
    st.sampled_from(["fresh", "0", "1.5", ".", "1.", ".5", "nan", "inf", "-1", "1e3", "3600.1"]),
)
SEGMENT = st.one_of(
    KNOWN_TEXT.map(str.encode).map(quote_from_bytes).map(str.encode),
    TEXT.map(str.encode).map(lambda raw: quote_from_bytes(raw, safe="").encode()),
    st.binary(max_size=8).map(lambda raw: quote_from_bytes(raw, safe="").encode()),
    st.sampled_from([b"%", b"%0", b"%zz", b"%c0%af", b"%252f", b"..", b".", b";x", b"\\", b"\xff"]),
)


@st.composite
def _addressed(draw: st.DrawFn, dialect: str) -> tuple[Route, bytes]:
    """A route and a possible path for it, with hostile values for its parameters."""
    route = draw(st.sampled_from(ROUTES[dialect]))
    words = [
        draw(SEGMENT) if word.startswith("{") else word.encode()
        for word in route.path.split("/")[1:]
    ]
    if dialect == "authzen" and draw(st.booleans()):
        words = [b"r", draw(SEGMENT), *words]
    return route, b"/" + b"/".join(words)


# Callers


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    """A lake with a table that only `zoe` may load."""
    client = _lake(tmp_path_factory.mktemp("hostile"))
    yield client
    close(client)


@pytest.fixture(scope="module")
def spare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    """The same, for tests that may break it."""
    spare = _lake(tmp_path_factory.mktemp("spare"))
    yield spare
    close(spare)


def _lake(folder: Path) -> AppClient:
    given = {"database": f"sqlite:///{folder}/store", "auth": "token", "root_token": ROOT}
    application = Application(load(None, {**given, "limits": PATIENT_LIMITS}, {}))
    application.open()
    client = AppClient(application, asyncio.new_event_loop())

    def must(method: str, path: str, body: object = None) -> None:
        sent = b"" if body is None else json.dumps(body).encode()
        found = _ask(client, method, f"/api/v1{path}".encode(), sent, token=ROOT)
        assert found.status < 300, found

    for user in ("eve", "zoe"):
        must("PUT", f"/directories/main/users/{user}")
    for name in ("metalake:lk", "catalog:lk:c", "schema:lk:c.s", TABLE):
        must("PUT", "/realms/gravitino/entity", {"entity": name})
    must("PUT", "/realms/gravitino/memberships", {"member": "user:zoe", "of": "members:lk"})
    body = {"privileges": ["SELECT_TABLE", "USE_SCHEMA", "USE_CATALOG"], "to": ["user:zoe"]}
    must("PUT", "/realms/gravitino/statements/zoe", {**body, "on": "catalog:lk:c"})
    return client


@pytest.fixture(scope="module")
def eve(client: AppClient) -> str:
    """The token of a caller without permissions."""
    body = json.dumps({"user": "eve", "directory": "main"}).encode()
    issued = _ask(client, "POST", b"/api/v1/tokens", body, token=ROOT)
    return str(json.loads(issued.body)["token"])


def _ask(
    client: AppClient,
    method: str,
    path: bytes,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    token: str,
) -> Answer:
    sent = {"authorization": f"Bearer {token}", **(headers or {})}
    return client.ask(method, path, body, sent.items(), user=None)


def _check(answer: Answer, dialect: str, *, body: bool = True) -> Any:
    """Checks that nothing failed and that an error has its dialect's form; returns the JSON."""
    assert answer.status < 500 or answer.status == 503, answer
    json_of: Any = json.loads(answer.body) if answer.body else None
    if answer.status >= 400 and body:
        assert isinstance(json_of, ANSWERS[dialect]), answer
    if answer.status >= 400 and dialect == "admin":
        assert answer.headers["content-type"] == "application/problem+json"
        assert json_of["status"] == answer.status
    if answer.status >= 400 and dialect == "gravitino":
        assert json_of["code"] >= 1000
        assert json_of["type"]
    return json_of


# Expectations


@HOSTILE
@given(body=BODY, address=_addressed("authzen"))
def test_no_body_gets_a_yes_out_of_authzen(
    client: AppClient, eve: str, body: bytes, address: tuple[Route, bytes]
) -> None:
    route, path = address
    answer = _ask(client, route.method, path, body, token=eve)
    if path.startswith(b"/r/") and answer.headers["content-type"] != "application/json":
        assert 400 <= answer.status < 500  # a path outside all dialects
        return
    json_of = _check(answer, "authzen")
    if answer.status == 200:
        decisions = json_of.get("evaluations", [json_of])
        assert not any(one.get("decision") for one in decisions)
        assert not json_of.get("results")


@HOSTILE
@given(body=BODY, address=_addressed("authzen"))
def test_no_body_makes_authzen_fail_for_a_caller_with_every_right(
    client: AppClient, body: bytes, address: tuple[Route, bytes]
) -> None:
    route, path = address
    answer = _ask(client, route.method, path, body, token=ROOT)
    if not path.startswith(b"/r/"):
        _check(answer, "authzen")
    assert answer.status < 500, answer


@HOSTILE
@given(body=BODY, address=_addressed("gravitino"))
def test_no_body_changes_anything_by_way_of_gravitino(
    client: AppClient, eve: str, body: bytes, address: tuple[Route, bytes]
) -> None:
    route, path = address
    before = client.service.state.revision
    answer = _ask(client, route.method, path, body, token=eve)
    json_of = _check(answer, "gravitino")
    assert client.service.state.revision == before
    if answer.status < 400 and route.path != "/api/lineage":
        # Open to everybody: one's own identity, and the visible metalakes, of which there are none.
        assert route.method == "GET"
        assert len(route.path.split("/")) <= 4
        assert not json_of.get("metalakes")


@HOSTILE
@given(body=BODY, address=_addressed("admin"), query=st.binary(max_size=30))
def test_no_body_changes_anything_by_way_of_our_own_api(
    client: AppClient, eve: str, body: bytes, address: tuple[Route, bytes], query: bytes
) -> None:
    route, path = address
    if (route.method, route.path) in OWN:
        return
    before = client.service.state.revision
    asking = b"?" + query if query.isascii() and b"\0" not in query else b""
    answer = _ask(client, route.method, path + asking, body, token=eve)
    json_of = _check(answer, "admin")
    assert client.service.state.revision == before
    if answer.status == 200 and route.operation == "decision.ask_own":
        for one in json_of.get("answers", [json_of]):
            assert not one.get("allow")
        assert not json_of.get("entities")
        assert not json_of.get("privileges")


@HOSTILE
@given(body=BODY, address=st.one_of(_addressed("gravitino"), _addressed("admin")))
def test_no_body_of_an_administrator_makes_the_server_fail(
    spare: AppClient, body: bytes, address: tuple[Route, bytes]
) -> None:
    route, path = address
    # After a lake is dropped, everything would be answered with 404.
    if route.operation not in ("realm.drop", "metalake.drop"):
        dialect = "gravitino" if route in ROUTES["gravitino"] else "admin"
        _check(_ask(spare, route.method, path, body, token=ROOT), dialect)


@HOSTILE
@given(at_least=st.none() | REVISION, age=st.none() | AGE, length=st.none() | REVISION)
@example(at_least=None, age=None, length="\xb2")
def test_no_revision_that_is_asked_for_makes_it_fail(
    client: AppClient, at_least: str | None, age: str | None, length: str | None
) -> None:
    sent = {
        name: value
        for name, value in {
            "lakewarden-at-least": at_least,
            "lakewarden-consistency": age,
            "content-length": length,
        }.items()
        if value is not None
    }
    revision = client.service.state.revision
    if at_least is not None and at_least.isascii() and at_least.isdigit():
        # Waiting for a future revision would take a long time.
        sent["lakewarden-at-least"] = str(min(int(at_least), revision))
    json_of = _check(_ask(client, "GET", b"/api/v1/whoami", headers=sent, token=ROOT), "admin")
    assert "user" in json_of or json_of["status"] in (400, 413)


@HOSTILE
@given(
    token=st.one_of(
        st.binary(max_size=40),
        VALUE.map(lambda value: json.dumps(value).encode()),
        st.sampled_from([b"[" * 4_000, b'{"a":' * 1_000, b'["\\ud800","a"]', b"[1" + b"0" * 4_500]),
    ),
    path=st.sampled_from(
        [
            *("audit", "directories/main/principals", "realms/gravitino/entities"),
            *("realms/gravitino/statements", "realms/gravitino/memberships"),
        ]
    ),
)
@example(token=b"[" * 4_000, path="audit")
def test_no_page_token_makes_it_fail(client: AppClient, token: bytes, path: str) -> None:
    sent = base64.urlsafe_b64encode(token).rstrip(b"=")
    address = b"/api/v1/" + path.encode() + b"?page.token=" + sent
    answer = _ask(client, "GET", address, token=ROOT)
    _check(answer, "admin")
    assert answer.status in (400, 414) or not sent


@pytest.mark.parametrize(
    ("path", "question", "place"),
    [
        ("/api/v1/audit", (None,), "x"),
        ("/api/v1/audit", (None,), -1),
        ("/api/v1/audit", (None,), 2**63),
        ("/api/v1/audit", (None,), True),
        ("/api/v1/directories/main/principals", ("",), 17),
        ("/api/v1/realms/gravitino/entities", (None, None), 17),
        ("/api/v1/realms/gravitino/entities", (None, None), "\ud800"),
        ("/api/v1/realms/gravitino/entities", (None, None), "nothing of the kind"),
    ],
    ids=repr,
)
def test_no_forged_page_token_for_the_right_query_makes_it_fail(
    client: AppClient, path: str, question: tuple[object, ...], place: Any
) -> None:
    text = json.dumps([place, endpoint._digest((path, *question))])
    sent = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    answer = _ask(client, "GET", f"{path}?page.token={sent}".encode(), token=ROOT)
    _check(answer, "admin")
    assert answer.status == 400, answer


def test_a_number_that_is_there_and_empty_is_refused(client: AppClient) -> None:
    for query in (b"page.limit=", b"last="):
        assert _ask(client, "GET", b"/api/v1/audit?" + query, token=ROOT).status == 400


@HOSTILE
@given(st.one_of(st.binary(max_size=200), BODY))
def test_the_json_reader_agrees_with_the_standard_s_or_says_why_not(body: bytes) -> None:
    try:
        found = read(body)
    except BadInput as error:
        said = str(error)
        assert said.isprintable()
        said.encode("utf-8")
        return
    assert found == json.loads(body)


@HOSTILE
@given(st.one_of(st.binary(max_size=40), st.lists(SEGMENT, max_size=6).map(b"/".join)))
def test_a_path_is_split_before_it_is_decoded_or_refused(raw: bytes) -> None:
    path = b"/" + raw
    with suppress(BadInput):
        strict = split_path(path)
        assert not any({"/", "\\"} & set(segment) for segment in strict)
        assert split_path(path, encoded_slash=True) == strict
    with suppress(BadInput):
        found = split_path(path, encoded_slash=True)
        assert len(found) == path.removesuffix(b"/").count(b"/")
        assert not {"", ".", ".."} & set(found)
        again = "/" + "/".join(quote_from_bytes(one.encode(), safe="") for one in found)
        assert split_path(again, encoded_slash=True) == found


@HOSTILE
@given(st.lists(SEGMENT, max_size=5).map(b"/".join), st.sampled_from(["GET", "POST", "BREW"]))
def test_no_path_makes_it_fail(client: AppClient, raw: bytes, method: str) -> None:
    answer = _ask(client, method, b"/" + raw, token=ROOT)
    assert answer.status < 500, answer
    if raw.strip(b"/"):  # the root leads to the pages
        assert isinstance(json.loads(answer.body), (dict, str))
