"""A store together with its plane and its revision word: what every process that writes opens.

A process that writes without raising the word is not seen by the others of its host. So nobody
makes a plane over a stored database but through here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lakewarden.app.keys import keys_of
from lakewarden.app.word import MappedWord, word_of
from lakewarden.service.audit_seal import Seals
from lakewarden.service.plane import Plane
from lakewarden.store import SqlStore, StoreLimits, open_store


class Estate:
    """An open store. The plane is not loaded yet: `plane.open()` does that."""

    def __init__(self, store: SqlStore, word: MappedWord | None) -> None:
        self.store = store
        self.word = word
        self.plane = Plane(store, word=word)

    def close(self) -> None:
        """Lets go of the store and of the word."""
        self.store.close()
        if self.word is not None:
            self.word.close()


def open_estate(
    database: str,
    *,
    host_only: bool = False,
    makes: bool = True,
    limits: StoreLimits | None = None,
    keys: Sequence[str] | None = None,
) -> Estate:
    """The store at a URL, its schema brought up to date.

    `host_only`: no other host writes to it. Unless it `makes` the schema of a database that has
    none, such a one is refused. `limits`: see `open_store`. The audit
    trail is sealed with the first of the `keys`, by default those of `keys_of`. Raises `BadInput`
    and `Unavailable`.
    """
    store = open_store(database, makes=makes, limits=limits or StoreLimits())
    try:
        store.seals = Seals(keys_of(database) if keys is None else keys)
        return Estate(store, word_of(database, host_only=host_only))
    except BaseException:
        store.close()
        raise


@contextmanager
def estate(database: str, *, host_only: bool = False, makes: bool = True) -> Iterator[Plane]:
    """The loaded plane of a store, for as long as a command takes."""
    opened = open_estate(database, host_only=host_only, makes=makes)
    try:
        opened.plane.open()
        yield opened.plane
    finally:
        opened.close()
