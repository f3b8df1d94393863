"""A local server that accepts JSON objects, like webhooks and receivers of anchors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Taken(NamedTuple):
    """One request: its body, its headers with lower-case names, and the raw body."""

    body: dict[str, Any]
    headers: dict[str, str]
    text: bytes


@contextmanager
def receiver(*statuses: int) -> Iterator[tuple[str, list[Taken]]]:
    """The address and the received requests. It returns each status once, then repeats the last."""
    taken: list[Taken] = []
    answers = [*statuses] or [200]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            taken.append(Taken(json.loads(text), headers, text))
            self.send_response(answers.pop(0) if len(answers) > 1 else answers[0])
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/events", taken
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
