"""An empty store on either engine, for searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.store import SqlStore, open_store
from tests.servers import fresh_database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """An empty store."""
    if request.param == "sqlite":
        with open_store(f"sqlite:///{tmp_path / 'lakewarden.db'}") as opened:
            yield opened
        return
    with (
        fresh_database(request.getfixturevalue("postgres_url"), stores=True) as fresh,
        open_store(fresh) as opened,
    ):
        yield opened
