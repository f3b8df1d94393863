"""The archive of this package for workers: complete, and identical for identical files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from lakewarden.pipeline import package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USED = """
import sys
sys.path = [path for path in sys.path if "src" not in path.split("/")]
sys.path.insert(0, sys.argv[1])
from lakewarden import models
from lakewarden.pipeline import session
from lakewarden.pipeline.index import task_context
assert models.__file__.startswith(sys.argv[1]), models.__file__
assert models.load("gravitino").name == "gravitino"
"""


class Session:
    """Records the sent files."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def addArtifacts(self, *paths: str, pyfile: bool) -> None:  # noqa: N802 — Spark's name
        assert pyfile
        self.sent += paths


def test_the_archive_is_enough_to_judge_with(tmp_path: Path) -> None:
    # An executor names it relative to its working folder.
    archive = f"./{package.archived(tmp_path).name}"
    subprocess.run([sys.executable, "-c", USED, archive], cwd=tmp_path, check=True)


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    folders = tmp_path / "one", tmp_path / "other"
    for folder in folders:
        folder.mkdir()
    one, other = map(package.archived, folders)
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


def test_every_session_gets_it_from_the_same_place() -> None:
    session = Session()
    for _ in range(2):
        package.send(cast("SparkSession", session))
    one, other = session.sent
    assert one == other
    assert Path(one).is_file()


def test_what_came_in_an_archive_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(package, "_ROOT", tmp_path / "lakewarden.zip" / "lakewarden")
    session = Session()
    package.send(cast("SparkSession", session))
    assert session.sent == []
