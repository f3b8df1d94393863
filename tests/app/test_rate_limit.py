"""A caller with too many requests waits; no other caller does, and no state is kept forever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.app import metrics, rate_limit
from lakewarden.app.build import Application
from lakewarden.app.dialects import all_dialects
from lakewarden.app.rate_limit import Buckets, RateLimited, RateLimiter
from lakewarden.config.rate_limits import RateLimits
from lakewarden.config.settings import Settings, load
from lakewarden.http.exchange import BULK, LOGINS, READS, WRITES
from lakewarden.kernel.errors import BadInput
from tests.app.asgi import AppClient, close
from tests.app.serving import basic
from tests.app.test_request_origin import is_of

FEW = RateLimits(reads=0.003, writes=0.002, bulk=0.001, logins=0.001, burst_seconds=1_000)
"""3, 2, 1 and 1 at once, then one in many minutes."""

EVALUATION = json.dumps(
    {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "metalake.create"},
        "resource": {"type": "platform", "id": "platform", "properties": {"realm": "gravitino"}},
    }
).encode()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[AppClient]:
    database = f"sqlite:///{tmp_path}/store"
    application = Application(Settings(database=database, admin="ana", rate_limits=FEW))
    application.open()
    made = AppClient(application, asyncio.new_event_loop())
    yield made
    close(made)


def waits(buckets: Buckets, times: list[float], caller: str = "ana") -> list[float]:
    return [buckets.wait(caller, now) for now in times]


def test_a_burst_is_answered_and_then_as_many_as_the_rate_says() -> None:
    buckets = Buckets(rate=2.0, burst=3)
    assert waits(buckets, [100.0] * 4) == [0.0, 0.0, 0.0, 0.5]
    assert waits(buckets, [100.4, 100.5, 100.5]) == [pytest.approx(0.1), 0.0, 0.5]
    assert waits(buckets, [200.0] * 4) == [0.0, 0.0, 0.0, 0.5]


def test_a_request_that_was_held_up_is_not_taken_for_one_too_many() -> None:
    buckets = Buckets(100.0, 1_000)
    assert buckets.wait("ana", 100.0) == 0.0
    assert buckets.wait("ana", 80.0) == 0.0
    assert buckets.wait("ben", 80.0) == 0.0


def test_who_is_refused_does_not_wait_longer_for_it() -> None:
    buckets = Buckets(rate=1.0, burst=1)
    assert waits(buckets, [10.0, 10.0, 10.0, 10.5, 11.0]) == [0.0, 1.0, 1.0, 0.5, 0.0]


def test_callers_do_not_wait_for_each_other() -> None:
    buckets = Buckets(rate=1.0, burst=1)
    assert waits(buckets, [10.0, 10.0]) == [0.0, 1.0]
    assert waits(buckets, [10.0], "eve") == [0.0]


def test_callers_are_forgotten_but_not_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MOST_CALLERS", 100)
    buckets = Buckets(rate=0.1, burst=2)
    assert waits(buckets, [0.0, 0.0, 0.0], "waits")[2] > 0
    for number in range(1_000):
        buckets.wait(f"c{number}", 1.0)
        assert len(buckets._full_at) <= 100
    assert waits(buckets, [1.0], "waits")[0] > 0
    # Much later, every bucket is full, which equals an unknown caller.
    buckets.wait("new", 1_000.0)
    for number in range(200):
        buckets.wait(f"d{number}", 1_000.0)
    assert "c999" not in buckets._full_at


def test_no_rate_is_no_limit() -> None:
    limiter = RateLimiter(RateLimits(reads=0))
    for _ in range(1_000):
        limiter.check(READS, "ana", 0.0)
    few = RateLimiter(FEW)
    for kind, most in ((READS, 3), (WRITES, 2), (BULK, 1), (LOGINS, 1)):
        for _ in range(most):
            few.check(kind, "ana", 0.0)
        with pytest.raises(RateLimited, match=kind):
            few.check(kind, "ana", 0.0)


@pytest.mark.parametrize(
    ("dialect", "method", "path", "body"),
    [
        ("admin", "PUT", "/api/v1/directories/main/users/bob", b""),
        ("gravitino", "POST", "/api/metalakes", b'{"name": "m"}'),
        ("graphql", "POST", "/api/graphql", b'{"query": "{ me { corpUser { urn } } }"}'),
        ("cdap", "PUT", "/v3/namespaces/made", b"{}"),
        ("authzen", "POST", "/access/v1/search/subject", EVALUATION),
        ("datahub", "POST", "/openapi/v3/entity/dataset", b"[]"),
    ],
)
def test_each_dialect_says_so_in_its_own_words(
    client: AppClient, dialect: str, method: str, path: str, body: bytes
) -> None:
    before = _counted()
    found = [client.ask(method, path, body) for _ in range(3)]
    last = found[-1]
    assert found[0].status != 429
    assert last.status == 429
    assert is_of(dialect, last)
    assert 1 <= int(last.headers["retry-after"]) <= 1_000
    assert _counted() > before
    # Another caller is served, and so is the same caller's other kind of request.
    assert client.ask(method, path, body, user="eve").status != 429
    assert client.ask("GET", "/api/metalakes").status != 429


def _counted() -> float:
    return sum(
        sample.value
        for metric in metrics.RATE_LIMITED.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    )


def test_what_is_answered_at_once_is_counted_too(client: AppClient) -> None:
    headers = [
        (b"host", b"localhost"),
        (b"authorization", basic("ana").encode()),
        (b"content-type", b"application/json"),
    ]
    client.ask("POST", "/access/v1/evaluation", EVALUATION, [("host", "localhost")], user="eve")
    answers = []
    for user in ("ana", "ana", "ana", "ana"):
        headers[1] = (b"authorization", basic(user).encode())
        once = client.application.immediate_response(
            "POST", b"/access/v1/evaluation", headers, EVALUATION, "127.0.0.1"
        )
        if once is None:  # its head was not cached yet
            raw = [(name.decode(), value.decode()) for name, value in headers]
            client.ask("POST", "/access/v1/evaluation", EVALUATION, raw, user=None)
        else:
            answers.append(once[0])
    assert answers[-1] == 429


def test_unauthenticated_callers_are_counted_by_address(client: AppClient) -> None:
    bad = [("authorization", "Bearer lw_x")]
    statuses = [
        client.ask("POST", "/api/metalakes", b"{}", bad, user=None).status for _ in range(3)
    ]
    assert statuses == [401, 401, 429]
    assert client.ask("GET", "/api/metalakes").status == 200


def test_one_address_tries_passwords_only_so_often(client: AppClient) -> None:
    body = json.dumps({"username": "ana", "password": "wrong password"}).encode()
    statuses = [client.ask("POST", "/logIn", body, user=None).status for _ in range(2)]
    assert statuses[0] != 429
    assert statuses[1] == 429


def test_every_route_has_a_class_and_those_with_large_bodies_are_bulk() -> None:
    routes = [route for dialect in all_dialects() for route in dialect.routes()]
    assert {route.counts_as for route in routes} == set(rate_limit.CLASSES)
    for route in routes:
        if route.body_limit is not None:
            assert route.counts_as == (route.rate_class or BULK)
        if route.method == "GET" and not route.path.startswith("/ui/login/"):
            assert route.counts_as == READS
    logins = {route.path.rpartition("/")[2] for route in routes if route.counts_as == LOGINS}
    assert logins == {
        *("logIn", "signUp", "resetNativeUserCredentials"),  # DataHub's
        *("session", "login"),  # our own login, and the form of the pages
        *("oidc", "callback"),  # the redirect to an identity provider and back
    }


@pytest.mark.parametrize("key", ["reads", "writes", "bulk", "logins", "burst_seconds"])
def test_a_rate_is_a_number(key: str) -> None:
    assert (
        getattr(load(environment={f"LAKEWARDEN_RATE_LIMITS__{key.upper()}": "7"}).rate_limits, key)
        == 7
    )
    for value in ("-1", "many"):
        with pytest.raises(BadInput, match=key):
            load(environment={f"LAKEWARDEN_RATE_LIMITS__{key.upper()}": value})
