"""A local port that accepts connections and never responds, or closes them at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Silent:
    """While it `hangs`, connections stay open; otherwise they are closed."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.hangs = True
        self._taken: list[socket.socket] = []

    def serve(self) -> None:
        """Accepts connections until it is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.hangs:
                    self._taken.append(client)
                else:
                    client.close()

    def close(self) -> None:
        """Closes all connections, and stops accepting."""
        self.hangs = False
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for client in self._taken:
            client.close()


@contextmanager
def silence() -> Iterator[Silent]:
    """Such a port, until the block ends."""
    made = Silent()
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.close()
        thread.join()
