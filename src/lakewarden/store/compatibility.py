"""Which schemas this release knows, and which stores it may share with other releases.

Servers of two neighbouring releases may share a store while one replaces the other. A change of
schema is therefore made in steps. An *expanding* one adds what the older release does not ask for:
it goes on to read and write. A *contracting* one takes away what no release of the neighbours uses
any more; whoever is older is shut out. Each step says which: `usable_from` in its module is the
oldest schema whose release may use the store afterwards, and the store keeps the highest so far
in its counter, which every transaction reads first.
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
"""The schema since which a store says who may use it, and a connection which release it is of."""

_BEFORE = "0013"
_APPLICATION = re.compile(r"lakewarden (\S+) schema (\d{4})")
_CONNECTED = sa.text(
    "SELECT application_name, coalesce(host(client_addr), 'the host of the database') AS place"
    " FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name LIKE 'lakewarden %'"
)


WRITERS_LOCK = 0x6C616B66
"""An advisory lock of PostgreSQL that writes share which do not lock the counter.

A step that contracts takes it alone: such a write would else go on after the step.
"""


class Outgrown(Unavailable):
    """A newer release took from the store what this one needs."""


class Connected(NamedTuple):
    """A process of a release that has the store open, and the schema that the release knows."""

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
    """The newest of them, which this release makes."""
    return max(known())


def usable_from(schema: str) -> str:
    """The oldest schema whose release may use a store that has this one.

    INVARIANT: a step that does not say is taken for a contracting one.
    """
    found = _BEFORE
    for _, name, _ in pkgutil.iter_modules(versions.__path__):
        if FIRST <= name[1:5] <= schema:
            step = import_module(f"{versions.__name__}.{name}")
            found = max(found, getattr(step, "usable_from", name[1:5]))
    return found


def check_usable(needed: str) -> None:
    """Raises `Outgrown` where a store is usable only from a schema on that is too new for us."""
    if needed > newest():
        raise Outgrown(
            f"the store requires a release with schema `{needed}` or newer, this one has"
            f" `{newest()}`; use a newer release, or restore a backup that this one made"
        )


def application_name() -> str:
    """What a connection of this release calls itself."""
    return f"lakewarden {__version__} schema {newest()}"


def shut_out(connection: sa.Connection, needed: str) -> list[Connected]:
    """Who has the PostgreSQL store open and could not use it any more; each process once."""
    found = set()
    for name, place in connection.execute(_CONNECTED):
        said = _APPLICATION.fullmatch(name)
        if said is not None and said[2] < needed:
            found.add(Connected(said[1], said[2], place))
    return sorted(found)
