"""Runs the servers: each rival's in its best set-up, and ours with W in its store.

All listen only on loopback and end with the `with` block. Logs are off, so none is measured.
"""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa

from bench.http import REALM
from bench.http_servers import _free_port
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.testing.workload import Workload
from tests.servers import fresh_database, postgres

READY_S: Final = 300.0
ADMIN: Final = Principal(USER, "admin")
OPENFGA_CACHES: Final = (
    "--check-query-cache-enabled",
    "--check-query-cache-ttl=1h",
    "--check-iterator-cache-enabled",
    "--check-iterator-cache-ttl=1h",
    "--list-objects-iterator-cache-enabled",
    "--list-objects-iterator-cache-ttl=1h",
    "--check-cache-limit=1000000",
)
"""OpenFGA's caches, with lifetimes so long that no entry expires: W does not change here.

Its shared iterators are off: with them, batches end with "context canceled".
"""


class Running(NamedTuple):
    """A server: its address, its process, its database's process (0: none), its key."""

    address: str
    pid: int
    store: int = 0
    key: str = ""
    database: str = ""


@contextmanager
def opa(program: Path, folder: Path) -> Iterator[Running]:
    """OPA's server on the policy and data in `folder`, its store optimized for reads."""
    port = _free_port()
    command: list[str | Path] = [
        program,
        "run",
        "--server",
        "--addr",
        f"127.0.0.1:{port}",
        "--log-level",
        "error",
    ]
    command += ["--disable-telemetry", "--optimize-store-for-read-speed"]
    with _started([*command, folder / "load.rego", folder / "data.json"], port) as pid:
        yield Running(f"127.0.0.1:{port}", pid)


@contextmanager
def openfga(program: Path, more: Sequence[str], database: str = "") -> Iterator[Running]:
    """OpenFGA over PostgreSQL: a fresh one, or the database of an earlier server."""
    with _database(database) as (url, store):
        to = ["--datastore-engine", "postgres", "--datastore-uri", url]
        if not database:
            subprocess.run([program, "migrate", *to], check=True, capture_output=True)
        port = _free_port()
        command: list[str | Path] = [program, "run", *to, "--log-level", "none"]
        command += ["--grpc-addr", f"127.0.0.1:{port}", "--http-enabled=false"]
        command += ["--playground-enabled=false", "--metrics-enabled=false", *more]
        with _started(command, port) as pid:
            yield Running(f"127.0.0.1:{port}", pid, store, database=url)


@contextmanager
def spicedb(program: Path) -> Iterator[Running]:
    """SpiceDB over PostgreSQL."""
    with _database("") as (url, store):
        to = ["--datastore-engine", "postgres", "--datastore-conn-uri", url]
        quiet = ["--skip-release-check", "--log-level", "error"]
        migrate: list[str | Path] = [program, "datastore", "migrate", "head", *to, *quiet]
        subprocess.run(migrate, check=True, capture_output=True)
        port, key = _free_port(), secrets.token_hex(8)
        command: list[str | Path] = [program, "serve", *to, *quiet, "--telemetry-endpoint="]
        command += ["--grpc-addr", f"127.0.0.1:{port}", "--grpc-preshared-key", key]
        command += ["--http-enabled=false", "--metrics-enabled=false"]
        command += ["--dispatch-cluster-enabled=false"]
        command += [
            "--datastore-disable-watch-support",
            "--streaming-api-response-delay-timeout=1h",
        ]
        command += ["--enable-memory-protection-middleware=false"]
        with _started(command, port) as pid:
            yield Running(f"127.0.0.1:{port}", pid, store, key)


@contextmanager
def lakewarden(workload: Workload, taken: list[float]) -> Iterator[Running]:
    """One worker of `lakewarden serve` over SQLite; appends the seconds of loading to `taken`."""
    with tempfile.TemporaryDirectory(prefix="lakewarden-rivals-") as folder:
        url = f"sqlite:///{Path(folder) / 'lakewarden.db'}"
        with _lakewarden(url):
            pass  # makes the store, its realms and its first administrator
        begun = time.monotonic()
        _load(workload, url)
        with _lakewarden(url) as running:
            taken.append(time.monotonic() - begun)
            yield running


@contextmanager
def _lakewarden(url: str) -> Iterator[Running]:
    """A server on the store, once it can decide."""
    port = _free_port()
    command = [sys.executable, "-m", "lakewarden.cli", "serve", "--database", url]
    with _started([*command, "--port", str(port)], port) as pid:
        end = time.monotonic() + READY_S
        while _status(port, "/readyz") != 200:
            if time.monotonic() > end:
                raise TimeoutError("lakewarden is not ready")
            time.sleep(0.1)
        yield Running(f"127.0.0.1:{port}", pid)


def _status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def _load(workload: Workload, url: str) -> None:
    """Writes the workload's facts into the store, in one transaction."""
    facts = workload.facts()
    with open_store(url) as store:
        service = DecisionService(store)
        service.open()
        with store.writing(late=True) as writing:
            now = time.time()
            transaction = WriteTransaction(SYSTEM, service.state, writing, now, late=True)
            users = [p for p in facts.principals if p.kind == USER]
            transaction.change("@main", *(PrincipalChanged(p, True) for p in users))
            transaction.change(REALM, *(EntityAdded(*row) for row in facts.entities))
            transaction.change(REALM, *(PrincipalChanged(p, True) for p in facts.principals))
            transaction.change(REALM, *(MembershipChanged(row, True) for row in facts.memberships))
            transaction.change(REALM, *(OwnerChanged(row, True) for row in facts.owners))
            transaction.change(REALM, *(StatementAdded(each) for each in facts.statements))
            writing.commit(transaction.events)


@contextmanager
def _database(url: str) -> Iterator[tuple[str, int]]:
    """The address of a PostgreSQL database in Go's format, and the server's process."""
    if url:
        yield url, 0
        return
    with postgres() as server, fresh_database(server) as made:
        engine = sa.create_engine(made)
        with engine.connect() as connection:
            folder = connection.execute(sa.text("SHOW data_directory")).scalar_one()
        engine.dispose()
        pid = int((Path(folder) / "postmaster.pid").read_text("utf-8").split()[0])
        yield made.replace("postgresql+psycopg://", "postgres://"), pid


@contextmanager
def _started(
    command: Sequence[str | Path], port: int, environment: Mapping[str, str] | None = None
) -> Iterator[int]:
    """The process of a server, once it accepts connections."""
    process = subprocess.Popen(
        list(map(str, command)),
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, port)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"`{process.args!r}` ended with {process.returncode}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no server was ready on port {port}")
