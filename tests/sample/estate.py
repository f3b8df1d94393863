"""The sample estate as realms for tests, ingested once for all of them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from lakewarden import sample
from lakewarden.cli import main
from lakewarden.kernel.statement import Statement
from lakewarden.pipeline.directory import Loaded, load
from lakewarden.service.warden import Warden
from tests.pipeline import spared

SMALL_EXPORT: Final = Path(__file__).with_name("export.json")
"""A nearly empty export of DataHub."""

_made: list[Path] = []


def people() -> dict[str, str]:
    """The people of the company by id, as the identity provider reports them to the lake."""
    users, _ = _identity()
    return {user["id"]: user["userName"] for user in users}


def members() -> dict[str, frozenset[str]]:
    """The people of each group."""
    names, (_, groups) = people(), _identity()
    return {
        group["displayName"]: frozenset(names[member["value"]] for member in group["members"])
        for group in groups
    }


def _identity() -> list[Any]:
    records = json.loads((sample.path("gravitino") / "identity.json").read_text("utf-8"))
    return [record["reply"]["Resources"] for record in records]


@pytest.fixture(scope="session")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three realms, made by the demo itself; each process has a copy."""
    # Several modules import this fixture, and each import is a separate fixture.
    if not _made:
        folder = tmp_path_factory.mktemp("own") / "estate"
        shutil.copytree(_of_all_processes(tmp_path_factory.getbasetemp()), folder)
        _made.append(folder)
    return _made[0]


def _of_all_processes(folder: Path) -> Path:
    """The estate, made once per run by the first process that needs it."""
    run = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    made = run / "estate"
    with (run / "estate-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            with (
                tempfile.TemporaryDirectory(dir=run) as fresh,
                pytest.MonkeyPatch.context() as patch,
            ):
                spared.spare(patch)
                assert main(["demo", "--once", "--dir", f"{fresh}/estate"]) == 0
                Path(fresh, "estate").rename(made)
    return made


@dataclass(frozen=True, slots=True)
class Realm:
    """One realm of the estate."""

    folder: Path
    loaded: Loaded
    warden: Warden

    @property
    def statements(self) -> dict[str, Statement]:
        """The statements in force, by id."""
        return {s.id: s for s in self.loaded.facts.statements if s.active}

    def without(self, *ids: str) -> Warden:
        """The realm without some statements, which must exist."""
        assert set(ids) <= self.statements.keys()
        kept = [s for s in self.loaded.facts.statements if s.id not in ids]
        return Warden(self.loaded.system, replace(self.loaded.facts, statements=kept))


def realm(estate: Path, name: str) -> Realm:
    """One realm of the estate."""
    loaded = load(estate / name)
    return Realm(estate / name, loaded, Warden(loaded.system, loaded.facts))
