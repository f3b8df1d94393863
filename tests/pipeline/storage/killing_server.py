"""A second door to the tests' S3 server: it kills the process that sends the Nth request."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

ROOT = Path(__file__).parents[3]


@dataclass
class KillingServer:
    """Passes requests to the buckets of this process, and counts them.

    At the request number `last`, it kills the running process: before the store handles the
    request, or with `is_done` after that, before the response.
    """

    endpoint: str = ""
    last: int = 0
    is_done: bool = False
    count: int = 0
    _process: subprocess.Popen[str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, code: str, words: Sequence[str], last: int = 0, is_done: bool = False) -> int:
        """Runs Python `code`; returns the number of its requests, or -9 if it was killed."""
        self.count, self.last, self.is_done = 0, last, is_done
        environment = {**os.environ, "AWS_ENDPOINT_URL": self.endpoint}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        _, errors = self._process.communicate(timeout=300)
        code_of_exit = self._process.returncode
        assert code_of_exit in (0, -signal.SIGKILL), errors
        return self.count if code_of_exit == 0 else code_of_exit

    def answer(self, app: Callable[..., Any], environ: Any, start: Any) -> Any:
        """Responds to a request, unless it is the last one."""
        with self._lock:
            self.count += 1
            is_last = self.count == self.last
        if is_last and not self.is_done:
            self._kill()
            return _nothing(start)
        answer = list(app(environ, start))
        if is_last:
            self._kill()
        return answer

    def _kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(60)


def _nothing(start: Any) -> list[bytes]:
    start("503 Service Unavailable", [])
    return []


@contextmanager
def killing_server() -> Iterator[KillingServer]:
    """A running server."""
    app = DomainDispatcherApplication(create_backend_app)
    killing = KillingServer()

    def answer(environ: Any, start: Any) -> Any:
        return killing.answer(app, environ, start)

    server = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    killing.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield killing
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
