"""The pipeline accesses all files through its storage room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lakewarden.pipeline
from lakewarden.pipeline.storage import files
from lakewarden.pipeline.storage.location import location, read_from, uri_of, written_to

ROOM = Path(lakewarden.pipeline.__file__).parent
LOCAL_ONLY = {
    "access": "DuckDB reads and spills on this machine",
    "class_archive.py": "what Java keeps of its classes in the user's cache",
    "java.py": "an installed Java",
    "package.py": "an archive of this package, in a temporary folder",
    "spark_session.py": "the settings of its log, which lie beside it",
    "table_formats": "links of Delta, and one file of DuckDB",
}
REACHING = re.compile(
    r"file://|^(as_uri|rmtree|copytree|copyfile|copy2|symlink_to|st_size|st_ino)$"
)
LIBRARIES = {"shutil", "pyarrow.parquet"}


def _reached(tree: ast.AST) -> Iterator[str]:
    """Accesses to files that bypass the room."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in docs:
                yield from REACHING.findall(text) and [text]
            case ast.Attribute(attr=name) if REACHING.search(name):
                yield name
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name in LIBRARIES)


def test_nothing_reaches_files_past_the_room() -> None:
    reaching = {}
    for path in ROOM.rglob("*.py"):
        place = path.relative_to(ROOM).as_posix()
        names = list(_reached(ast.parse(path.read_text("utf-8"))))
        if names and not place.startswith("storage/"):
            reaching[place] = names
    excused = {
        place: next((e for e in LOCAL_ONLY if place.startswith(e)), "") for place in reaching
    }
    assert {place: reaching[place] for place, by in excused.items() if not by} == {}
    assert set(LOCAL_ONLY) == set(excused.values())


def test_spark_takes_what_pathlib_takes() -> None:
    path = location("/data/[2026] a*b")
    assert written_to(path) == "file:///data/[2026] a*b"
    assert read_from(path) == r"file:///data/\[2026\] a\*b"
    assert uri_of(path) == "file:///data/%5B2026%5D%20a%2Ab"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    files.write_atomically(file, "old")
    with pytest.raises(UnicodeEncodeError):
        files.write_atomically(file, "new \ud800")
    assert file.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_the_same_file_and_a_copy_is_not(tmp_path: Path) -> None:
    file = tmp_path / "one"
    file.write_text("text")
    files.link_or_copy(file, tmp_path / "linked")
    files.copy_file(file, tmp_path / "copied")
    identities = [files.identity_of(tmp_path / name) for name in ("one", "linked", "copied")]
    assert identities[0] == identities[1] != identities[2]
    assert [files.size_of(found) for found in files.files_below(tmp_path)] == [4, 4, 4]
