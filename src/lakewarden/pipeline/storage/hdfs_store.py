"""Files of HDFS, through hdfs-native, which implements its protocol without Java.

The only atomic operation for a commit that a NameNode offers is a rename: there is no conditional
put. Each file is written under a hidden name beside its own, `.NAME.TOKEN.new`, and renamed when it
is complete. A rename without overwriting fails if the file already exists.

A conditional put (`put_if`) of a file F with a tag:

1. The content is written to `.F.TOKEN.new/TOKEN`.
2. That folder is renamed to `.F.switch` without overwriting: one writer at a time holds it.
3. The tag of F is read again. A writer that holds `.F.switch` while F has the expected tag goes on.
4. `.F.switch/TOKEN` is renamed onto F, which is overwritten: the commit.
5. `.F.switch`, now empty, is removed.

Readers read only F, so they see the content before or after the fourth step. If a writer finds
`.F.switch` taken while F has the expected tag, it moves `.F.switch` away: the other writer is dead,
or its fourth step will fail, because the file that it would rename is gone. So no writer waits for
a dead one, no clock decides, and of writers with the same condition one commits.
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
from lakewarden.pipeline.storage.object_store import RUN_AGAIN, ObjectStore, Stat, Tag

if TYPE_CHECKING:
    from hdfs_native import Client, FileReader, FileStatus

Answer = TypeVar("Answer")

_SECONDS: Final = 60.0
"""Timeout of one request; the client itself retries for minutes, or waits forever."""

_ABANDONED: Final = 3_600.0
"""Seconds after which a hidden file belongs to a dead writer. A live one would get an error."""

_CHUNK: Final = 1 << 23
_AT_ONCE: Final = 200
_TRIES: Final = 20
_SWITCH: Final = "switch"
_THREAD: Final = "request to HDFS"
_HIDDEN: Final = re.compile(rf"\..+\.(?:[0-9a-f]{{32}}\.new|{_SWITCH})")
_RPC: Final = re.compile(r'RPCError\("(?P<kind>[^"]*)", "(?P<said>.*)', re.DOTALL)


def hdfs_store(root: str) -> ObjectStore:
    """The file system of a root such as `hdfs://namenode:8020`.

    Raises `BadInput` for a malformed root, `Unavailable` if the HDFS library is not installed.
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
    """See `ObjectStore`. Folders without a file below them are treated as missing."""

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
        # One folder at a time: if one is removed meanwhile, the others are still listed.
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
                # The blocks belong to one content; the tag is checked after opening.
                reader = _answer(self._client.read, _path(key))
                self._check(key, tag)
                return b"".join(_parts(reader, start, min(start + length, len(reader))))
        except Unavailable:
            # Blocks of an overwritten file are removed while readers still use them.
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
        """Raises `Conflict` if the file no longer has the tag."""
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
            except FileNotFoundError:  # the response was lost, and the rename retried
                raise self._conflict(key) from None
        except TimeoutError:
            raise  # send nothing more to a server that does not answer
        except BaseException:
            self._discard(new)
            raise
        return written

    def _tag_of(self, path: str, key: str) -> Tag:
        """The tag of a written file after its rename to `key`."""
        return _to_tag(_answer(self._client.get_file_info, path), key)

    def _write(self, path: str, chunks: Iterable[bytes]) -> None:
        writer = _answer(self._client.create, path)
        for chunk in chunks:
            _answer(writer.write, chunk)
        _answer(writer.close)

    def _discard(self, path: str) -> None:
        """Removes a file that will not be used; if that fails, it stays hidden."""
        with suppress(RuntimeError, OSError):
            _answer(self._client.delete, path, True)

    def _switch(self, key: str, content: bytes | mmap, tag: Tag) -> Tag:
        """Does the numbered steps of the module docstring."""
        self._check(key, tag)  # a writer that cannot win must not disturb others
        token = uuid4().hex
        new, switch = _hidden(key, token), _sibling(key, _SWITCH)
        try:
            self._write(f"{new}/{token}", _chunks(content))
            written = self._tag_of(f"{new}/{token}", key)
            self._switch_to(new, switch, key)
            self._check(key, tag)
            try:
                _answer(self._client.rename, f"{switch}/{token}", _path(key), True)
            except FileNotFoundError:  # another writer moved the switch away
                raise self._conflict(key) from None
        except TimeoutError:
            raise  # send nothing more to a server that does not answer
        except BaseException:
            self._remove_switch_files(new, switch, token)
            raise
        self._remove_switch_files(new, switch, token)
        return written

    def _switch_to(self, new: str, switch: str, key: str) -> None:
        for _ in range(_TRIES):
            try:
                _answer(self._client.rename, new, switch, False)
            except FileExistsError:
                taken_away = _hidden(key, uuid4().hex)
                with suppress(FileNotFoundError):  # its writer has just finished
                    _answer(self._client.rename, switch, taken_away, False)
                    self._discard(taken_away)
            except FileNotFoundError:  # the response was lost; the next step decides
                return
            else:
                return
        raise self._conflict(key)

    def _remove_switch_files(self, new: str, switch: str, token: str) -> None:
        """Removes the files that a writer has made for its switch."""
        self._discard(new)
        self._discard(f"{switch}/{token}")
        with suppress(RuntimeError, OSError):  # not empty: another writer's
            _answer(self._client.delete, switch, False)

    def _statuses(self, key: str, *, hidden: bool = False) -> Iterator[FileStatus]:
        """The direct children of a key: the regular files, or only the hidden ones."""
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
                if status.path != path and is_hidden == hidden:  # a file's listing contains itself
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
            reason = f"no answer in {_SECONDS:.0f} s"
            raise Unavailable(f"`{place}`: {reason}; {RUN_AGAIN}") from None
        except (RuntimeError, OSError) as error:
            raise Unavailable(f"`{place}`: {_reason(error)}") from None


def _answer(request: Callable[..., Answer], *words: object) -> Answer:
    """The result of a request. Raises `TimeoutError` if it takes too long, and abandons it."""
    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(request(*words))
        # A panic of the client's Rust is no `Exception`; without a result the caller would time
        # out.
        except BaseException as error:  # noqa: BLE001 — raised again in the waiting thread
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


def _sibling(key: str, ending: str) -> str:
    folder, _, name = _path(key).rpartition("/")
    return f"{folder}/.{name}.{ending}"


def _hidden(key: str, token: str) -> str:
    return _sibling(key, f"{token}.new")


def _to_stat(status: FileStatus) -> Stat:
    key = _key(status)
    return Stat(key, status.length, status.modification_time / 1_000, _to_tag(status, key))


def _to_tag(status: FileStatus, key: str) -> Tag:
    # The tag includes the path: another file may have the same size and millisecond.
    place = sha256(key.encode()).hexdigest()[:12]
    return Tag(f"{status.modification_time:x}-{status.length:x}-{place}")


def _chunks(content: bytes | mmap | IO[bytes]) -> Iterator[bytes]:
    if isinstance(content, bytes | mmap):
        yield from (content[at : at + _CHUNK] for at in range(0, len(content), _CHUNK))
    else:
        while chunk := content.read(_CHUNK):
            yield chunk


def _reason(error: BaseException) -> str:
    """The first line of an error; a NameNode also sends its stack."""
    text = str(error) or type(error).__name__
    if found := _RPC.match(text):
        text = found["said"].replace('\\"', '"').replace("\\n", "\n").removesuffix('")')
    return text.splitlines()[0]
