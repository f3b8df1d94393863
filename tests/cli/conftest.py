"""A realm of each system on disk, and the command line to query them."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from lakewarden.cli import main
from tests.cli import realms
from tests.cli.cheap_commands import cheap_commands
from tests.cli.realms import Cli
from tests.cli.stores import Admin
from tests.sample.estate import estate

__all__ = ["cli", "estate", "folders"]


@pytest.fixture(scope="module", autouse=True)
def _cheap_commands() -> Iterator[None]:
    """See `tests.cli.cheap_commands`."""
    with cheap_commands():
        yield


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


@pytest.fixture(scope="session")
def initialized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with the usual realms, administered by `root`; tests copy it."""
    folder = tmp_path_factory.mktemp("initialized")
    with redirect_stdout(io.StringIO()):
        assert main(["init", "--admin", "root", "--database", f"sqlite:///{folder}/store.db"]) == 0
    return folder


@pytest.fixture
def admin(cli: Cli, initialized: Path, tmp_path: Path) -> Admin:
    """The command line with a fresh store, administered by `root`."""
    shutil.copytree(initialized, tmp_path, dirs_exist_ok=True)
    return Admin(cli, f"sqlite:///{tmp_path / 'store.db'}")
