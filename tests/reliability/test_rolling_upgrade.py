"""Servers of two releases on one PostgreSQL database, during a rolling upgrade."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from lakewarden.store import compatibility
from lakewarden.store.migrations import versions
from tests.app.serving import Served, server
from tests.servers import fresh_database
from tests.store.neighbours import CONTRACTED, EXPANDED, THIS, environment, write_steps

ROOT = Path(__file__).parents[2]


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    with fresh_database(postgres_url) as fresh:
        yield fresh


def create_lake(server: Served, name: str) -> int:
    return server.ask("POST", "/api/metalakes", {"name": name}, user="admin").status


def sees_lake(server: Served, name: str) -> bool:
    return server.ask("GET", f"/api/metalakes/{name}", user="admin").status == 200


def wait_logged(server: Served, text: str) -> None:
    end = time.monotonic() + 60
    while text not in server.log.read_text():
        assert time.monotonic() < end, server.log.read_text()
        time.sleep(0.1)


@pytest.mark.nightly  # starts five servers
@pytest.mark.postgres
def test_neighbours_serve_side_by_side_while_the_newer_only_adds(
    database: str, tmp_path: Path
) -> None:
    newer = environment(tmp_path / "newer", write_steps(tmp_path / "steps"))
    with server(tmp_path / "a", database=database) as old:
        assert create_lake(old, "first") == 200
        with server(tmp_path / "b", database=database, environment=newer) as new:
            assert sees_lake(new, "first")
            assert create_lake(new, "second") == create_lake(old, "third") == 200
            assert sees_lake(old, "second")
            assert sees_lake(new, "third")
            assert old.stop() == 0
            with server(tmp_path / "c", database=database) as again:  # restarts a crashed one
                assert sees_lake(again, "second")
                assert create_lake(again, "fourth") == 200
            assert sees_lake(new, "fourth")


@pytest.mark.nightly
@pytest.mark.postgres
def test_a_release_that_takes_away_waits_for_those_that_need_it(
    database: str, tmp_path: Path
) -> None:
    newer = environment(tmp_path / "newer", write_steps(tmp_path / "steps", contracts=True))
    beside = {"database": database, "ready": False}
    with (
        server(tmp_path / "a", database=database) as old,
        server(tmp_path / "b", **beside, environment=newer) as new,  # type: ignore[arg-type]  # two kinds
    ):
        wait_logged(new, f"schema `{CONTRACTED}` cannot be used by older releases")
        assert create_lake(old, "first") == 200
        assert old.stop() == 0
        new.wait_ready()
        assert sees_lake(new, "first")
        with server(tmp_path / "c", **beside) as late:  # type: ignore[arg-type]  # two kinds
            wait_logged(late, f"requires a release with schema `{EXPANDED}` or newer")
            late.wait_listening()
            assert late.ask("GET", "/readyz").status == 503
            assert create_lake(late, "never") == 503
            assert not sees_lake(new, "never")


@pytest.mark.nightly
@pytest.mark.postgres
def test_a_release_that_is_shut_out_answers_nothing_more_and_says_why(
    database: str, tmp_path: Path
) -> None:
    newer = environment(tmp_path / "newer", write_steps(tmp_path / "steps", contracts=True))
    with server(tmp_path / "a", database=database) as old:
        assert create_lake(old, "first") == 200
        migrate = [sys.executable, "-m", "lakewarden.cli", "migrate", "--database", database]
        refused = subprocess.run(migrate, env=newer, capture_output=True, text=True, check=False)
        assert (refused.returncode, "--force" in refused.stderr) == (3, True)
        done = subprocess.run(
            [*migrate, "--force"], env=newer, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"schema {CONTRACTED}, before {THIS}\n"
        assert create_lake(old, "second") == 503
        assert old.ask("GET", "/readyz").status == 503
        wait_logged(old, f"requires a release with schema `{EXPANDED}` or newer")


@pytest.fixture
def before(tmp_path: Path) -> dict[str, str]:
    """The environment of the last release without the newest schema, from git."""
    (step,) = Path(versions.__path__[0]).glob(f"m{compatibility.newest()}_*.py")
    added = _git("log", "--diff-filter=A", "--format=%H", "--", str(step)).decode().split()
    if not added:
        pytest.skip("there is no history, or the newest schema is not committed")
    packed = _git("archive", f"{added[-1]}^", "src")
    if not packed:
        pytest.skip("the history does not go back to the schema before")
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "before", filter="data")
    return {"PYTHONPATH": str(tmp_path / "before" / "src")}


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else b""


@pytest.mark.nightly
@pytest.mark.postgres
def test_the_code_of_the_schema_before_serves_beside_this_one(
    database: str, tmp_path: Path, before: dict[str, str]
) -> None:
    with server(tmp_path / "a", database=database, environment=before) as old:
        assert create_lake(old, "first") == 200
        with server(tmp_path / "b", database=database) as new:
            assert create_lake(new, "second") == create_lake(old, "third") == 200
            assert sees_lake(old, "second")
            assert sees_lake(new, "third")
            assert old.stop() == 0
        with server(tmp_path / "c", database=database, environment=before, ready=False) as late:
            # Schema 0013 cannot be marked as compatible with a newer one.
            if compatibility.newest() == compatibility.FIRST:
                wait_logged(late, "which a newer release wrote")
            else:
                late.wait_ready()
