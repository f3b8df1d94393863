"""Default values of settings that other modules also use: options of commands, `Services`."""

from __future__ import annotations

from typing import Final

HOST: Final = "127.0.0.1"
PORT: Final = 8787
DATABASE: Final = "sqlite:///lakewarden.db"
AUTH: Final = "simple"
ADMIN: Final = "admin"
WORKERS: Final = 1
LOG_LEVEL: Final = "info"
BATCH_ROWS: Final = 1_000
PAGE_ROWS: Final = 1_000
PLAYGROUND: Final = True
