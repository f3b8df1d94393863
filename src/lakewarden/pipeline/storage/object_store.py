"""What the pipeline asks of a store of files that is reached by requests."""

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
"""The schemes of addresses, and what each is called here."""


class Tag(NamedTuple):
    """Tells one content of an object from another; Google's conditions need its version, too."""

    e_tag: str
    version: str | None = None


class Stat(NamedTuple):
    """What a store says of an object: key, bytes, time of writing in seconds, and its tag."""

    key: str
    size: int
    modified: float
    tag: Tag


class ObjectStore(Protocol):
    """A bucket, container or file system.

    Keys have no slash at either end; a folder is what keys share.

    Each raises `FileNotFoundError` for an object that is missing, `Unavailable` for whatever the
    store fails at.
    """

    def stat(self, key: str) -> Stat:
        """What the store says of an object."""
        ...

    def children(self, key: str) -> Sequence[tuple[str, int | None]]:
        """The names right below a key in order, each with its bytes; of a folder: None."""
        ...

    def below(self, key: str) -> Iterator[Stat]:
        """Every object below a key, however deep."""
        ...

    def read(self, key: str) -> tuple[bytes, Tag]:
        """The bytes of an object, and its tag."""
        ...

    def read_range(self, key: str, start: int, length: int, tag: Tag) -> bytes:
        """Some bytes of an object. Raises `Conflict` when it was written since it had the tag."""
        ...

    def put(self, key: str, content: bytes | IO[bytes]) -> None:
        """Writes an object whole, in place of what was there."""
        ...

    def put_if(self, key: str, content: bytes | mmap, tag: Tag | None) -> Tag:
        """Writes an object while its tag is `tag`, or None: while there is none; its new tag.

        Raises `Conflict` otherwise.
        """
        ...

    def copy(self, source: str, target: str) -> None:
        """Copies an object within the store."""
        ...

    def delete(self, keys: Iterator[str]) -> None:
        """Deletes objects; of one that is missing nothing is said."""
        ...

    def delete_below(self, key: str) -> None:
        """Deletes every object below a key."""
        ...

    def sweep(self, key: str) -> None:
        """Deletes what killed writers left right below a key, of objects that never were there."""
        ...
