"""A store's URL on either engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.estate import sqlite_url
from tests.servers import fresh_database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path)
        return
    with fresh_database(request.getfixturevalue("postgres_url"), stores=True) as fresh:
        yield fresh
