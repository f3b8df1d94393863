"""Fixtures: a server of each profile, empty but for the authorization admin and the master."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systems.cdap.http.shop import deploy
from tests.systems.cdap.http.wire import Wire


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """A server of the profile `cdap`."""
    with Wire(tmp_path) as one:
        yield one


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Wire]:
    """A server of the profile `cdap-parent-write`."""
    with Wire(tmp_path, profile="cdap_parent_write") as one:
        yield one


@pytest.fixture(params=["cdap", "cdap_parent_write"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Wire]:
    """A server of either profile, one after the other."""
    with Wire(tmp_path, profile=request.param) as one:
        yield one


@pytest.fixture
def shop(wire: Wire) -> Wire:
    """A server of the profile `cdap` with an application."""
    return wire.built(deploy)


@pytest.fixture
def old_shop(old: Wire) -> Wire:
    """A server of the profile `cdap-parent-write` with an application."""
    return old.built(deploy)


@pytest.fixture
def either_shop(either: Wire) -> Wire:
    """A server of either profile with an application, one after the other."""
    return either.built(deploy)
