"""A store of realms behind a database URL."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.audit import Head
from lakewarden.service.audit_seal import UNSEALED
from lakewarden.service.cancellation import check, current
from lakewarden.service.credential import Count
from lakewarden.service.ports import ServerAccount
from lakewarden.service.steps import step
from lakewarden.service.write_health import WriteHealth
from lakewarden.store import backup, schema, upgrade
from lakewarden.store.bulk import OnConflict, delete, insert
from lakewarden.store.compatibility import WRITERS_LOCK, check_usable
from lakewarden.store.engine import (
    POSTGRES,
    ConnectionLost,
    consistent,
    create,
    exclusive,
    translated_errors,
)
from lakewarden.store.key import check_names, key
from lakewarden.store.limits import UNLIMITED, StoreLimits
from lakewarden.store.reading import COUNTER, SqlReading
from lakewarden.store.writing import SqlWriting

T = TypeVar("T")
_ATTEMPT = ("key", "ends", "number")
_TRY = sa.text(
    "INSERT INTO attempts (key, ends, number) VALUES (:key, :ends, 1)"
    " ON CONFLICT (key) DO UPDATE SET number = attempts.number + 1"
    " RETURNING number, ends"
)
_HOLD = sa.text(
    "INSERT INTO attempts (key, ends, number) VALUES (:key, :ends, :holder)"
    " ON CONFLICT (key) DO UPDATE SET number = :holder, ends = :ends"
    " WHERE attempts.number = :holder OR attempts.ends <= :now RETURNING key"
)
_MAY_IDENTIFY = sa.text("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')")
_ACCOUNT = sa.text(
    "SELECT CAST(system_identifier AS text), CAST(current_user AS text) FROM pg_control_system()"
)
_CANCEL_SECONDS = 5.0
_PROBE = "probe"
_PROBE_BYTES = 32 * 1024
_USAGE = ("day", "key", "realm", "user", "operation", "type", "name", "count")


def open_store(
    url: str,
    *,
    upgrade: bool = True,
    makes: bool = True,
    limits: StoreLimits = UNLIMITED,
) -> SqlStore:
    """The store at `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`.

    Migrates its schema to the newest one first. With `upgrade` off, refuses if a migration is
    needed; with `makes` off, refuses if there is no schema. A newer schema is left as it is. Data
    that exceeds the `limits` is refused (`LimitExceeded`). Raises `BadInput` for an unusable URL.
    Raises `Unavailable` for a database that does not answer, that a newer release locks this one
    out of, or that processes of older releases have open which the newest schema would lock out.
    """
    engine = create(url)
    try:
        _prepare(engine, upgrades=upgrade, makes=makes)
    except BaseException:
        engine.dispose()
        raise
    return SqlStore(engine, limits=limits)


def _prepare(engine: sa.Engine, *, upgrades: bool, makes: bool) -> None:
    if upgrades:
        upgrade.upgrade(engine, makes=makes, shares=True)
    else:
        upgrade.check(engine)


class SqlStore:
    """See `Store`. Thread-safe; closed by `close` or at the end of a `with`."""

    def __init__(self, engine: sa.Engine, *, limits: StoreLimits = UNLIMITED) -> None:
        self.engine = engine
        self.origin = 0
        """See `Store.origin`."""
        self.audit_head = Head()
        """See `Store.audit_head`."""
        self.seals = UNSEALED
        """Seals the audit rows that are written through this store."""
        self.committed: Callable[[], None] | None = None
        """Called after every write that is committed; must not raise."""
        self._limits = limits
        self.write_health = WriteHealth()
        is_postgres = engine.dialect.name == POSTGRES
        # A transaction around a single query costs PostgreSQL two more messages each way.
        self._asking = (
            engine.execution_options(isolation_level="AUTOCOMMIT") if is_postgres else engine
        )

    def close(self) -> None:
        """Closes the connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[SqlReading]:
        """See `Store.reading`."""
        check()
        with step("read the store", calls=self.engine.dialect.name):
            connection, reading = _begun(self.engine, lambda fresh: SqlReading(consistent(fresh)))
            self.origin, self.audit_head = reading.origin, reading.audit_head
            with _closing(connection), _interrupted(connection):
                yield reading

    @contextmanager
    def writing(self, *, late: bool = False) -> Iterator[SqlWriting]:
        """See `Store.writing`."""
        written = step("write the store", calls=self.engine.dialect.name)
        with self.write_health.watching(), written:
            connection, writing = _begun(
                self.engine,
                lambda fresh: SqlWriting(
                    fresh if late else exclusive(fresh),
                    late=late,
                    limits=self._limits,
                    seals=self.seals,
                ),
            )
            self.origin, self.audit_head = writing.origin, writing.audit_head
            with _closing(connection):
                yield writing
                self.audit_head = writing.audit_head
        if self.committed is not None:
            self.committed()

    def revision(self) -> int:
        """See `Store.revision`."""
        with step("read the revision", calls=self.engine.dialect.name):
            connection, counter = _begun(self._asking, _counter)
            with _closing(connection):
                self.origin = counter.origin
                self.audit_head = Head(counter.audit_seq, counter.audit_digest)
                return int(counter.revision)

    def add_usage(self, day: str, counts: Mapping[tuple[str, str, str, Entity], int]) -> int:
        """See `Store.add_usage`."""
        rows, left_out = [], 0
        for (realm, user, operation, entity), count in counts.items():
            names = (realm, user, operation, *entity)
            try:
                check_names(*names)
            except BadInput:  # callers may name any user; the other counts remain valid
                left_out += count
                continue
            rows.append((day, key(day, *names), *names, count))
        rows.sort()  # a fixed lock order for processes that add the same rows
        with self._changing() as connection:
            insert(connection, schema.usage, _USAGE, rows, OnConflict.ADD, ("key",))
        return left_out

    def drop_usage(self, before: str, most: int) -> int:
        """See `Store.drop_usage`."""
        of = schema.usage.c
        # COST: days have no index; they are searched before the transaction, which locks.
        query = sa.select(of.key).where(of.day < before).limit(most)
        connection, _ = _begun(self.engine, _revision)
        with _closing(connection), translated_errors():
            # A fixed lock order for processes that remove the same rows.
            rows = sorted((found,) for found in connection.scalars(query))
        if rows:
            with self._changing() as connection:
                delete(connection, schema.usage, ("key",), rows)
        return len(rows)

    def count_attempt(self, counts: Sequence[Count], now: float) -> float | None:
        """See `Store.count_attempt`."""
        # A fixed lock order for concurrent tries of the same names.
        ordered = sorted(counts, key=lambda count: key(*count.names))
        with self._changing() as connection:
            connection.execute(schema.attempts.delete().where(schema.attempts.c.ends <= now))
            for count in ordered:
                named = {"key": key(*count.names), "ends": now + count.seconds}
                number, ends = connection.execute(_TRY, named).one()
                if number > count.limit:
                    connection.rollback()
                    return float(ends)
        return None

    def uncount_attempts(self, less: Sequence[Count], removed: Sequence[Count] = ()) -> None:
        """See `Store.uncount_attempts`."""
        of = schema.attempts.c
        with self._changing() as connection:
            for names in sorted(key(*count.names) for count in less):
                lowered = schema.attempts.update().where(of.key == names, of.number > 0)
                connection.execute(lowered.values(number=of.number - 1))
            forgotten = [key(*count.names) for count in removed]
            connection.execute(schema.attempts.delete().where(of.key.in_(forgotten)))

    def note(self, names: tuple[str, ...], until: float) -> None:
        """See `Store.note`."""
        row = (key(*names), until, 0)
        with self._changing() as connection:
            insert(connection, schema.attempts, _ATTEMPT, [row], OnConflict.REPLACE, ("key",))

    def has_note(self, names: tuple[str, ...], now: float) -> bool:
        """See `Store.has_note`."""
        of = schema.attempts.c
        query = sa.select(of.key).where(of.key == key(*names), of.ends > now)
        connection, _ = _begun(self.engine, _revision)
        with _closing(connection), translated_errors():
            return connection.execute(query).first() is not None

    def acquire_lease(self, names: tuple[str, ...], holder: int, now: float, until: float) -> bool:
        """See `Store.acquire_lease`."""
        given = {"key": key(*names), "holder": holder, "now": now, "ends": until}
        with self._changing() as connection:
            return connection.execute(_HOLD, given).first() is not None

    def account(self) -> ServerAccount | None:
        """See `Store.account`."""
        if self.engine.dialect.name != "postgresql":
            return None
        connection, _ = _begun(self._asking, _revision)
        with _closing(connection), translated_errors():
            if not connection.scalar(_MAY_IDENTIFY):
                return None
            server, name = connection.execute(_ACCOUNT).one()
            return ServerAccount(server, name)

    def try_to_write(self) -> None:
        """Writes data of the size of many writes, and removes it again.

        Raises `Unwritable` while that fails, and `Unavailable`; updates `write_health`.
        """
        row = (*(_PROBE, key(_PROBE), "", "", "", ""), secrets.token_hex(_PROBE_BYTES), 0)
        with self._changing() as connection:
            insert(connection, schema.usage, _USAGE, [row], OnConflict.REPLACE, ("key",))
        with self._changing() as connection:
            connection.execute(schema.usage.delete().where(schema.usage.c.key == key(_PROBE)))
        self.write_health.succeeded()

    def prune(self, before: int) -> int:
        """Removes the change feed before this revision; returns the number of rows.

        A reader at an older revision gets `FeedTruncated`, and must reload everything.
        """
        revisions, changes, counter = schema.revisions, schema.changes, schema.counter
        with self._changing() as connection:
            locked = connection.execute(sa.select(counter).with_for_update()).one()
            last = min(before - 1, locked.revision)
            old = revisions.c.revision <= last
            writes = sa.select(revisions.c.write).where(old)
            pruned = connection.execute(changes.delete().where(changes.c.write.in_(writes)))
            connection.execute(revisions.delete().where(old))
            connection.execute(counter.update().values(pruned=max(last, locked.pruned)))
            return pruned.rowcount

    def backup(self, path: Path) -> str:
        """Writes a consistent copy of everything into a new file; returns its digest.

        Other writes continue meanwhile. The file is private; `restore` reads it into either engine.
        """
        return backup.save(self.engine, path)

    @contextmanager
    def _changing(self) -> Iterator[sa.Connection]:
        with self.write_health.watching():
            connection, _ = _begun(self.engine, lambda fresh: _revision(_shared_write(fresh)))
            with _closing(connection), translated_errors():
                yield connection
                connection.commit()


@contextmanager
def _interrupted(connection: sa.Connection) -> Iterator[None]:
    """Interrupts a cancelled PostgreSQL statement; SQLite checks for itself, see `engine`."""
    cancellation = current()
    if cancellation is None or connection.dialect.name != POSTGRES:
        yield
        return
    driver: Any = connection.connection.driver_connection
    try:
        with cancellation.interrupting(partial(driver.cancel_safe, timeout=_CANCEL_SECONDS)):
            yield
    finally:
        if cancellation.is_cancelled:
            connection.invalidate()  # the interruption may still be in transit


def _revision(connection: sa.Connection) -> int:
    return int(_counter(connection).revision)


def _counter(connection: sa.Connection) -> sa.Row[Any]:
    """The counter, with the origin of the store."""
    with translated_errors():
        counter = connection.execute(COUNTER[connection.dialect.name]).one()
    check_usable(counter.usable_from)
    return counter


def _shared_write(fresh: sa.Connection) -> sa.Connection:
    """The connection, for a write that does not lock the counter."""
    connection = exclusive(fresh)
    if connection.dialect.name == POSTGRES:
        with translated_errors():
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock_shared({WRITERS_LOCK})")
    return connection


def _begun(engine: sa.Engine, begin: Callable[[sa.Connection], T]) -> tuple[sa.Connection, T]:
    """A connection and the result of `begin`; retries once if the connection is dead.

    A restarted database leaves dead connections in the pool; all are discarded when the first one
    is found.
    """
    try:
        return _begin_connection(engine, begin)
    except ConnectionLost:
        return _begin_connection(engine, begin)


def _begin_connection(
    engine: sa.Engine, begin: Callable[[sa.Connection], T]
) -> tuple[sa.Connection, T]:
    with translated_errors():
        connection = engine.connect()
    try:
        return connection, begin(connection)
    except BaseException:
        _close(connection)
        raise


@contextmanager
def _closing(connection: sa.Connection) -> Iterator[None]:
    """Returns the connection to the pool, and rolls back uncommitted changes."""
    try:
        yield
    finally:
        _close(connection)


def _close(connection: sa.Connection) -> None:
    try:
        connection.close()
    except SQLAlchemyError:  # it died, and its uncommitted changes with it
        if not connection.closed:
            connection.invalidate()
            connection.close()
