"""Objects of S3, Google Cloud Storage and Azure, through obstore.

Addresses, credentials and endpoints come from each store's usual environment variables, such as
`AWS_ACCESS_KEY_ID`, `AWS_REGION` and `AWS_ENDPOINT_URL`. A request that a store refuses or does not
answer raises `Unavailable`: only the store's own "not found" means that an object is missing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import islice
from mmap import mmap
from os import environ
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, not_installed
from lakewarden.pipeline.storage.object_store import (
    CHECK_CREDENTIALS,
    RUN_AGAIN,
    ObjectStore,
    Stat,
    Tag,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Store

Answer = TypeVar("Answer")

_SECONDS: Final = 30
"""Timeout of one request."""

_RETRY: Final = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
_CUT: Final = "request or response body error"
"""In the message of an error: the response to a request was cut off. The library repeats a read,
but not a list.
"""

_WAITS: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each further attempt at a request whose response was cut off."""

_DELETED_AT_ONCE: Final = 1_000
_ADDRESS: Final = re.compile(r"\bhttps?://\S+")
_QUOTED: Final = re.compile(r'\bstring "(?:[^"\\]|\\.)*"')
"""A string that a credentials file has in place of another value, as errors quote it."""

_ENDPOINTS: Final = {
    "s3": ("AWS_ENDPOINT_URL",),
    "gs": ("GOOGLE_BASE_URL",),
    "abfss": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""The variables with the address of a server other than the store's own, by scheme."""

_WITH_FOLDERS: Final = "abfss:"
"""Where empty folders may exist: Azure accounts with a hierarchical namespace."""

_NO_BUCKET: Final = re.compile(r"\blist request: Error performing GET .* 404 Not Found\b")
_REFUSALS: Final = ("401 Unauthorized", "403 Forbidden")


def cloud_store(root: str) -> ObjectStore:
    """The store of a root such as `s3://bucket`.

    Raises `BadInput` for a malformed root, `Unavailable` if the library is not installed.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise not_installed("obstore", "object-store", where=root) from None
    options: Any = {"timeout": f"{_SECONDS}s", **({"allow_http": True} if is_plain(root) else {})}
    retry: Any = _RETRY
    try:
        return _CloudStore(root, from_url(root, client_options=options, retry_config=retry))
    except (BaseError, ValueError) as error:
        raise BadInput(_reason(error, root), where=root) from None


def is_plain(root: str) -> bool:
    """Whether the server of a root is configured to be reached without TLS."""
    names = _ENDPOINTS[root.partition(":")[0]]
    return any(environ.get(name, "").startswith("http://") for name in names)


class _CloudStore:
    """See `ObjectStore`."""

    def __init__(self, root: str, store: Store) -> None:
        self._root = root
        self._store = store

    def stat(self, key: str) -> Stat:
        return _stat(self._ask(key, lambda: _obstore().head(self._store, key)))

    def children(self, key: str) -> Sequence[tuple[str, int | None]]:
        with self._in_bucket():
            found = self._ask(key, lambda: _obstore().list_with_delimiter(self._store, key))
        folders = {_last(one): None for one in found["common_prefixes"] if self._has_files(one)}
        # Consoles mark a folder with an object of its name.
        files = (one for one in found["objects"] if one["path"] != key)
        objects = {_last(one["path"]): one["size"] for one in files}
        return sorted((objects | folders).items())

    def below(self, key: str) -> Iterator[Stat]:
        with self._in_bucket(), self._errors(key):
            stats = map(_stat, self._listed(key))
            yield from _without_markers(stat for stat in stats if stat.key != key)

    def read(self, key: str) -> tuple[bytes, Tag]:
        def get() -> tuple[bytes, Tag]:
            found = _obstore().get(self._store, key)
            return bytes(found.bytes()), _tag(found.meta)

        return self._ask(key, get)

    def read_range(self, key: str, start: int, length: int, tag: Tag) -> bytes:
        options = {"range": (start, start + length), "if_match": tag.e_tag}
        get = self._on_condition(
            key, lambda: bytes(_obstore().get(self._store, key, options=options).bytes())
        )
        return self._ask(key, get)

    def put(self, key: str, content: bytes | IO[bytes]) -> None:
        with self._in_bucket():
            self._ask_once(key, lambda: _obstore().put(self._store, key, content))

    def put_if(self, key: str, content: bytes | mmap, tag: Tag | None) -> Tag:
        precondition = (
            {} if tag is None else {k: v for k, v in tag._asdict().items() if v is not None}
        )
        mode = precondition or "create"

        def put() -> Tag:
            return _tag(_obstore().put(self._store, key, content, mode=mode, use_multipart=False))

        if tag is None:
            with self._in_bucket():
                return self._ask_once(key, self._on_condition(key, put))
        try:
            return self._ask_once(key, self._on_condition(key, put))
        except FileNotFoundError:  # S3's answer; other stores report a failed condition
            raise self._conflict(key) from None

    def copy(self, source: str, target: str) -> None:
        self._ask(source, lambda: _obstore().copy(self._store, source, target))

    def delete(self, keys: Iterator[str]) -> None:
        while some := list(islice(keys, _DELETED_AT_ONCE)):
            try:
                self._ask(some[0], partial(_obstore().delete, self._store, some))
            except FileNotFoundError:  # another process deleted one; retry one by one
                for key in some:
                    self._delete_one(key)

    def delete_below(self, key: str) -> None:
        folders: set[str] = set()

        def keys() -> Iterator[str]:
            for found in self.below(key):
                folders.update(_folders_of(found.key, key))
                yield found.key

        self.delete(keys())
        if self._root.startswith(_WITH_FOLDERS):
            self._delete_folders(folders)

    def sweep(self, key: str) -> None:
        """Does nothing: an object is put in one request."""

    def _listed(self, key: str) -> Iterator[Any]:
        """The objects below a key.

        After a page that is cut off, the list continues behind the last object. That of Azure
        begins again: with a hierarchical namespace it is not in the order of names.
        """
        from obstore.exceptions import BaseError

        waits, last = iter(_WAITS), None
        listed: set[str] = set()
        is_ordered = not self._root.startswith(_WITH_FOLDERS)
        while True:
            try:
                for page in _obstore().list(self._store, key, offset=last):
                    for found in page:
                        path = found["path"]
                        if path in listed:
                            continue
                        yield found
                        waits = iter(_WAITS)
                        if is_ordered:
                            last = path
                        else:
                            listed.add(path)
            except BaseError as error:
                _wait_after(error, waits)
            else:
                return

    def _has_files(self, folder: str) -> bool:
        if not self._root.startswith(_WITH_FOLDERS):
            return True
        return next(self.below(folder.rstrip("/")), None) is not None

    def _delete_folders(self, folders: Iterable[str]) -> None:
        """Deletes the empty folders, the deepest first; the store keeps those with files."""
        for folder in sorted(folders, key=lambda name: (-name.count("/"), name)):
            try:
                self._ask(folder, partial(_obstore().delete, self._store, folder))
            except FileNotFoundError:
                return  # this account has no folders
            except Unavailable:  # not empty any more
                continue

    def _delete_one(self, key: str) -> None:
        with suppress(FileNotFoundError):
            self._ask(key, lambda: _obstore().delete(self._store, key))

    def _on_condition(self, key: str, question: Callable[[], Answer]) -> Callable[[], Answer]:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def ask() -> Answer:
            try:
                return question()
            except (AlreadyExistsError, PreconditionError):
                raise self._conflict(key) from None

        return ask

    def _conflict(self, key: str) -> Conflict:
        return Conflict(f"`{self._root}/{key}` was written meanwhile")

    @contextmanager
    def _in_bucket(self) -> Iterator[None]:
        """For requests whose "not found" can only mean that the bucket is missing."""
        try:
            yield
        except FileNotFoundError:
            raise BadInput("there is no such bucket or container", where=self._root) from None

    def _ask(self, key: str, question: Callable[[], Answer]) -> Answer:
        """The answer to a question, which is asked again if the answer was cut off."""
        from obstore.exceptions import BaseError

        waits = iter(_WAITS)
        with self._errors(key):
            while True:
                try:
                    return question()
                except BaseError as error:
                    _wait_after(error, waits)

    def _ask_once(self, key: str, question: Callable[[], Answer]) -> Answer:
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
            if _NO_BUCKET.search(str(error)):
                raise FileNotFoundError(2, "no such bucket", self._root) from None
            reason = _reason(error, place)
            raise Unavailable(f"`{place}`: {reason}; {advice_for(reason)}") from None


def _wait_after(error: Exception, waits: Iterator[float]) -> None:
    """Waits before the next attempt. Raises the error if there is none, or nothing was cut off."""
    seconds = next(waits, None) if _CUT in str(error) else None
    if seconds is None:
        raise error
    time.sleep(seconds)


def _obstore() -> Any:
    import obstore

    return obstore


def _stat(found: Any) -> Stat:
    return Stat(found["path"], found["size"], found["last_modified"].timestamp(), _tag(found))


def _tag(found: Any) -> Tag:
    return Tag(str(found["e_tag"]), found["version"])


def _without_markers(stats: Iterable[Stat]) -> Iterator[Stat]:
    """All but the empty objects with which consoles mark a folder; they precede its files."""
    marker: Stat | None = None
    for stat in stats:
        if marker is not None and not stat.key.startswith(f"{marker.key}/"):
            yield marker
        marker = stat if stat.size == 0 else None
        if marker is None:
            yield stat
    if marker is not None:
        yield marker


def _folders_of(key: str, top: str) -> Iterator[str]:
    """The folders that contain an object, from the innermost up to `top`."""
    while (key := key.rpartition("/")[0]) and key.startswith(top):
        yield key


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _reason(error: BaseException, place: str) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return without_addresses(_QUOTED.sub("a string", lines[0]), place).rstrip(": ")


def advice_for(reason: str) -> str:
    """What to do about a store that failed for this reason."""
    is_refused = any(refusal in reason for refusal in _REFUSALS)
    return CHECK_CREDENTIALS if is_refused else RUN_AGAIN


def without_addresses(text: str, place: str) -> str:
    """A text with `place` in place of web addresses, which may contain a signature."""
    return _ADDRESS.sub(place, text)
