"""Files of HDFS, by hdfs-native, which speaks its protocol without Java.

A NameNode renames in one step, and that is all it offers for a commit: there is no put on a
condition. Each file is written under a hidden name beside its own, `.NAME.TOKEN.new`, and renamed
when it is whole. A rename that does not overwrite makes it an error that a file is there already.

A put on the condition of a tag (`put_if`), of a file F:

1. The content is written to `.F.TOKEN.new/TOKEN`.
2. That folder is renamed to `.F.switch`, which is not overwritten: one writer at a time has it.
3. F is asked for its tag again. Who has `.F.switch` while F has the tag of the condition may go on.
4. `.F.switch/TOKEN` is renamed onto F, which is overwritten: the commit.
5. `.F.switch` is removed, which is empty.

Readers read F alone, so they see what was there before or after the fourth step. A writer that
finds `.F.switch` taken, while F has the tag that it expects, takes it away: the other writer is
dead, or its fourth step fails from then on, since what it would rename is gone. So nobody waits for
a dead writer, no clock decides, and of writers with the same condition one commits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from mmap import mmap
from threading import Thread
from typing import IO, TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, not_installed
from lakewarden.pipeline.storage.object_store import ObjectStore, Stat, Tag

if TYPE_CHECKING:
    from hdfs_native import Client, FileReader, FileStatus

Answer = TypeVar("Answer")

_SECONDS: Final = 60.0
"""How long one request may take; the client itself tries for minutes, or waits for ever."""

_ABANDONED: Final = 3_600.0
"""Seconds after which a hidden file is of a dead writer. A live one would end with an error."""

_CHUNK: Final = 1 << 23
_AT_ONCE: Final = 200
_TRIES: Final = 20
_SWITCH: Final = "switch"
_THREAD: Final = "request to HDFS"
_HIDDEN: Final = re.compile(rf"\..+\.(?:[0-9a-f]{{32}}\.new|{_SWITCH})")
_RPC: Final = re.compile(r'RPCError\("(?P<kind>[^"]*)", "(?P<said>.*)', re.DOTALL)


def hdfs_store(root: str) -> ObjectStore:
    """The file system of a root such as `hdfs://namenode:8020`.

    Raises `BadInput` for one that is none, `Unavailable` without the library of HDFS.
    """
    try:
        from hdfs_native import Client
    except ImportError:
        raise not_installed("hdfs_native", "hdfs", where=root) from None
    try:
        return _HdfsStore(root, Client(root))
    except (RuntimeError, ValueError, OSError) as error:
        message = f"{_reason(error)}; give HOST:PORT, or name the file system in HADOOP_CONF_DIR"
        raise BadInput(message, where=root) from None


class _HdfsStore:
    """See `ObjectStore`. Folders without a file below them are as good as missing."""

    def __init__(self, root: str, client: Client) -> None:
        self._root = root
        self._client = client

    def stat(self, key: str) -> Stat:
        with self._errors(key):
            return self._stat(key)

    def children(self, key: str) -> Sequence[tuple[str, int | None]]:
        found: list[tuple[str, int | None]] = []
        for status in self._statuses(key):
            child = _key(status)
            if not status.isdir:
                found.append((_name(child), status.length))
            elif next(self.below(child), None) is not None:
                found.append((_name(child), None))
        return sorted(found)

    def below(self, key: str) -> Iterator[Stat]:
        # A folder at a time: one that is removed meanwhile cuts off no others.
        for status in self._statuses(key):
            if status.isdir:
                yield from self.below(_key(status))
            else:
                yield _to_stat(status)

    def read(self, key: str) -> tuple[bytes, Tag]:
        for _ in range(_TRIES):
            stat = self.stat(key)
            with suppress(Conflict):
                return self.read_range(key, 0, stat.size, stat.tag), stat.tag
        raise Conflict(f"`{self._root}/{key}` is written all the time")

    def read_range(self, key: str, start: int, length: int, tag: Tag) -> bytes:
        try:
            with self._errors(key):
                # Its blocks are those of one content; which one, is asked after it was opened.
                reader = _answer(self._client.read, _path(key))
                self._check(key, tag)
                return b"".join(_parts(reader, start, min(start + length, len(reader))))
        except Unavailable:
            # Blocks of what was overwritten are removed under its readers.
            with self._errors(key):
                self._check(key, tag)
            raise

    def put(self, key: str, content: bytes | IO[bytes]) -> None:
        with self._errors(key):
            self._write_whole(key, _chunks(content), overwrite=True)

    def put_if(self, key: str, content: bytes | mmap, tag: Tag | None) -> Tag:
        with self._errors(key):
            if tag is not None:
                return self._switch(key, content, tag)
            try:
                return self._write_whole(key, _chunks(content), overwrite=False)
            except FileExistsError:
                raise self._conflict(key) from None

    def copy(self, source: str, target: str) -> None:
        with self._errors(source):
            reader = _answer(self._client.read, _path(source))
            self._write_whole(target, _parts(reader, 0, len(reader)), overwrite=True)

    def delete(self, keys: Iterator[str]) -> None:
        for key in keys:
            with self._errors(key):
                _answer(self._client.delete, _path(key), False)

    def delete_below(self, key: str) -> None:
        with self._errors(key):
            _answer(self._client.delete, _path(key), True)

    def sweep(self, key: str) -> None:
        oldest = (time.time() - _ABANDONED) * 1_000
        for status in self._statuses(key, hidden=True):
            if status.modification_time < oldest:
                self.delete_below(_key(status))

    def _stat(self, key: str) -> Stat:
        status = _answer(self._client.get_file_info, _path(key))
        if status.isdir:
            raise FileNotFoundError(key)
        return _to_stat(status)

    def _check(self, key: str, tag: Tag) -> None:
        """Raises `Conflict` when the file is another one than had the tag."""
        try:
            now = self._stat(key)
        except FileNotFoundError:
            raise self._conflict(key) from None
        if now.tag != tag:
            raise self._conflict(key)

    def _conflict(self, key: str) -> Conflict:
        return Conflict(f"`{self._root}/{key}` was written meanwhile")

    def _write_whole(self, key: str, chunks: Iterable[bytes], *, overwrite: bool) -> Tag:
        new = _hidden(key, uuid4().hex)
        try:
            self._write(new, chunks)
            written = self._tag_of(new, key)
            try:
                _answer(self._client.rename, new, _path(key), overwrite)
            except FileNotFoundError:  # the answer to a rename was lost, and it was tried again
                raise self._conflict(key) from None
        except TimeoutError:
            raise  # nothing more is asked of a server that does not answer
        except BaseException:
            self._forget(new)
            raise
        return written

    def _tag_of(self, path: str, key: str) -> Tag:
        """The tag of what was written, once it is renamed to `key`."""
        return _to_tag(_answer(self._client.get_file_info, path), key)

    def _write(self, path: str, chunks: Iterable[bytes]) -> None:
        writer = _answer(self._client.create, path)
        for chunk in chunks:
            _answer(writer.write, chunk)
        _answer(writer.close)

    def _forget(self, path: str) -> None:
        """Removes what will not be used; if that fails, it stays hidden."""
        with suppress(RuntimeError, OSError):
            _answer(self._client.delete, path, True)

    def _switch(self, key: str, content: bytes | mmap, tag: Tag) -> Tag:
        """See the module: what is numbered there is done here."""
        self._check(key, tag)  # a writer that cannot win takes nothing away from others
        token = uuid4().hex
        new, switch = _hidden(key, token), _beside(key, _SWITCH)
        try:
            self._write(f"{new}/{token}", _chunks(content))
            written = self._tag_of(f"{new}/{token}", key)
            self._take(new, switch, key)
            self._check(key, tag)
            try:
                _answer(self._client.rename, f"{switch}/{token}", _path(key), True)
            except FileNotFoundError:  # another writer took the switch away
                raise self._conflict(key) from None
        except TimeoutError:
            raise  # nothing more is asked of a server that does not answer
        except BaseException:
            self._leave(new, switch, token)
            raise
        self._leave(new, switch, token)
        return written

    def _take(self, new: str, switch: str, key: str) -> None:
        for _ in range(_TRIES):
            try:
                _answer(self._client.rename, new, switch, False)
            except FileExistsError:
                taken_away = _hidden(key, uuid4().hex)
                with suppress(FileNotFoundError):  # just done
                    _answer(self._client.rename, switch, taken_away, False)
                    self._forget(taken_away)
            except FileNotFoundError:  # the answer to a rename was lost; the next step tells
                return
            else:
                return
        raise self._conflict(key)

    def _leave(self, new: str, switch: str, token: str) -> None:
        """Removes what a writer has made for its switch."""
        self._forget(new)
        self._forget(f"{switch}/{token}")
        with suppress(RuntimeError, OSError):  # not empty: of another writer
            _answer(self._client.delete, switch, False)

    def _statuses(self, key: str, *, hidden: bool = False) -> Iterator[FileStatus]:
        """What is right below a key: what is put, or only what is hidden."""
        path = _path(key)
        with self._errors(key):
            found = self._client.list_status(path)
        while True:
            try:
                with self._errors(key):
                    statuses = _answer(_some, found)
            except FileNotFoundError:
                return
            for status in statuses:
                is_hidden = _HIDDEN.fullmatch(_name(status.path)) is not None
                if status.path != path and is_hidden == hidden:  # a file lists itself
                    yield status
            if len(statuses) < _AT_ONCE:
                return

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        place = f"{self._root}/{key}"
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(2, "no such file", place) from None
        except TimeoutError:
            raise Unavailable(f"`{place}`: no answer in {_SECONDS:.0f} s") from None
        except (RuntimeError, OSError) as error:
            raise Unavailable(f"`{place}`: {_reason(error)}") from None


def _answer(request: Callable[..., Answer], *words: object) -> Answer:
    """What a request returns. Raises `TimeoutError` when it takes too long, and lets it be."""
    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(request(*words))
        # A panic of the client's Rust is no `Exception`, and without an answer nobody would wake.
        except BaseException as error:  # noqa: BLE001 — it is raised where it is waited for
            is_panic = not isinstance(error, Exception)
            answer.set_exception(RuntimeError(str(error)) if is_panic else error)

    Thread(target=ask, name=_THREAD, daemon=True).start()
    return answer.result(_SECONDS)


def _some(found: Iterator[FileStatus]) -> list[FileStatus]:
    return list(islice(found, _AT_ONCE))


def _parts(reader: FileReader, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, _CHUNK):
        yield _answer(reader.read_range, at, min(_CHUNK, end - at))


def _path(key: str) -> str:
    return f"/{key}"


def _key(status: FileStatus) -> str:
    return status.path.lstrip("/")


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _beside(key: str, ending: str) -> str:
    folder, _, name = _path(key).rpartition("/")
    return f"{folder}/.{name}.{ending}"


def _hidden(key: str, token: str) -> str:
    return _beside(key, f"{token}.new")


def _to_stat(status: FileStatus) -> Stat:
    key = _key(status)
    return Stat(key, status.length, status.modification_time / 1_000, _to_tag(status, key))


def _to_tag(status: FileStatus, key: str) -> Tag:
    # The place is in the tag: elsewhere a file of the same size and millisecond is another one.
    place = sha256(key.encode()).hexdigest()[:12]
    return Tag(f"{status.modification_time:x}-{status.length:x}-{place}")


def _chunks(content: bytes | mmap | IO[bytes]) -> Iterator[bytes]:
    if isinstance(content, bytes | mmap):
        yield from (content[at : at + _CHUNK] for at in range(0, len(content), _CHUNK))
    else:
        while chunk := content.read(_CHUNK):
            yield chunk


def _reason(error: BaseException) -> str:
    """The first line of an error; a NameNode sends its stack, too."""
    text = str(error) or type(error).__name__
    if found := _RPC.match(text):
        text = found["said"].replace('\\"', '"').replace("\\n", "\n").removesuffix('")')
    return text.splitlines()[0]
