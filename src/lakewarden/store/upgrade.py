"""The schema of a database: which one it has, and the way to another.

A change of schema is one transaction under a lock: several processes may start at once, and one
that is killed on the way leaves the database as it was.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from typing import TYPE_CHECKING

import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.store import engine as engines
from lakewarden.store.migrations import versions

if TYPE_CHECKING:
    from alembic.config import Config

NEWEST = "head"
EMPTY = "base"

_LOCK = 0x6C616B65  # a number of our own among the advisory locks of the database


def upgrade(engine: sa.Engine, to: str = NEWEST, *, makes: bool = True) -> bool:
    """Migrates the database to a schema, the newest by default; returns whether it had it already.

    Raises `Unavailable` where it has one that this release does not know; unless it `makes` the
    first one, also where there is none.
    """
    with (
        engines.translated_errors(),
        engines.exclusive(engine.connect()) as connection,
        connection.begin(),
    ):
        _lock(connection)
        before = _check_known(connection)
        if before is None and not makes:
            raise Unavailable("the database is empty; run `lakewarden init`")
        if to == NEWEST and before == _newest():
            return True
        # COST: alembic takes longer to import than a store to open, and most have the newest.
        from alembic import command

        command.upgrade(_config(connection), to)
        return current(connection) == before


def downgrade(engine: sa.Engine, to: str) -> None:
    """Downgrades the database to an older schema; data that it cannot hold is lost."""
    from alembic import command

    with (
        engines.translated_errors(),
        engines.exclusive(engine.connect()) as connection,
        connection.begin(),
    ):
        _lock(connection)
        _check_known(connection)
        command.downgrade(_config(connection), to)


def check(engine: sa.Engine) -> None:
    """Raises `Unavailable` unless the database has the newest schema."""
    with engines.translated_errors(), engine.connect() as connection, connection.begin():
        stored = _check_known(connection)
    newest = _newest()
    if stored != newest:
        raise Unavailable(
            f"the store has schema `{stored or 'none'}`, but this release requires `{newest}`;"
            " upgrade the store first"
        )


def current(connection: sa.Connection) -> str | None:
    """The schema that the database has; None before the first."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar()
    return version


def _check_known(connection: sa.Connection) -> str | None:
    stored = current(connection)
    if stored is not None and stored not in _migration_names():
        raise Unavailable(
            f"the store has schema `{stored}`, which a newer release wrote; use that release"
        )
    return stored


def _lock(connection: sa.Connection) -> None:
    if connection.dialect.name == engines.POSTGRES:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


@cache
def _migration_names() -> frozenset[str]:
    """The schemas that this release knows, by the names of their migrations."""
    return frozenset(name[1:5] for _, name, _ in pkgutil.iter_modules(versions.__path__))


def _newest() -> str:
    return max(_migration_names())


def _config(connection: sa.Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "lakewarden.store:migrations")
    config.attributes["connection"] = connection
    return config
