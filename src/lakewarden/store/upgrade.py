"""The schema of a database, and its migration to another one.

A migration is one transaction under a lock: several processes may start at once, and a process that
is killed during it leaves the database unchanged.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.store import engine as engines
from lakewarden.store import schema
from lakewarden.store.compatibility import (
    FIRST,
    WRITERS_LOCK,
    check_usable,
    incompatible_processes,
    known,
    newest,
    usable_from,
)
from lakewarden.store.migrations import versions

if TYPE_CHECKING:
    from alembic.config import Config

NEWEST = "head"
EMPTY = "base"

_PAUSE_SECONDS = 0.2
_LOCK_SECONDS = 30
_LOCK_NOT_AVAILABLE = "55P03"
_LOCK = 0x6C616B65  # our number among the advisory locks of the database


class InUse(Unavailable):
    """A migration would lock out processes that have the store open."""


def upgrade(
    engine: sa.Engine,
    to: str = NEWEST,
    *,
    makes: bool = True,
    shares: bool = False,
    force: bool = False,
) -> bool:
    """Migrates the database to a schema, by default the newest; returns whether it already had it.

    With `shares`, a newer schema is left as it is if its release declares that this one may use it.
    Raises `Unavailable` for a schema that this release does not know and, unless it `makes` the
    first one, for a database without a schema. Raises `InUse` while processes of older releases are
    connected that could not use it afterwards; with `force` they are locked out. Their writes that
    lock nothing end first; raises `InUse` if one takes too long.
    """
    with (
        engines.translated_errors(),
        engines.exclusive(engine.connect()) as connection,
        connection.begin(),
    ):
        _lock(connection)
        before = _check_known(connection, shares=shares)
        if before is None and not makes:
            raise Unavailable("the database is empty; run `lakewarden init`")
        if before not in known() and before is not None:
            return True
        if to == NEWEST and before == newest():
            return True
        target = newest() if to == NEWEST else to
        if before is not None and not force:
            _check_unused(connection, target)
        if before is not None and before >= FIRST and usable_from(target) > before:
            _wait_for_writers(connection)
        # COST: importing alembic takes longer than opening a store, and most have the newest
        # schema.
        from alembic import command

        command.upgrade(_config(connection), to)
        _store_usable_from(connection)
        return current(connection) == before


def migrate(url: str, *, wait: float = 0.0, force: bool = False) -> tuple[str | None, str | None]:
    """Migrates the database at a URL to the newest schema; returns the schema before and after.

    Waits that many seconds for processes that it would lock out, or with `force` not at all. Raises
    `InUse` if they are still connected then, and the errors of `upgrade`.
    """
    end = time.monotonic() + wait
    engine = engines.create(url)
    try:
        with engines.translated_errors(), engine.connect() as connection:
            before = current(connection)
        while True:
            try:
                upgrade(engine, makes=False, shares=True, force=force)
            except InUse:
                if time.monotonic() >= end:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                break
        with engines.translated_errors(), engine.connect() as connection:
            return before, current(connection)
    finally:
        engine.dispose()


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
        _store_usable_from(connection)


def check(engine: sa.Engine) -> str:
    """The schema of the database; raises `Unavailable` unless this release may use it unchanged."""
    with engines.translated_errors(), engine.connect() as connection, connection.begin():
        stored = _check_known(connection, shares=True)
    if stored is None or stored < newest():
        raise Unavailable(
            f"the store has schema `{stored or 'none'}`, but this release requires `{newest()}`;"
            " upgrade the store first"
        )
    return stored


def check_schema(connection: sa.Connection) -> None:
    """Raises `Unavailable` if this release does not know the database's schema."""
    _check_known(connection)


def current(connection: sa.Connection) -> str | None:
    """The schema of the database; None before the first migration."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar()
    return version


def _check_known(connection: sa.Connection, *, shares: bool = False) -> str | None:
    stored = current(connection)
    if stored is None or stored in known():
        return stored
    if shares:
        check_usable(connection.execute(sa.select(schema.counter.c.usable_from)).scalar_one())
        return stored
    raise Unavailable(
        f"the store has schema `{stored}`, which a newer release wrote; use that release"
    )


def _check_unused(connection: sa.Connection, target: str) -> None:
    if connection.dialect.name != engines.POSTGRES:
        return
    older = incompatible_processes(connection, usable_from(target))
    if older:
        raise InUse(
            f"schema `{target}` cannot be used by older releases that have the store open"
            f" ({', '.join(map(str, older))}); stop them, then try again: `lakewarden migrate"
            " --wait DURATION`, for example `15m`, waits for them, `--force` shuts them out"
        )


def _wait_for_writers(connection: sa.Connection) -> None:
    """Waits for writes that do not lock the counter, and blocks new ones until the end."""
    if connection.dialect.name != engines.POSTGRES:
        return
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
    try:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})")
    except sa.exc.OperationalError as error:
        if getattr(error.orig, "sqlstate", "") != _LOCK_NOT_AVAILABLE:
            raise
        raise InUse(f"writes of others do not end in {_LOCK_SECONDS} seconds; try again") from None
    connection.exec_driver_sql("SET LOCAL lock_timeout = 0")


def _store_usable_from(connection: sa.Connection) -> None:
    """Records in the store who may use it; each transaction of an older release checks this."""
    stored = current(connection)
    if stored is not None and stored >= FIRST:
        connection.execute(schema.counter.update(), {"usable_from": usable_from(stored)})


def _lock(connection: sa.Connection) -> None:
    if connection.dialect.name == engines.POSTGRES:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def _config(connection: sa.Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "lakewarden.store:migrations")
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join(versions.__path__))
    config.attributes["connection"] = connection
    return config
