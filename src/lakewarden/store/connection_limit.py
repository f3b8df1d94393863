"""Ends database connections that take too long, for any reason.

A limit that the database enforces fails if the database is frozen or cut off: then nothing arrives,
and a client that waits for a response waits forever.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from threading import Timer


class ConnectionLimit:
    """Ends a connection, given by the descriptor of its socket, after so many seconds.

    A reader then gets the error of a lost connection.
    """

    def __init__(self, descriptor: int, seconds: float) -> None:
        # Duplicated: when the limit expires, the descriptor may already belong to something else.
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Cancels the limit; the connection is no longer used."""
        self._timer.cancel()
        self._socket.close()
