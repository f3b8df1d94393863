"""Stores of one test process share everything independent of a test, and never wait for the disk.

Each test creates its own store, often with its own engine, and would compile the same statements
and create the same tables again. Writes of a test need not survive a power failure: tests that
kill processes kill processes of their own, and the kernel has their writes, synced or not.
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
"""The product's SQLite pragmas, with `synchronous = FULL`."""

PREPARED = stores._prepare
"""The product's function that creates a store's tables: step by step, up to the newest schema."""

_STATEMENTS = 5_000


@contextmanager
def cheap_stores() -> Iterator[None]:
    """Makes the SQLite stores of this process cheap, until the end of the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "_PRAGMAS", (*SYNCED, "synchronous = OFF"))
        # Compiled statements are cached per dialect; all SQLite dialects of a process are alike.
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
    """Copies an empty store into place if there is none yet; all SQLite stores are alike."""
    path = engine.url.database
    if upgrades and makes and engine.dialect.name == engines.SQLITE and path is not None:
        # If the copy fails, the product detects and reports the problem itself.
        with suppress(OSError):
            _put(Path(path))
    PREPARED(engine, upgrades=upgrades, makes=makes)


def _put(path: Path) -> None:
    """Creates the file atomically unless it exists; only its owner may read it."""
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
