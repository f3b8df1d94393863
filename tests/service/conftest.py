"""Fixtures: an empty store on either engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.store import SqlStore, open_store
from tests.servers import fresh_database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def either_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """An empty store: SQLite in a file, then PostgreSQL."""
    if request.param == "sqlite":
        with open_store(f"sqlite:///{tmp_path / 'lakewarden.db'}") as opened:
            yield opened
        return
    with (
        fresh_database(request.getfixturevalue("postgres_url"), stores=True) as url,
        open_store(url) as opened,
    ):
        yield opened
