"""A server in front of an S3 server, with scripted faults for single requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, NamedTuple
from urllib.parse import urlsplit

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
    `cut`: sends half of the response. `hang`: sends no response for so many seconds. `wait`: sends
    the response after so many seconds.
    """

    refuse: int = 0
    lose: bool = False
    cut: bool = False
    hang: float = 0.0
    wait: float = 0.0


NONE: Final = Fault()
Plan = Callable[[int, str], Fault]
"""The fault of a request, by its number since the start of the plan, and its method."""


@dataclass
class FaultyServer:
    """The server at `address`; `requests` counts them, and `failed` those with a fault."""

    behind: str
    address: str = ""
    clock: float = 0.0
    """The seconds by which its clock is ahead."""
    requests: int = 0
    failed: int = 0
    _plan: Plan = field(default=lambda *_: NONE)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fails(self, plan: Plan) -> None:
        """Applies a new plan of faults, and resets the counts."""
        with self._lock:
            self._plan, self.requests, self.failed = plan, 0, 0

    def heals(self) -> None:
        """Stops all faults; the counts stay."""
        with self._lock:
            self._plan = lambda *_: NONE

    def next(self, method: str) -> Fault:
        """The fault of the next request."""
        with self._lock:
            self.requests += 1
            fault = self._plan(self.requests, method)
            self.failed += fault != NONE
            return fault


@contextmanager
def faulty(behind: str) -> Iterator[FaultyServer]:
    """A server in front of the one at this address."""
    state = FaultyServer(behind)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def _handler(state: FaultyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            fault = state.next(self.command)
            time.sleep(fault.hang or fault.wait)
            if fault.hang:
                self.close_connection = True
            elif fault.refuse:
                self._answer(fault.refuse, _SKEWED if fault.refuse == 403 else _BUSY)
            else:
                self._forward(body, fault)

        def _forward(self, body: bytes, fault: Fault) -> None:
            connection = HTTPConnection(urlsplit(state.behind).netloc, timeout=60)
            try:
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                reply = connection.getresponse()
                content = reply.read()
            finally:
                connection.close()
            if fault.lose:
                self._answer(500, _BROKEN)
            else:
                self._pass_on(reply, content, is_cut=fault.cut)

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
