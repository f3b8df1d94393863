"""Objects of S3, Google Cloud Storage and Azure, by obstore.

Addresses, credentials and endpoints come from each store's usual environment variables, as
`AWS_ACCESS_KEY_ID`, `AWS_REGION` and `AWS_ENDPOINT_URL`. What a store refuses, or does not answer,
is `Unavailable`: only the store's own "not found" means that an object is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache, partial
from itertools import islice
from os import environ
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Store

SCHEMES: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "abfss": "abfss", "abfs": "abfss"}
"""The schemes of addresses, and what each is called here."""

Answer = TypeVar("Answer")

_SECONDS: Final = 30
"""How long one request may take."""

_RETRY: Final = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_DELETED_AT_ONCE: Final = 1_000
_ADDRESS: Final = re.compile(r"\bhttps?://\S+")


class Stat(NamedTuple):
    """What a store says of an object: key, bytes, time of writing in seconds, and entity tag."""

    key: str
    size: int
    modified: float
    tag: str


class ObjectStore(Protocol):
    """A bucket or container. Keys have no slash at either end; a folder is what keys share.

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

    def read(self, key: str) -> tuple[bytes, str]:
        """The bytes of an object, and its entity tag."""
        ...

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Some bytes of an object."""
        ...

    def put(self, key: str, content: bytes) -> None:
        """Writes an object whole, in place of what was there."""
        ...

    def put_if(self, key: str, content: bytes, tag: str | None) -> None:
        """Writes an object while its entity tag is `tag`, or None: while there is none.

        Raises `Conflict` otherwise.
        """
        ...

    def copy(self, source: str, target: str) -> None:
        """Copies an object within the store."""
        ...

    def delete(self, keys: Iterator[str]) -> None:
        """Deletes objects; of one that is missing nothing is said."""
        ...


@lru_cache(maxsize=16)
def store_of(root: str) -> ObjectStore:
    """The store of a root such as `s3://bucket`. Raises `BadInput` where it cannot be used."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        message = "needs obstore: pip install 'lakewarden[object-store]'"
        raise BadInput(message, where=root) from None
    is_plain = environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    options: Any = {"timeout": f"{_SECONDS}s", **({"allow_http": True} if is_plain else {})}
    retry: Any = _RETRY
    try:
        return _ObjectStore(root, from_url(root, client_options=options, retry_config=retry))
    except (BaseError, ValueError) as error:
        raise BadInput(_reason(error, root), where=root) from None


class _ObjectStore:
    """See `ObjectStore`."""

    def __init__(self, root: str, store: Store) -> None:
        self._root = root
        self._store = store

    def stat(self, key: str) -> Stat:
        return _stat(self._ask(key, lambda: _obstore().head(self._store, key)))

    def children(self, key: str) -> Sequence[tuple[str, int | None]]:
        found = self._ask(key, lambda: _obstore().list_with_delimiter(self._store, key))
        sizes = {_last(prefix): None for prefix in found["common_prefixes"]}
        return sorted(
            (sizes | {_last(one["path"]): one["size"] for one in found["objects"]}).items()
        )

    def below(self, key: str) -> Iterator[Stat]:
        with self._errors(key):
            for found in _obstore().list(self._store, key):
                yield from (_stat(one) for one in found)

    def read(self, key: str) -> tuple[bytes, str]:
        def get() -> tuple[bytes, str]:
            found = _obstore().get(self._store, key)
            return bytes(found.bytes()), str(found.meta["e_tag"])

        return self._ask(key, get)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        return self._ask(
            key,
            lambda: bytes(_obstore().get_range(self._store, key, start=start, length=length)),
        )

    def put(self, key: str, content: bytes) -> None:
        self._ask(key, lambda: _obstore().put(self._store, key, content))

    def put_if(self, key: str, content: bytes, tag: str | None) -> None:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = "create" if tag is None else {"e_tag": tag}

        def put() -> None:
            try:
                _obstore().put(self._store, key, content, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                raise Conflict(f"`{self._root}/{key}` was written meanwhile") from None

        self._ask(key, put)

    def copy(self, source: str, target: str) -> None:
        self._ask(source, lambda: _obstore().copy(self._store, source, target))

    def delete(self, keys: Iterator[str]) -> None:
        while some := list(islice(keys, _DELETED_AT_ONCE)):
            try:
                self._ask(some[0], partial(_obstore().delete, self._store, some))
            except FileNotFoundError:  # somebody else was faster: one by one, then
                for key in some:
                    self._delete_one(key)

    def _delete_one(self, key: str) -> None:
        with suppress(FileNotFoundError):
            self._ask(key, lambda: _obstore().delete(self._store, key))

    def _ask(self, key: str, question: Callable[[], Answer]) -> Answer:
        with self._errors(key):
            return question()

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        place = f"{self._root}/{key}"
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(2, "no such object", place) from None
        except (BaseError, OSError) as error:
            raise Unavailable(f"`{place}`: {_reason(error, place)}") from None


def _obstore() -> Any:
    import obstore

    return obstore


def _stat(found: Any) -> Stat:
    return Stat(found["path"], found["size"], found["last_modified"].timestamp(), found["e_tag"])


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _reason(error: BaseException, place: str) -> str:
    """The first line of an error, without addresses, which may hold a signature."""
    lines = str(error).splitlines() or [type(error).__name__]
    return _ADDRESS.sub(place, lines[0])
