"""A port of this machine that leads to a PostgreSQL server, and keeps what clients say to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

import sqlalchemy as sa

_CHUNK: Final = 65_536
_LENGTH: Final = 4


class Wiretap:
    """Passes connections on; `heard` has the bytes of the client of each one."""

    def __init__(self, server: Callable[[], socket.socket]) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.heard: list[bytearray] = []

    def serve(self) -> None:
        """Accepts until it is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server, said = self._server(), bytearray()
                self.heard.append(said)
                for source, target, kept in ((client, server, said), (server, client, None)):
                    threading.Thread(target=_copy, args=(source, target, kept), daemon=True).start()

    def close(self) -> None:
        """Accepts no more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def _copy(source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
    with closing(target), suppress(OSError):
        while chunk := source.recv(_CHUNK):
            if kept is not None:
                kept += chunk
            target.sendall(chunk)


@contextmanager
def wiretap(url: str) -> Iterator[Wiretap]:
    """A wiretap on the server of that address, until the block ends."""
    folder = sa.make_url(url).query["host"]

    def server() -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{folder}/.s.PGSQL.5432")
        return made

    made = Wiretap(server)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.close()
        thread.join()


def said_to_postgresql(heard: bytes) -> Iterator[str]:
    """The statements of one connection: those of queries, and those that are prepared."""
    place = int.from_bytes(heard[:_LENGTH])
    while place < len(heard):
        kind, length = heard[place : place + 1], int.from_bytes(heard[place + 1 : place + 5])
        body = heard[place + 1 + _LENGTH : place + 1 + length]
        if kind == b"Q":
            yield body.rstrip(b"\0").decode()
        elif kind == b"P":
            yield body.split(b"\0")[1].decode()
        place += 1 + length
