"""Our own load generator: one process, some keep-alive connections, one request on each.

It sends a prebuilt request and reads the response by its `Content-Length`, so it costs less than
what it measures. Responses are counted by status; a run with any unexpected status is void.

    python -m bench.http_load http://127.0.0.1:8787/healthz --connections 16 --seconds 5
"""

from __future__ import annotations

import argparse
import selectors
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlsplit

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(slots=True)
class Load:
    """The result of a run: responses by status, and the time of each, in nanoseconds."""

    seconds: float
    statuses: Counter[int] = field(default_factory=Counter)
    nanoseconds: list[int] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.statuses.total() / self.seconds

    def milliseconds(self, percent: int) -> float:
        """The percentile of the response times."""
        if len(self.nanoseconds) < 2:
            return 0.0
        return quantiles(self.nanoseconds, n=100)[percent - 1] / 1e6


@dataclass(slots=True)
class _Connection:
    sock: socket.socket
    sent: int = 0
    received: bytes = b""


def request_bytes(method: str, url: str, headers: Sequence[str] = (), body: bytes = b"") -> bytes:
    """The request as bytes on the wire."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", *headers]
    if body:
        lines += [f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + _END + body


def load(url: str, request: bytes, *, connections: int = 16, seconds: float = 5.0) -> Load:
    """Keeps `connections` requests in flight for `seconds`."""
    parts = urlsplit(url)
    address = (parts.hostname or "127.0.0.1", parts.port or 80)
    selector = selectors.DefaultSelector()
    clock = time.perf_counter_ns
    for _ in range(connections):
        sock = socket.create_connection(address, timeout=10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(sock, selectors.EVENT_READ, connection := _Connection(sock))
        _send(connection, request)
    seen = Load(0.0)
    start = clock()
    end = start + int(seconds * 1e9)
    while (now := clock()) < end:
        for key, _ in selector.select(timeout=1.0):
            connection = key.data
            status = _receive(connection)
            if status is None:
                continue
            now = clock()
            seen.statuses[status] += 1
            seen.nanoseconds.append(now - connection.sent)
            _send(connection, request)
    seen.seconds = (clock() - start) / 1e9
    for key in list(selector.get_map().values()):
        key.data.sock.close()
    selector.close()
    return seen


def _send(connection: _Connection, request: bytes) -> None:
    connection.sent = time.perf_counter_ns()
    connection.sock.sendall(request)


def _receive(connection: _Connection) -> int | None:
    """The status of the response, once it is complete."""
    chunk = connection.sock.recv(262_144)
    if not chunk:
        raise ConnectionError("the server closed a connection that should be kept")
    received = connection.received + chunk
    head, found, body = received.partition(_END)
    if found:
        lower = head.lower()
        at = lower.find(_LENGTH)
        if at < 0:
            raise ConnectionError("an answer without `Content-Length`")
        length = int(lower[at + len(_LENGTH) :].split(b"\r\n", 1)[0])
        if len(body) >= length:
            connection.received = b""
            return int(head[9:12])
    connection.received = received
    return None


def main() -> int:
    """Loads one address and prints the result; 1 if there were unexpected responses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--method", default="GET")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--body", type=Path, help="file with the body")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--expect", type=int, default=200)
    given = parser.parse_args()
    body = given.body.read_bytes() if given.body else b""
    request = request_bytes(given.method, given.url, given.header, body)
    seen = load(given.url, request, connections=given.connections, seconds=given.seconds)
    print(
        f"{seen.per_second:,.0f} requests/s; p50 {seen.milliseconds(50):.2f} ms,"
        f" p99 {seen.milliseconds(99):.2f} ms; {dict(seen.statuses)}"
    )
    return 0 if set(seen.statuses) == {given.expect} else 1


if __name__ == "__main__":
    sys.exit(main())
