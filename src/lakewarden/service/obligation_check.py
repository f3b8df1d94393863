"""Checks filters and masks before they are stored: they must be in the expression language.

Columns are checked if those of the table are stored, and their types if its document contains them.
Otherwise the engine knows them: an engine that is asked for a nonexistent column denies the read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from lakewarden.analysis.table_columns import (
    columns_read,
    expression_of,
    missing_columns,
    stored_columns,
)
from lakewarden.expressions.engines import engines_of
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.column_types import ColumnType, column_types
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState

LOOKUP: Final = "lookup"
"""The prefix of a lookup table's name."""


def check_obligation(statement: Statement, where: str) -> None:
    """Refuses a filter or a mask whose expression cannot be parsed. Raises `BadInput`.

    `where` is the place of the statement. An id must not be a URN: systems that store policies
    under their URNs would treat the statement as a policy.
    """
    if not statement.obliges:
        return
    if statement.id.startswith("urn:"):
        raise BadInput(
            f"the id `{statement.id}` of a filter or a mask must not be a URN", where=where
        )
    where = f"{where}.expression"
    if not statement.expression:
        raise BadInput("expected an expression", where=where)
    expression_of(statement, where)


def check_in_realm(
    statement: Statement,
    realm: RealmState,
    lookups: Mapping[str, Sequence[Type]],
    where: str,
    reading: Reading | None = None,
) -> None:
    """Refuses a filter or a mask that the realm's tables, or its engines, do not support.

    `lookups` are the types of the columns of each lookup table, `where` is the place of the
    statement. Without `reading` the types of columns are unknown. Raises `BadInput`.
    """
    if not statement.obliges:
        return
    coded = realm.matrix.snapshot.coded
    table = _table(statement, coded)
    columns: Sequence[ColumnType] = ()
    if table is not None:
        _check_names(statement, coded, table, where)
        if reading is not None:
            columns = column_types(reading, realm, coded.tree.entity(table))
    engines = engines_of(realm.system.model.settings)
    check_types(statement, lookups, where, columns=columns, engines=engines)


def check_types(
    statement: Statement,
    lookups: Mapping[str, Sequence[Type]],
    where: str,
    *,
    columns: Sequence[ColumnType] = (),
    engines: Sequence[str] = (),
) -> None:
    """Refuses a filter or a mask with a value of the wrong type.

    `lookups` are the types of the columns of each lookup table; an undeclared one is refused, and
    so is an expression that one of the `engines` cannot express. `columns` are those of the table,
    as far as known; unknown ones have any type. `where` is the place of the statement. Raises
    `BadInput`.
    """
    if not statement.obliges:
        return
    # Imported here: the library that parses SQL loads slowly, and few processes need it.
    from lakewarden.expressions.checker import Table, check_expression
    from lakewarden.expressions.masks import check_mask, parse_mask

    expression = expression_of(statement)
    read = frozenset[str]() if expression is None else expression.columns
    kinds = dict.fromkeys(read, Type.NULL) | {one.name: one.kind for one in columns}
    table = Table(kinds if columns else None, lookups)
    masked = _masked_column(statement, columns)
    try:
        if masked is not None:
            mask = parse_mask(statement.expression)
            check_mask(mask, masked.kind, table, engines=engines)
        elif expression is not None:
            result = Type.BOOLEAN if statement.effect is Effect.FILTER else None
            check_expression(expression, table, result=result, engines=engines)
    except BadInput as error:
        concerned = [one for one in columns if one.name in read or one is masked]
        said = ", ".join(f"`{one.name}` is {one.type}" for one in concerned)
        message = f"{error.message} (the column {said})" if said else error.message
        raise BadInput(message, where=f"{where}.expression") from None


def _masked_column(statement: Statement, columns: Sequence[ColumnType]) -> ColumnType | None:
    """The column that a mask is on, if its type is known."""
    if statement.effect is not Effect.MASK or not isinstance(statement.scope, On):
        return None
    entity = statement.scope.entity
    found = (one for one in columns if one.entity == entity and one.kind is not Type.NULL)
    return next(found, None)


def newly_broken(
    statements: Iterable[Statement],
    before: Mapping[str, Sequence[Type]],
    after: Mapping[str, Sequence[Type]],
) -> list[str]:
    """The ids of statements that work with the lookup tables `before`, but not with `after`."""
    gone = {name for name, types in before.items() if after.get(name) != types}
    using = (one for one in statements if lookups_read(one) & gone)
    return sorted(
        one.id for one in using if _is_well_typed(one, before) and not _is_well_typed(one, after)
    )


def lookups_read(statement: Statement) -> frozenset[str]:
    """The lookup tables that a filter or a mask reads; empty if it cannot be parsed."""
    if not statement.obliges or LOOKUP not in statement.expression.lower():
        return frozenset()
    try:
        expression = expression_of(statement)
    except BadInput:
        return frozenset()
    return frozenset() if expression is None else expression.lookups


def _is_well_typed(statement: Statement, lookups: Mapping[str, Sequence[Type]]) -> bool:
    try:
        check_types(statement, lookups, "")
    except BadInput:
        return False
    return True


def _table(statement: Statement, coded: Coded) -> int | None:
    """The table of the statement's scope, or around it; None if there are several or none."""
    if not isinstance(statement.scope, On):
        return None
    at = (statement.scope.entity, *coded.ancestors(statement.scope.entity))
    types = coded.model.types
    tables = (e for e in at if e.type in types and types[e.type].filtered)
    return next((coded.tree.find(entity) for entity in tables), None)


def _check_names(statement: Statement, coded: Coded, table: int, where: str) -> None:
    """Refuses a filter or a mask that reads a column missing in a table with stored columns."""
    for name in missing_columns(coded, table, columns_read(statement)):
        near = get_close_matches(name, stored_columns(coded, table), 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise BadInput(f"the table has no column `{name}`{hint}", where=f"{where}.expression")
