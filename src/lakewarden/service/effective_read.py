"""What a principal sees of a table: whether it may be read, which rows, which values.

Also, by column: who sees unmasked values. And for any allowed request: the filters and masks that
apply when its target is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from pyroaring import BitMap

from lakewarden.kernel.denied_inside import denied_inside
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import VALUES, Model
from lakewarden.kernel.obligations import binding_inside, obligations
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.statement_file import principal_text
from lakewarden.kernel.who import who
from lakewarden.names.identities import entity_text

READ = "read"
"""The kind of access (`access` of the model file) that filters and masks limit."""

_NAMED = 5
"""The most statements of a kind that a note names; the others are counted."""


@dataclass(frozen=True, slots=True)
class MaskedColumn:
    """A masked column: the masks that apply, by id, and which of them is effective."""

    column: Entity
    masks: tuple[Statement, ...]
    counting: Statement


@dataclass(frozen=True, slots=True)
class EffectiveRead:
    """What the principal sees of a table.

    `may_read`: whether the operation `operation` allows reading at all; `operation` is empty if the
    model has none. All `filters` apply together. `columns` are the masked columns, of `stored`
    columns in total. `denied` are the columns that a DENY closes, or the table itself if a DENY may
    close columns that are not stored.
    """

    may_read: bool
    operation: str
    filters: tuple[Statement, ...]
    columns: tuple[MaskedColumn, ...]
    stored: int
    denied: tuple[Entity, ...] = ()


def effective_read(matrix: Matrix, request: Request) -> EffectiveRead:
    """What the asker sees of the request's target; the request's operation does not matter.

    Raises `BadInput` for a type without rows, and the errors of `obligations`.
    """
    model, table = matrix.snapshot.model, request.target
    declared = model.types.get(table.type)
    if declared is None or not declared.filtered:
        known = sorted(name for name, one in model.types.items() if one.filtered)
        expected = ", ".join(known) or "none in this model"
        what = f"a {table.type}" if table.type else "the platform"
        raise BadInput(f"{what} has no rows; types that have: {expected}")
    operation = model.reaching(READ, table.type) or ""
    columns = _columns(matrix, table)
    may_read = bool(operation) and _is_allowed(matrix, request, operation)
    reading = replace(request, operation=operation)
    return EffectiveRead(
        may_read=may_read,
        operation=operation,
        filters=obligations(matrix, request, Effect.FILTER),
        columns=tuple(_masked(matrix, request, columns)),
        stored=len(columns),
        denied=tuple(sorted(denied_columns(matrix, reading))) if may_read else (),
    )


def denied_columns(
    matrix: Matrix, request: Request, named: Collection[Entity] | None = None
) -> frozenset[Entity]:
    """The columns that a DENY closes, among the `named` ones or all columns of the request's table.

    Raises the errors of `denied_inside`.
    """
    return denied_inside(matrix, request, named, reading_values(matrix.snapshot.model))


def reading_values(model: Model) -> str | None:
    """The operation that reads values of columns, if the model has one."""
    values = (model.reaching(VALUES, name) for name, type in model.types.items() if type.masked)
    return next(filter(None, values), None)


def denied_notes(seen: EffectiveRead) -> tuple[str, ...]:
    """A note about columns that are denied on a table that may be read."""
    if not seen.denied:
        return ()
    names = ", ".join(str(one) for one in seen.denied[:_NAMED])
    more = f" and {len(seen.denied) - _NAMED} more" if len(seen.denied) > _NAMED else ""
    return (f"denied to read: {names}{more}; an engine that reads whole tables reads none of it",)


def unmasked_users(matrix: Matrix, request: Request) -> list[Principal]:
    """The stored users who may read the target's table and to whom no mask applies on it, sorted.

    Users to whom a DENY closes the column are excluded. The target is a column, stored or not; the
    request's principal and operation do not matter. Raises `BadInput` if it is not a column, and
    the errors of `obligations`.
    """
    model, column = matrix.snapshot.model, request.target
    declared = model.types.get(column.type)
    if declared is None or not declared.masked:
        known = ", ".join(sorted(name for name, one in model.types.items() if one.masked))
        what = f"a {column.type}" if column.type else "the platform"
        raise BadInput(f"{what} is not a column; types that are: {known or 'none in this model'}")
    table = _table_of(matrix, column)
    operation = model.reaching(READ, table.type)
    if operation is None:
        return []
    reading = replace(request, target=table, operation=operation)
    return sorted(
        reader
        for reader in who(matrix, reading)
        if not obligations(matrix, replace(request, principal=reader), Effect.MASK)
        and not denied_columns(matrix, replace(reading, principal=reader), [column])
    )


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The row filters and the column masks that apply when `table` is read, each kind by id.

    If the question was about a column, the masks are those on that column.
    """

    table: Entity
    filters: tuple[Statement, ...]
    masks: tuple[Statement, ...]


def limits_of_read(matrix: Matrix, request: Request) -> ReadLimits | None:
    """The filters and masks for the asker when the target of an allowed request is read.

    None if nothing applies: the request is denied, its target has neither rows nor values, or the
    asker may not read the table anyway. Raises the errors of `obligations`.
    """
    model, target = matrix.snapshot.model, request.target
    declared = model.types.get(target.type)
    if declared is None or not (declared.filtered or declared.masked):
        return None
    if not matrix.decide(request).allow:
        return None
    table = target if declared.filtered else _table_of(matrix, target)
    reading = model.reaching(READ, target.type)
    if reading is not None and not _is_allowed(matrix, request, reading):
        return None
    filters = obligations(matrix, replace(request, target=table), Effect.FILTER)
    masks = binding_inside(matrix, request, Effect.MASK)
    return ReadLimits(table, filters, masks) if filters or masks else None


def limits_notes(limits: ReadLimits | None, principal: Principal) -> tuple[str, ...]:
    """A note about the limits of a principal, and how to see them."""
    if limits is None:
        return ()
    kinds = (("row filter", limits.filters), ("column mask", limits.masks))
    binding = [_counted(name, statements) for name, statements in kinds if statements]
    is_single = len(limits.filters) + len(limits.masks) == 1
    asker = principal.name if principal.kind == USER else principal_text(principal)
    return (
        f"{' and '.join(binding)} {'binds' if is_single else 'bind'} where it is read:"
        f" `lakewarden see {quote(asker)} {quote(entity_text(limits.table))}`",
    )


def _counted(name: str, statements: Sequence[Statement]) -> str:
    """The number of statements of a kind, and their ids."""
    count, ids = len(statements), [one.id for one in statements[:_NAMED]]
    more = [f"{count - _NAMED} more"] if count > _NAMED else []
    return f"{count} {name}{'' if count == 1 else 's'} ({', '.join([*ids, *more])})"


def _is_allowed(matrix: Matrix, request: Request, operation: str) -> bool:
    return matrix.decide(replace(request, operation=operation)).allow


def _table_of(matrix: Matrix, column: Entity) -> Entity:
    """The entity with the rows of which this is a column."""
    ancestors, types = matrix.snapshot.coded.ancestors(column), matrix.snapshot.model.types
    return next(ancestor for ancestor in ancestors if types[ancestor.type].filtered)


def _columns(matrix: Matrix, table: Entity) -> list[Entity]:
    """The stored columns of the table, ordered by name."""
    tree, types = matrix.snapshot.coded.tree, matrix.snapshot.model.types
    id = tree.find(table)
    if id is None:
        return []
    below = [tree.entity(each) for each in tree.below(BitMap([id]))]
    return sorted(entity for entity in below if types[entity.type].masked)


def _masked(matrix: Matrix, request: Request, columns: list[Entity]) -> list[MaskedColumn]:
    # Imported here: the library that parses SQL loads slowly, and few questions need it.
    from lakewarden.service.read_limits import counting_mask

    masked: list[MaskedColumn] = []
    for column in columns:
        masks = obligations(matrix, replace(request, target=column), Effect.MASK)
        if masks:
            masked.append(MaskedColumn(column, masks, counting_mask(masks)))
    return masked
