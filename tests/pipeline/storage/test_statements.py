"""Users' statements are copied to another directory completely, or the run explains why not."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.pipeline.directory_manifest import Manifest
from lakewarden.pipeline.ingest.owners import _copy_local_statements
from lakewarden.pipeline.storage import files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath

DENIALS = {"deny.toml": "denials", "more/deny.toml": "more"}
PREVIOUS = cast("Manifest", object())


def _write(folder: Location, texts: dict[str, str]) -> Location:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def _read(folder: Location) -> dict[str, str]:
    below = files.files_below(folder)
    return {files.name_below(folder, file): file.read_text("utf-8") for file in below}


def test_statements_are_written_into_a_new_directory(bucket: RemotePath, tmp_path: Path) -> None:
    for place in (bucket, tmp_path):
        written = _write(place / "from", DENIALS)
        (place / "out").mkdir()
        _copy_local_statements(written, place / "out/statements", None)
        _copy_local_statements(written, place / "out/statements", None)
        assert _read(place / "out/statements") == DENIALS
        _copy_local_statements(place / "none", place / "other/statements", None)
        assert not (place / "other/statements").exists()


def test_a_run_that_was_killed_meanwhile_is_finished(bucket: RemotePath) -> None:
    written = _write(bucket / "from", DENIALS)
    out = _write(bucket / "out/statements", {"deny.toml": "denials"})
    _copy_local_statements(written, out, None)
    assert _read(out) == DENIALS


@pytest.mark.parametrize("there", [{"deny.toml": "of others"}, {**DENIALS, "more.toml": "others"}])
def test_files_of_other_owners_are_neither_replaced_nor_mixed(
    bucket: RemotePath, there: dict[str, str]
) -> None:
    written = _write(bucket / "from", DENIALS)
    out = _write(bucket / "out/statements", there)
    with pytest.raises(Conflict):
        _copy_local_statements(written, out, None)
    assert _read(out).items() >= there.items()


def test_a_version_that_counts_is_not_seen_with_a_part_of_them(bucket: RemotePath) -> None:
    written = _write(bucket / "from", DENIALS)
    with pytest.raises(BadInput, match="copy them first"):
        _copy_local_statements(written, bucket / "out/statements", PREVIOUS)
    assert not (bucket / "out").exists()
    out = _write(bucket / "out/statements", {"own.toml": "of this directory"})
    _copy_local_statements(written, out, PREVIOUS)
    assert _read(out) == {"own.toml": "of this directory"}


def test_a_link_that_leads_nowhere_is_not_passed_over(tmp_path: Path) -> None:
    written = tmp_path / "from"
    written.mkdir()
    (written / "deny.toml").symlink_to(tmp_path / "none")
    with pytest.raises(OSError, match=r"deny\.toml"):
        _copy_local_statements(written, tmp_path / "statements", None)


def test_no_statements_are_taken_along_as_none(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    _copy_local_statements(tmp_path / "from", tmp_path / "statements", None)
    assert list((tmp_path / "statements").iterdir()) == []
