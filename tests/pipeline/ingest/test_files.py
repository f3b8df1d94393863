"""Finding files, and their names."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.files import find, inputs_of, refuse_errors
from lakewarden.pipeline.ingest.run import natural


def test_a_folder_is_read_with_those_below_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.json", "a/c.json", "a/c.txt", "a.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    files = find(tmp_path, (".json", ".jsonl"))
    assert [file.name for file in files] == ["a.jsonl", "a/c.json", "b.json"]
    assert [file.path.read_text() for file in files] == ["a.jsonl", "a/c.json", "b.json"]
    digest = hashlib.sha256(b"b.json").hexdigest()
    assert inputs_of(files)[-1] == Input("b.json", digest)


def test_one_file_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "export.dump").write_text("[]")
    (file,) = find(tmp_path / "export.dump", (".json",))
    assert file.name == "export.dump"


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file or folder"):
        find(tmp_path / "x", (".json",))
    with pytest.raises(BadInput, match=r"holds no file that ends in \.json"):
        find(tmp_path, (".json",))


def test_a_linked_folder_is_not_passed_over(tmp_path: Path) -> None:
    """Its contents would have no effect, for example a DENY."""
    folder, other = tmp_path / "in", tmp_path / "other"
    for place in (folder / "inner", other / "b"):
        place.mkdir(parents=True)
        (place / "a.json").write_text("[]")
    (folder / "more").symlink_to(folder / "inner")
    (folder / "..data").symlink_to(other)
    (folder / "b.json").symlink_to(other / "b" / "a.json")
    assert [file.name for file in find(folder, (".json",))] == ["b.json", "inner/a.json"]
    (folder / "elsewhere").symlink_to(other)
    with pytest.raises(BadInput, match=r"in/elsewhere: is a link to another folder"):
        find(folder, (".json",))


@pytest.mark.parametrize("name", ["a.json.gz", "a.JSON", "b/a.json.1", "a.lz4"])
def test_what_seems_meant_and_is_not_read_is_refused(tmp_path: Path, name: str) -> None:
    for other in ("a.json", "README.md", "_SUCCESS", ".a.json.crc"):
        (tmp_path / other).write_text("[]")
    assert [file.name for file in find(tmp_path, (".json",))] == ["a.json"]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("[]")
    with pytest.raises(BadInput, match=r"ends in \.json; unpack or rename it"):
        find(tmp_path, (".json",))


def test_a_name_that_no_log_shows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a\nb.json").write_text("[]")
    with pytest.raises(BadInput, match="the name of a file holds the control character"):
        find(tmp_path, (".json",))


def test_the_first_error_is_told_and_the_others_counted() -> None:
    errors = [("f: line 10", "b"), ("f: line 9", "a"), ("g: line 1", "c")]
    with pytest.raises(BadInput, match=r"^f: line 9: a \(and 2 more errors\)$") as refused:
        refuse_errors(sorted(errors, key=natural))
    assert refused.value.where == "f: line 9"
    refuse_errors([])
