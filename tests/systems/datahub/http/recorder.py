"""A proxy between a client and the server that records requests and responses."""

from __future__ import annotations

import threading
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit


class Call(NamedTuple):
    """One recorded request."""

    method: str
    target: str
    status: int


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A disconnected client is not an error; other errors show in its response."""


class Recorder:
    """A proxy to one server, on a free port."""

    def __init__(self, server: str) -> None:
        self.calls: list[Call] = []
        parts = urlsplit(server)
        calls = self.calls

        class Passing(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                kept = {k: v for k, v in self.headers.items() if k.lower() not in _HOPS}
                with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as up:
                    up.request(self.command, self.path, body or None, kept)
                    answer = up.getresponse()
                    content = answer.read()
                calls.append(Call(self.command, self.path, answer.status))
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in _HOPS:
                        self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Prints nothing."""

        for method in ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"):
            setattr(Passing, f"do_{method}", Passing._pass)
        self._server = _Server(("127.0.0.1", 0), Passing)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)


_HOPS = {
    "connection",
    "content-length",
    "date",
    "host",
    "keep-alive",
    "server",
    "transfer-encoding",
}
