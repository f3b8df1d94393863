"""Whether a principal may read a table, and what the read has to keep to, in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakewarden.expressions.renderer import has_collations
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.explain import lacking
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Request
from lakewarden.service.column_names import ColumnNames, column_of
from lakewarden.service.effective_read import denied_columns, effective_read
from lakewarden.service.read_limits import column_mask, row_filters
from lakewarden.service.state import RealmState
from lakewarden.service.switched_off import lies_in_off


@dataclass(frozen=True, slots=True)
class LimitedRead:
    """A read of a table by one principal, at one moment.

    `operation` is what reading requires; `missing` the privileges that a denied read lacks.
    `filters` hold together. `masks` have the SQL to show instead of a column's values, by column,
    or None for its values. Both are empty unless `may_read`.
    """

    may_read: bool
    operation: str
    missing: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    masks: Mapping[str, str | None] | None = None


def engine_read(
    realm: RealmState, request: Request, engine: str, columns: Mapping[str, str]
) -> LimitedRead:
    """As `limited_read`, for an engine that asks: it reads nothing of what is switched off."""
    if lies_in_off(realm, request.target):
        return LimitedRead(False, effective_read(realm.matrix, request).operation)
    return limited_read(realm, request, engine, columns)


def limited_read(
    realm: RealmState,
    request: Request,
    engine: str,
    columns: Mapping[str, str],
) -> LimitedRead:
    """How the request's target may be read with an engine.

    It may not be read where a DENY closes one of the columns. One that the realm cannot name could
    be any, and has the masks of the table.

    Args:
        realm: The realm that the target is in.
        request: Who asks, and about what; its operation does not matter.
        engine: The engine whose SQL is written.
        columns: The columns that there are where the rows are, with the types they have there.

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
    """The privileges of a shortest way to be allowed; none where nothing would help."""
    if not operation:
        return ()
    try:
        ways = lacking(matrix, replace(request, operation=operation))
    except WardenError:
        return ()
    return tuple(sorted({need.privilege for need in ways[0]})) if ways else ()
