"""A gateway in this process, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from pyspark.sql.connect.proto import base_pb2_grpc as stubs
from pyspark.sql.connect.session import SparkSession

from lakewarden.authn.authenticator import Authenticator
from lakewarden.config.engines import SparkRealm
from lakewarden.gateway.backend import Address, Backend
from lakewarden.gateway.server import Listening, Server
from lakewarden.gateway.service import Gateway
from tests.gateway.estate import NAMES, REALM, Estate
from tests.gateway.spark_server import TOKEN


@dataclass
class Running:
    """A running gateway. Each user has one session of the real client."""

    estate: Estate
    port: int
    gateway: Gateway
    sessions: dict[str, SparkSession] = field(default_factory=dict)

    def session(self, user: str) -> SparkSession:
        if user not in self.sessions:
            self.sessions[user] = self.new_session(user)
        return self.sessions[user]

    def new_session(self, user: str) -> SparkSession:
        url = f"sc://localhost:{self.port}/;token={self.estate.tokens[user]};user_id=root"
        made: SparkSession = SparkSession.builder.remote(url).create()
        return made

    def end_sessions(self) -> None:
        """Replaces all sessions: Spark's old ones look for files from before an overwrite."""
        for session in self.sessions.values():
            session.stop()
        self.sessions.clear()

    @contextmanager
    def stub(self) -> Iterator[stubs.SparkConnectServiceStub]:
        """A stub for raw calls."""
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            yield stubs.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]  # generated


@contextmanager
def served(estate: Estate, spark_port: int, names: SparkRealm = NAMES) -> Iterator[Running]:
    backend = Backend(Address(f"127.0.0.1:{spark_port}"), TOKEN)
    backend.check()
    gateway = Gateway(estate.service, Authenticator("token", "root"), backend, REALM, names)
    gateway.check()
    server = Server(gateway, Listening("127.0.0.1", 0))
    running = Running(estate, server.port, gateway)
    try:
        yield running
    finally:
        running.end_sessions()
        server.stop()
