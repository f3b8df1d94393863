"""Host names and origins: a foreign web page can neither pose as the server nor change anything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.app.build import Application
from lakewarden.app.request_origin import RequestOrigin
from lakewarden.config.settings import Settings, load
from lakewarden.http.exchange import Refused
from lakewarden.kernel.errors import BadInput
from tests.app.asgi import AppClient, close
from tests.app.serving import Answer

TOKENS = "/api/v1/tokens"
OWN_TOKEN = json.dumps({"user": "ana", "directory": "main", "seconds": 86_400 * 300}).encode()
UNSAFE = {
    "admin": ("POST", TOKENS, OWN_TOKEN),
    "gravitino": ("POST", "/api/metalakes", b'{"name": "made", "comment": "", "properties": {}}'),
    "datahub": ("POST", "/openapi/v3/entity/dataset", b"[]"),
    "graphql": ("POST", "/api/graphql", b'{"query": "{ me { corpUser { urn } } }"}'),
    "cdap": ("PUT", "/v3/namespaces/made", b"{}"),
    "authzen": ("POST", "/access/v1/evaluation", b"{}"),
    "nobody": ("POST", "/nothing/here", b"{}"),
}
FOREIGN = [
    {"origin": "http://evil.test"},
    {"origin": "null"},
    {"origin": "http://localhost:8787.evil.test"},
    {"origin": "http://localhost:8788"},
    {"origin": "http://user@localhost:8787"},
    {"origin": "localhost:8787"},
    {"origin": "http://[broken"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "origin": "http://localhost:8787"},
]
OWN = [
    {},
    {"origin": "http://localhost:8787"},
    {"origin": "https://lake.test"},
    {"sec-fetch-site": "same-origin", "origin": "http://localhost:8787"},
    {"sec-fetch-site": "none"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    database = f"sqlite:///{tmp_path_factory.mktemp('origin')}/store"
    application = Application(
        Settings(database=database, admin="ana", public_url="https://lake.test/hub")
    )
    application.open()
    made = AppClient(application, asyncio.new_event_loop())
    yield made
    close(made)


def ask(
    client: AppClient,
    method: str,
    path: str,
    body: bytes = b"",
    host: str = "localhost:8787",
    **more: str,
) -> Answer:
    headers = {"host": host, **{name.replace("_", "-"): value for name, value in more.items()}}
    return client.ask(method, path, body, headers.items())


def is_of(dialect: str, answer: Answer) -> bool:
    """Whether an error has the form of its dialect."""
    if dialect == "cdap":
        return answer.headers["content-type"].startswith("text/plain")
    json_of = json.loads(answer.body)
    match dialect:
        case "gravitino":
            return set(json_of) >= {"code", "type", "message"}
        case "datahub":
            return set(json_of) >= {"message", "status"}
        case "graphql":
            return (
                bool(json_of["errors"][0]["message"])
                if "errors" in json_of
                else "message" in json_of
            )
        case "authzen":
            return isinstance(json_of, str)
    return answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("dialect", UNSAFE)
@pytest.mark.parametrize("said", FOREIGN, ids=str)
def test_a_page_of_another_site_changes_nothing_in_any_dialect(
    client: AppClient, dialect: str, said: dict[str, str]
) -> None:
    method, path, body = UNSAFE[dialect]
    before = client.service.state.revision
    headers = {name.replace("-", "_"): value for name, value in said.items()}
    answer = ask(client, method, path, body, **headers)
    assert answer.status == 403
    assert b"other sites" in answer.body
    assert is_of(dialect, answer)
    assert client.service.state.revision == before


@pytest.mark.parametrize("said", OWN, ids=str)
def test_our_own_pages_and_programs_are_not_concerned(
    client: AppClient, said: dict[str, str]
) -> None:
    headers = {name.replace("-", "_"): value for name, value in said.items()}
    assert ask(client, "POST", TOKENS, OWN_TOKEN, **headers).status == 201


def test_what_only_reads_is_answered_to_everybody_and_read_by_nobody(client: AppClient) -> None:
    answer = ask(client, "GET", "/api/version", origin="http://evil.test")
    assert answer.status == 200
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("dialect", UNSAFE)
@pytest.mark.parametrize("host", ["evil.test", "evil.test:8787", "localhost.evil.test", "10.0.0.1"])
def test_a_name_that_was_bound_to_this_machine_is_refused(
    client: AppClient, dialect: str, host: str
) -> None:
    method, path, body = UNSAFE[dialect]
    answer = ask(client, method, path, body, host, origin=f"http://{host}")
    assert answer.status == 421
    assert b"allowed_hosts" in answer.body
    assert is_of(dialect, answer)


@pytest.mark.parametrize("path", ["/api/version", "/metrics", "/api/metalakes", "/openapi.json"])
def test_reading_under_a_foreign_name_is_refused_as_well(client: AppClient, path: str) -> None:
    assert ask(client, "GET", path, host="evil.test").status == 421


@pytest.mark.parametrize(
    "host", ["", " ", "a b", "localhost@evil.test", "localhost/x", "[::1", "é"]
)
def test_a_host_that_cannot_be_one_is_malformed(client: AppClient, host: str) -> None:
    assert ask(client, "GET", "/api/version", host=host).status == 400


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:1", "127.0.0.1:8787", "[::1]:8787", "lake.test"]
)
def test_this_machine_and_the_public_address_are_ours(client: AppClient, host: str) -> None:
    assert ask(client, "GET", "/api/version", host=host).status == 200


def test_a_text_body_is_refused_by_every_route_that_takes_json(client: AppClient) -> None:
    for dialect, (method, path, body) in UNSAFE.items():
        if dialect == "nobody":
            continue
        for kind in (
            "text/plain",
            "multipart/form-data; boundary=x",
            "text/plain;application/json",
        ):
            answer = ask(client, method, path, body, content_type=kind)
            assert answer.status == (400 if dialect == "authzen" else 415), (dialect, kind)
            assert is_of(dialect, answer)


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ({}, ("localhost", "127.0.0.1", "[::1]")),
        ({"auth": "token"}, ()),
        ({"auth": "token", "datahub": {"auth": False}}, ("localhost", "127.0.0.1", "[::1]")),
        (
            {"auth": "token", "cdap": {"security": {"enabled": False}}},
            ("localhost", "127.0.0.1", "[::1]"),
        ),
        ({"auth": "token", "allowed_hosts": "Lake.test, a:1"}, ("lake.test", "a:1")),
        ({"allowed_hosts": "lake.test"}, ("lake.test",)),
        ({"public_url": "https://p:1/x"}, ("localhost", "127.0.0.1", "[::1]", "p:1")),
    ],
)
def test_where_names_are_believed_only_this_machine_is_ours_by_default(
    given: dict[str, object], hosts: tuple[str, ...]
) -> None:
    assert load(None, given, {}).own_hosts == hosts


def test_every_name_is_ours_if_the_operator_says_so_and_that_is_told() -> None:
    every = load(None, {"allowed_hosts": "*"}, {})
    RequestOrigin(every.own_hosts).check_host("evil.test")
    assert any("allowed_hosts" in said for said in every.weakened)
    assert not any("allowed_hosts" in said for said in load(None, {}, {}).weakened)


@pytest.mark.parametrize("host", ["http://a", "a b", "a:b", "*.lake.test"])
def test_a_name_that_cannot_be_one_is_no_setting(host: str) -> None:
    with pytest.raises(BadInput, match="allowed_hosts"):
        load(None, {"allowed_hosts": host}, {})


def test_a_name_with_a_port_is_good_at_that_port_alone() -> None:
    origin = RequestOrigin(["lake.test:1"])
    origin.check_host("lake.test:1")
    for host in ("lake.test", "lake.test:2"):
        with pytest.raises(Refused):
            origin.check_host(host)


def test_off_this_machine_addresses_in_numbers_are_ours() -> None:
    origin = RequestOrigin(["localhost"], addresses=True)
    for host in ("10.0.0.1:8787", "[2001:db8::1]", "localhost"):
        origin.check_host(host)
    with pytest.raises(Refused):
        origin.check_host("10.0.0.1.evil.test")


def test_tokens_made_in_simple_mode_die_with_it(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/store"
    texts: list[str] = []
    for mode, status in (("simple", 200), ("token", 401), ("simple", 200)):
        application = Application(Settings(database=database, auth=mode, admin="ana"))
        application.open()
        client = AppClient(application, asyncio.new_event_loop())
        for text in texts:
            bearer = [("authorization", f"Bearer {text}")]
            assert client.ask("GET", "/api/metalakes", b"", bearer, user=None).status == status
            made = client.ask("POST", TOKENS, OWN_TOKEN, bearer, user=None)
            assert made.status == (201 if status == 200 else 401)
        if not texts:
            texts.append(json.loads(ask(client, "POST", TOKENS, OWN_TOKEN).body)["token"])
            bearer = [("authorization", f"Bearer {texts[0]}")]
            second = client.ask("POST", TOKENS, OWN_TOKEN, bearer, user=None)
            texts.append(json.loads(second.body)["token"])
        close(client)
