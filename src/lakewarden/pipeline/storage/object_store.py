"""The operations that the pipeline needs from a remote file store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import IO, Final, NamedTuple, Protocol

HDFS: Final = "hdfs"
SCHEMES: Final = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "abfss": "abfss",
    "abfs": "abfss",
    HDFS: HDFS,
}
"""The schemes of addresses, and the scheme used here for each."""

RUN_AGAIN: Final = "run the command again when the store is available"
"""The advice when a store fails; the current version of a folder stays."""

CHECK_CREDENTIALS: Final = "check the credentials, and the clock of this machine"
"""The advice when a store denies access."""


class Tag(NamedTuple):
    """Identifies the content of an object; Google's conditions also need its version."""

    e_tag: str
    version: str | None = None


class Stat(NamedTuple):
    """The metadata of an object: key, bytes, time of writing in seconds, and its tag."""

    key: str
    size: int
    modified: float
    tag: Tag


class ObjectStore(Protocol):
    """A bucket, container or file system.

    Keys have no slash at either end; a folder is a common prefix of keys.

    Each method raises `FileNotFoundError` for a missing object, `Unavailable` for any other failure
    of the store.
    """

    def stat(self, key: str) -> Stat:
        """The metadata of an object."""
        ...

    def children(self, key: str) -> Sequence[tuple[str, int | None]]:
        """The names directly below a key in order, each with its size; None for a folder."""
        ...

    def below(self, key: str) -> Iterator[Stat]:
        """Every object below a key, at any depth."""
        ...

    def read(self, key: str) -> tuple[bytes, Tag]:
        """The bytes of an object, and its tag."""
        ...

    def read_range(self, key: str, start: int, length: int, tag: Tag) -> bytes:
        """A range of an object. Raises `Conflict` if the object no longer has the tag."""
        ...

    def put(self, key: str, content: bytes | IO[bytes]) -> None:
        """Writes an object as a whole; replaces an existing one."""
        ...

    def put_if(self, key: str, content: bytes | mmap, tag: Tag | None) -> Tag:
        """Writes an object if its tag is `tag` (None: if it does not exist); returns its new tag.

        Raises `Conflict` otherwise.
        """
        ...

    def copy(self, source: str, target: str) -> None:
        """Copies an object within the store."""
        ...

    def delete(self, keys: Iterator[str]) -> None:
        """Deletes objects; ignores missing ones."""
        ...

    def delete_below(self, key: str) -> None:
        """Deletes every object below a key."""
        ...

    def sweep(self, key: str) -> None:
        """Deletes unfinished writes of killed writers directly below a key."""
        ...
