"""A place on an object store behaves like a path; and a failure never looks like a missing file."""

from __future__ import annotations

import gc
import json
import os
import pickle
import re
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import httpx
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.storage import cloud_store, files, remote_path, stores
from lakewarden.pipeline.storage.dataset import dataset
from lakewarden.pipeline.storage.location import (
    Location,
    location,
    on_this_machine,
    read_from,
    uri_of,
    written_to,
)
from lakewarden.pipeline.storage.object_store import Tag
from lakewarden.pipeline.storage.parquet import (
    metadata_of,
    parquet_file,
    parquet_writer,
    read_table,
    schema_of,
    write_table,
)
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.storage.google_storage import credentials
from tests.pipeline.storage.variables import of_azure, of_google, of_s3

NAMES = ("a.txt", "b [1].txt", "é%20.txt", "part=1/c.parquet", "part=1/deep/d", "part=10/e")


def _fill(place: Location) -> None:
    for name in NAMES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"text of {name}", "utf-8")


def _seen(place: Location) -> dict[str, object]:
    """All properties of a folder that `_fill` filled."""
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


def test_what_only_this_machine_can_do_is_done_on_a_copy(
    bucket: RemotePath, tmp_path: Path
) -> None:
    _fill(bucket)
    with files.local_copy(bucket / "part=1") as folder:
        assert (folder / "deep" / "d").read_text("utf-8") == "text of part=1/deep/d"
    assert not folder.exists()
    with files.local_copy_back(bucket / "new") as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "x").write_text("made", "utf-8")
        assert not (bucket / "new").exists()
    assert (bucket / "new/deep/x").read_text() == "made"
    with files.local_copy(tmp_path) as same, files.local_copy_back(tmp_path) as again:
        assert same == again == tmp_path


def test_what_fails_on_this_machine_is_not_copied_back(bucket: RemotePath) -> None:
    def fail() -> None:
        with files.local_copy_back(bucket / "new") as folder:
            (folder / "x").write_text("half", "utf-8")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not (bucket / "new").exists()


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


def test_half_a_text_and_what_is_forgotten_are_never_written(bucket: RemotePath) -> None:
    text = (bucket / "text").open("w", encoding="utf-8")
    text.write("half")
    text.__exit__(ZeroDivisionError, None, None)
    forgotten = (bucket / "b").open("wb")
    forgotten_text = (bucket / "t").open("w", encoding="utf-8")
    forgotten.write(b"half")
    forgotten_text.write("half")
    del forgotten, forgotten_text
    gc.collect()
    assert not bucket.exists()


def test_a_file_that_is_written_while_it_is_read_is_a_conflict(bucket: RemotePath) -> None:
    file = bucket / "rows.csv"
    for later in (b"b" * 20, b"b" * 5):
        file.write_bytes(b"a" * 20)
        with file.open("rb") as stream:
            file.write_bytes(later)
            with pytest.raises(Conflict, match="was written meanwhile"):
                stream.read()


@pytest.mark.nightly
def test_large_files_leave_the_memory(bucket: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_path, "_IN_MEMORY", 100)
    content = bytes(range(256)) * 40_000  # several parts
    with (bucket / "large").open("wb") as out:
        for start in range(0, len(content), 1_000_000):
            out.write(content[start : start + 1_000_000])
    with (bucket / "large").open("rb") as stream:
        assert stream.read() == content


def test_marks_of_folders_are_no_files(s3_bucket: RemotePath, s3: str) -> None:
    bucket = s3_bucket
    _fill(bucket)
    seen = [files.files_below(bucket), bucket.glob("*"), (bucket / "part=1").glob("*")]
    before = [list(map(str, one)) for one in seen]
    for name in ("", "part=1/", "part=1/deep/"):
        key = quote(f"{bucket.key}/{name}" if name else f"{bucket.key}/")
        url = f"{s3}/{bucket.root.removeprefix('s3://')}/{key}"
        httpx.put(url, timeout=30).raise_for_status()
    seen = [files.files_below(bucket), bucket.glob("*"), (bucket / "part=1").glob("*")]
    assert [list(map(str, one)) for one in seen] == before
    (bucket / "empty").write_bytes(b"")
    (bucket / "z").write_bytes(b"")
    assert {"empty", "z"} <= {file.name for file in files.files_below(bucket)}


def test_google_is_told_the_version_of_an_object(
    s3_bucket: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def put(*_: object, mode: object, **__: object) -> dict[str, str]:
        told.append(mode)
        return {"e_tag": "b", "version": "8"}

    monkeypatch.setattr("obstore.put", put)
    for tag in (None, Tag("a"), Tag("a", "7")):
        assert s3_bucket.store.put_if("k", b"", tag) == Tag("b", "8")
    assert told == ["create", {"e_tag": "a"}, {"e_tag": "a", "version": "7"}]


def test_a_folder_without_files_is_no_table(bucket: RemotePath) -> None:
    with pytest.raises(BadInput, match="is missing"):
        dataset(bucket / "none")


def test_a_condition_holds_and_another_is_a_conflict(bucket: RemotePath) -> None:
    store, key = bucket.store, bucket.key
    store.put_if(key, b"one", None)
    with pytest.raises(Conflict, match="was written meanwhile"):
        store.put_if(key, b"two", None)
    content, tag = bucket.read_tagged()
    assert store.put_if(key, b"two", tag).e_tag == bucket.stat().tag.e_tag
    with pytest.raises(Conflict):
        store.put_if(key, b"three", tag)
    assert (content, bucket.read_bytes()) == (b"one", b"two")


def test_a_condition_fails_where_the_file_was_removed(cloud: RemotePath) -> None:
    cloud.write_bytes(b"one")
    tag = cloud.stat().tag
    cloud.unlink()
    with pytest.raises(Conflict, match="was written meanwhile"):
        cloud.store.put_if(cloud.key, b"two", tag)


def test_of_writers_at_once_one_wins(cloud: RemotePath) -> None:
    cloud.write_bytes(b"0")
    tag = cloud.stat().tag

    def put(content: bytes) -> bool:
        try:
            cloud.store.put_if(cloud.key, content, tag)
        except Conflict:
            return False
        return True

    contents = [b"a", b"b", b"c", b"d"]
    with ThreadPoolExecutor(len(contents)) as writers:
        won = [*writers.map(put, contents)]
    assert [content for content, is_won in zip(contents, won, strict=True) if is_won] == [
        cloud.read_bytes()
    ]


def test_a_bucket_that_is_missing_is_told(cloud: RemotePath) -> None:
    place = RemotePath(cloud.root.replace("lake-", "none-"), "lake")
    for ask in (
        lambda: list(place.iterdir()),
        lambda: list(place.files_below()),
        lambda: place.write_bytes(b""),
        lambda: place.store.put_if(place.key, b"", None),
    ):
        with pytest.raises(BadInput, match="no such bucket or container") as refused:
            ask()
        assert refused.value.where == place.root


def test_tables_are_read_and_written(bucket: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"id": list(range(1000)), "name": [f"n{n}" for n in range(1000)]})
    folder = bucket / "table"
    write_table(rows.slice(0, 600), folder / "part-0.parquet")
    with parquet_writer(folder / "part-1.parquet", rows.schema) as writer:
        writer.write_table(rows.slice(600))
    for whole in (1 << 26, 0):  # read at once, and in ranges
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
        ("hdfs://namenode.host:8020/a/b", "hdfs://namenode.host:8020", "a/b"),
        ("hdfs://nameservice/a", "hdfs://nameservice", "a"),
    ],
)
def test_addresses_are_understood(address: str, root: str, key: str) -> None:
    assert location(address) == RemotePath(root, key)


@pytest.mark.parametrize(
    "address",
    [
        "hdfs:///a",
        "ftp://a/b",
        "s3://",
        "s3://lake",
        "s3://lake/",
        "s3://lake/a//b",
        "s3://lake/../b",
    ],
)
def test_other_addresses_are_refused_by_name(address: str) -> None:
    with pytest.raises(BadInput, match="expected") as refused:
        location(address)
    assert refused.value.where == address


@pytest.mark.parametrize(
    "address",
    ["s3://key:secret@lake/a", "s3://key@lake/a", "hdfs://key@host:1/a", "hdfs://host:key/a"],
)
def test_credentials_in_an_address_are_refused_and_not_shown(address: str) -> None:
    with pytest.raises(BadInput, match="no credentials") as refused:
        location(address)
    assert "key" not in str(refused.value)


def test_spark_is_told_the_scheme_that_hadoop_knows() -> None:
    place = location("s3://lake/a [b]*")
    assert written_to(place) == "s3a://lake/a [b]*"
    assert read_from(place) == r"s3a://lake/a \[b\]\*"
    assert uri_of(place) == "s3://lake/a [b]*"
    assert written_to(location("gs://lake/a")) == "gs://lake/a"
    with pytest.raises(BadInput, match="folder of this machine"):
        on_this_machine(place)


class _Failing(BaseHTTPRequestHandler):
    """A store that denies, or fails on, every request."""

    status = 403

    def _answer(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 — required by http.server

    def log_message(self, format: str, *args: object) -> None:
        pass


_ENDPOINTS = ("GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT")
ROOTS = ("s3://lake", "gs://lake", "abfss://lake@account.dfs.core.windows.net")


def _variables(endpoint: str, folder: Path) -> dict[str, str]:
    """The variables of all stores, with the same server."""
    account = folder / "account.json"
    account.write_text(json.dumps(credentials()), "utf-8")
    return {**of_s3(endpoint), **of_google(endpoint, account), **of_azure(endpoint)}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("status", [403, 500])
def test_what_a_store_fails_at_never_reads_as_missing(
    status: int,
    root: str,
    told: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(cloud_store._RETRY, "max_retries", 0)
    monkeypatch.setattr(_Failing, "status", status)
    with HTTPServer(("127.0.0.1", 0), _Failing) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        told(**_variables(f"http://127.0.0.1:{server.server_port}", tmp_path))
        advice = "check the credentials" if status == 403 else "run the command again"
        _check_unavailable(RemotePath(root, "a"), f"{status} .*; {advice}")
        server.shutdown()


@pytest.mark.parametrize("root", ROOTS)
def test_a_store_that_is_away_never_reads_as_missing(
    root: str, told: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cloud_store._RETRY, "max_retries", 0)
    with HTTPServer(("127.0.0.1", 0), _Failing) as server:
        port = server.server_port
    told(**_variables(f"http://127.0.0.1:{port}", tmp_path))
    _check_unavailable(RemotePath(root, "a"), "error sending request.*; run the command again")


@pytest.mark.parametrize(
    ("root", "variables"),
    [
        (ROOTS[1], {"GOOGLE_SERVICE_ACCOUNT_KEY": '"not-to-be-shown"'}),
        (ROOTS[1], {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"private_key": "not-to-be-shown"}'}),
        (ROOTS[1], {"GOOGLE_APPLICATION_CREDENTIALS": "/none.json"}),
        (ROOTS[2], {"AZURE_STORAGE_ACCOUNT_KEY": "not-to-be-shown!"}),
        (ROOTS[2], {"AZURE_STORAGE_SAS_KEY": "not-to-be-shown"}),
    ],
)
def test_credentials_that_are_none_are_refused_and_not_shown(
    root: str, variables: dict[str, str], told: Callable[..., None]
) -> None:
    told(**variables)
    with pytest.raises(BadInput) as refused:
        RemotePath(root, "a").exists()
    assert refused.value.where == root
    assert "not-to-be-shown" not in str(refused.value)


@pytest.mark.nightly
@pytest.mark.parametrize("server", ["google_bucket", "azure_container"])
def test_a_store_that_refuses_credentials_says_so(
    server: str,
    request: pytest.FixtureRequest,
    told: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place: RemotePath = request.getfixturevalue(server)
    endpoints = {name: os.environ[name] for name in os.environ if name in _ENDPOINTS}
    told(**{**_variables("", tmp_path), **endpoints})
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", b64encode(b"not-to-be-shown, too").decode())
    stores.store_of.cache_clear()
    _check_unavailable(place, "check the credentials")


def _check_unavailable(place: RemotePath, reason: str) -> None:
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
        with pytest.raises(Unavailable, match=place.root) as failed:
            ask()
        assert re.search(reason, str(failed.value))
        assert "not-to-be-shown" not in str(failed.value)
        assert os.environ["AZURE_STORAGE_ACCOUNT_KEY"] not in str(failed.value)
        assert "127.0.0.1" not in str(failed.value)
