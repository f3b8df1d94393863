"""Requests that need no waiting are answered at once, with the same answer; no others are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lakewarden.app.build import Application
from lakewarden.app.parsed_head import MOST_BYTES, MOST_KEPT
from lakewarden.app.request_pipeline import Answer
from lakewarden.config.settings import Limits, Settings
from lakewarden.http.exchange import Exchange, Reply, Route, WouldBlock
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import TokenChanged
from lakewarden.service.realm import Token
from lakewarden.service.token import digest
from lakewarden.service.write_transaction import WriteTransaction
from tests.app.asgi import AppClient, close
from tests.app.serving import basic
from tests.app.stub import Stub

PATH = "/stub"
HEADERS = [(b"host", b"localhost"), (b"authorization", basic("ana").encode())]


class _Inline(Stub):
    """The stub, with a configurable inline handler."""

    def __init__(self) -> None:
        super().__init__()
        self.does: Callable[[Exchange], Reply] = lambda _: Reply(204)

    def routes(self) -> tuple[Route, ...]:
        more = Route("POST", "/inline", "metalake.list", self._do, inline=True)
        return (*super().routes(), more)

    def _do(self, exchange: Exchange) -> Reply:
        return self.does(exchange)


@pytest.fixture
def stub() -> _Inline:
    return _Inline()


@pytest.fixture
def client(tmp_path: Path, stub: _Inline) -> Iterator[AppClient]:
    settings = Settings(database=f"sqlite:///{tmp_path}/store", limits=Limits(body_bytes=64))
    application = Application(settings, [stub])
    application.open()
    made = AppClient(application, asyncio.new_event_loop())
    yield made
    close(made)


def _once(
    client: AppClient,
    method: str = "GET",
    url: str = PATH,
    headers: list[tuple[bytes, bytes]] | None = None,
    body: bytes = b"",
) -> Answer | None:
    sent = HEADERS if headers is None else headers
    return client.application.immediate_response(method, url.encode(), sent, body, "127.0.0.1")


def _status(answer: Answer | None) -> int | None:
    return None if answer is None else answer[0]


def _learn(client: AppClient, method: str = "GET", url: str = PATH, body: bytes = b"") -> None:
    headers = [("host", "localhost")]
    assert client.ask(method, url, body, headers, user=None).status == 401
    named = [("host", "localhost"), ("authorization", basic("ana"))]
    assert client.ask(method, url, body, named, user=None).status < 300


def test_a_head_is_answered_at_once_when_it_comes_again(client: AppClient) -> None:
    assert _once(client) is None
    _learn(client)
    answer = _once(client)
    assert answer is not None
    assert answer[0] == 200
    assert client.at_once > 0


def test_every_request_has_an_id_of_its_own(client: AppClient) -> None:
    _learn(client)
    ids = []
    for sent in (None, None, b"mine", b"not sound"):
        own = [] if sent is None else [(b"x-request-id", sent)]
        answer = _once(client, headers=[*HEADERS, *own])
        assert answer is not None
        ids.append(dict(answer[1])[b"x-request-id"])
    assert len(set(ids)) == 4
    assert ids[2] == b"mine"


def test_what_waits_for_a_worker_is_not_answered_at_once(client: AppClient) -> None:
    _learn(client, "POST")
    assert _once(client, "POST") is None
    assert _once(client, "GET", "/nowhere") is None


def test_after_a_write_the_head_is_read_again(client: AppClient) -> None:
    _learn(client)

    def write(transaction: WriteTransaction) -> None:
        transaction.change("gravitino", EntityAdded(Entity("metalake", "new")))

    client.service.write(SYSTEM, write)
    assert _once(client) is None
    _learn(client)
    answer = _once(client)
    assert answer is not None
    assert dict(answer[1])[b"lakewarden-revision"] == str(client.service.state.revision).encode()


def test_where_another_process_wrote_nothing_is_answered_at_once(
    client: AppClient, tmp_path: Path
) -> None:
    _learn(client)
    service = client.service
    other = DecisionService(service.store, shared_revision=service._shared_revision)
    other.open()

    def write(transaction: WriteTransaction) -> None:
        transaction.change("gravitino", EntityAdded(Entity("metalake", "new")))

    other.write(SYSTEM, write)
    assert service.state.revision < other.state.revision
    assert _once(client) is None


def test_a_token_that_expires_or_is_revoked_is_not_believed_any_longer(client: AppClient) -> None:
    made = client.service.clock()
    token = Token("id-1", digest("lw_x"), "ana", made, made + 60.0)
    client.service.write(
        SYSTEM, lambda transaction: transaction.change("@main", TokenChanged("id-1", token))
    )
    bearer = ("authorization", "Bearer lw_x")
    sent = [(b"authorization", b"Bearer lw_x")]
    assert client.ask("GET", PATH, headers=[bearer], user=None).status == 200
    client.service.clock = lambda: made + 59.9
    assert _status(_once(client, headers=sent)) == 200
    client.service.clock = lambda: made + 60.0
    assert _status(_once(client, headers=sent)) == 401
    client.service.clock = lambda: made
    client.service.write(
        SYSTEM, lambda transaction: transaction.change("@main", TokenChanged("id-1", None))
    )
    assert client.ask("GET", PATH, headers=[bearer], user=None).status == 401


def test_a_body_that_is_refused_goes_the_usual_way(client: AppClient, stub: _Inline) -> None:
    json = (b"content-type", b"application/json")
    for headers, body in (
        ([*HEADERS, json], b"x" * 65),
        ([*HEADERS, (b"content-type", b"text/plain")], b"x"),
    ):
        named = [(name.decode(), value.decode()) for name, value in headers]
        client.ask("POST", "/inline", b"", named, user=None)
        assert _once(client, "POST", "/inline", headers, b"") is not None
        assert _once(client, "POST", "/inline", headers, body) is None


@pytest.mark.parametrize(("error", "status"), [(BadInput("no"), 422), (RuntimeError("x"), 599)])
def test_an_error_is_told_as_on_the_usual_way(
    client: AppClient, stub: _Inline, error: Exception, status: int
) -> None:
    _learn(client, "POST", "/inline")

    def fail(_: Exchange) -> Reply:
        raise error

    stub.does = fail
    answer = _once(client, "POST", "/inline")
    assert answer is not None
    assert answer[0] == status


def test_what_takes_time_goes_the_usual_way_to_a_thread(client: AppClient, stub: _Inline) -> None:
    _learn(client, "POST", "/inline")
    seen: list[bool] = []

    def write(exchange: Exchange) -> Reply:
        seen.append(exchange.on_loop)
        if exchange.on_loop:
            raise WouldBlock
        return Reply(204, headers={"x-from": exchange.address})

    stub.does = write
    assert _once(client, "POST", "/inline") is None
    answer = client.ask("POST", "/inline", user="ana")
    assert answer.status == 204
    assert answer.headers["x-from"]
    assert seen.count(False) == 1


def test_ipv4_over_a_socket_for_both_is_ipv4(client: AppClient, stub: _Inline) -> None:
    seen: list[str] = []

    def write(exchange: Exchange) -> Reply:
        if exchange.on_loop:
            raise WouldBlock
        seen.append(exchange.address)
        return Reply(204)

    stub.does = write
    for client.peer in ("::ffff:192.0.2.1", "2001:db8::1"):
        client.ask("POST", "/inline", user="ana")
    assert seen == ["192.0.2.1", "2001:db8::1"]


def test_headers_that_are_too_large_together_are_refused(client: AppClient) -> None:
    _learn(client)
    answer = _once(client, headers=[*HEADERS, (b"tracestate", b"x" * 33_000)])
    assert answer is not None
    assert answer[0] == 431


def test_what_is_kept_is_bounded(client: AppClient) -> None:
    long = [*HEADERS, (b"x-long", b"x" * MOST_BYTES)]
    named = [(name.decode(), value.decode()) for name, value in long]
    assert client.ask("GET", PATH, headers=named, user=None).status == 200
    assert _once(client, headers=long) is None
    _learn(client)
    for number in range(MOST_KEPT):
        client.application._gate._arrivals.read(
            "GET", PATH.encode(), b"n=%d" % number, HEADERS, client.service.state
        )
    assert _once(client) is None
