"""An Azure account with a hierarchical namespace, in which folders exist without files.

Azurite has none, so this is a stand-in: obstore's memory store, with folders that puts create,
lists include and deletions remove while they are empty, as Microsoft describes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from lakewarden.pipeline.product import remove_tables_of_old_versions
from lakewarden.pipeline.storage import cloud_store, files, remote_path
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.storage.test_remote_version import held, make

ROOT = "abfss://lake@account.dfs.core.windows.net"


class Folders:
    """obstore's functions, with folders."""

    def __init__(self) -> None:
        self.folders: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(obstore, name)

    def put(self, store: MemoryStore, key: str, content: Any, **more: Any) -> Any:
        parts = key.split("/")
        self.folders |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        return obstore.put(store, key, content, **more)

    def copy(self, store: MemoryStore, source: str, target: str) -> None:
        self.put(store, target, obstore.get(store, source).bytes())

    def list_with_delimiter(self, store: MemoryStore, key: str) -> dict[str, Any]:
        found = dict(obstore.list_with_delimiter(store, key))
        right_below = {one for one in self.folders if one.rpartition("/")[0] == key}
        return found | {"common_prefixes": sorted(right_below)}

    def delete(self, store: MemoryStore, keys: list[str] | str) -> None:
        for key in [keys] if isinstance(keys, str) else keys:
            if key not in self.folders:
                obstore.delete(store, key)
            elif [*obstore.list(store, key)] or any(
                one.startswith(f"{key}/") for one in self.folders
            ):
                raise GenericError("This operation is not permitted on a non-empty directory.")
            else:
                self.folders.remove(key)


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> Folders:
    """The folders of an empty container."""
    standing_in, store = Folders(), cloud_store._CloudStore(ROOT, MemoryStore())
    monkeypatch.setattr(cloud_store, "_obstore", lambda: standing_in)
    monkeypatch.setattr(remote_path, "store_of", lambda _: store)
    return standing_in


def test_a_folder_without_files_is_none(folders: Folders) -> None:
    place = RemotePath(ROOT, "lake")
    (place / "a/deep/x").write_bytes(b"x")
    (place / "b/y").write_bytes(b"y")
    (place / "a/deep/x").unlink()
    assert folders.folders == {"lake", "lake/a", "lake/a/deep", "lake/b"}
    assert [one.name for one in place.iterdir()] == ["b"]
    assert [*place.glob("*/*")] == [place / "b/y"]


def test_a_folder_that_is_removed_is_gone(folders: Folders) -> None:
    place = RemotePath(ROOT, "lake")
    for name in ("a/deep/x", "a/y", "b/z"):
        (place / name).write_bytes(b"x")
    (place / "a/empty").store.put(f"{place.key}/a/empty/x", b"")
    (place / "a/empty/x").unlink()
    files.remove_tree(place / "a")
    assert folders.folders == {"lake", "lake/a", "lake/a/empty", "lake/b"}  # the other folders stay
    files.remove_tree(place / "b")
    assert not place.exists()


def test_versions_leave_no_folders(folders: Folders) -> None:
    out = RemotePath(ROOT, "lake")
    for text in ("apple", "pear", "plum"):
        made, _ = make(out, text)
        remove_tables_of_old_versions(out, made, keep=1)
    assert held(out) == "plum"
    versions = {f"lake/versions/{number}" for number in (1, 2, 3)}
    assert folders.folders - versions == {
        "lake",
        "lake/.work",
        "lake/versions",
        "lake/versions/3/rows",
    }


def test_a_list_that_is_cut_off_lacks_nothing(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is listed with what is in it, so `a/x` comes before `a-b`."""
    place, cuts = RemotePath(ROOT, "lake"), {"lake/a/x", "lake/a-b"}

    def pages(store: MemoryStore, key: str, offset: str | None = None) -> Iterator[list[Any]]:
        found = [one for page in obstore.list(store, key, offset=offset) for one in page]
        for one in sorted(found, key=lambda one: one["path"].split("/")):
            yield [one]
            if one["path"] in cuts:
                cuts.remove(one["path"])
                raise GenericError(f"{cloud_store._CUT}: connection closed")

    for name in ("a/x", "a-b", "c"):
        (place / name).write_bytes(b"x")
    monkeypatch.setattr(folders, "list", pages, raising=False)
    monkeypatch.setattr(cloud_store, "_WAITS", (0.0,))
    listed = [found.key for found in place.store.below(place.key)]
    assert listed == ["lake/a/x", "lake/a-b", "lake/c"]
