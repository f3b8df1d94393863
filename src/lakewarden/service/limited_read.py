"""Whether a principal may read a table, and what the read has to keep to, in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.explain import lacking
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Request
from lakewarden.service.column_names import columns_alike
from lakewarden.service.read_limits import column_mask, row_filters
from lakewarden.service.sight import denied_columns, sight
from lakewarden.service.state import RealmState
from lakewarden.service.system import System


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


def limited_read(
    realm: RealmState,
    request: Request,
    engine: str,
    columns: Mapping[str, str],
    *,
    typed: bool = False,
) -> LimitedRead:
    """How the request's target may be read with an engine.

    Args:
        realm: The realm that the target is in.
        request: Who asks, and about what; its operation does not matter.
        engine: The engine whose SQL is written.
        columns: The columns that there are where the rows are, with the types they have there.
        typed: Filters and masks are written for these types, as some engines need.

    Raises:
        BadInput: The target has no rows, or a masked column is none of the columns.

    It may not be read where a DENY closes one of the columns.
    """
    system, matrix = realm.system, realm.matrix
    seen = sight(matrix, request)
    if not seen.may_read:
        return LimitedRead(False, seen.operation, _missing(matrix, request, seen.operation))
    entities = {name: _column(system, matrix, request.target, name) for name in columns}
    alike = columns_alike(realm, request.target)

    def _alike(name: str) -> Sequence[Entity]:
        return alike.get(name.lower(), ())

    # A column that the realm cannot name could be any.
    others = {one for name in columns for one in _alike(name)}
    named = None if request.target in entities.values() else {*entities.values(), *others}
    if seen.denied and denied_columns(matrix, replace(request, operation=seen.operation), named):
        return LimitedRead(False, seen.operation)
    unmatched = {one.column for one in seen.columns} - set(entities.values())
    if unmatched:
        raise BadInput(f"no column is `{min(unmatched).name}`, which has a mask")
    return LimitedRead(
        True,
        seen.operation,
        filters=tuple(row_filters(realm, request, engine, columns if typed else None)),
        masks={
            name: column_mask(
                *(realm, [replace(request, target=one) for one in (entity, *_alike(name))]),
                *(engine, name, columns[name]),
                columns if typed else None,
            )
            for name, entity in entities.items()
        },
    )


def _column(system: System, matrix: Matrix, table: Entity, name: str) -> Entity:
    """The column's entity; one that the realm cannot name has the masks of its table."""
    model = matrix.snapshot.model
    for type in (type for type, declared in model.types.items() if declared.masked):
        try:
            column = system.spelling.parse(type, f"{table.name}.{name}")
        except WardenError:
            continue
        return column
    return table


def _missing(matrix: Matrix, request: Request, operation: str) -> tuple[str, ...]:
    """The privileges of a shortest way to be allowed; none where nothing would help."""
    if not operation:
        return ()
    try:
        ways = lacking(matrix, replace(request, operation=operation))
    except WardenError:
        return ()
    return tuple(sorted({need.privilege for need in ways[0]})) if ways else ()
