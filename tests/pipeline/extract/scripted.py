"""A scripted server: a sequence of statuses and bodies for each path."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Any]
Told = Callable[[Mapping[str, Sequence[str]], Any], Answer]
"""A response that depends on the query and on the request's body."""
Script = Mapping[str, Answer | Sequence[Answer] | Told]


_NOTHING: Answer = (404, {"message": "nothing here"})


@dataclass(frozen=True)
class Raw:
    """A raw body with headers; `missing` bytes are never sent, after a delay of `seconds`."""

    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0
    seconds: float = 0


class Scripted(ThreadingHTTPServer):
    """Repeats the last response for a path; a path without a script is a 404."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: dict[str, list[Any]] = {
            path: list(a) if isinstance(a, list) else [a] for path, a in script.items()
        }
        self.asked: list[str] = []
        self.headers: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, target: str, sent: Any = None) -> Answer:
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        place = query.get("scrollId", [""])[0]
        key = f"{parts.path}#{place}" if place else parts.path
        left = self.script.get(key, [_NOTHING])
        if place and key not in self.script and callable(self.script[parts.path][-1]):
            left = self.script[parts.path]
        found = left.pop(0) if len(left) > 1 else left[0]
        told: Answer = found(query, sent) if callable(found) else found
        return told


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Scripted  # type: ignore[mutable-override]

    def do_GET(self) -> None:
        self._reply(None)

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _reply(self, sent: Any) -> None:
        self.server.asked.append(self.path)
        self.server.headers.append(self.headers.get("Authorization"))
        status, body = self.server.answer(self.path, sent)
        raw = body if isinstance(body, Raw) else Raw(_bytes(body))
        time.sleep(raw.seconds)
        self.send_response(status)
        if status == 302 and "Location" not in raw.headers:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        if status == 429:
            self.send_header("Retry-After", "7")
        for name, value in raw.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw.body) + raw.missing))
        self.close_connection = bool(raw.missing)
        with suppress(OSError):  # the client may have disconnected
            self.end_headers()
            self.wfile.write(raw.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@contextmanager
def scripted(script: Script) -> Iterator[Scripted]:
    """A running server with this script."""
    with Scripted(script) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
