"""Whether a principal may read a table, and the limits of the read in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakewarden.expressions.renderer import has_collations
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.explain import missing_needs
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Request
from lakewarden.service.column_names import ColumnNames, column_of
from lakewarden.service.effective_read import denied_columns, effective_read
from lakewarden.service.read_limits import column_mask, row_filters
from lakewarden.service.state import RealmState
from lakewarden.service.switched_off import lies_in_off


@dataclass(frozen=True, slots=True)
class LimitedRead:
    """A read of a table by one principal, at one time.

    `operation` is the operation that reading requires; `missing` are the privileges that a denied
    read lacks. All `filters` apply together. `masks` contain, by column, the SQL to show instead of
    its values, or None for its values. Both are empty unless `may_read`.
    """

    may_read: bool
    operation: str
    missing: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    masks: Mapping[str, str | None] | None = None


def engine_read(
    realm: RealmState, request: Request, engine: str, columns: Mapping[str, str]
) -> LimitedRead:
    """Like `limited_read`, for an engine's own request: it reads nothing that is switched off."""
    if lies_in_off(realm, request.target):
        return LimitedRead(False, effective_read(realm.matrix, request).operation)
    return limited_read(realm, request, engine, columns)


def limited_read(
    realm: RealmState,
    request: Request,
    engine: str,
    columns: Mapping[str, str],
) -> LimitedRead:
    """How an engine may read the request's target.

    The target may not be read if a DENY closes one of the columns. A column that the realm cannot
    name could be any column, so it gets the masks of the table.

    Args:
        realm: The realm of the target.
        request: The asker and the target; its operation does not matter.
        engine: The engine whose SQL is written.
        columns: The columns in the storage of the rows, with their types there.

    Raises:
        BadInput: The target has no rows, or a masked column is none of the columns.
    """
    matrix, table = realm.matrix, request.target
    seen = effective_read(matrix, request)
    if not seen.may_read:
        return LimitedRead(False, seen.operation, _missing(matrix, request, seen.operation))
    names = ColumnNames(realm, table, column_of(realm, table))
    meant = {name: names.candidates(name) for name in columns}
    read = {column for each in meant.values() for column in each}
    if denied_columns(matrix, replace(request, operation=seen.operation), read):
        return LimitedRead(False, seen.operation)
    unmatched = {one.column for one in seen.columns} - read
    if unmatched:
        raise BadInput(f"no column is `{min(unmatched).name}`, which has a mask")
    beside = columns if has_collations(engine) else None
    masks = {}
    for name, type in columns.items():
        about = [replace(request, target=column) for column in meant[name]]
        masks[name] = column_mask(realm, about, engine, name, type, beside)
    filters = tuple(row_filters(realm, request, engine, beside))
    return LimitedRead(True, seen.operation, filters=filters, masks=masks)


def _missing(matrix: Matrix, request: Request, operation: str) -> tuple[str, ...]:
    """The privileges of a shortest way to be allowed; empty if no privileges would help."""
    if not operation:
        return ()
    try:
        ways = missing_needs(matrix, replace(request, operation=operation))
    except WardenError:
        return ()
    return tuple(sorted({need.privilege for need in ways[0]})) if ways else ()
