"""Connections are limited, idle ones are closed first, and health checks are always answered."""

from __future__ import annotations

import http.client
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import structlog

from lakewarden.app import metrics, protocol
from lakewarden.app.build import Application
from lakewarden.app.client_address import networks
from lakewarden.app.connections import Admission, Connections
from lakewarden.app.open_files import OWN_FILES
from lakewarden.config.settings import Limits, Settings
from lakewarden.http.exchange import Exchange, Reply, Route
from tests.app.serving import basic
from tests.app.stub import Stub
from tests.app.threaded import listening

PATIENCE = 60
LIMIT, OF_ADDRESS = 20, 12
LARGE = 32 * 1024 * 1024


class One:
    """A connection that records its closing."""

    def __init__(self) -> None:
        self.is_closed = False

    def end(self) -> None:
        self.is_closed = True


def _opened(connections: Connections, *addresses: str) -> list[One]:
    made = [One() for _ in addresses]
    for one, address in zip(made, addresses, strict=True):
        assert connections.opened(one, address) is Admission.FULL
    return made


def _closed(ones: Sequence[One]) -> list[int]:
    return [at for at, one in enumerate(ones) if one.is_closed]


def test_the_one_that_is_idle_longest_goes_for_a_new_one() -> None:
    connections = Connections(3, 3)
    made = _opened(connections, "a", "b", "c")
    connections.idle(made[0])  # it was used meanwhile
    made += _opened(connections, "d")
    assert _closed(made) == [1]
    connections.busy(made[2])
    made += _opened(connections, "e", "f")
    assert _closed(made) == [0, 1, 3]
    assert len(connections) == 3


def test_where_all_are_busy_a_few_are_taken_in_reserve_and_then_none() -> None:
    connections = Connections(2, 2, reserve=2)
    made = _opened(connections, "a", "b")
    for one in made:
        connections.busy(one)
    reserve = [One(), One(), One()]
    assert connections.opened(reserve[0], "c") is Admission.RESERVE
    assert connections.opened(reserve[1], "d") is Admission.RESERVE
    connections.busy(reserve[1])
    assert connections.opened(reserve[2], "e") is Admission.RESERVE
    assert _closed(reserve) == [0]
    connections.busy(reserve[2])
    assert connections.opened(One(), "f") is Admission.REFUSED
    connections.closed(made[0])
    assert connections.opened(One(), "g") is Admission.FULL
    assert _closed(made) == []


def test_one_address_takes_only_its_own_connections_and_a_proxy_none_of_nobody() -> None:
    connections = Connections(10, 2, proxies=networks(["10.0.0.0/8"]))
    made = _opened(connections, "1.1.1.1", "2.2.2.2", "1.1.1.1", "1.1.1.1")
    assert _closed(made) == [0]
    _opened(connections, *["10.0.0.1"] * 5)
    for one in made[2:]:
        connections.busy(one)
    assert connections.opened(One(), "1.1.1.1") is Admission.RESERVE
    assert _closed(made) == [0]


def test_an_address_is_that_of_ipv4_or_a_network_of_ipv6_and_proxies_are_apart() -> None:
    connections = Connections(20, 2, proxies=networks(["10.0.0.0/8", "2001:db8::1/128"]))
    proxies = _opened(connections, *["::ffff:10.0.0.1"] * 5, *["2001:db8::1"] * 5)
    assert _closed(proxies) == []
    assert _closed(_opened(connections, "1.1.1.1", "::ffff:1.1.1.1", "1.1.1.1")) == [0]
    made = _opened(connections, "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1", "2001:db8::4")
    assert _closed(made) == [0]


def test_refused_connections_are_logged_in_sum_not_one_by_one() -> None:
    now = [0.0]
    connections = Connections(1, 9, reserve=0, clock=lambda: now[0])
    connections.busy(_opened(connections, "a")[0])
    with structlog.testing.capture_logs() as told:
        for _ in range(50):
            assert connections.opened(One(), "b") is Admission.REFUSED
        now[0] = 11.0
        connections.opened(One(), "b")
    assert [line["closed"] for line in told] == [{"refused": 1}, {"refused": 50}]


class Large(Stub):
    """A handler with a response that fits into no buffer."""

    def routes(self) -> Sequence[Route]:
        return (
            *super().routes(),
            Route("GET", "/stub/huge", "metalake.load", _huge),
        )


def _huge(exchange: Exchange) -> Reply:
    return Reply(200, b"x" * LARGE, "text/plain")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("connections")
    limits = Limits(connections=LIMIT, connections_per_address=OF_ADDRESS)
    settings = Settings(database=f"sqlite:///{folder}/store", limits=limits, open_metrics=True)
    with listening(settings, folder, [Large()]) as port:
        yield port


@contextmanager
def _connected(port: int, count: int, address: str) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", port), PATIENCE, (address, 0))
            )
            for _ in range(count)
        ]


def _ask(port: int, path: str, address: str = "127.0.0.9") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, PATIENCE, (address, 0))
    try:
        connection.request("GET", path, headers={"Authorization": basic("ana")})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def _is_over(sock: socket.socket) -> bool:
    """Waits until the server closes the connection."""
    with suppress(ConnectionError):
        while sock.recv(65_536):
            pass
    return True


def _begin(sock: socket.socket) -> None:
    """Sends a request that stays in flight until its body arrives."""
    head = f"POST /stub HTTP/1.1\r\nHost: localhost\r\nAuthorization: {basic('eve')}\r\n"
    sock.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{".encode())


def _finish(sock: socket.socket) -> bytes:
    sock.sendall(b"}")
    return sock.recv(65_536).split(b"\r\n")[0]


def test_idle_connections_keep_nobody_out(port: int) -> None:
    with _connected(port, 10, "127.0.0.2") as some, _connected(port, 10, "127.0.0.3") as others:
        for _ in range(3):
            assert _ask(port, "/stub")[0] == 200
        assert _is_over(some[0])
        _begin(others[-1])  # connections that are not idle longest stay open
        assert _finish(others[-1]) == b"HTTP/1.1 200 OK"
    assert 'lakewarden_connections_closed_total{reason="idle"}' in metrics.page().decode()


def test_where_all_are_busy_health_and_figures_are_answered_still(port: int) -> None:
    with _connected(port, 10, "127.0.0.2") as some, _connected(port, 10, "127.0.0.3") as others:
        for sock in (*some, *others):
            _begin(sock)
        while metrics.CONNECTIONS._value.get() < LIMIT:
            threading.Event().wait(0.01)
        for path in ("/healthz", "/readyz", "/metrics"):
            assert _ask(port, path)[0] == 200
        status, headers, _ = _ask(port, "/stub")
        assert (status, headers["retry-after"]) == (503, "1")
        assert {_finish(sock) for sock in (*some, *others)} == {b"HTTP/1.1 200 OK"}
        assert _ask(port, "/stub")[0] == 200


def test_one_address_is_bounded_for_itself(port: int) -> None:
    with _connected(port, OF_ADDRESS, "127.0.0.2") as some:
        for sock in some:
            _begin(sock)
            assert _ask(port, "/stub", "127.0.0.4")[0] == 200
        assert _ask(port, "/stub", "127.0.0.2")[0] == 503
        assert {_finish(sock) for sock in some} == {b"HTTP/1.1 200 OK"}
        assert _ask(port, "/stub", "127.0.0.2")[0] == 200  # its own idle ones are closed


def test_the_rest_of_a_body_that_nobody_reads_has_no_more_time_than_a_head(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    with _connected(port, 1, "127.0.0.5") as (sock,):
        head = f"POST /stub HTTP/1.1\r\nHost: localhost\r\nAuthorization: {basic('eve')}\r\n"
        sock.sendall(f"{head}Content-Length: 99999999\r\n\r\n".encode())
        assert sock.recv(65_536).startswith(b"HTTP/1.1 413 ")
        with suppress(ConnectionError):
            for _ in range(PATIENCE * 20):  # single bytes do not extend its time
                sock.sendall(b"x")
                threading.Event().wait(0.05)
            pytest.fail("it is open still")


def test_who_takes_nothing_of_an_answer_is_cut_off(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 0.2)
    with _connected(port, 1, "127.0.0.6") as (sock,):
        head = (
            f"GET /stub/huge HTTP/1.1\r\nHost: localhost\r\nAuthorization: {basic('eve')}\r\n\r\n"
        )
        sock.sendall(head.encode())
        assert sock.recv(1) == b"H"  # the connection is counted before the response begins
        # Buffered bytes may arrive; not the whole response.
        while metrics.CONNECTIONS._value.get() > 0:
            threading.Event().wait(0.01)
        received = 0
        with suppress(ConnectionError):
            while chunk := sock.recv(1024 * 1024):
                received += len(chunk)
        assert received < LARGE
    monkeypatch.undo()
    status, _, body = _ask(port, "/stub/huge")
    assert (status, len(body)) == (200, LARGE)  # a client that reads it receives it


LIMITS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 512))
from lakewarden.app.open_files import connections_within, raise_limit
raise_limit(100)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], connections_within(100))
raise_limit(4096)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], connections_within(4096))
"""


def test_the_limit_of_open_files_is_raised_as_far_as_it_may_be() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 512
    ran = subprocess.run(
        [sys.executable, "-c", LIMITS], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.split() == ["256", "100", "512", str(512 - OWN_FILES)]


def test_too_low_a_limit_of_open_files_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 1_024))
    settings = Settings(database=f"sqlite:///{tmp_path}/store")
    with structlog.testing.capture_logs() as told:
        application = Application(settings, [Stub()])
    assert application.connections.limit == 1_024 - OWN_FILES
    assert application.connections.address_limit == (1_024 - OWN_FILES) // 2
    assert [line["connections"] for line in told] == [1_024 - OWN_FILES]
    application.close()
