"""A server in a thread of the test process, for tests that only need its responses.

It starts in a tenth of the time of a process. Tests of signals, workers, start or stop need
`tests.app.serving.server`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import uvicorn
from structlog.testing import capture_logs
from structlog.typing import EventDict

from lakewarden.app import server
from lakewarden.config.settings import Settings, load
from lakewarden.http.exchange import Dialect
from tests.app.cheap_applications import cheap_application
from tests.app.serving import PATIENT_LIMITS, Served

PATIENCE = 120


@contextmanager
def threaded(
    folder: Path,
    dialects: Sequence[Dialect] | None = None,
    *,
    config: Path | None = None,
    **settings: object,
) -> Iterator[Served]:
    """The server with these settings, ready; by default its store is a fresh file in the folder.

    It logs to its log file, a line of JSON for each event, before redaction: standard output
    belongs to the command that the test runs.
    """
    folder.mkdir(exist_ok=True)
    own = {"database": f"sqlite:///{folder}/store.db", "limits": PATIENT_LIMITS}
    given = {**own, **settings}
    log = folder / "log"
    with (
        log.open("a", buffering=1) as written,
        _logged(written),
        listening(load(config, given, {}), folder, dialects) as port,
    ):
        yield Served(None, f"http://127.0.0.1:{port}", log)


@contextmanager
def _logged(written: TextIO) -> Iterator[None]:
    def write(_: object, level: str, event: EventDict) -> EventDict:
        line = {**event, "level": level}
        written.write(f"{json.dumps(line, default=str)}\n")
        return event

    with capture_logs([write]):
        yield


@contextmanager
def listening(
    settings: Settings, folder: Path, dialects: Sequence[Dialect] | None = None
) -> Iterator[int]:
    """The port of a ready server with these settings."""
    application = cheap_application(settings, dialects)
    workers = folder / "workers"
    workers.mkdir()
    config = server._config(settings, workers)
    config.app = lambda: application
    served = uvicorn.Server(config)
    sock = server.bind("127.0.0.1", 0)
    running = threading.Thread(target=served.run, args=([sock],))
    running.start()
    try:
        while not served.started:
            assert running.is_alive()
            threading.Event().wait(0.005)
        yield sock.getsockname()[1]
    finally:
        served.should_exit = True
        running.join(PATIENCE)
        sock.close()
