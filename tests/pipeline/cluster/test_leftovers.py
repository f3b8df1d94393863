"""Late writes, or a partial cleanup, of a lost run never count as a stage's result."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

import pytest

from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import Manifest, VersionDraft, draft, read_manifest
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST


def part(folder: Location) -> dict[str, int]:
    (folder / "part").write_text("mine")
    return {}


def test_tasks_that_outlive_their_driver_write_where_nobody_looks(tmp_path: Path) -> None:
    lost: list[Location] = []

    def is_lost(folder: Location) -> dict[str, int]:
        lost.append(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), draft(tmp_path, "thing", "key", silent) as one:
        one.stage("match", is_lost)
    with draft(tmp_path, "thing", "key", silent) as one:
        one.stage("match", part)
        lost[0].mkdir()
        (lost[0] / "part").write_text("of the dead")
        kept = one.stage_folder("match")
        assert kept != lost[0]
        assert [file.read_text() for file in kept.iterdir()] == ["mine"]


def test_a_sweep_that_is_cut_short_leaves_no_finished_stage_without_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_short(folder: Path, **_: object) -> None:
        for file in list(folder.rglob("part")):
            file.unlink()

    with draft(tmp_path, "thing", "key", silent) as one:
        one.stage("match", part)
        _finish(one)
        monkeypatch.setattr(shutil, "rmtree", cut_short)
    monkeypatch.undo()
    with draft(tmp_path, "thing", "key", silent) as one:
        one.stage("match", part)
        assert not one.stages["match"].reused


def test_a_version_that_never_came_to_count_is_swept(tmp_path: Path) -> None:
    with draft(tmp_path, "thing", "key", silent) as one:
        _finish(one)
    counted = (tmp_path / MANIFEST).read_text()
    with draft(tmp_path, "thing", "more", silent) as one:
        _finish(one, "more")
    (tmp_path / MANIFEST).write_text(counted)  # as if it was lost before the last step
    with draft(tmp_path, "thing", "more", silent) as one:
        _finish(one, "more")
    assert read_manifest(tmp_path, "thing").version == 2
    assert sorted(folder.name for folder in (tmp_path / "versions").iterdir()) == ["1", "2"]


def test_what_another_made_before_the_folder_was_free_is_what_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*lock: object) -> None:
        monkeypatch.undo()
        with draft(tmp_path, "thing", "other", silent) as other:
            _finish(other, "other")

    with draft(tmp_path, "thing", "key", silent) as one:
        _finish(one)
    monkeypatch.setattr(fcntl, "flock", locked)
    with draft(tmp_path, "thing", "key", silent) as one:
        assert one.previous == read_manifest(tmp_path, "thing")
        assert one.previous is not None
        assert one.previous.version == 2


def _finish(one: VersionDraft, say: str = "") -> None:
    one.finish(Manifest("thing", 0, (), {"say": say}, {}, {}), {})
