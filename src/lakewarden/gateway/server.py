"""Runs the gateway: a gRPC server, until it is stopped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Final

import grpc

from lakewarden.gateway.backend import OPTIONS
from lakewarden.gateway.service import Gateway
from lakewarden.kernel.errors import BadInput, Unavailable

THREADS: Final = 64
"""The most concurrent calls: one that executes a plan holds a thread until it ends."""

_GRACE_SECONDS: Final = 5.0
_USAGE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Listening:
    """The address on which the gateway listens; with a certificate, it uses TLS."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    @property
    def address(self) -> str:
        """The address in the form of gRPC."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Server:
    """A running gateway. `port` is the port on which it listens."""

    def __init__(self, gateway: Gateway, listening: Listening) -> None:
        self._server = grpc.server(
            ThreadPoolExecutor(THREADS, "call"),
            handlers=(gateway,),
            # Otherwise, two servers on one port would share the calls.
            options=(*OPTIONS, ("grpc.so_reuseport", 0)),
            maximum_concurrent_rpcs=THREADS,
        )
        try:
            self.port = self._bound(listening)
        except RuntimeError:
            failed = f"cannot listen on {listening.address}"
            if listening.certificate is None:
                raise Unavailable(failed) from None
            raise BadInput(f"{failed}, or with this certificate and key") from None
        self._gateway = gateway
        self._ends = Event()
        self._server.start()
        Thread(target=self._write_usage, name="usage", daemon=True).start()

    def _write_usage(self) -> None:
        while not self._ends.wait(_USAGE_SECONDS):
            self._gateway.write_usage()

    def _bound(self, listening: Listening) -> int:
        if listening.certificate is None:
            port: int = self._server.add_insecure_port(listening.address)
            return port
        certificate = listening.certificate.read_bytes()
        key = (listening.key or listening.certificate).read_bytes()
        credentials = grpc.ssl_server_credentials([(key, certificate)])
        port = self._server.add_secure_port(listening.address, credentials)
        return port

    def wait(self) -> None:
        """Waits until the server is stopped."""
        self._server.wait_for_termination()

    def stop(self) -> None:
        """Accepts no more calls; running calls get a few seconds to end."""
        self._server.stop(_GRACE_SECONDS).wait()
        self._ends.set()
        self._gateway.write_usage()
