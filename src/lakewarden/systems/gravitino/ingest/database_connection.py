"""Connections to source databases, by their URLs. No message contains a part of a password.

With psycopg for PostgreSQL and PyMySQL for MySQL and MariaDB, reading fails if the server hangs or
is unreachable. Other drivers wait for their own default time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pushdown.mysql_session import EVERY_ROW

CONNECT_SECONDS: Final = 10
"""The connect timeout."""

ANSWER_SECONDS: Final = 600
"""The timeout of one response: the columns of a large catalog take a minute."""

_OF_MYSQL: Final = ("mysql", "mariadb")

_USER_INFO = re.compile(r"(?:[^:/]*(?::[^@]*)?@)?")
"""The user and password before the host, as SQLAlchemy splits them: the password has no `@`."""

_EXPECTED = "expected the URL of a database, such as `postgresql://HOST/DATABASE`"


def database_url(text: str) -> sa.URL:
    """The URL in `text`. Raises `BadInput`, without any part of the URL."""
    rest = text.partition("://")[2]
    rest = rest.removeprefix(match[0] if (match := _USER_INFO.match(rest)) else "")
    if "@" in rest and not rest.startswith("/"):
        raise BadInput("there is an `@` behind the first one; write it as %40, as in a password")
    try:
        return sa.make_url(text)
    except (ArgumentError, ValueError):
        raise BadInput(_EXPECTED) from None


def database_name(url: sa.URL) -> str:
    """The name of the database in messages and reports."""
    return f"{url.get_backend_name()}://{url.host or ''}/{url.database or ''}"


@contextmanager
def connected(url: sa.URL) -> Iterator[sa.Connection]:
    """A connection to the database, open while it is read.

    Raises `BadInput` for an unusable URL, `Unavailable` if the database cannot be reached or
    rejects a query.
    """
    try:
        engine = sa.create_engine(url)
    except NoSuchModuleError:
        raise BadInput(f"{_EXPECTED}: there is no engine `{url.drivername}`") from None
    except (ArgumentError, TypeError, ValueError):
        raise BadInput(f"{_EXPECTED}; its options cannot be read") from None
    except ImportError as error:
        raise Unavailable(f"the driver of the database is missing: {error}") from None
    sa.event.listen(engine, "do_connect", _limited)
    if engine.dialect.name in _OF_MYSQL:
        sa.event.listen(engine, "connect", _with_every_row)
    try:
        with engine.connect() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise Unavailable(f"`{database_name(url)}` cannot be read: {_reason(error)}") from None
    finally:
        engine.dispose()


def _limited(dialect: sa.Dialect, _: object, args: Any, parameters: dict[str, Any]) -> Any:
    """A connection with the limits that the URL does not set itself; None for other drivers."""
    if dialect.driver == "psycopg":
        from lakewarden.pushdown.limited_connection import LimitedConnection

        parameters.setdefault("connect_timeout", CONNECT_SECONDS)
        limited = LimitedConnection.connect(*args, **parameters)
        limited.answer_s = ANSWER_SECONDS
        return limited
    if dialect.driver == "pymysql":
        given = set(parameters)
        for name in ("connect_timeout", "read_timeout", "write_timeout"):
            parameters.setdefault(name, CONNECT_SECONDS)
        connection: Any = dialect.connect(*args, **parameters)
        # Until then the timeouts are those of the handshake, which is fast.
        for name in {"read_timeout", "write_timeout"} - given:
            setattr(connection, f"_{name}", ANSWER_SECONDS)
        return connection
    return None


def _with_every_row(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET SESSION {EVERY_ROW}")
    cursor.close()


def start_snapshot(connection: sa.Connection) -> None:
    """Makes a PostgreSQL connection's transaction read one snapshot, and write nothing."""
    start = "set transaction isolation level repeatable read, read only"
    connection.execute(sa.text(start))


def _reason(error: Exception) -> str:
    """The driver's own words, on one line."""
    text = str(error.orig if isinstance(error, DBAPIError) else error)
    return text.strip().splitlines()[0].lower() if text.strip() else type(error).__name__
