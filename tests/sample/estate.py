"""The sample estate as realms to ask, ingested once for all tests that want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakewarden.cli import main
from lakewarden.pipeline.directory import load
from lakewarden.service.warden import Warden

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_made: list[Path] = []


@pytest.fixture(scope="session")
def estate(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A folder with the three realms, made by the demo itself."""
    # Several places import this fixture, and each import is a fixture of its own.
    if not _made:
        folder = tmp_path_factory.mktemp("estate")
        assert main(["demo", "--once", "--dir", str(folder)]) == 0
        _made.append(folder)
    return _made[0]


def warden(estate: Path, realm: str) -> Warden:
    """One realm of the estate."""
    loaded = load(estate / realm)
    return Warden(loaded.system, loaded.facts)
