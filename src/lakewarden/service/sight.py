"""What a principal sees of a table: whether it may be read, which rows, which values.

And by column: who sees its values as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.who import who

READ = "read"
"""The kind of access (`access` of the model file) that filters and masks limit."""


@dataclass(frozen=True, slots=True)
class ColumnSight:
    """A column that is masked: the masks that bind, by id, and which of them counts."""

    column: Entity
    masks: tuple[Statement, ...]
    counting: Statement


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen of a table.

    `may_read`: whether the operation `operation` allows reading at all; `operation` is empty if
    the model has none. `filters` hold together. `columns` are the masked columns, of `stored`
    columns in all.
    """

    may_read: bool
    operation: str
    filters: tuple[Statement, ...]
    columns: tuple[ColumnSight, ...]
    stored: int


def sight(matrix: Matrix, request: Request) -> Sight:
    """What who asks sees of the request's target; its operation does not matter.

    Raises `BadInput` for a type without rows, and as `obligations` does.
    """
    model, table = matrix.snapshot.model, request.target
    declared = model.types.get(table.type)
    if declared is None or not declared.filtered:
        known = sorted(name for name, one in model.types.items() if one.filtered)
        expected = ", ".join(known) or "none in this model"
        what = f"a {table.type}" if table.type else "the platform"
        raise BadInput(f"{what} has no rows; types that have: {expected}")
    operation = model.reaching(READ, table.type) or ""
    allowed = operation and matrix.decide(replace(request, operation=operation)).allow
    columns = _columns(matrix, table)
    return Sight(
        may_read=bool(allowed),
        operation=operation,
        filters=obligations(matrix, request, Effect.FILTER),
        columns=tuple(_masked(matrix, request, columns)),
        stored=len(columns),
    )


def unmasked_users(matrix: Matrix, request: Request) -> list[Principal]:
    """The stored users who may read the target's table and whom no mask binds on it, in order.

    The target is a column, stored or not; the request's principal and operation do not matter.
    Raises `BadInput` for what is not a column, and as `obligations` does.
    """
    model, column = matrix.snapshot.model, request.target
    declared = model.types.get(column.type)
    if declared is None or not declared.masked:
        known = ", ".join(sorted(name for name, one in model.types.items() if one.masked))
        what = f"a {column.type}" if column.type else "the platform"
        raise BadInput(f"{what} is not a column; types that are: {known or 'none in this model'}")
    ancestors = matrix.snapshot.coded.ancestors(column)
    table = next(ancestor for ancestor in ancestors if model.types[ancestor.type].filtered)
    operation = model.reaching(READ, table.type)
    if operation is None:
        return []
    readers = who(matrix, replace(request, target=table, operation=operation))
    return sorted(
        reader
        for reader in readers
        if not obligations(matrix, replace(request, principal=reader), Effect.MASK)
    )


def _columns(matrix: Matrix, table: Entity) -> list[Entity]:
    """The stored columns of the table, in order of their names."""
    tree, types = matrix.snapshot.coded.tree, matrix.snapshot.model.types
    id = tree.find(table)
    if id is None:
        return []
    below = [tree.entity(each) for each in tree.below(BitMap([id]))]
    return sorted(entity for entity in below if types[entity.type].masked)


def _masked(matrix: Matrix, request: Request, columns: list[Entity]) -> list[ColumnSight]:
    # Here, because the library that reads SQL takes a while to load, and few questions need it.
    from lakewarden.service.read_limits import counting_mask

    masked: list[ColumnSight] = []
    for column in columns:
        masks = obligations(matrix, replace(request, target=column), Effect.MASK)
        if masks:
            masked.append(ColumnSight(column, masks, counting_mask(masks)))
    return masked
