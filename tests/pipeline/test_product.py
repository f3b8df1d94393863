"""A job's product is complete or absent, and unchanged content is not a new version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import (
    Content,
    Input,
    Manifest,
    check_files,
    draft,
    key_of,
    place,
    read_manifest,
    remove_tables_of_old_versions,
)
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST, folder_of

INPUTS = (Input("lake", 3, "a" * 64),)
KIND = "fruit"


def manifest(text: str = "apple", **facts: object) -> Manifest:
    """The manifest of a version with one table."""
    return Manifest(KIND, 0, INPUTS, {}, {"sort": text, **facts}, {"rows": Content(1, text)})


def made(out: Path, text: str = "apple", key: str = "k", **facts: object) -> tuple[Manifest, bool]:
    """A version whose one table is a file with the text."""
    with draft(out, KIND, key, silent) as one:

        def make(folder: Location) -> dict[str, object]:
            (folder / "part").write_text(text)
            return {"rows": 1}

        one.stage("make", make)
        place(one.stage_folder("make"), one.folder / "rows")
        found, _, is_new = one.finish(manifest(text, **facts), {"peak_bytes": 5})
        return found, is_new


def held(out: Path) -> str:
    found = read_manifest(out, KIND)
    check_files(out, found)
    return (folder_of(out, found) / "rows" / "part").read_text()


def test_a_version_says_what_it_holds_and_of_what_it_was_made(tmp_path: Path) -> None:
    found, is_new = made(tmp_path / "out")
    assert is_new
    assert found == read_manifest(tmp_path / "out", KIND)
    assert (found.version, found.inputs, found.tables) == (1, INPUTS, {"rows": Content(1, "apple")})
    assert list(found.files) == ["rows/part"]
    assert held(tmp_path / "out") == "apple"
    report = json.loads((folder_of(tmp_path / "out", found) / "report.json").read_text())
    assert report["inputs"] == [{"name": "lake", "version": 3, "sha256": "a" * 64}]
    assert (report["version"], report["rows"], report["reused"]) == (1, {"rows": 1}, [])
    assert report["peak_bytes"] == 5
    assert set(report["seconds"]) == {"make"}


def test_the_same_content_is_no_new_version_and_other_content_is_one(tmp_path: Path) -> None:
    first, _ = made(tmp_path)
    assert made(tmp_path) == (first, False)
    second, is_new = made(tmp_path, "pear")
    assert (second.version, is_new, held(tmp_path)) == (2, True, "pear")
    assert made(tmp_path, "pear", revision=7)[1], "what readers have to know counts, too"
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".lock",
        ".work",
        "current",
        MANIFEST,
        "versions",
    ]


def test_a_job_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    made(tmp_path)
    before = read_manifest(tmp_path, KIND)
    with pytest.raises(ZeroDivisionError):
        _half(tmp_path)
    assert read_manifest(tmp_path, KIND) == before
    assert held(tmp_path) == "apple"
    assert made(tmp_path, "pear")[0].version == 2


def _half(out: Path) -> None:
    with draft(out, KIND, "k", silent) as one:
        (one.folder / "half").write_text("half")
        one.stage("make", lambda _: {"rows": 1 // 0})


def test_finished_stages_are_taken_over_by_a_run_of_the_same_key_alone(tmp_path: Path) -> None:
    ran: list[str] = []

    def run(key: str, *, ends: bool) -> list[str]:
        told: list[str] = []
        with draft(tmp_path, KIND, key, lambda stage, _, __, say: told.append(say)) as one:
            found = one.stage("first", lambda folder: _first(folder, ran), "{rows} rows")
            assert found == {"rows": 2}
            assert (one.stage_folder("first") / "file").read_text() == "content"
            if not ends:
                raise KeyboardInterrupt
            one.finish(manifest(), {})
            assert one.stages["first"].reused is ("done by an earlier run" in told)
        return told

    for key in ("one", "one", "other"):
        with pytest.raises(KeyboardInterrupt):
            run(key, ends=False)
    assert ran == ["first", "first"], "a run of another key begins at the beginning"
    assert run("other", ends=True) == ["done by an earlier run"]
    assert run("other", ends=True) == ["", "2 rows"], "what is published is swept"


def _first(folder: Location, ran: list[str]) -> dict[str, int]:
    ran.append("first")
    assert list(folder.iterdir()) == []
    (folder / "file").write_text("content")
    return {"rows": 2}


def test_a_stage_that_failed_half_way_begins_in_an_empty_folder(tmp_path: Path) -> None:
    def fail(folder: Location) -> dict[str, object]:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), draft(tmp_path, KIND, "k", silent) as one:
        one.stage("make", fail)
    assert made(tmp_path)[0].files.keys() == {"rows/part"}


def test_two_jobs_on_one_folder_do_not_meet(tmp_path: Path) -> None:
    at_work = draft(tmp_path, KIND, "k", silent)
    with at_work, pytest.raises(Conflict, match="another process works on"):
        made(tmp_path)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path, what: str) -> None:
    out = tmp_path / "out"
    if what == "file":
        out.write_text("mine")
    else:
        (out / "mine").mkdir(parents=True)
    with pytest.raises(BadInput, match="expected an empty folder, or one of the kind `fruit`"):
        made(out)
    assert out.is_file() or [file.name for file in out.iterdir()] == ["mine"]


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(BadInput, match="expected a folder of the kind `nut`"):
        read_manifest(tmp_path, "nut")
    with pytest.raises(BadInput, match="no nut"):
        read_manifest(tmp_path / "nowhere", "nut")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "expected the number 1; make it anew"),
        ({"tables": {"rows": {"rows": 1}}}, "is damaged"),
        ({"version": "x"}, "is damaged"),
        ({"inputs": None}, "is damaged"),
        ({"tables": []}, "is damaged"),
    ],
)
def test_a_manifest_that_is_damaged_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    made(tmp_path)
    file = tmp_path / MANIFEST
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(BadInput, match=message) as caught:
        read_manifest(tmp_path, KIND)
    assert str(tmp_path) in str(caught.value)
    for text in ("{", "[" * 100_000):
        file.write_text(text)
        with pytest.raises(BadInput, match="expected JSON"):
            read_manifest(tmp_path, KIND)


def test_a_file_that_is_missing_or_changed_is_named(tmp_path: Path) -> None:
    found, _ = made(tmp_path)
    file = folder_of(tmp_path, found) / "rows" / "part"
    # The stage's file and the version's are the same file until the stage is swept.
    file.write_text("apples")
    with pytest.raises(BadInput, match="is not as it was written; make the version anew"):
        check_files(tmp_path, found)
    file.unlink()
    with pytest.raises(BadInput, match="is missing; make the version anew") as caught:
        check_files(tmp_path, found)
    assert str(file) in str(caught.value)


def test_old_versions_keep_their_reports_alone(tmp_path: Path) -> None:
    for text in ("apple", "pear", "plum", "fig"):
        newest, _ = made(tmp_path, text)
        remove_tables_of_old_versions(tmp_path, newest, 2)
    left = {
        folder.name: sorted(file.name for file in folder.iterdir())
        for folder in (tmp_path / "versions").iterdir()
    }
    whole = ["report.json", "rows"]
    assert left == {"1": ["report.json"], "2": ["report.json"], "3": whole, "4": whole}
    assert held(tmp_path) == "fig"
    assert made(tmp_path, "kiwi")[0].version == 5


def test_where_there_are_no_links_files_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("os.link", no_link)
    made(tmp_path)
    assert held(tmp_path) == "apple"


def test_the_key_tells_inputs_and_options_apart() -> None:
    keys = {
        key_of(INPUTS, {}),
        key_of((), {}),
        key_of(INPUTS, {"a": "b"}),
        key_of(INPUTS, {"a": "c"}),
        key_of(INPUTS, {}, "more"),
    }
    assert len(keys) == 5
    assert key_of(INPUTS, {"a": "1", "b": "2"}) == key_of(INPUTS, {"b": "2", "a": "1"})


def test_current_leads_to_the_version_that_counts(tmp_path: Path) -> None:
    out, moved = tmp_path / "out", tmp_path / "moved"
    for text in ("apple", "pear"):
        made(out, text)
        assert (out / "current" / "rows" / "part").read_text() == text
    out.rename(moved)
    assert (moved / "current" / "rows" / "part").read_text() == "pear"
    # A run that was killed before it switched the link, and files of others.
    (moved / "current").unlink()
    (moved / "current").symlink_to("versions/1")
    made(moved, "pear")
    assert (moved / "current" / "rows" / "part").read_text() == "pear"
    (moved / "current").unlink()
    (moved / "current").mkdir()
    (moved / "current" / "mine").write_text("x")
    made(moved, "plum")
    assert held(moved) == "plum"
    assert (moved / "current" / "mine").read_text() == "x"
