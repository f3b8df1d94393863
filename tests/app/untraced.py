"""What a server imports that sends no traces, in a process that has imported nothing else of it."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from lakewarden.app.build import Application
from lakewarden.config.settings import Settings


def tell_imported(database: str, there: Connection) -> None:
    """Sends the modules of OpenTelemetry that are there once a server is made."""
    made = Application(Settings(database=database))
    assert made.parts.tracing is None
    there.send([name for name in sys.modules if name.startswith("opentelemetry")])
