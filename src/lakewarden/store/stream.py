"""Rows that PostgreSQL hands out page by page: their cursor, which goes when the server is gone."""

from __future__ import annotations

from typing import Any

import psycopg


class Streamed(psycopg.ServerCursor[Any]):
    """A cursor on the server that is closed here even if the server can no longer be told.

    The original stays open when the connection breaks on the very call that closes it.
    """

    def close(self) -> None:
        try:
            super().close()
        finally:
            psycopg.Cursor.close(self)

    def __del__(self, *given: Any) -> None:
        # Of a connection that broke while it was asked nobody closes the cursor.
        if self.connection.closed:
            psycopg.Cursor.close(self)
        super().__del__(*given)
