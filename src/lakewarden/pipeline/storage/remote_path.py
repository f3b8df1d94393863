"""The location of a file or folder on an object store or in HDFS: a subset of `pathlib.Path`.

A folder exists while there is a file below it: `mkdir` does nothing. A file is written as a whole
when it is closed. There is no rename, because object stores have no atomic one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, Literal, cast, overload

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.object_store import HDFS, SCHEMES, ObjectStore, Stat, Tag
from lakewarden.pipeline.storage.stores import store_of

_BUFFER: Final = 1 << 23
_IN_MEMORY: Final = 1 << 26
"""A file is written from memory up to this size in bytes; a larger one from a temporary file."""


@dataclass(frozen=True, slots=True, order=True)
class RemotePath:
    """A key of a store: `root` is `SCHEME://BUCKET`, `key` has no slash at either end.

    In HDFS the root is `hdfs://HOST:PORT` or `hdfs://NAMESERVICE`.
    """

    root: str
    key: str

    @property
    def store(self) -> ObjectStore:
        """The store that holds it."""
        return store_of(self.root)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return PurePosixPath(self.key).name

    @property
    def suffix(self) -> str:
        """The end of the name, from its last dot."""
        return PurePosixPath(self.key).suffix

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.key).stem

    @property
    def parent(self) -> RemotePath:
        """The containing folder; for a root, itself."""
        return RemotePath(self.root, self.key.rpartition("/")[0])

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"

    def __truediv__(self, name: str | PurePosixPath) -> RemotePath:
        return RemotePath(self.root, f"{self.key}/{name}" if self.key else str(name))

    def with_name(self, name: str) -> RemotePath:
        """The sibling with that name."""
        return self.parent / name

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """The path relative to `other`, which contains it."""
        return PurePosixPath(self.key).relative_to(other.key)

    def as_posix(self) -> str:
        """The address."""
        return str(self)

    def resolve(self) -> RemotePath:
        """Itself: an address is always absolute."""
        return self

    def stat(self) -> Stat:
        """The metadata of the file. Raises `FileNotFoundError`."""
        return self.store.stat(self.key)

    def is_file(self) -> bool:
        """Whether this object exists."""
        try:
            return bool(self.key) and self.stat() is not None
        except FileNotFoundError:
            return False

    def is_dir(self) -> bool:
        """Whether there is a file below it."""
        return next(self.store.below(self.key), None) is not None

    def is_symlink(self) -> bool:
        """No: there are no links."""
        return False

    def exists(self) -> bool:
        """Whether it is a file or a folder."""
        return self.is_file() or self.is_dir()

    def mkdir(self, mode: int = 0, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Does nothing: see the module docstring."""

    def iterdir(self) -> Iterator[RemotePath]:
        """The direct children, in the order of names."""
        return (self / name for name, _ in self.store.children(self.key))

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """The matching files and folders below it; each part of the pattern matches one level."""
        first, _, rest = pattern.partition("/")
        for name, size in self.store.children(self.key):
            if fnmatchcase(name, first):
                if not rest:
                    yield self / name
                elif size is None:
                    yield from (self / name).glob(rest)

    def files_below(self) -> Iterator[RemotePath]:
        """Every file below it, at any depth."""
        return (RemotePath(self.root, stat.key) for stat in self.store.below(self.key))

    def read_bytes(self) -> bytes:
        """The content. Raises `FileNotFoundError`."""
        return self.store.read(self.key)[0]

    def read_tagged(self) -> tuple[bytes, Tag]:
        """The content, and its tag. Raises `FileNotFoundError`."""
        return self.store.read(self.key)

    def read_text(self, encoding: str = "utf-8") -> str:
        """The content as text. Raises `FileNotFoundError`."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, content: bytes | IO[bytes]) -> None:
        """Writes the file as a whole."""
        self.store.put(self.key, content)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        """Writes the file as a whole."""
        self.write_bytes(text.encode(encoding))

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Deletes the file. Raises `FileNotFoundError` if it is missing, unless `missing_ok`."""
        if not missing_ok:
            self.stat()
        self.store.delete(iter([self.key]))

    @overload
    def open(self, mode: Literal["rb", "wb"]) -> IO[bytes]: ...

    @overload
    def open(
        self,
        mode: Literal["r", "w"] = "r",
        *,
        encoding: str,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[str]: ...

    def open(self, mode: str = "r", **text: Any) -> IO[Any]:
        """The file: read in ranges on demand, or written as a whole when it is closed."""
        if "w" in mode:
            written = _Written(self)
            return written if "b" in mode else _WrittenText(written, **text)
        read = io.BufferedReader(_Read(self), _BUFFER)
        return read if "b" in mode else io.TextIOWrapper(read, **text)


class _Read(io.RawIOBase):
    """An object that is read in ranges: all from one content, else raises `Conflict`."""

    def __init__(self, place: RemotePath) -> None:
        super().__init__()
        self._place = place
        stat = place.stat()
        self._size, self._tag = stat.size, stat.tag
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        store, key = self._place.store, self._place.key
        buffer[:length] = store.read_range(key, self._at, length, self._tag)
        self._at += length
        return length


class _Written(SpooledTemporaryFile[bytes]):
    """A file that is put when it is closed; after an exception nothing is put."""

    def __init__(self, place: RemotePath) -> None:
        super().__init__(_IN_MEMORY)
        self._place: RemotePath | None = place

    def drop(self) -> None:
        """Discards the content: nothing will be put."""
        self._place = None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.drop()
        self.close()

    def __del__(self) -> None:
        self.drop()

    def close(self) -> None:
        place, self._place = self._place, None
        if place is not None and not self.closed:
            self.seek(0)
            place.write_bytes(cast("IO[bytes]", self))
        super().close()


class _WrittenText(io.TextIOWrapper):
    """Like `_Written`, for text."""

    def __init__(self, written: _Written, **text: Any) -> None:
        super().__init__(cast("IO[bytes]", written), **text)
        self._written = written

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._written.drop()
        self.close()

    def __del__(self) -> None:
        self._written.drop()


def remote_path(address: str) -> RemotePath | None:
    """The location that an address of an object store names; None if the text is no address.

    Raises `BadInput` for an address of another kind.

    >>> remote_path("s3a://lake/products/index")
    RemotePath(root='s3://lake', key='products/index')
    >>> remote_path("products/index") is None
    True
    """
    scheme, is_address, rest = address.partition("://")
    if not is_address:
        return None
    if scheme not in SCHEMES:
        raise BadInput(f"expected a path, or an address of {', '.join(SCHEMES)}", where=address)
    bucket, _, key = rest.partition("/")
    parts = key.strip("/").split("/")
    if not _is_plain(scheme, bucket):
        raise BadInput("expected no credentials in an address", where=f"{scheme}://…")
    if not bucket or any(part in ("", ".", "..") for part in parts):
        raise BadInput("expected `SCHEME://BUCKET/FOLDER`", where=address)
    return RemotePath(f"{SCHEMES[scheme]}://{bucket}", "/".join(parts))


def _is_plain(scheme: str, bucket: str) -> bool:
    """Whether an address holds no credentials."""
    if scheme == HDFS:
        host, has_port, port = bucket.partition(":")
        return "@" not in host and (not has_port or port.isdecimal())
    return ":" not in bucket and ("@" not in bucket or scheme.startswith("abfs"))
