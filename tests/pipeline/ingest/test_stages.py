"""Completed stages are reused for the same input, and only then."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lakewarden.pipeline.ingest.stages import Counts, Stages, digest
from lakewarden.pipeline.storage.location import Location


def work(text: str, found: Counts) -> Callable[[Location], Counts]:
    """A stage that writes one file."""

    def run(folder: Location) -> Counts:
        assert not list(folder.iterdir())
        (folder / "deep").mkdir()
        (folder / "deep" / "x").write_text(text)
        return found

    return run


def test_a_finished_stage_is_not_done_again(tmp_path: Path) -> None:
    first, second = Stages(tmp_path), Stages(tmp_path)
    assert first.run("read", "k", work("one", {"rows": 1})) == {"rows": 1}
    assert second.run("read", "k", work("two", {"rows": 2})) == {"rows": 1}
    assert (first.reused, second.reused) == ([], ["read"])
    assert second.seconds == first.seconds
    assert (tmp_path / "read/deep/x").read_text() == "one"


def _truncate(scratch: Path) -> None:
    (scratch / "read/deep/x").write_text("")


def _remove(scratch: Path) -> None:
    (scratch / "read/deep/x").unlink()


def _add(scratch: Path) -> None:
    (scratch / "read/y").write_text("y")


def _spoil(scratch: Path) -> None:
    (scratch / "read.json").write_text("{")


def _forget(scratch: Path) -> None:
    (scratch / "read.json").unlink()


@pytest.mark.parametrize("damage", [_truncate, _remove, _add, _spoil, _forget])
def test_a_stage_whose_files_are_not_those_it_wrote_is_done_again(
    tmp_path: Path, damage: Callable[[Location], None]
) -> None:
    Stages(tmp_path).run("read", "k", work("one", {"rows": 1}))
    damage(tmp_path)
    again = Stages(tmp_path)
    assert again.run("read", "k", work("two", {"rows": 2})) == {"rows": 2}
    assert again.reused == []
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["deep", "read", "read.json", "x"]


@pytest.mark.parametrize("key", ["other", None])
def test_another_input_is_read_again(tmp_path: Path, key: str | None) -> None:
    Stages(tmp_path).run("read", "k", work("one", {"rows": 1}))
    assert Stages(tmp_path).run("read", key, work("two", {"rows": 2})) == {"rows": 2}


def test_a_stage_that_fails_is_not_finished(tmp_path: Path) -> None:
    def fail(folder: Location) -> Counts:
        (folder / "half").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Stages(tmp_path).run("read", "k", fail)
    assert Stages(tmp_path).run("read", "k", work("one", {"rows": 1})) == {"rows": 1}
    assert not (tmp_path / "read/half").exists()


def test_a_copy_of_a_running_system_grows_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Stages(tmp_path).run("fetch", "k", work("one", {"rows": 1}))
    assert Stages(tmp_path).run("fetch", "k", work("two", {}), lasts=60) == {"rows": 1}
    later = time.time() + 61
    monkeypatch.setattr("lakewarden.pipeline.ingest.stages.time.time", lambda: later)
    assert Stages(tmp_path).run("fetch", "k", work("two", {"rows": 2}), lasts=60) == {"rows": 2}


def test_a_digest_is_of_all_parts_in_their_order() -> None:
    found = [digest("a", "b"), digest("b", "a"), digest("ab"), digest(["a"], "b"), digest()]
    assert len(set(found)) == len(found)
    assert digest({"a": 1, "b": 2}) == digest(json.loads('{"b": 2, "a": 1}'))
