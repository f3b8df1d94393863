"""Fixtures: an empty server, and one with a small lake in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systems.gravitino.http.court import furnish
from tests.systems.gravitino.http.small_lake import fill
from tests.systems.gravitino.http.wire import Wire

collect_ignore_glob = ["client/*"]
"""Run by the Python of another environment: see `test_client.py`."""


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """A server with only the service admin."""
    with Wire(tmp_path) as one:
        yield one


@pytest.fixture
def lake(wire: Wire) -> Wire:
    """A server with the metalake `lk` and one object of every type."""
    return wire.built(fill)


@pytest.fixture
def court(wire: Wire) -> Wire:
    """A server with the small metalake of `court.furnish`."""
    return wire.built(furnish)


@pytest.fixture
def next_court(tmp_path: Path) -> Iterator[Wire]:
    """The same in the mode `next`."""
    with Wire(tmp_path, mode="next") as one:
        yield one.built(furnish)
