"""An empty store on either engine: every test here runs on both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.store import SqlStore, open_store
from tests.servers import fresh_database

SQLITE = "sqlite"
POSTGRES = "postgresql"


@pytest.fixture(params=[SQLITE, pytest.param(POSTGRES, marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store, or of a place for one."""
    if request.param == SQLITE:
        yield f"sqlite:///{tmp_path / 'lakewarden.db'}"
        return
    with fresh_database(request.getfixturevalue("postgres_url"), stores=True) as fresh:
        yield fresh


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    """An empty store."""
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def server_url(postgres_url: str) -> Iterator[str]:
    """The URL of an empty store on a server, for faults that a file cannot have."""
    with fresh_database(postgres_url, stores=True) as fresh:
        yield fresh


@pytest.fixture
def server_store(server_url: str) -> Iterator[SqlStore]:
    """An empty store on a server."""
    with open_store(server_url) as opened:
        yield opened
