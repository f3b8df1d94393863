"""A store with its decision service and shared revision: every writing process opens this.

The other processes of a host do not see a write that does not raise the shared revision. So every
decision service over a stored database is created here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lakewarden.app.keys import keys_of
from lakewarden.app.shared_revision import MappedRevision, shared_revision_of
from lakewarden.service.audit_seal import Seals
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import SqlStore, StoreLimits, open_store


class OpenStore:
    """An open store. The decision service is not loaded yet: `service.open()` loads it."""

    def __init__(self, store: SqlStore, shared_revision: MappedRevision | None) -> None:
        self.store = store
        self.shared_revision = shared_revision
        self.service = DecisionService(store, shared_revision=shared_revision)

    def close(self) -> None:
        """Closes the store and the shared revision."""
        self.store.close()
        if self.shared_revision is not None:
            self.shared_revision.close()


def open_for_writing(
    database: str,
    *,
    host_only: bool = False,
    makes: bool = True,
    limits: StoreLimits | None = None,
    keys: Sequence[str] | None = None,
) -> OpenStore:
    """The store at a URL, with its schema upgraded.

    `host_only`: no other host writes to it. `makes`: create the schema of a database that has none;
    otherwise such a database is refused. `limits`: see `open_store`. The audit trail is sealed with
    the first of the `keys`, by default those of `keys_of`. Raises `BadInput` and `Unavailable`.
    """
    store = open_store(database, makes=makes, limits=limits or StoreLimits())
    try:
        store.seals = Seals(keys_of(database) if keys is None else keys)
        return OpenStore(store, shared_revision_of(database, host_only=host_only))
    except BaseException:
        store.close()
        raise


@contextmanager
def opened_service(
    database: str, *, host_only: bool = False, makes: bool = True
) -> Iterator[DecisionService]:
    """The loaded decision service of a store, for the duration of a command."""
    opened = open_for_writing(database, host_only=host_only, makes=makes)
    try:
        opened.service.open()
        yield opened.service
    finally:
        opened.close()
