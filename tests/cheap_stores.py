"""Stores of one test process share what does not depend on a test, and never wait for the disk.

A test makes a store of its own, often with an engine of its own: each would compile the same
statements again. And what a test writes need not outlive a loss of power: the trials that kill
processes do so to processes of their own, and what those wrote is with the kernel, synced or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.compiler import Compiled
from sqlalchemy.util import LRUCache

from lakewarden.store import engine as engines

SYNCED = engines._PRAGMAS
"""How the product opens SQLite: with `synchronous = FULL`."""

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
        yield


def _is_alike(one: SQLiteDialect_pysqlite, other: object) -> bool:
    return type(one) is type(other)
