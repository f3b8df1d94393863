"""Ends connections to databases that take too long, whatever they wait for.

A limit that a database keeps by itself is none where it is frozen or cut off: then nothing comes,
and a client that waits for an answer waits for ever.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from threading import Timer


class ConnectionLimit:
    """Has a connection, by the descriptor of its socket, end after so many seconds.

    Whoever reads from it then gets the error of a connection that was lost.
    """

    def __init__(self, descriptor: int, seconds: float) -> None:
        # Of its own: by the time that it ends, the number may be that of something else.
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """The connection is used no more."""
        self._timer.cancel()
        self._socket.close()
