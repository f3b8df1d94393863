"""Fixtures: the shop."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systems.datahub.http.graphql.edits.world import World


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stored shop, to be copied."""
    folder = tmp_path_factory.mktemp("shop")
    World(folder).close()
    return folder


@pytest.fixture
def world(shop: Path, tmp_path: Path) -> Iterator[World]:
    """The shop, in which only the administrator has permissions."""
    one = World(Path(shutil.copytree(shop, tmp_path / "shop")))
    yield one
    one.close()
