"""Rows of the access matrix, worked out ahead of the first questions.

A question about somebody whose row is not there yet takes some hundred microseconds to work the
row out; with it, a question takes one. After a start there is no row at all, so they are made
ahead: of the operations by which assets are read, seen and changed, for every stored user. Nothing
depends on these rows: who asks first makes them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import State

MOST_ROWS: Final = 50_000
"""Rows that are made ahead, over all realms."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the rows that are made ahead; a matrix keeps four times as many."""

WAYS: Final = ("read", "see", "change")
"""The ways to reach an asset, those first that are asked most."""


class Wanted(NamedTuple):
    """A row: an operation on a type of target in a realm, and whose it is."""

    realm: str
    operation: str
    type: str
    user: Principal


def prepare_rows(newest: Callable[[], State]) -> Iterator[Wanted]:
    """Makes rows of the `newest` state, one for each step, and yields which one it was.

    To stop, take no further step.
    """
    size = 0
    for count, wanted in enumerate(_wanted(newest())):
        if count >= MOST_ROWS or size >= MOST_BYTES:
            return
        size += _row(newest(), wanted)
        yield wanted


def _wanted(state: State) -> Iterator[Wanted]:
    """Way by way and realm by realm, so that what is asked most comes first."""
    for way in WAYS:
        for name, realm in sorted(state.realms.items()):
            if name == CONTROL:
                continue
            users = _users(realm.matrix)
            for type in sorted(realm.matrix.snapshot.coded.tree.named):
                operation = realm.system.model.reaching(way, type)
                if operation is not None:
                    yield from (Wanted(name, operation, type, user) for user in users)


def _users(matrix: Matrix) -> list[Principal]:
    memberships = matrix.snapshot.coded.memberships
    known = (memberships.principals[id] for id in memberships.stored)
    return [principal for principal in known if principal.kind == USER]


def _row(state: State, wanted: Wanted) -> int:
    """Makes the row in the state, which may have none of it; its size in bytes."""
    realm = state.realms.get(wanted.realm)
    if realm is None:
        return 0
    matrix = realm.matrix
    try:
        plan = matrix.plan(matrix.operation(wanted.operation), wanted.type)
        if plan.view is None:
            return 0
        return len(matrix.entry(plan, matrix.snapshot.subject(wanted.user)).codes)
    except WardenError:
        return 0  # whoever asks is told
