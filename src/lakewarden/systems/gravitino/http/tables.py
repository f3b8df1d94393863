"""Tables of relational catalogs and their columns, without partitions.

SOURCE: gravitino reference 3.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.obligations import is_limited
from lakewarden.names.canonical import quoted
from lakewarden.service.column_uses import column_dependents
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino.http import kinds, object_store
from lakewarden.systems.gravitino.http.authorization import is_stored
from lakewarden.systems.gravitino.http.bodies import Body, Json, enum_word, is_on, present, read
from lakewarden.systems.gravitino.http.errors import illegal, unsupported
from lakewarden.systems.gravitino.http.kinds import (
    SCHEMA,
    Created,
    Kind,
    described,
    plain,
    routes_of,
)
from lakewarden.systems.gravitino.http.refusals import columns_are_limited
from lakewarden.systems.gravitino.http.table_columns import (
    COLUMN_UPDATES,
    Column,
    Index,
    apply_column,
    columns,
    columns_of,
    index,
)
from lakewarden.systems.gravitino.http.updates import (
    Draft,
    RemoveProperty,
    SetProperty,
    Update,
    UpdateComment,
    apply_shared,
)

UNDISTRIBUTED: Final[Json] = {"strategy": "none", "number": 0, "funcArgs": []}
"""The distribution of a table that has none."""

_TRANSFORMS: Final = (
    *("identity", "year", "month", "day", "hour"),
    *("bucket", "truncate", "list", "range", "function"),
)
_STRATEGIES: Final = ("none", "hash", "range", "even")
_DIRECTIONS: Final = ("asc", "desc")
_NULL_ORDERINGS: Final = ("nulls_first", "nulls_last")

_ONE_COLUMN: Final[Json] = {
    "name": "unknown",
    "type": "null",
    "nullable": True,
    "autoIncrement": False,
}
"""Shown for a table whose columns are not known: clients reject a table without columns."""


class Create(Body):
    """The body of POST …/tables."""

    name: str
    columns: list[Column]
    comment: str | None = None
    properties: dict[str, str] | None = None
    partitioning: list[Json] | None = None
    distribution: Json | None = None
    sort_orders: list[Json] | None = None
    indexes: list[Index] | None = None


class Rename(Update, tag="rename"):
    """Renames the table; moving it to another schema is not supported."""

    new_name: str
    new_schema_name: str | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    if not body.columns:
        raise illegal("body: a table needs at least one column")
    description = described(body.comment, body.properties)
    return body.name, {
        **description,
        "columns": columns(body.columns),
        "partitioning": [_transform(transform) for transform in body.partitioning or []],
        "distribution": _distribution(body.distribution),
        "sortOrders": [
            _lowered(order, direction=_DIRECTIONS, nullOrdering=_NULL_ORDERINGS)
            for order in body.sort_orders or []
        ],
        "indexes": [index(body_of_index) for body_of_index in body.indexes or []],
    }


def _transform(transform: Json) -> Json:
    if transform.get("strategy") is None:
        raise illegal("body: a partitioning has a `strategy`")
    return _lowered(transform, strategy=_TRANSFORMS)


def _distribution(distribution: Json | None) -> Json:
    if distribution is None:
        return UNDISTRIBUTED
    given = {key: value for key, value in distribution.items() if value is not None}
    number, arguments = given.get("number", 0), given.get("funcArgs", [])
    # In JSON `true` is not a number, in Python it is.
    if type(number) is not int or not isinstance(arguments, list):
        raise illegal("body: a distribution has a `number` and a list of `funcArgs`")
    strategy = _lowered({"strategy": "hash", **given}, strategy=_STRATEGIES)
    return {**strategy, "number": number, "funcArgs": arguments}


def _lowered(members: Json, **words: Collection[str]) -> Json:
    """The object with the words under these keys in lower case, without members that are None.

    Raises `Failure` for other words.
    """
    members = {key: value for key, value in members.items() if value is not None}
    named = {key: members[key] for key in words if key in members}
    for key, value in named.items():
        if not isinstance(value, str):
            raise illegal(f"body: expected a word as `{key}`")
    lower = {key: enum_word(str(value), words[key], f"`{key}`") for key, value in named.items()}
    return {**members, **lower}


def show(name: str, body: Json) -> Json:
    """A table in the form of replies."""
    own = present(
        columns=body.get("columns") or [_ONE_COLUMN],
        partitioning=body.get("partitioning") or [],
        distribution=body.get("distribution") or UNDISTRIBUTED,
        sortOrders=body.get("sortOrders") or [],
        indexes=body.get("indexes") or [],
    )
    return {**plain(name, body), **own}


def _apply(draft: Draft, update: Any) -> None:
    if isinstance(update, Rename):
        if update.new_schema_name:
            raise unsupported(f"moving to schema {quoted(update.new_schema_name)} is not supported")
        draft.name = update.new_name
    elif not apply_column(draft, update):
        apply_shared(draft, update)


def _columns_added(
    exchange: Exchange, transaction: WriteTransaction, table: Entity, body: Json
) -> None:
    transaction.change(
        exchange.realm, *(EntityAdded(column, table) for column in _columns(table, body))
    )


def _columns_altered(
    exchange: Exchange, transaction: WriteTransaction, table: Entity, draft: Draft
) -> None:
    """Adds, drops and renames columns; a renamed column keeps what is attached to it."""
    _refuse_needed(exchange, transaction, table, draft)
    for old, new in draft.renamed:
        was, now = _column(table, old), None if new is None else _column(table, new)
        state = transaction.realm(exchange.realm)
        if was is None or not is_stored(state, was):
            continue
        if new is None:
            # Immediately: another column may take its name, together with what is attached to it.
            transaction.change(exchange.realm, EntityDropped(was))
        elif now and not is_stored(state, now):
            transaction.change(exchange.realm, EntityRenamed(was, now.name))
    stored = _stored_columns(transaction.realm(exchange.realm), table)
    columns = set(_columns(table, draft.body))
    removed: list[Effect] = [EntityDropped(column) for column in sorted(stored - columns)]
    come = (EntityAdded(column, table) for column in sorted(columns - stored))
    transaction.change(exchange.realm, *removed, *come)


def _refuse_needed(
    exchange: Exchange, transaction: WriteTransaction, table: Entity, draft: Draft
) -> None:
    """Raises `Failure` if a filter or a mask needs a column that is dropped or renamed.

    The check can be forced, but not by users who are bound by one on the table: changed columns
    could show them more, so they may change none.
    """
    state = transaction.realm(exchange.realm)
    stored, columns = _stored_columns(state, table), set(_columns(table, draft.body))
    request = exchange.actor.request(state.realm, state.system, "", table, now=transaction.now)
    if (draft.renamed or stored != columns) and is_limited(state.matrix, request):
        raise columns_are_limited()
    moved = {_column(table, old) for old, _ in draft.renamed}
    gone = stored - columns
    names = {object_store.last(one) for one in gone} | {old for old, _ in draft.renamed}
    deleted = {_column(table, name) for name in _deleted(table, draft)}
    dropped = (gone - moved) | (stored & deleted)
    ids = column_dependents(state.matrix.snapshot, table, dropped, names) if names else []
    if ids and not is_on(exchange, "force"):
        said = f"{', '.join(map(quoted, sorted(names)))}: needed by {', '.join(map(quoted, ids))}"
        raise illegal(f"columns {said} (row filters and column masks); change these, or use force")


def _deleted(table: Entity, draft: Draft) -> Iterator[str]:
    """The names that deleted columns had before the updates; others may have them afterwards.

    A column renamed to an invalid name for an object counts as deleted: nothing can be attached to
    it.
    """
    first: dict[str, str] = {}
    for old, new in draft.renamed:
        name = first.pop(old, old)
        if new is None or _column(table, new) is None:
            yield name
        else:
            first[new] = name


def _stored_columns(state: RealmState, table: Entity) -> set[Entity]:
    return set(object_store.children(state, table, lambda _: True))


def _columns(table: Entity, body: Json) -> Iterator[Entity]:
    """The entities of the columns whose names are valid for objects."""
    columns = (_column(table, str(column["name"])) for column in columns_of(body))
    return (column for column in columns if column is not None)


def _column(table: Entity, name: str) -> Entity | None:
    try:
        return object_store.child(table, "column", name)
    except BadInput:
        return None


TABLES: Final = Kind(
    type="table",
    within="schema",
    path=SCHEMA + "/tables",
    read=_read,
    show=show,
    updates=Rename | UpdateComment | SetProperty | RemoveProperty | COLUMN_UPDATES,
    apply=_apply,
    family="relational",
    added=_columns_added,
    altered=_columns_altered,
)


def load(exchange: Exchange) -> Reply:
    """One table; `privileges=MODIFY_TABLE` requests it for modification."""
    privileges = {name.strip().upper() for name in exchange.one("privileges").split(",")}
    verb = "load_to_modify" if "MODIFY_TABLE" in privileges else "load"
    return kinds.load(TABLES, exchange, f"table.{verb}")


def drop(exchange: Exchange) -> Reply:
    """Removes the table; `purge` would also remove its data, but none is stored here."""
    operation = "table.purge" if is_on(exchange, "purge") else "table.drop"
    return kinds.drop(TABLES, exchange, operation)


_FIVE: Final = routes_of(TABLES)

ROUTES: Final = (
    *(route for route in _FIVE if route.operation not in ("table.load", "table.drop")),
    Route("GET", TABLES.one, "table.load", load),
    Route("DELETE", TABLES.one, "table.drop", drop),
)
