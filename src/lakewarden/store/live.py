"""Reads the current schemas and tables of MySQL and PostgreSQL databases.

Each query has its own connection, which is then closed; the database's error messages stay here.
Nothing is ever written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.live import LiveColumn, LiveTable, Source
from lakewarden.store.connection_limit import ConnectionLimit

T = TypeVar("T")

SECONDS: Final = 3
"""The time limit for connecting, and for each response."""

LONGEST_SECONDS: Final = 30.0
"""The time limit for a whole query, if the database itself enforces none."""

_DRIVERS: Final = {"mysql": "mysql+pymysql", "postgresql": "postgresql+psycopg"}

_SYSTEM: Final = frozenset(
    {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog", "pg_toast"}
)

_DATABASE: Final = {"postgresql": "postgres"}
"""The database to connect to if the address names none."""


class SqlLive:
    """See `Live`."""

    def schemas(self, source: Source, address: str) -> Sequence[str]:
        """See `Live.schemas`."""
        schemas = _query(source, address, lambda database: database.get_schema_names())
        return [
            schema for schema in schemas if schema not in _SYSTEM and not schema.startswith("pg_")
        ]

    def tables(self, source: Source, address: str, schema: str) -> Sequence[str]:
        """See `Live.tables`."""
        if schema in _SYSTEM:
            return []

        def ask(database: sa.Inspector) -> list[str]:
            is_there = schema in database.get_schema_names()
            return database.get_table_names(schema=schema) if is_there else []

        return _query(source, address, ask)

    def table(self, source: Source, address: str, schema: str, name: str) -> LiveTable | None:
        """See `Live.table`."""
        if schema in _SYSTEM:
            return None

        def ask(database: sa.Inspector) -> LiveTable | None:
            if not database.has_table(name, schema=schema):
                return None
            comment = database.get_table_comment(name, schema=schema).get("text")
            columns = database.get_columns(name, schema=schema)
            return LiveTable(
                [_column(column, database.dialect) for column in columns], comment or None
            )

        return _query(source, address, ask)


def _column(column: sa.engine.interfaces.ReflectedColumn, dialect: sa.Dialect) -> LiveColumn:
    return LiveColumn(
        name=column["name"],
        type=_type_sql(column["type"], dialect),
        nullable=column.get("nullable", True),
        comment=column.get("comment") or None,
        counts_up=column.get("autoincrement") is True,
    )


def _type_sql(type: sa.types.TypeEngine[object], dialect: sa.Dialect) -> str:
    """The type in the database's own syntax, without a character set."""
    try:
        text = type.compile(dialect=dialect)
    except sa.exc.CompileError:
        return "unknown"
    return text.partition(" CHARACTER SET ")[0].partition(" COLLATE ")[0].lower()


def _query(source: Source, address: str, ask: Callable[[sa.Inspector], T]) -> T:
    url = sa.URL.create(
        _DRIVERS[source.engine],
        username=source.user or None,
        password=source.password or None,
        host=address,
        port=source.port,
        database=source.database or _DATABASE.get(source.engine),
    )
    engine = sa.create_engine(url, poolclass=NullPool, connect_args=_limits(source.engine))
    limits: list[ConnectionLimit] = []
    if source.engine == "postgresql":
        sa.event.listen(engine, "do_connect", partial(_connected, limits))
    try:
        with engine.connect() as connection:
            return ask(sa.inspect(connection))
    except (sa.exc.SQLAlchemyError, OSError, ValueError):
        raise Unavailable("the database of the catalog did not answer") from None
    finally:
        for limit in limits:
            limit.close()
        engine.dispose()


def _connected(
    limits: list[ConnectionLimit], dialect: sa.Dialect, _: object, args: Any, parameters: Any
) -> Any:
    """A connection with a time limit: its driver would wait forever for a frozen server."""
    connection: Any = dialect.connect(*args, **parameters)
    limits.append(ConnectionLimit(connection.fileno(), LONGEST_SECONDS))
    return connection


def _limits(engine: str) -> dict[str, object]:
    if engine == "mysql":
        return {"connect_timeout": SECONDS, "read_timeout": SECONDS, "write_timeout": SECONDS}
    millis = SECONDS * 1_000
    options = f"-c statement_timeout={millis} -c default_transaction_read_only=on"
    return {"connect_timeout": SECONDS, "options": options}
