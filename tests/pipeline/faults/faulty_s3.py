"""A server in front of an S3 server, with scripted faults for single requests."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tests.servers import free_port

_BUSY: Final = b"<Error><Code>SlowDown</Code><Message>Please reduce your rate</Message></Error>"
_SKEWED: Final = (
    b"<Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and"
    b" the current time is too large.</Message></Error>"
)
_BROKEN: Final = b"<Error><Code>InternalError</Code><Message>Try again</Message></Error>"
_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class Fault(NamedTuple):
    """The fault of a request: the first field that is set.

    `refuse`: responds with this status without forwarding. `lose`: forwards, but responds with 500.
    `cut`: sends half of the response. `hang`: sends no response for so many seconds. `away`: cuts
    all connections, and accepts none for so many seconds, as a server that is killed and restarted;
    with `lose`, after it has forwarded the request.
    `wait`: sends the response after so many seconds.
    """

    refuse: int = 0
    lose: bool = False
    cut: bool = False
    hang: float = 0.0
    away: float = 0.0
    wait: float = 0.0


class Request(NamedTuple):
    """A request: its number since the start of the plan, its method, and which attempt it is.

    Requests with the same method, target and range count as attempts at one request.
    """

    number: int
    method: str
    attempt: int


NONE: Final = Fault()
Plan = Callable[[Request], Fault]
"""The fault of a request."""


def at(number: int, fault: Fault) -> Plan:
    """The fault of one request."""
    return lambda request: fault if request.number == number else NONE


def since(number: int, fault: Fault) -> Plan:
    """The fault of a request and of all after it."""
    return lambda request: fault if request.number >= number else NONE


@dataclass
class FaultyServer:
    """The server at `address`; `requests` counts them, and `failed` those with a fault."""

    behind: str
    address: str = ""
    clock: float = 0.0
    """The seconds by which its clock is ahead."""
    requests: int = 0
    failed: int = 0
    _plan: Plan = field(default=lambda _: NONE)
    _attempts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _door: _Door | None = None

    def fails(self, plan: Plan) -> None:
        """Applies a new plan of faults, and resets the counts."""
        with self._lock:
            self._plan, self.requests, self.failed = plan, 0, 0
            self._attempts.clear()

    def heals(self) -> None:
        """Stops all faults, and accepts connections again; the counts stay."""
        with self._lock:
            self._plan = lambda _: NONE
        if self._door is not None:
            self._door.open()

    def next(self, method: str, *about: str) -> Fault:
        """The fault of the next request; `about` identifies it among those of its method."""
        with self._lock:
            self.requests += 1
            self._attempts[method, *about] += 1
            fault = self._plan(Request(self.requests, method, self._attempts[method, *about]))
            self.failed += fault != NONE
            return fault

    def leave(self, seconds: float) -> None:
        """Cuts all connections, and accepts none for so many seconds."""
        if seconds and self._door is not None:
            self._door.close(seconds)


class _Door:
    """Accepts the connections to a port, which can be closed for a while."""

    def __init__(self, state: FaultyServer) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._timer: threading.Timer | None = None
        self.port = free_port()

    def open(self) -> None:
        """Accepts connections from now on, always at the same port."""
        with self._lock:
            if self._server is None:
                self._server = _Server(("127.0.0.1", self.port), _handler(self._state))
                serve = self._server.serve_forever
                threading.Thread(target=serve, args=(0.02,), daemon=True).start()

    def close(self, seconds: float = 0.0) -> None:
        """Cuts all connections; opens again after so many seconds, if that is more than 0."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server.cut()
                self._server = None
            if seconds:
                self._timer = threading.Timer(seconds, self.open)
                self._timer.daemon = True
                self._timer.start()


class _Server(ThreadingHTTPServer):
    """Knows its connections."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def faulty(behind: str) -> Iterator[FaultyServer]:
    """A server in front of the one at this address."""
    state = FaultyServer(behind)
    door = state._door = _Door(state)
    door.open()
    state.address = f"http://127.0.0.1:{door.port}"
    try:
        yield state
    finally:
        door.close()


def _handler(state: FaultyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            fault = state.next(self.command, self.path, self.headers.get("range") or "")
            time.sleep(fault.hang or fault.wait)
            if fault.hang or fault.away:
                if fault.lose:
                    self._forward(body)
                self.close_connection = True
                state.leave(fault.away)
            elif fault.refuse:
                self._answer(fault.refuse, _SKEWED if fault.refuse == 403 else _BUSY)
            elif fault.lose:
                self._forward(body)
                self._answer(500, _BROKEN)
            else:
                self._pass_on(*self._forward(body), is_cut=fault.cut)

        def _forward(self, body: bytes) -> tuple[HTTPResponse, bytes]:
            connection = HTTPConnection(urlsplit(state.behind).netloc, timeout=60)
            try:
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                reply = connection.getresponse()
                return reply, reply.read()
            finally:
                connection.close()

        def _pass_on(self, reply: HTTPResponse, content: bytes, *, is_cut: bool) -> None:
            self.send_response_only(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in _HOP:
                    self.send_header(name, _moved(name, value, state.clock))
            length = reply.getheader("content-length")
            self.send_header("content-length", length or str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if is_cut else content)
            self.close_connection = is_cut

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response_only(status)
            self.send_header("content-type", "application/xml")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.any)
    return Handler


def _moved(name: str, value: str, seconds: float) -> str:
    """The value of a header, with times shifted by `seconds`."""
    if not seconds or name.lower() not in ("date", "last-modified"):
        return value
    return formatdate(parsedate_to_datetime(value).timestamp() + seconds, usegmt=True)
