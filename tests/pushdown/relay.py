"""A local port that leads to the socket of a PostgreSQL server, or fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Final

import sqlalchemy as sa

OPEN, HANGING, AWAY = "open", "hanging", "away"

_CHUNK: Final = 65_536
_LENGTH: Final = 4


class Relay:
    """`mode` determines the handling of new connections: passed on, not answered, or closed.

    `heard` has the client's bytes of each connection that was passed on.
    """

    def __init__(self, postgres_url: str) -> None:
        folder = sa.make_url(postgres_url).query["host"]
        self._path = f"{folder}/.s.PGSQL.5432"
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.mode = OPEN
        self.accepted = 0
        self.heard: list[bytearray] = []
        self._came = threading.Condition()
        self._waiting: list[socket.socket] = []

    def serve(self) -> None:
        """Accepts until it is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                with self._came:
                    self.accepted += 1
                    if self.mode == HANGING:
                        self._waiting.append(client)
                    self._came.notify_all()
                if self.mode == AWAY:
                    client.close()
                elif self.mode == OPEN:
                    self._pass_on(client)

    def wait_for_client(self, count: int) -> None:
        """Waits until there were `count` connections."""
        with self._came:
            assert self._came.wait_for(lambda: self.accepted >= count, timeout=60)

    def let_go(self) -> None:
        """Closes the unanswered connections."""
        for client in self._waiting:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()
        self._waiting.clear()

    def close(self) -> None:
        """Stops accepting."""
        self.let_go()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._path)
        self.heard.append(said := bytearray())
        for ends in ((client, server, said), (server, client, None)):
            threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
    with closing(target), suppress(OSError):
        while chunk := source.recv(_CHUNK):
            if kept is not None:
                kept += chunk
            target.sendall(chunk)


@contextmanager
def relay(postgres_url: str) -> Iterator[Relay]:
    """A relay to the server, until the block ends."""
    made = Relay(postgres_url)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.close()
        thread.join()


def said_to_postgresql(heard: bytes) -> Iterator[str]:
    """The statements of one connection, both from queries and from prepared statements."""
    place = int.from_bytes(heard[:_LENGTH])
    while place < len(heard):
        kind, length = heard[place : place + 1], int.from_bytes(heard[place + 1 : place + 5])
        body = heard[place + 1 + _LENGTH : place + 1 + length]
        if kind == b"Q":
            yield body.rstrip(b"\0").decode()
        elif kind == b"P":
            yield body.split(b"\0")[1].decode()
        place += 1 + length


def columns(*names: str) -> list[dict[str, Any]]:
    """Columns of a table in Gravitino's form."""
    return [{"name": name, "type": "integer"} for name in names]
