"""HDFS: a file is switched atomically, even if writers die or are late; failures are reported."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import TYPE_CHECKING, Any, cast

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.storage import files, hdfs_store, stores
from lakewarden.pipeline.storage.hdfs_store import _HdfsStore
from lakewarden.pipeline.storage.object_store import Tag
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.storage.conftest import HDFS
from tests.pipeline.storage.mini_hdfs import hidden
from tests.pipeline.storage.test_remote_version import held, make

if TYPE_CHECKING:
    from hdfs_native import Client


def on_hdfs(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that starts the server."""
    for mark in HDFS:
        test = mark(test)
    return test


class _Died(BaseException):
    """Simulates the end of a process."""


class _Client:
    """A writer's client that runs a function before each request."""

    def __init__(self, inner: Any, before: Callable[[str], None]) -> None:
        self._inner = inner
        self._before = before

    def __getattr__(self, name: str) -> Any:
        self._before(name)
        found = getattr(self._inner, name)
        if name == "create":
            return lambda path: _Client(found(path), self._before)
        return found


def _writer(place: RemotePath, before: Callable[[str], None]) -> _HdfsStore:
    """A separate store, like in another process."""
    from hdfs_native import Client

    client: Any = _Client(Client(place.root), before)
    return _HdfsStore(place.root, client)


def _dies_at(call: int) -> Callable[[str], None]:
    """Like a dead process: all requests fail from one on."""
    left = [call]

    def before(name: str) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise _Died

    return before


@pytest.fixture
def file(hdfs_folder: RemotePath) -> RemotePath:
    """An existing file."""
    file = hdfs_folder / "manifest.json"
    file.write_bytes(b"old")
    return file


@on_hdfs
def test_a_death_at_any_request_leaves_the_old_or_the_new(
    file: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdfs_store, "_ABANDONED", -1.0)
    seen = []
    for call in range(1, 40):
        content, tag = file.read_tagged()
        new = f"new {call}".encode()
        try:
            _writer(file, _dies_at(call)).put_if(file.key, new, tag)
        except _Died:
            seen.append(file.read_bytes() == new)
            assert file.read_bytes() in (content, new)
        else:
            break
        after = file.read_tagged()[1]
        file.store.put_if(file.key, b"next", after)
        with pytest.raises(Conflict):
            file.store.put_if(file.key, b"late", after)
        assert file.read_bytes() == b"next"
    else:
        raise AssertionError("it never ended")
    assert seen == sorted(seen)
    assert len(set(seen)) == 2
    file.store.sweep(file.parent.key)
    assert hidden(file.parent) == []
    assert [found.name for found in files.files_below(file.parent)] == [file.name]


@on_hdfs
def test_of_many_writers_at_once_one_wins_and_readers_see_whole_files(file: RemotePath) -> None:
    stores = [_writer(file, lambda _: None) for _ in range(6)]
    won, done = [b"old"], Event()
    with ThreadPoolExecutor(len(stores) + 1) as pool:
        seen = pool.submit(_seen_until, done, file)
        try:
            for round_number in range(8):
                won.append(_raced(pool, stores, file, round_number))
        finally:
            done.set()
        contents = seen.result(60)
    assert [content for content in won if content in contents] == contents
    assert hidden(file.parent) == []


def _raced(
    pool: ThreadPoolExecutor, stores: list[_HdfsStore], file: RemotePath, round_number: int
) -> bytes:
    """The file's contents after concurrent switches; only its writer was confirmed."""
    tag = file.read_tagged()[1]
    ready = Barrier(len(stores))

    def switch(number: int) -> bytes | None:
        content = f"{round_number} of {number}".encode()
        ready.wait(60)
        try:
            stores[number].put_if(file.key, content, tag)
        except Conflict:
            return None
        return content

    (content,) = {*pool.map(switch, range(len(stores)))} - {None}
    assert content is not None
    assert file.read_bytes() == content
    return content


def _seen_until(done: Event, file: RemotePath) -> list[bytes]:
    """The contents that a reader sees, without repetitions."""
    store, seen = _writer(file, lambda _: None), [b"old"]
    while not done.is_set():
        content = store.read(file.key)[0]
        if content != seen[-1]:
            seen.append(content)
    return seen


class _Sleeper(_Client):
    """A writer's client that sleeps before its second rename, which is the commit."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, lambda _: None)
        self.asleep, self.awake = Event(), Event()
        self._renames = 0

    def rename(self, *words: Any, **named: Any) -> None:
        self._renames += 1
        if self._renames == 2:
            self.asleep.set()
            self.awake.wait(50)
        self._inner.rename(*words, **named)


@on_hdfs
@pytest.mark.parametrize("others", [1, 2])
def test_a_writer_that_slept_before_its_commit_undoes_nothing(
    file: RemotePath, others: int
) -> None:
    from hdfs_native import Client

    sleeper = _Sleeper(Client(file.root))
    store = _HdfsStore(file.root, cast("Client", sleeper))
    tag = file.read_tagged()[1]
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(store.put_if, file.key, b"late", tag)
        assert sleeper.asleep.wait(50)
        for number in range(others):
            file.store.put_if(file.key, f"other {number}".encode(), file.read_tagged()[1])
        sleeper.awake.set()
        with pytest.raises(Conflict):
            late.result(60)
    assert file.read_bytes() == f"other {others - 1}".encode()
    assert hidden(file.parent) == []


class _Forgetful(_Client):
    """A client that loses the first responses to renames: it retries."""

    def rename(self, *words: Any, **named: Any) -> None:
        self._inner.rename(*words, **named)
        self._inner.rename(*words, **named)


@on_hdfs
def test_answers_to_renames_may_be_lost(file: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
    out = file.parent / "out"
    make(out, "apple")
    store = cast("_HdfsStore", out.store)
    client = _Forgetful(store._client, lambda _: None)
    puts: list[Callable[[], object]] = [
        lambda: file.write_bytes(b"x"),
        lambda: store.put_if("a/b", b"x", None),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(store, "_client", client)
        for put in puts:
            with pytest.raises(Conflict):  # the writer cannot be determined
                put()
    switch = store._switch

    def lost(key: str, content: bytes, tag: Tag) -> None:
        store._client = cast("Client", client)
        try:
            switch(key, content, tag)
        finally:
            store._client = client._inner

    monkeypatch.setattr(store, "_switch", lost)
    assert make(out, "pear")[1]
    assert held(out) == "pear"
    assert hidden(out) == []


@on_hdfs
def test_what_is_not_permitted_is_not_missing(
    hdfs_folder: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hdfs_folder / "a").write_bytes(b"x")
    asked = cast("_HdfsStore", hdfs_folder.store)
    asked._client.set_permission(f"/{hdfs_folder.key}", 0o700)
    monkeypatch.setenv("HADOOP_USER_NAME", "stranger")
    stores.store_of.cache_clear()
    place = hdfs_folder / "a"
    asks: list[Callable[[], object]] = [
        place.exists,
        place.read_bytes,
        lambda: list(hdfs_folder.iterdir()),
        lambda: place.write_bytes(b""),
        lambda: place.store.put_if(place.key, b"", None),
        lambda: files.remove_tree(hdfs_folder),
    ]
    for ask in asks:
        with pytest.raises(Unavailable, match="Permission denied: user=stranger") as failed:
            ask()
        assert "\n" not in str(failed.value)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a server that never responds."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_a_server_that_does_not_answer_never_reads_as_missing(
    silent_port: int, told: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hdfs_native")
    monkeypatch.setattr(hdfs_store, "_SECONDS", 0.1)
    place = RemotePath(f"hdfs://127.0.0.1:{silent_port}", "a")
    asks: list[Callable[[], object]] = [
        place.exists,
        place.read_bytes,
        lambda: list(place.glob("*")),
        lambda: place.write_bytes(b""),
        lambda: place.store.put_if("a", b"", None),
        lambda: place.store.put_if("a", b"", Tag("1")),
        lambda: files.remove_tree(place),
    ]
    for ask in asks:
        with pytest.raises(Unavailable, match=f"`{place}`: no answer in"):
            ask()


def test_a_server_that_is_away_never_reads_as_missing(
    told: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hdfs_native")
    monkeypatch.setattr(hdfs_store, "_SECONDS", 0.1)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(Unavailable):
        RemotePath(f"hdfs://127.0.0.1:{port}", "a").exists()


def test_a_name_that_no_configuration_tells_is_refused(told: Callable[[str], None]) -> None:
    pytest.importorskip("hdfs_native")
    with pytest.raises(BadInput, match="HADOOP_CONF_DIR"):
        RemotePath("hdfs://nameservice", "a").exists()


def test_without_its_library_hdfs_says_what_to_install(
    told: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(Unavailable, match=r"lakewarden\[hdfs\]"):
        RemotePath("hdfs://host:1", "a").exists()
