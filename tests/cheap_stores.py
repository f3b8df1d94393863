"""Stores of one test process share what does not depend on a test, and never wait for the disk.

A test makes a store of its own, often with an engine of its own: each would compile the same
statements and make the same tables again. And what a test writes need not outlive a loss of power:
the trials that kill processes do so to processes of their own, and what those wrote is with the
kernel, synced or not.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.compiler import Compiled
from sqlalchemy.util import LRUCache

from lakewarden.store import engine as engines
from lakewarden.store import store as stores

SYNCED = engines._PRAGMAS
"""How the product opens SQLite: with `synchronous = FULL`."""

PREPARED = stores._prepare
"""How the product makes a store's tables: step by step, up to the newest schema."""

_STATEMENTS = 5_000


@contextmanager
def cheap_stores() -> Iterator[None]:
    """Makes the SQLite stores that this process opens cheap, until the end of the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "_PRAGMAS", (*SYNCED, "synchronous = OFF"))
        # A compiled statement is kept by its dialect; all of SQLite's in a process are alike.
        patch.setattr(SQLiteDialect_pysqlite, "__eq__", _is_alike)
        patch.setattr(SQLiteDialect_pysqlite, "__hash__", lambda dialect: hash(type(dialect)))
        statements: LRUCache[Any, Compiled] = LRUCache(_STATEMENTS)
        create = engines._sqlite

        def sharing(url: sa.URL) -> sa.Engine:
            engine = create(url)
            engine._compiled_cache = statements
            return engine

        patch.setattr(engines, "_sqlite", sharing)
        patch.setattr(stores, "_prepare", _prepare)
        yield


def _is_alike(one: SQLiteDialect_pysqlite, other: object) -> bool:
    return type(one) is type(other)


def _prepare(engine: sa.Engine, *, upgrades: bool, makes: bool) -> None:
    """Puts a store without rows where there is none yet; all of SQLite's are alike."""
    path = engine.url.database
    if upgrades and makes and engine.dialect.name == engines.SQLITE and path is not None:
        # Where it cannot be put, the product finds out by itself, and says so.
        with suppress(OSError):
            _put(Path(path))
    PREPARED(engine, upgrades=upgrades, makes=makes)


def _put(path: Path) -> None:
    """Puts it there at once, unless there is something; nobody else may read it."""
    if path.exists():
        return
    file, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(file, "wb") as held:
            held.write(_without_rows())
        os.link(name, path)
    finally:
        os.unlink(name)


@cache
def _without_rows() -> bytes:
    with tempfile.TemporaryDirectory(prefix="lakewarden-") as folder:
        file = Path(folder) / "store"
        engine = engines.create(f"sqlite:///{file}")
        PREPARED(engine, upgrades=True, makes=True)
        engine.dispose()
        return file.read_bytes()
