"""A realm of each system on disk, and the command line to ask them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli import realms, stores
from tests.cli.realms import Cli
from tests.cli.stores import Admin
from tests.sample.estate import estate

__all__ = ["cli", "estate", "folders"]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A small ingested directory for each system."""
    base = tmp_path_factory.mktemp("realms")
    return {
        "gravitino": realms.write_gravitino(base / "gravitino"),
        "datahub": realms.write_datahub(base / "datahub"),
        "cdap": realms.write_cdap(base / "cdap"),
    }


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], folders: Mapping[str, Path]) -> Cli:
    """The command line."""
    return Cli(capsys, folders)


@pytest.fixture
def admin(cli: Cli, tmp_path: Path) -> Admin:
    """The command line with a fresh store, which `root` administers."""
    return stores.made(cli, tmp_path)
