"""The command line in a forked process: like `subprocess.Popen`, without repeated imports.

The workers of a server are forked from it as well, unless they are `spawned` as in production.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from uvicorn import _subprocess

from lakewarden.app.dialects import all_dialects
from lakewarden.cli import main
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests import forkserver

_IMPORTED_BY_A_SERVER: Final = (
    *("lakewarden.app.first_start", "lakewarden.app.keys"),
    *("lakewarden.app.open_store", "lakewarden.app.preflight", "lakewarden.app.rate_limit"),
    *("lakewarden.app.routing", "lakewarden.authn.authenticator", "lakewarden.authn.code_flow"),
    *("lakewarden.cli.serve", "sqlalchemy.dialects.sqlite", "starlette.applications", "uvloop"),
)
"""A server's imports except the metrics, which fix the place of their figures when imported."""


def preload() -> None:
    """Imports and creates what a server needs; the fork server does this once for all servers."""
    for module in _IMPORTED_BY_A_SERVER:
        import_module(module)
    all_dialects()
    schema()
    assert "lakewarden.app.metrics" not in sys.modules


class Forked:
    """`lakewarden` with these arguments, in a folder; its standard error goes to a log file."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        log: Path,
        environment: Mapping[str, str],
        *,
        spawned: bool = False,
    ) -> None:
        context = forkserver.context()
        here, there = context.Pipe(duplex=False)
        self.args = ("lakewarden", *arguments)
        self._process = context.Process(
            target=_run,
            args=(list(arguments), folder, log, dict(environment), there, spawned),
            daemon=False,
        )
        self._process.start()
        there.close()
        self.stdout = os.fdopen(os.dup(here.fileno()), encoding="utf-8")
        here.close()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; raises `subprocess.TimeoutExpired` on a timeout."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def close(self, timeout: float = 0.0) -> int:
        """The exit code; kills the process after the timeout, or else the run would wait for it."""
        self._process.join(timeout)
        self.kill()
        self.stdout.close()
        return self.wait(30)


def _run(
    arguments: list[str],
    folder: Path,
    log: Path,
    environment: dict[str, str],
    out: Connection,
    spawned: bool,
) -> None:
    errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(out.fileno(), 1)
    os.dup2(errors, 2)
    os.close(errors)
    out.close()
    # The streams of the fork server refer to its own standard output and error.
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if not spawned:
        starting: Any = _subprocess  # a fork context has the same methods as a spawn context
        starting.spawn = multiprocessing.get_context("fork")
    raise SystemExit(main(arguments))
