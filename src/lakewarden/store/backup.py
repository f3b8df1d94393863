"""Saves the whole store as one file, and restores it into either engine.

The file is a SQLite store with one additional table, which holds the digest of the others. A
changed or incomplete file is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.store import schema, search_rows
from lakewarden.store import upgrade as schemas
from lakewarden.store.bulk import insert
from lakewarden.store.engine import (
    POSTGRES,
    SQLITE,
    consistent,
    create,
    exclusive,
    translated_errors,
)

PAGE_ROWS = 10_000
_OURS = {*schema.metadata.tables, "alembic_version"}
_SEAL = sa.Table("backup", sa.MetaData(), sa.Column("digest", sa.Text(), nullable=False))


def save(engine: sa.Engine, path: Path) -> str:
    """Writes a consistent copy of everything into a new file, and returns its digest.

    Raises `Conflict` if the file exists, `BadInput` if its folder does not, and `Unavailable` if
    it cannot be written.
    """
    with translated_errors(), engine.connect() as connection:
        schemas.check_schema(connection)
    with _folder_errors(path):
        if path.exists():
            raise Conflict(f"`{path}` already exists")
        if not path.parent.is_dir():
            raise BadInput(f"the folder of `{path}` does not exist")
        unfinished = path.with_name(f"{path.name}.unfinished")
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            digest = _saved(engine, unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return digest


def _saved(engine: sa.Engine, path: Path) -> str:
    if engine.dialect.name == SQLITE:
        _copy_file(engine, path)
    with _file(path) as target:
        if engine.dialect.name == SQLITE:
            with translated_errors(), target.connect() as copied:
                schemas.check_schema(copied)  # another process may have migrated it since
        else:
            schemas.upgrade(target)
            with (
                translated_errors(),
                consistent(engine.connect()) as source,
                target.begin() as fresh,
            ):
                schemas.check_schema(source)
                _copy(source, fresh)
        with translated_errors(), target.begin() as connection:
            digest = rows_digest(connection)
            _SEAL.create(connection)
            connection.execute(_SEAL.insert(), {"digest": digest})
        with translated_errors(), target.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None  # noqa: S101 — INVARIANT: the connection is open
            connection.rollback()
            raw.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    return digest


def _copy_file(engine: sa.Engine, path: Path) -> None:
    """Copies the file with SQLite's backup: page by page, as of one moment."""
    with translated_errors(), engine.connect() as source:
        raw: Any = source.connection.driver_connection
        target = sqlite3.connect(path)
        try:
            raw.backup(target)
        except sqlite3.Error as error:
            raise Unavailable(f"the backup cannot be written: {error}") from None
        finally:
            target.close()


def restore(path: Path, url: str) -> str:
    """Restores the file into an empty database, and returns its digest.

    Raises `BadInput` for a file that is no backup or is damaged, `Conflict` for a database that is
    not empty, `Unavailable` for one that does not answer.
    """
    if not path.is_file():
        raise BadInput(f"the backup `{path}` does not exist")
    with TemporaryDirectory(prefix="lakewarden-restore-") as folder, _folder_errors(path):
        own = Path(folder, "backup")  # opening a file may change it
        shutil.copyfile(path, own)
        with _file(own) as source:
            digest = _checked(source, path)
            was_newest = schemas.upgrade(source)
            _insert_rows(source, url, digest if was_newest else None)
    return digest


def _checked(engine: sa.Engine, path: Path) -> str:
    """The digest of the file's rows; it must equal the digest that was stored with them."""
    try:
        with translated_errors(), engine.begin() as connection:
            stored = connection.execute(sa.select(_SEAL)).scalar_one()
            _SEAL.drop(connection)
            digest = rows_digest(connection)
    except Unavailable:
        raise BadInput(f"`{path}` is not a complete backup") from None
    if digest != stored:
        raise BadInput(f"`{path}` is damaged: its rows do not match its digest")
    return digest


def _insert_rows(source: sa.Engine, url: str, digest: str | None) -> None:
    """`digest` is that of the source's rows, if known."""
    target = create(url)
    try:
        schemas.upgrade(target)
        with (
            translated_errors(),
            source.connect() as stored,
            exclusive(target.connect()) as fresh,
            fresh.begin(),
        ):
            _check_empty(fresh)
            _copy(stored, fresh)
            search_rows.fill(fresh)
            if rows_digest(fresh) != (digest or rows_digest(stored)):
                raise Unavailable("the database changed the rows")
    finally:
        target.dispose()


def _check_empty(connection: sa.Connection) -> None:
    counter = connection.execute(sa.select(schema.counter).with_for_update()).one()
    is_used = connection.execute(sa.select(schema.scopes.c.id).limit(1)).first() is not None
    if counter.revision or counter.audit_seq or is_used:
        raise Conflict(
            "the database is not empty; a backup can only be restored into an empty database"
        )


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    target.execute(schema.counter.delete())
    for table in schema.metadata.sorted_tables:
        columns = [column.name for column in table.c]
        for rows in _pages(source, sa.select(table)):
            insert(target, table, columns, rows)
        if "id" in table.c and table.c.id.identity is not None:
            _set_next_id(target, table, _highest_id(source, table))


def _highest_id(connection: sa.Connection, table: sa.Table) -> int:
    """The highest id that the table ever assigned; 0 before the first."""
    if connection.dialect.name == SQLITE:
        query = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        return int(connection.execute(query, {"name": table.name}).scalar() or 0)
    sequence = connection.execute(_SEQUENCE, {"name": table.name}).scalar_one()
    # The name of the sequence comes from the database's own catalog.
    query = sa.text(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")  # noqa: S608
    return int(connection.execute(query).scalar_one())


_SEQUENCE = sa.text("SELECT pg_get_serial_sequence(:name, 'id')")


def _set_next_id(connection: sa.Connection, table: sa.Table, last: int) -> None:
    """Makes the next id of the table higher than `last`."""
    if last == 0:
        return
    named = {"name": table.name, "last": last}
    if connection.dialect.name == POSTGRES:
        sql = "SELECT setval(pg_get_serial_sequence(:name, 'id'), :last)"
        connection.execute(sa.text(sql), named)
        return
    connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name"), named)
    sql = "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"
    connection.execute(sa.text(sql), named)


def rows_digest(connection: sa.Connection) -> str:
    """SHA-256 over all rows of all tables in the database; the same on either engine.

    Rows are ordered by the table's primary key, columns by name.
    """
    tables = sa.MetaData()
    tables.reflect(connection, only=lambda name, _: name in _OURS)
    digest = hashlib.sha256()
    for name in sorted(tables.tables):
        table = tables.tables[name]
        columns = sorted(table.c, key=lambda column: column.name)
        digest.update(f"{name}\n{[column.name for column in columns]}\n".encode())
        query = sa.select(*columns).order_by(*table.primary_key.columns)
        for rows in _pages(connection, query):
            digest.update("".join(f"{row!r}\n" for row in rows).encode())
    return digest.hexdigest()


def _pages(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[list[tuple[Any, ...]]]:
    options = {"stream_results": True, "max_row_buffer": PAGE_ROWS}
    result = connection.execute(query, execution_options=options)
    for page in result.partitions(PAGE_ROWS):
        yield [tuple(row) for row in page]


@contextmanager
def _file(path: Path) -> Iterator[sa.Engine]:
    engine = create(sa.URL.create("sqlite", database=str(path)))
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _folder_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"`{path}`: {(error.strerror or 'cannot be used').lower()}") from None
