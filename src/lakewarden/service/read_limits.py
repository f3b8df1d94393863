"""The limits of a table read, in the SQL of the requesting engine.

The kernel determines which filters and masks apply (`kernel.obligations`). Here they become SQL
with the values of the user. What cannot be expressed hides data: a filter becomes FALSE, a mask
NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from lakewarden.expressions.checker import Table, check_expression
from lakewarden.expressions.engine_types import COLLATION, cast_to_column, column_type, holds
from lakewarden.expressions.lookup import LookupTable, types_of
from lakewarden.expressions.masks import Mask, parse_mask, strictest
from lakewarden.expressions.nodes import InGroups, InLookup, UserValue, walk
from lakewarden.expressions.parser import Expression, parse_expression
from lakewarden.expressions.renderer import User, Values, render
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import GROUP, USER
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.service.state import RealmState

HIDDEN_ROWS = "FALSE"
"""The condition of a filter that cannot be expressed."""

HIDDEN_VALUE = "NULL"
"""The value of a mask that cannot be expressed."""

_DUCKDB = "duckdb"
_REMEMBERED = 65_536
_NO_TYPES: Mapping[str, str] = {}


def row_filters(
    realm: RealmState, request: Request, engine: str, columns: Mapping[str, str] | None = None
) -> list[str]:
    """The filters for the asker on the request's target, as SQL, ordered by id.

    All of them apply together. `columns` are the engine's types of the columns, if known: for some
    engines, conditions can be expressed only with them. Raises the errors of `obligations`.
    """
    binding = obligations(realm.matrix, request, Effect.FILTER)
    if not binding:
        return []
    user = user_of(realm, request)
    lookups = realm.realm.lookups
    return [_condition(one.expression, engine, user, columns, lookups) for one in binding]


def column_mask(
    realm: RealmState,
    requests: Sequence[Request],
    engine: str,
    column: str,
    type: str,
    beside: Mapping[str, str] | None = None,
) -> str | None:
    """The SQL that is shown instead of the column of the requests; None: show its values.

    There is at least one request, and several if the realm has the column under several names.
    `column` is the engine's name and `type` its type. `beside` are the types of all columns, if
    known: for some engines, masks that read other columns can be expressed only with them. Raises
    the errors of `obligations`.
    """
    mask = binding_mask(realm, *requests)
    if mask is None:
        return None
    return mask_value(realm, requests[0], mask, engine, column, type, beside)


def binding_mask(realm: RealmState, *requests: Request) -> Mask | None:
    """The strictest mask for the asker on the column of the requests.

    There are several requests if the realm has it under several names. Raises the errors of
    `obligations`.
    """
    binding = [
        one for request in requests for one in obligations(realm.matrix, request, Effect.MASK)
    ]
    return mask_of(counting_mask(binding)) if binding else None


def mask_value(
    realm: RealmState,
    request: Request,
    mask: Mask,
    engine: str,
    column: str,
    type: str,
    beside: Mapping[str, str] | None = None,
) -> str:
    """The SQL that is shown instead of the column by a mask for the asker; see above."""
    is_own = mask.expression is None or mask.expression.columns <= {column}
    others = {} if is_own or beside is None else beside
    if not others and (mask.expression is None or _is_constant(mask.expression)):
        return _constant_value(mask, engine, column, type)
    user = user_of(realm, request)
    return _rendered_value(mask, engine, column, type, user, realm.realm.lookups, others)


def counting_mask(masks: Sequence[Statement]) -> Statement:
    """The effective one of several masks on one column; there must be one."""
    counting, _ = strictest((statement.id, mask_of(statement)) for statement in masks)
    return next(statement for statement in masks if statement.id == counting)


def mask_of(statement: Statement) -> Mask:
    """The mask of a statement; `null` if its text cannot be parsed."""
    try:
        return _parsed_mask(statement.expression)
    except WardenError:
        return Mask("null")


def user_of(realm: RealmState, request: Request) -> User:
    """The asker as the user of expressions: name, the groups that count, and attributes."""
    named = realm.matrix.subject(request).named
    groups = frozenset(principal.name for principal in named if principal.kind == GROUP)
    name = request.principal.name if request.principal.kind == USER else ""
    return User(name, groups, realm.attributes_of(request.principal))


def _condition(
    text: str,
    engine: str,
    user: User,
    columns: Mapping[str, str] | None,
    lookups: Mapping[str, LookupTable],
) -> str:
    try:
        expression = _parsed(text)
        kinds = None if columns is None else _kinds(engine, columns, expression)
        table = Table(kinds, types_of(lookups))
        check_expression(expression, _checked(engine, table), engines=[engine])
        return render(expression, engine, table, user, _rows(lookups))
    except WardenError:
        return HIDDEN_ROWS


@lru_cache(_REMEMBERED)
def _constant_value(mask: Mask, engine: str, column: str, type: str) -> str:
    """The value of a mask that is the same for every user and independent of lookup tables."""
    return _rendered_value(mask, engine, column, type, User(""), {})


def _rendered_value(
    mask: Mask,
    engine: str,
    column: str,
    type: str,
    user: User,
    lookups: Mapping[str, LookupTable],
    beside: Mapping[str, str] = _NO_TYPES,
) -> str:
    kind = column_type(engine, type)
    if _exceeds_column_width(type, kind, mask):
        mask = Mask("null")
    kinds = {**_kinds(engine, beside, mask.expression), column: kind}
    # A requesting engine sends no types of other columns.
    is_known = mask.expression is None or mask.expression.columns <= kinds.keys()
    table = Table(kinds if is_known else None, types_of(lookups))
    try:
        if mask.expression is not None:
            checked = _checked(engine, table)
            check_expression(mask.expression, checked, result=kind, engines=[engine])
        sql = render(mask.value(column, kind), engine, table, user, _rows(lookups))
    except WardenError:
        return HIDDEN_VALUE
    # The engine accepts no value of another type, such as a longer text.
    return HIDDEN_VALUE if kind is Type.OTHER else cast_to_column(engine, sql, type)


def _exceeds_column_width(type: str, kind: Type, mask: Mask) -> bool:
    """Whether the mask is a constant that is too large for the column."""
    is_number = mask.kind == "constant" and kind in (Type.INTEGER, Type.DECIMAL) and mask.fits(kind)
    return is_number and not holds(type, mask.argument)


def _kinds(
    engine: str, columns: Mapping[str, str], expression: Expression | None
) -> dict[str, Type]:
    """The types of the columns, as far as they affect the SQL for the engine."""
    kinds = {name: column_type(engine, text) for name, text in columns.items()}
    matters = _MATTERING.get(engine)
    if matters is None or not columns or expression is None:
        return kinds
    # The engine knows the other types itself, and columns under names in another case.
    typed = {name.lower(): kind for name, kind in kinds.items() if matters(columns[name], kind)}
    return {name: typed.get(name.lower(), Type.NULL) for name in expression.columns}


_MATTERING: Mapping[str, Callable[[str, Type], bool]] = {
    _DUCKDB: lambda _, kind: kind is Type.STRING,
    "spark": lambda text, _: COLLATION in text,
}
"""For requesting engines, the types that matter: their strings may have collations."""


def _checked(engine: str, table: Table) -> Table:
    """The table against which the expression is checked; DuckDB reports mismatches itself."""
    return Table(None, table.lookups) if engine == _DUCKDB else table


@lru_cache(_REMEMBERED)
def _parsed(text: str) -> Expression:
    return parse_expression(text)


@lru_cache(_REMEMBERED)
def _parsed_mask(text: str) -> Mask:
    return parse_mask(text)


def _is_constant(expression: Expression) -> bool:
    """Whether it has the same value for every user, independent of lookup tables."""
    varying = UserValue | InGroups | InLookup
    return not any(isinstance(node, varying) for node in walk(expression.root))


def _rows(lookups: Mapping[str, LookupTable]) -> dict[str, Sequence[Values]]:
    return {name: lookup.rows for name, lookup in lookups.items()}
