"""Connections to either engine, with the same transaction semantics on both.

SQLite: WAL, every commit is on disk before it is acknowledged, foreign keys are enforced. We begin
transactions ourselves, since the driver would begin them only before a first write.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.service.cancellation import check, is_cancelled
from lakewarden.service.write_health import Deadlocked, Unwritable
from lakewarden.store.compatibility import application_name
from lakewarden.store.sqlite_file import OpenedFile

WAIT_SECONDS = 30
"""How long a writer waits for another one before it gives up."""

CONNECTIONS: Final = 40
"""The most connections of a process to PostgreSQL.

Two for each of a server's 16 concurrent requests, since some read outside their own transaction,
and some for the server's own work. With fewer, requests that each hold one connection would wait
for each other's second, and slow requests would delay the query for the newest revision.
"""

_KEPT: Final = 5
"""The number of idle connections that stay open."""

SQLITE = "sqlite"
POSTGRES = "postgresql"

_BEGIN = "lakewarden_begin"
_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "temp_store = MEMORY",
    "cache_size = -65536",
    "journal_size_limit = 67108864",
)
_SETTINGS = (
    "client_encoding = 'UTF8'",
    "tcp_keepalives_idle = 10",
    "tcp_keepalives_interval = 5",
    "tcp_keepalives_count = 3",
)
"""The last three end the lock of a writer whose host is gone; it would last for hours."""

_STEPS = 20_000
"""SQLite instructions between two checks for cancellation: about 1 ms."""

_creating = threading.Lock()


def create(url: str | sa.URL) -> sa.Engine:
    """The engine for a store's URL: `sqlite:///FILE` or `postgresql://…`.

    Raises `BadInput` for an invalid URL.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == SQLITE:
        return _sqlite(parsed)
    try:
        return _postgres(parsed)
    except ImportError:
        message = "PostgreSQL requires `psycopg`; run: pip install 'lakewarden[sql]'"
        raise Unavailable(message) from None
    except ArgumentError:
        raise BadInput("the database URL is not supported") from None


def _parsed(url: str | sa.URL) -> sa.URL:
    try:
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        parsed, backend = None, ""
    if parsed is None or backend not in (SQLITE, POSTGRES, "postgres"):
        expected = "`sqlite:///FILE` or `postgresql://HOST/DATABASE`"
        raise BadInput(f"the database URL is not supported; expected {expected}")
    if backend == SQLITE:
        if parsed.database in (None, "", ":memory:") or parsed.query:
            raise BadInput("a SQLite store is a file: expected `sqlite:///FILE`")
        return parsed.set(drivername="sqlite+pysqlite")
    return parsed.set(drivername="postgresql+psycopg")


def _sqlite(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(
        url,
        hide_parameters=True,
        connect_args={"timeout": WAIT_SECONDS, "check_same_thread": False},
        max_overflow=-1,
    )

    assert url.database is not None  # noqa: S101 — INVARIANT: `_parsed` ensures it
    path = url.database
    file = OpenedFile(path)

    @sa.event.listens_for(engine, "checkout")
    def check_file(*_: object) -> None:
        file.check()

    @sa.event.listens_for(engine, "do_connect")
    def create_private(*_: object) -> None:
        """Creates the file readable for this user only; the driver would use the umask.

        INVARIANT: an existing file is never opened here. Closing it again would release all locks
        of this process on it. Another process would then consider itself alone, and delete the log
        to which this process still writes.
        """
        file.check()
        try:
            with _creating:
                if not os.path.exists(path):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:  # another process created it first
            return
        except OSError as error:
            raise sqlite3.OperationalError(
                f"unable to open database file: {error.strerror}"
            ) from None

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: object) -> None:
        file.opened()
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        # The handler runs in the thread of the statement, which may have been cancelled.
        connection.set_progress_handler(is_cancelled, _STEPS)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))

    return engine


def _postgres(url: sa.URL) -> sa.Engine:
    from lakewarden.store.stream import Streamed  # psycopg is installed if PostgreSQL is used

    engine = sa.create_engine(
        url,
        hide_parameters=True,
        connect_args={"connect_timeout": 10},
        pool_size=_KEPT,
        max_overflow=CONNECTIONS - _KEPT,
        pool_use_lifo=True,
    )

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: object) -> None:
        connection.server_cursor_factory = Streamed
        name = f"application_name = '{application_name()}'"
        for setting in (*_SETTINGS, name, f"lock_timeout = '{WAIT_SECONDS}s'"):
            connection.execute(f"SET {setting}")
        connection.commit()

    return engine


def exclusive(connection: sa.Connection) -> sa.Connection:
    """The connection, for a transaction that locks out other writers from the start."""
    if connection.dialect.name == SQLITE:
        return connection.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
    return connection


def consistent(connection: sa.Connection) -> sa.Connection:
    """The connection, for a transaction with a consistent snapshot; SQLite always has one."""
    if connection.dialect.name == POSTGRES:
        return connection.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    return connection


class ConnectionLost(Unavailable):
    """The connection is dead; a new one may work."""


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translates errors of the database, without SQL, values or passwords.

    `Conflict` for a row that already exists, `ConnectionLost` for a dead connection, `Cancelled`
    for an interrupted request, `Unwritable` for a full or read-only disk, `Deadlocked` for a
    deadlock of two writes, `Unavailable` for everything else.
    """
    try:
        yield
    except IntegrityError as error:
        raise Conflict(f"the object already exists: {_reason(error)}") from None
    except SQLAlchemyError as error:
        check()
        if isinstance(error, DBAPIError) and _is_unwritable(error.orig):
            raise Unwritable(f"the store cannot be written: {_reason(error)}") from None
        kind: type[Unavailable] = Unavailable
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            kind = ConnectionLost
        elif isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", "") == _DEADLOCK:
            kind = Deadlocked
        raise kind(f"the store does not answer: {_reason(error)}") from None


_UNWRITABLE = (
    *("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"),
    *("SQLITE_IOERR_DIR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE"),
    "53100",  # disk_full
    "25006",  # read_only_sql_transaction: a standby
    "58030",  # io_error
)
"""SQLite error names (more specific ones have the same prefix), and PostgreSQL codes."""


_DEADLOCK: Final = "40P01"


def _is_unwritable(error: object) -> bool:
    code = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)
    return isinstance(code, str) and code.startswith(_UNWRITABLE)


@contextmanager
def translated_driver_errors(connection: sa.Connection) -> Iterator[None]:
    """Converts errors of a driver that is used directly to SQLAlchemy's."""
    errors = connection.dialect.loaded_dbapi.Error
    driver: Any = connection.connection.driver_connection
    try:
        yield
    except errors as error:
        is_lost = connection.dialect.is_disconnect(error, driver, None)
        if is_lost:
            connection.invalidate()
        raise DBAPIError.instance(
            *(None, None, error, errors),
            hide_parameters=True,
            connection_invalidated=is_lost,
            dialect=connection.dialect,
        ) from None


def _reason(error: SQLAlchemyError) -> str:
    """The driver's own message, on one line. The values are in the lines that follow."""
    text = str(error.orig if isinstance(error, DBAPIError) else error).strip()
    return text.splitlines()[0].lower() if text else type(error).__name__.lower()
