"""The guarantee of a commit to SQLite: it is on disk before it is confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.store import engine, open_store
from tests.cheap_stores import SYNCED

FULL = 2


def test_a_commit_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_PRAGMAS", SYNCED)
    with open_store(f"sqlite:///{tmp_path}/store") as store, store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
