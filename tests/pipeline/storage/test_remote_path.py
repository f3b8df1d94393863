"""What a place on an object store does is what a path does; and what fails never looks missing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.storage import files, object_store
from lakewarden.pipeline.storage.dataset import dataset
from lakewarden.pipeline.storage.location import (
    Location,
    location,
    on_this_machine,
    read_from,
    uri_of,
    written_to,
)
from lakewarden.pipeline.storage.parquet import (
    metadata_of,
    parquet_file,
    parquet_writer,
    read_table,
    schema_of,
    write_table,
)
from lakewarden.pipeline.storage.remote_path import RemotePath

NAMES = ("a.txt", "b [1].txt", "é%20.txt", "part=1/c.parquet", "part=1/deep/d", "part=10/e")


def _fill(place: Location) -> None:
    for name in NAMES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"text of {name}", "utf-8")


def _seen(place: Location) -> dict[str, object]:
    """What can be asked of a folder that `_fill` filled."""
    copy = place / "copy"
    files.copy_tree(place / "part=1", copy)
    (place / "a.txt").write_text("another", "utf-8")
    with (place / "w").open("w", encoding="utf-8") as out:
        out.write("line\nline\n")
    with (place / "w").open("rb") as raw:
        raw.seek(5)
        rest = raw.read()
    (place / "b [1].txt").unlink()
    seen: dict[str, object] = {
        "entries": [entry.name for entry in files.entries(place)],
        "below": [files.name_below(place, file) for file in files.files_below(place)],
        "glob": sorted(files.name_below(place, file) for file in place.glob("part=1*/*")),
        "nothing": [*place.glob("*.none"), *(place / "none").glob("*")],
        "parquet": [file.name for file in files.parquet_files(place / "part=1")],
        "is": [
            (one.is_file(), one.is_dir(), one.exists(), one.is_symlink())
            for one in (place / "a.txt", place / "part=1", place / "part", place / "a.tx")
        ],
        "sizes": [files.size_of(place / name) for name in ("a.txt", "é%20.txt")],
        "texts": [(place / name).read_text("utf-8") for name in ("a.txt", "copy/deep/d", "w")],
        "rest": rest,
        "names": [(place / "x.tar.gz").suffix, (place / "x.y").stem, (place / "x").name],
        "near": [(place / "x").with_name("y") == place / "y", (place / "x").parent == place],
    }
    files.remove_tree(place / "part=1")
    seen["left"] = [files.name_below(place, file) for file in files.files_below(place)]
    return seen


def test_a_place_does_what_a_path_does(bucket: RemotePath, tmp_path: Path) -> None:
    seen = []
    for place in (bucket, tmp_path):
        _fill(place)
        seen.append(_seen(place))
    assert seen[0] == seen[1]


def test_what_is_missing_is_not_found_as_a_file_is(bucket: RemotePath) -> None:
    missing = bucket / "none"
    for ask in (missing.read_bytes, missing.stat, missing.unlink, lambda: missing.open("rb")):
        with pytest.raises(FileNotFoundError):
            ask()
    missing.unlink(missing_ok=True)
    files.remove_tree(missing)


def test_half_a_file_is_never_written(bucket: RemotePath) -> None:
    out = (bucket / "half").open("wb")
    out.write(b"half")
    out.__exit__(ZeroDivisionError, None, None)
    assert not (bucket / "half").exists()


def test_a_condition_holds_and_another_is_a_conflict(bucket: RemotePath) -> None:
    store, key = bucket.store, bucket.key
    store.put_if(key, b"one", None)
    with pytest.raises(Conflict, match="was written meanwhile"):
        store.put_if(key, b"two", None)
    content, tag = bucket.read_tagged()
    store.put_if(key, b"two", tag)
    with pytest.raises(Conflict):
        store.put_if(key, b"three", tag)
    assert (content, bucket.read_bytes()) == (b"one", b"two")


def test_tables_are_read_and_written(bucket: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"id": list(range(1000)), "name": [f"n{n}" for n in range(1000)]})
    folder = bucket / "table"
    write_table(rows.slice(0, 600), folder / "part-0.parquet")
    with parquet_writer(folder / "part-1.parquet", rows.schema) as writer:
        writer.write_table(rows.slice(600))
    for whole in (1 << 26, 0):  # fetched at once, and in ranges
        monkeypatch.setattr("lakewarden.pipeline.storage.parquet._WHOLE", whole)
        assert read_table(folder) == rows
        assert read_table(folder / "part-1.parquet", ["id"]) == rows.select(["id"]).slice(600)
        with parquet_file(folder / "part-0.parquet") as file:
            assert sum(map(len, file.iter_batches(100))) == 600
    assert metadata_of(folder / "part-0.parquet").num_rows == 600
    assert schema_of(folder / "part-0.parquet") == rows.schema
    wanted = dataset(folder).to_table(columns=["name"], filter=pc.field("id") == 700)
    assert wanted.to_pydict() == {"name": ["n700"]}


def test_a_place_travels_to_where_tasks_run(bucket: RemotePath) -> None:
    (bucket / "a").write_bytes(b"content")
    assert pickle.loads(pickle.dumps(bucket / "a")).read_bytes() == b"content"  # noqa: S301 — ours


@pytest.mark.parametrize(
    ("address", "root", "key"),
    [
        ("s3://lake/a/b", "s3://lake", "a/b"),
        ("s3a://lake/a/", "s3://lake", "a"),
        ("gs://lake/a", "gs://lake", "a"),
        ("abfss://c@acc.dfs.core.windows.net/a", "abfss://c@acc.dfs.core.windows.net", "a"),
    ],
)
def test_addresses_are_understood(address: str, root: str, key: str) -> None:
    assert location(address) == RemotePath(root, key)


@pytest.mark.parametrize(
    "address", ["ftp://a/b", "s3://", "s3://lake", "s3://lake/", "s3://lake/a//b", "s3://lake/../b"]
)
def test_other_addresses_are_refused_by_name(address: str) -> None:
    with pytest.raises(BadInput, match="expected") as refused:
        location(address)
    assert refused.value.where == address


def test_spark_is_told_the_scheme_that_hadoop_knows() -> None:
    place = location("s3://lake/a [b]*")
    assert written_to(place) == "s3a://lake/a [b]*"
    assert read_from(place) == r"s3a://lake/a \[b\]\*"
    assert uri_of(place) == "s3://lake/a [b]*"
    assert written_to(location("gs://lake/a")) == "gs://lake/a"
    with pytest.raises(BadInput, match="folder of this machine"):
        on_this_machine(place)


class _Failing(BaseHTTPRequestHandler):
    """A store that refuses, or fails at, everything."""

    status = 403

    def _answer(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 — as they are looked for

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize("status", [403, 500])
def test_what_a_store_fails_at_never_reads_as_missing(
    status: int, told: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(object_store._RETRY, "max_retries", 0)
    monkeypatch.setattr(_Failing, "status", status)
    with HTTPServer(("127.0.0.1", 0), _Failing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        told(f"http://127.0.0.1:{server.server_port}")
        _check_unavailable(RemotePath("s3://lake", "a"))
        server.shutdown()


def test_a_store_that_is_away_never_reads_as_missing(
    told: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(object_store._RETRY, "max_retries", 0)
    with HTTPServer(("127.0.0.1", 0), _Failing) as server:
        port = server.server_port
    told(f"http://127.0.0.1:{port}")
    _check_unavailable(RemotePath("s3://lake", "a"))


def _check_unavailable(place: RemotePath) -> None:
    asked: list[Callable[[], object]] = [
        place.exists,
        place.is_file,
        place.is_dir,
        place.read_bytes,
        place.unlink,
        lambda: list(place.glob("*")),
        lambda: place.write_bytes(b""),
        lambda: place.store.put_if("a", b"", None),
        lambda: files.remove_tree(place),
        lambda: read_table(place),
    ]
    for ask in asked:
        with pytest.raises(Unavailable, match="s3://lake") as failed:
            ask()
        assert "not-to-be-shown" not in str(failed.value)
        assert "127.0.0.1" not in str(failed.value)
