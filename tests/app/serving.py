"""A separate server process on a free local port, and a plain client for it."""

from __future__ import annotations

import base64
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.app.forked import Forked
from tests.app.log_reference import undocumented

START_SECONDS = 90

PATIENCE = {
    "LAKEWARDEN_LIMITS__REQUEST_SECONDS": "120",
    "LAKEWARDEN_LIMITS__WAIT_SECONDS": "30",  # then the store counts as down, and answers as stale
}
"""The machine of the tests may be slow; tests of time limits set their own values."""

PATIENT_LIMITS: Final = {"request_seconds": 120}
"""The same for a server in the tests' own process."""


Process = Forked | subprocess.Popen[str]


@dataclass
class Answer:
    """A response, with its headers by lower-case name, and the `cookies` that it sets."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: Sequence[str] = ()

    def json(self) -> object:
        return json.loads(self.body)

    @property
    def revision(self) -> int:
        return int(self.headers["lakewarden-revision"])


@dataclass
class Served:
    """A running server; without a process of its own, it runs in a thread of the test process."""

    own_process: Process | None
    address: str
    log: Path
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def process(self) -> Process:
        assert self.own_process is not None
        return self.own_process

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        user: str | None = None,
        token: str | None = None,
    ) -> Answer:
        """One request; a body that is not bytes is sent as JSON."""
        sent = {**self.headers, **(headers or {})}
        if user is not None:
            sent["Authorization"] = basic(user)
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if raw is not None and not any(name.lower() == "content-type" for name in sent):
            sent["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, raw, sent)
            response = connection.getresponse()
            read = response.read()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, read)
        finally:
            connection.close()

    def raw(self, sent: bytes, seconds: float = 5.0) -> bytes:
        """The response to raw bytes, until the server closes the connection or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as sock:
            sock.sendall(sent)
            received = b""
            with suppress(TimeoutError, ConnectionResetError):
                while chunk := sock.recv(65_536):
                    received += chunk
                    if b"\r\n\r\n" in received and not select.select([sock], [], [], 0.2)[0]:
                        break
            return received

    def wait_listening(self, seconds: float = START_SECONDS) -> None:
        """Waits until the server responds at all."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            time.sleep(0.05)
        raise AssertionError(f"nobody listens: {self.log.read_text()}")

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Waits until the server reports that it is ready."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/readyz").status == 200:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.log.read_text()}")

    def stop(self, seconds: float = 120) -> int:
        """Stops the server; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def lines(self) -> list[dict[str, object]]:
        """The log so far, without an incomplete last line."""
        text = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in text if line[0] == "{" and line[-1] == "\n"]


def basic(user: str) -> str:
    """The header of a user, for a server that trusts names."""
    return "Basic " + base64.b64encode(f"{user}:x".encode()).decode()


def _starting(process: Process, log: Path) -> str:
    """The line in which a starting server reports its address."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if line.startswith("note: starting on ") and line.endswith("\n"):
                return line
        time.sleep(0.02)
    raise AssertionError(f"not started: {log.read_text()}")


def _start(
    words: list[str], folder: Path, log: Path, environment: dict[str, str], spawned: bool
) -> Process:
    """Starts the server: forked, unless it needs other imports than this process."""
    log.write_text("")
    if "PYTHONPATH" not in environment:
        return Forked(words, folder, log, environment, spawned=spawned)
    with log.open("a") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "lakewarden.cli", *words],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=folder,
        )


@contextmanager
def server(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    ready: bool = True,
    database: str | None = None,
    port: int = 0,
    verb: str = "serve",
    spawned: bool = False,
) -> Iterator[Served]:
    """A server over a fresh SQLite file in the folder, unless another database is given.

    Its log must match docs/logs.md.

    With `ready` false, it is returned as soon as it reports its address. With `spawned`, its
    workers import all modules again.
    """
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LAKEWARDEN_")}
    store = database or f"sqlite:///{folder}/store.db"
    command = [verb, "--database", store, "--port", str(port), *arguments]
    variables = {**clean, **PATIENCE, **(environment or {})}
    process = _start(command, folder, log, variables, spawned)
    try:
        assert process.stdout is not None
        line = process.stdout.readline() if ready else _starting(process, log)
        assert line.startswith(("lakewarden listens on ", "note: starting on ")), log.read_text()
        served = Served(process, line.split()[-1], log)
        yield served
        strange = undocumented(served.lines())
        assert not strange, f"docs/logs.md does not say so: {strange[:3]}"
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)
        if process.stdout is not None:
            process.stdout.close()
