"""The imports of a server that sends no traces, in a fresh process."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from lakewarden.app.build import Application
from lakewarden.config.settings import Settings


def tell_imported(database: str, there: Connection) -> None:
    """Sends the names of OpenTelemetry's modules that are imported once a server is created."""
    made = Application(Settings(database=database))
    assert made.parts.tracing is None
    there.send([name for name in sys.modules if name.startswith("opentelemetry")])
