"""Precomputes rows of the access matrix before the first questions.

A question about a user without a computed row takes some hundred microseconds to compute the row;
with it, a question takes one. After a start there are no rows, and a change drops the affected
ones, so they are computed ahead: for the operations by which assets are read, seen and changed, for
every stored user. Nothing depends on these rows: a question computes missing rows too.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Final, NamedTuple

from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import State

MOST_ROWS: Final = 50_000
"""The most rows that are computed ahead, over all realms."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of rows that are computed ahead; a matrix keeps four times as many."""

WAYS: Final = ("read", "see", "change")
"""The access levels of assets, the most requested ones first."""


class RowKey(NamedTuple):
    """The key of a row: realm, operation, target type and user."""

    realm: str
    operation: str
    type: str
    user: Principal
    is_new: bool = False
    """Whether it had to be computed: an existing row takes almost no time."""


def prepare_rows(newest: Callable[[], State], prepared: Container[Matrix] = ()) -> Iterator[RowKey]:
    """Computes rows of the `newest` state, one per step, and yields its key.

    Rows of `prepared` matrices exist already. To stop, take no further step.
    """
    size = 0
    for count, key in enumerate(_rows_to_prepare(newest(), prepared)):
        if count >= MOST_ROWS or size >= MOST_BYTES:
            return
        row = _row(newest(), key)
        size += row.size
        yield key._replace(is_new=row.is_new)


def _rows_to_prepare(state: State, prepared: Container[Matrix]) -> Iterator[RowKey]:
    """Keys by kind of access, then by realm: the most frequent questions first."""
    changed = {
        name: realm
        for name, realm in sorted(state.realms.items())
        if name != CONTROL and realm.matrix not in prepared
    }
    for way in WAYS:
        for name, realm in changed.items():
            users = _users(realm.matrix)
            for type in sorted(realm.matrix.snapshot.coded.tree.named):
                operation = realm.system.model.reaching(way, type)
                if operation is not None:
                    yield from (RowKey(name, operation, type, user) for user in users)


def _users(matrix: Matrix) -> list[Principal]:
    memberships = matrix.snapshot.coded.memberships
    stored = (memberships.principals[id] for id in memberships.stored)
    return [principal for principal in stored if principal.kind == USER]


class _PreparedRow(NamedTuple):
    """A row's size in bytes, and whether it is new."""

    size: int = 0
    is_new: bool = False


_NO_ROW: Final = _PreparedRow()


def _row(state: State, key: RowKey) -> _PreparedRow:
    """Computes the row in the state, which may no longer contain its realm."""
    realm = state.realms.get(key.realm)
    if realm is None:
        return _NO_ROW
    matrix = realm.matrix
    try:
        plan = matrix.plan(matrix.operation(key.operation), key.type)
        if plan.view is None:
            return _NO_ROW
        subject = matrix.snapshot.subject(key.user)
        is_new = matrix.row_key(plan, subject) not in plan.rows
        return _PreparedRow(len(matrix.entry(plan, subject).codes), is_new)
    except WardenError:
        return _NO_ROW  # a question will get the error
