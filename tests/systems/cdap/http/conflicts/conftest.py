"""Fixtures: the estate in each profile, each on its own server, also several in one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.http.prepared import prepared
from tests.systems.cdap.http.estate import build
from tests.systems.cdap.http.wire import Wire

LATER: Final = "cdap"
OLDER: Final = "cdap_parent_write"


@contextmanager
def _opened(folder: Path, profile: str, **settings: str) -> Iterator[Wire]:
    def make(fresh: Path) -> None:
        with Wire(fresh, profile=profile, settings=settings) as one:
            build(one)

    folder.mkdir()
    prepared(folder, (__name__, profile, *sorted(settings.items())), make)
    with Wire(folder, profile=profile) as one:
        yield one


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Wire]:
    """The estate in the profile `cdap`."""
    with _opened(tmp_path / "new", LATER) as one:
        yield one


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Wire]:
    """The estate in the profile `cdap-parent-write`."""
    with _opened(tmp_path / "older", OLDER) as one:
        yield one


@pytest.fixture(params=[LATER, OLDER])
def estate(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Wire]:
    """The estate in either profile, one after the other."""
    with _opened(tmp_path / "estate", request.param) as one:
        yield one


@pytest.fixture
def knobs(tmp_path: Path) -> Iterator[Wire]:
    """The estate in `cdap-parent-write` with each of its settings changed."""
    settings = {
        "namespace_list": "filtered",
        "instance_create_action": "admin",
        "propagate_privileges": "on",
    }
    with _opened(tmp_path / "knobs", OLDER, **settings) as one:
        yield one
