"""The schemas that this release knows, and the stores that it may share with other releases.

Servers of two neighbouring releases may share a store while one replaces the other. Therefore a
schema changes in steps. An *expanding* step adds what the older release does not query: that
release continues to read and write. A *contracting* step removes what neither of the neighbouring
releases uses any more; older releases are locked out. Each step declares which it is: `usable_from`
in its module is the oldest schema whose release may use the store afterwards. The store keeps the
highest value so far in its counter, which every transaction reads first.
"""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from typing import NamedTuple

import sqlalchemy as sa

from lakewarden import __version__
from lakewarden.kernel.errors import Unavailable
from lakewarden.store.migrations import versions

FIRST = "0014"
"""The first schema whose store records who may use it, and whose connections name their release."""

_BEFORE = "0013"
_APPLICATION = re.compile(r"lakewarden (\S+) schema (\d{4})")
_CONNECTED = sa.text(
    "SELECT application_name, coalesce(host(client_addr), 'the host of the database') AS place"
    " FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name LIKE 'lakewarden %'"
)


WRITERS_LOCK = 0x6C616B66
"""A PostgreSQL advisory lock, shared by writes that do not lock the counter.

A contracting step takes it exclusively: otherwise such a write would continue after the step.
"""


class IncompatibleSchema(Unavailable):
    """A newer release removed from the store what this release needs."""


class Connected(NamedTuple):
    """A process that has the store open, its release, and the schema that its release knows."""

    release: str
    schema: str
    place: str

    def __str__(self) -> str:
        return f"{self.release} at {self.place}"


@cache
def known() -> frozenset[str]:
    """The schemas that this release knows, by the names of their migrations."""
    return frozenset(name[1:5] for _, name, _ in pkgutil.iter_modules(versions.__path__))


def newest() -> str:
    """The newest schema, which this release creates."""
    return max(known())


def usable_from(schema: str) -> str:
    """The oldest schema whose release may use a store with this schema.

    INVARIANT: a step without a declaration counts as contracting.
    """
    found = _BEFORE
    for _, name, _ in pkgutil.iter_modules(versions.__path__):
        if FIRST <= name[1:5] <= schema:
            step = import_module(f"{versions.__name__}.{name}")
            found = max(found, getattr(step, "usable_from", name[1:5]))
    return found


def check_usable(needed: str) -> None:
    """Raises `IncompatibleSchema` if the store requires a newer schema than this release has."""
    if needed > newest():
        raise IncompatibleSchema(
            f"the store requires a release with schema `{needed}` or newer, this one has"
            f" `{newest()}`; use a newer release, or restore a backup that this one made"
        )


def application_name() -> str:
    """The application name of this release's connections."""
    return f"lakewarden {__version__} schema {newest()}"


def incompatible_processes(connection: sa.Connection, needed: str) -> list[Connected]:
    """The processes that have the PostgreSQL store open and would be locked out; each once."""
    found = set()
    for name, place in connection.execute(_CONNECTED):
        said = _APPLICATION.fullmatch(name)
        if said is not None and said[2] < needed:
            found.add(Connected(said[1], said[2], place))
    return sorted(found)
