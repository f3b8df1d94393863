"""Drafts of versions: one process at a time, no foreign folders, no leftovers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.directory_manifest import Content, Input, Manifest, read_manifest
from lakewarden.pipeline.directory_statements import lines_content
from lakewarden.pipeline.ingest.version import draft
from lakewarden.pipeline.storage.location import on_this_machine
from lakewarden.pipeline.tables import COLUMNS
from lakewarden.pipeline.version_folder import MANIFEST
from tests.pipeline.directories import write_directory

EMPTY = Manifest(
    model="gravitino",
    settings={"mode": "seed"},
    realm="main",
    source="csv",
    version=0,
    inputs=(Input("x", "0" * 64),),
    tables=dict.fromkeys(COLUMNS, Content(0, "0" * 64)),
    statements=lines_content(""),
)


def report(manifest: Manifest) -> dict[str, object]:
    return {"version": manifest.version}


def test_a_finished_draft_is_the_next_version(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    for number in (1, 2):
        with draft(out) as one:
            assert (one.previous.version if one.previous else 0) == number - 1
            (one.folder / "x").write_text(str(number))
            changed = replace(EMPTY, realm=f"realm {number}")
            assert one.finish(changed, report) == (replace(changed, version=number), True)
        assert read_manifest(out) == replace(changed, version=number)
    assert (out / "versions/1/x").read_text() == "1"
    assert (out / "versions/2/report.json").read_text() == '{\n  "version": 2\n}\n'


def test_a_draft_like_the_version_before_is_dropped(tmp_path: Path) -> None:
    for is_new in (True, False):
        with draft(tmp_path) as one:
            assert one.finish(EMPTY, report) == (replace(EMPTY, version=1), is_new)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "current", MANIFEST, "versions"]


def test_a_number_is_never_used_again(tmp_path: Path) -> None:
    (tmp_path / "versions/7").mkdir(parents=True)
    with draft(tmp_path) as one:
        assert one.finish(EMPTY, report)[0].version == 8


def cut_short(out: Path, error: Exception) -> None:
    """A draft that wrote something before this error."""
    with pytest.raises(type(error)), draft(out) as one:  # noqa: PT012 — the body is the draft
        (one.scratch / "x").write_text("x")
        raise error


def test_a_refused_input_leaves_nothing_behind(tmp_path: Path) -> None:
    cut_short(tmp_path, BadInput("no"))
    assert [p.name for p in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("error", [RuntimeError(), Unavailable("the cluster is gone")])
def test_what_was_cut_short_is_there_for_the_next_run_and_then_gone(
    tmp_path: Path, error: Exception
) -> None:
    cut_short(tmp_path, error)
    with draft(tmp_path) as one:
        assert (one.scratch / "x").read_text() == "x"
    assert [p.name for p in tmp_path.iterdir()] == [".lock"]


def test_what_is_kept_meanwhile_is_for_its_owner_alone(tmp_path: Path) -> None:
    with draft(tmp_path) as one:
        assert on_this_machine(one.scratch).stat().st_mode & 0o077 == 0
        assert on_this_machine(one.folder).stat().st_mode & 0o077 != 0


def test_a_fresh_draft_takes_nothing_of_what_was_cut_short(tmp_path: Path) -> None:
    for name in (".new", ".scratch"):
        (tmp_path / name / "deep").mkdir(parents=True)
    with draft(tmp_path, fresh=True) as one:
        assert not list(one.folder.iterdir())
        assert not list(one.scratch.iterdir())


def test_one_process_at_a_time(tmp_path: Path) -> None:
    busy = pytest.raises(Conflict, match="another process works on")
    with draft(tmp_path), busy, draft(tmp_path):
        pass
    with draft(tmp_path):
        pass


def test_the_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    refused = pytest.raises(BadInput, match=r"holds `thesis\.tex` and no `manifest\.json`")
    with refused, draft(tmp_path):
        pass
    with pytest.raises(BadInput, match="expected a folder"), draft(tmp_path / "thesis.tex"):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_with_statements_alone_is_ours(tmp_path: Path) -> None:
    (tmp_path / "statements").mkdir()
    with draft(tmp_path) as one:
        assert one.previous is None


def test_an_unreadable_manifest_is_refused_and_kept(tmp_path: Path) -> None:
    write_directory(tmp_path, {})
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(BadInput, match="expected JSON"), draft(tmp_path):
        pass
    assert (tmp_path / MANIFEST).read_text() == "{"
