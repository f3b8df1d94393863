"""The schema of a database: which one it has, and the way to another.

A change of schema is one transaction under a lock: several processes may start at once, and one
that is killed on the way leaves the database as it was.
"""

from __future__ import annotations

from functools import cache

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from lakewarden.kernel.errors import Unavailable
from lakewarden.store import engine as engines

NEWEST = "head"
EMPTY = "base"

_LOCK = 0x6C616B65  # a number of our own among the advisory locks of the database


def upgrade(engine: sa.Engine, to: str = NEWEST, *, makes: bool = True) -> bool:
    """Brings the database to a schema, the newest by default; whether it had that one already.

    Raises `Unavailable` where it has one that this release does not know; unless it `makes` the
    first one, also where there is none.
    """
    with engines.told(), engines.at_once(engine.connect()) as connection, connection.begin():
        _lock(connection)
        before = _check_known(connection)
        if before is None and not makes:
            raise Unavailable("the database holds nothing yet; `lakewarden init` makes it")
        if to == NEWEST and before == _newest():
            return True
        command.upgrade(_config(connection), to)
        return current(connection) == before


def downgrade(engine: sa.Engine, to: str) -> None:
    """Brings the database back to an older schema; what that one has no room for is lost."""
    with engines.told(), engines.at_once(engine.connect()) as connection, connection.begin():
        _lock(connection)
        _check_known(connection)
        command.downgrade(_config(connection), to)


def check(engine: sa.Engine) -> None:
    """Raises `Unavailable` unless the database has the newest schema."""
    with engines.told(), engine.connect() as connection, connection.begin():
        found = _check_known(connection)
    newest = _newest()
    if found != newest:
        raise Unavailable(
            f"the store has schema `{found or 'none'}`, and this release needs `{newest}`;"
            " it has to be upgraded first"
        )


def current(connection: sa.Connection) -> str | None:
    """The schema that the database has; None before the first."""
    return MigrationContext.configure(connection).get_current_revision()


def _check_known(connection: sa.Connection) -> str | None:
    found = current(connection)
    if found is not None and found not in _known():
        raise Unavailable(
            f"the store has schema `{found}`, which this release does not know; it was written"
            " by a newer one, and only a newer one can open it"
        )
    return found


def _lock(connection: sa.Connection) -> None:
    if connection.dialect.name == engines.POSTGRES:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


# COST: reading the scripts takes longer than opening the store; they are part of the release.
@cache
def _known() -> frozenset[str]:
    return frozenset(script.revision for script in _scripts().walk_revisions())


@cache
def _newest() -> str | None:
    return _scripts().get_current_head()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config(connection: sa.Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", "lakewarden.store:migrations")
    config.attributes["connection"] = connection
    return config
