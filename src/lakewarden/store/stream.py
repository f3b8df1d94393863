"""Rows that PostgreSQL streams in pages; the cursor can be closed after the server is gone."""

from __future__ import annotations

from typing import Any

import psycopg


class Streamed(psycopg.ServerCursor[Any]):
    """A server-side cursor that closes even if the server is unreachable.

    The original stays open when the connection breaks during the very call that closes it.
    """

    def close(self) -> None:
        try:
            super().close()
        finally:
            psycopg.Cursor.close(self)

    def __del__(self, *arguments: Any) -> None:
        # Nobody closes the cursor of a connection that broke during a query.
        if self.connection.closed:
            psycopg.Cursor.close(self)
        super().__del__(*arguments)
