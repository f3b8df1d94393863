"""Versions on an object store: complete or absent, and one of several writers wins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import (
    Content,
    Input,
    Manifest,
    check_files,
    draft,
    place,
    read_manifest,
    remove_tables_of_old_versions,
)
from lakewarden.pipeline.storage import files, hdfs_store
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.object_store import Tag
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import MANIFEST, folder_of, numbers
from tests.pipeline.storage.mini_hdfs import hidden

KIND = "fruit"
INPUTS = (Input("lake", 3, "a" * 64),)
_CALLS: dict[str, list[str]] = {}

_KILLED = """
import os, signal, sys
from lakewarden.pipeline.storage import remote_path, stores
from lakewarden.pipeline.storage.hdfs_store import _HdfsStore
from lakewarden.pipeline.storage.location import location
from tests.pipeline.storage.test_remote_version import make

out, text, last = sys.argv[1:]
calls = []

class Killing:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        calls.append(name)
        if len(calls) == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return getattr(self._inner, name)

class KillingClient(Killing):
    def __getattr__(self, name):
        found = super().__getattr__(name)
        return (lambda path: Killing(found(path))) if name == "create" else found

store = stores.store_of(location(out).root)
if isinstance(store, _HdfsStore):  # a put takes several requests
    store._client = KillingClient(store._client)
else:
    remote_path.store_of = lambda root: Killing(store)
make(location(out), text)
print(*calls)
"""


def make(
    out: Location, text: str, between: Callable[[], object] = lambda: None
) -> tuple[Manifest, bool]:
    """A version with a table of two files, made in two stages."""
    with draft(out, KIND, f"of-{text}", silent) as one:

        def write(folder: Location) -> dict[str, object]:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "a").write_text(text, "utf-8")
            (folder / "b").write_text(text * 2, "utf-8")
            return {}

        one.stage("first", write)
        one.stage("second", write)
        place(one.stage_folder("second"), one.folder / "rows")
        between()
        facts = {"sort": text}
        manifest = Manifest(KIND, 0, INPUTS, {}, facts, {"rows": Content(2, text)})
        found, _, is_new = one.finish(manifest, {"peak_bytes": 5})
        return found, is_new


def held(out: Location) -> str:
    """The contents of the published version, after a check of all its files."""
    found = read_manifest(out, KIND)
    check_files(out, found)
    return (folder_of(out, found) / "rows" / "a").read_text("utf-8")


def left_over(out: Location) -> list[str]:
    """The files that belong to no published version, current or earlier."""
    counted = {str(number) for number in numbers(out)}
    names = [files.name_below(out, file) for file in files.files_below(out)]
    return [n for n in names if n != MANIFEST and n.split("/")[1].split(".")[0] not in counted]


def test_a_version_is_as_on_a_file_system(bucket: RemotePath, tmp_path: Path) -> None:
    made = [make(out, text) for text in ("apple", "apple", "pear") for out in (bucket, tmp_path)]
    assert made[::2] == made[1::2]
    assert [is_new for _, is_new in made[::2]] == [True, False, True]
    assert held(bucket) == "pear"
    assert numbers(bucket) == {1, 2}
    assert left_over(bucket) == []
    assert not (bucket / ".work").exists()
    remove_tables_of_old_versions(bucket, made[-2][0], keep=1)
    assert not (bucket / "versions/1/rows").exists()
    assert (bucket / "versions/1/report.json").is_file()


def test_of_two_writers_one_wins_and_nothing_of_the_other_stays(bucket: RemotePath) -> None:
    make(bucket, "apple")
    with pytest.raises(Conflict, match="another process wrote"):
        make(bucket, "late", between=lambda: make(bucket, "early"))
    assert held(bucket) == "early"
    assert left_over(bucket) == []
    assert make(bucket, "third")[0].version == 4  # 2 belongs to the writer that lost
    assert numbers(bucket) == {1, 3, 4}


def test_of_two_first_writers_one_wins(bucket: RemotePath) -> None:
    with pytest.raises(Conflict):
        make(bucket, "late", between=lambda: make(bucket, "early"))
    assert held(bucket) == "early"


def test_the_answer_to_a_switch_may_be_lost(
    bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bucket, "apple")
    store_type = type(bucket.store)
    put_if = store_type.put_if

    def lost(store: Any, key: str, content: bytes, tag: Tag | None) -> None:
        put_if(store, key, content, tag)
        if tag is not None:
            raise Conflict("what a second try of the same put is told")

    monkeypatch.setattr(store_type, "put_if", lost)
    assert make(bucket, "pear")[1]
    assert held(bucket) == "pear"


def test_the_answer_may_be_lost_and_another_version_follow(
    bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_type = type(bucket.store)
    put_if = store_type.put_if

    def lost(store: Any, key: str, content: bytes, tag: Tag | None) -> None:
        put_if(store, key, content, tag)
        if key.endswith(MANIFEST):
            monkeypatch.undo()
            make(bucket, "next")
            raise Conflict("what a second try of the same put is told")

    monkeypatch.setattr(store_type, "put_if", lost)
    assert make(bucket, "pear")[1]
    assert held(bucket) == "next"
    assert (bucket / "versions/1/rows/a").is_file()


def test_a_switch_of_which_nothing_is_known_removes_nothing(
    bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bucket, "apple")
    store_type = type(bucket.store)
    put_if = store_type.put_if

    def away(store: Any, key: str, content: bytes, tag: Tag | None) -> None:
        put_if(store, key, content, tag)
        if tag is not None:
            raise Unavailable("the connection was lost")

    monkeypatch.setattr(store_type, "put_if", away)
    with pytest.raises(Unavailable):
        make(bucket, "pear")
    assert held(bucket) == "pear"  # the put had succeeded
    monkeypatch.undo()


def test_a_store_that_fails_after_the_switch_does_not_fail_the_run(
    bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bucket, "apple")
    store_type = type(bucket.store)

    def away(*_: object) -> None:
        raise Unavailable("the store is away")

    def switched(store: Any, key: str, content: bytes, tag: Tag | None) -> Tag:
        made: Tag = put_if(store, key, content, tag)
        if tag is not None:
            for request in ("put", "children", "delete", "delete_below"):
                monkeypatch.setattr(store_type, request, away)
        return made

    put_if = store_type.put_if
    monkeypatch.setattr(store_type, "put_if", switched)
    assert make(bucket, "pear")[1]
    monkeypatch.undo()
    assert held(bucket) == "pear"
    assert make(bucket, "plum")[0].version == 3
    assert (bucket / "versions/2.json").read_bytes()
    assert left_over(bucket) == []


def test_a_run_with_nothing_new_ends_well_even_if_its_number_stays(
    bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(bucket, "apple")

    def away(*_: object) -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr(type(bucket.store), "delete_below", away)
    assert make(bucket, "apple") == (first[0], False)
    monkeypatch.undo()
    make(bucket, "pear")
    assert left_over(bucket) == []


def test_a_run_that_fails_leaves_the_version_before(bucket: RemotePath) -> None:
    make(bucket, "apple")
    with pytest.raises(BadInput):
        make(bucket, "pear", between=_fail)
    assert held(bucket) == "apple"
    assert not (bucket / "versions/2").exists()
    assert make(bucket, "pear")[0].version == 3
    assert numbers(bucket) == {1, 3}


def test_a_folder_that_was_copied_from_elsewhere_keeps_its_versions(
    bucket: RemotePath, tmp_path: Path
) -> None:
    make(tmp_path, "apple")
    make(tmp_path, "pear")
    for name in (MANIFEST, "versions/1/rows/a", "versions/2/rows/a", "versions/2/rows/b"):
        files.copy_file(tmp_path / name, bucket / name)
    files.copy_file(tmp_path / "versions/2/report.json", bucket / "versions/2/report.json")
    make(bucket, "plum")
    assert held(bucket) == "plum"
    assert (bucket / "versions/1/rows/a").is_file()


def test_versions_are_kept_by_their_count_and_not_by_number(bucket: RemotePath) -> None:
    for text in ("apple", "pear", "plum"):
        with pytest.raises(BadInput):
            make(bucket, text, between=_fail)  # it used a number
        newest, _ = make(bucket, text)
        remove_tables_of_old_versions(bucket, newest, keep=2)
    with_rows = {
        number for number in numbers(bucket) if (bucket / f"versions/{number}/rows").exists()
    }
    assert with_rows == {4, 6}
    assert (bucket / "versions/2/report.json").is_file()


def test_numbers_of_failed_writers_do_not_hide_older_versions(bucket: RemotePath) -> None:
    make(bucket, "apple")
    newest, _ = make(bucket, "pear")
    copied = bucket / "copied"
    for file in files.files_below(bucket):
        name = files.name_below(bucket, file)
        files.copy_file(file, copied / name.replace("versions/2", "versions/3"))
    (copied / "versions/2.json").write_bytes(b"")  # a sweep may have failed
    remove_tables_of_old_versions(copied, replace(newest, version=3), keep=1)
    assert not (copied / "versions/1/rows").exists()
    assert (copied / "versions/3/rows").exists()


def test_a_run_whose_finished_stages_the_winner_swept_is_a_conflict(bucket: RemotePath) -> None:
    make(bucket, "apple")

    def first(folder: Location) -> dict[str, object]:
        (folder / "a").write_text("pear", "utf-8")
        return {}

    def overtaken() -> None:
        with draft(bucket, KIND, "of-pear", silent) as one:
            one.stage("first", first)
            make(bucket, "pear")
            (one.stage_folder("first") / "a").read_bytes()

    with pytest.raises(Conflict, match="another process wrote"):
        overtaken()
    assert held(bucket) == "pear"
    assert left_over(bucket) == []


@pytest.mark.parametrize("number", ["1e999", '"one"', "null"])
def test_a_manifest_without_a_version_is_refused(number: str, bucket: RemotePath) -> None:
    make(bucket, "apple")
    text = (bucket / MANIFEST).read_text("utf-8").replace('"version": 1', f'"version": {number}')
    (bucket / MANIFEST).write_text(text, "utf-8")
    with pytest.raises(BadInput, match="is damaged"):
        make(bucket, "pear")


def _fail() -> None:
    raise BadInput("as it happens")


def test_somebody_elses_folder_is_refused(bucket: RemotePath) -> None:
    (bucket / "theirs").write_text("", "utf-8")
    with pytest.raises(BadInput, match="expected an empty folder"):
        make(bucket, "apple")


def _killed_at(bucket: RemotePath, text: str, call: int) -> list[str] | None:
    """The calls of a run that is killed at one of them; None: it was killed."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(bucket), text, str(call)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.split() if done.returncode == 0 else None


def _calls(bucket: RemotePath) -> list[str]:
    """All calls of a run."""
    make(bucket / "count", "apple")
    calls = _killed_at(bucket / "count", "pear", 1_000_000)
    assert calls is not None
    return calls


def _check_kill(bucket: RemotePath, call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_store, "_ABANDONED", -1.0)
    out = bucket / f"at-{call}"
    make(out, "apple")
    assert _killed_at(out, "pear", call) is None
    assert held(out) in ("apple", "pear")
    make(out, "pear")
    assert held(out) == "pear"
    make(out, "plum")
    assert held(out) == "plum"
    assert left_over(out) == []
    assert not (out / ".work").exists()
    if isinstance(out.store, hdfs_store._HdfsStore):
        assert hidden(out) == []


def test_a_writer_that_is_killed_at_its_switch_leaves_a_whole_version(
    bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _calls(bucket)
    # The call after the switch: the text of `versions/N.json` is not written then.
    switch = "put_if" if "put_if" in calls else "rename"
    after = len(calls) - calls[::-1].index(switch) + 1
    _check_kill(bucket, after, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("trial", range(20))
def test_a_writer_that_is_killed_anywhere_leaves_a_whole_version(
    bucket: RemotePath, trial: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _CALLS.setdefault(bucket.root.partition(":")[0], []) or _calls(bucket)
    _CALLS[bucket.root.partition(":")[0]] = calls
    _check_kill(bucket, 1 + trial * (len(calls) - 1) // 19, monkeypatch)
