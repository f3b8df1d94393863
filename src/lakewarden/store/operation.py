"""The operations on rows that effects are split into: many rows of one table at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from lakewarden.kernel.errors import Conflict, Unknown
from lakewarden.store import schema
from lakewarden.store.bulk import OnConflict, Row, delete, delete_measured, insert, measured, update
from lakewarden.store.key import ENTITY, key
from lakewarden.store.limits import Size

TOKEN_COLUMNS: Final = (
    *("id", "digest", "user", "created", "expires", "directory", "realm", "title"),
    *("unproven", "groups", "parent"),
)

Perform = Callable[[sa.Connection, Sequence[Row]], Size | None]


class Operation:
    """An operation on many rows of one table.

    `perform` returns the change in what `schema.document_totals` counts, if any.
    """

    def __init__(self, table: sa.Table, perform: Perform) -> None:
        self.table = table.name
        self.perform = perform


def _inserting(
    table: sa.Table, on_conflict: OnConflict, unique: Sequence[str], columns: Sequence[str] = ()
) -> Operation:
    names = columns or [column.name for column in table.c if column.name != "id"]

    def perform(connection: sa.Connection, rows: Sequence[Row]) -> None:
        insert(connection, table, names, rows, on_conflict, unique)

    return Operation(table, perform)


def _replacing_measured(table: sa.Table, unique: Sequence[str]) -> Operation:
    """Inserts or replaces rows of a measured table.

    INVARIANT: the write holds the lock, so nobody changes the rows between measuring and replacing.
    """
    names = [column.name for column in table.c]
    place = [names.index(name) for name in unique]
    body = names.index("body")

    def perform(connection: sa.Connection, rows: Sequence[Row]) -> Size:
        last = {tuple(row[i] for i in place): row for row in rows}
        before = measured(connection, table, unique, list(last))
        insert(connection, table, names, list(last.values()), OnConflict.REPLACE, unique)
        size = sum(len(row[body].encode()) for row in last.values())
        return Size(len(last) - before.documents, size - before.bytes)

    return Operation(table, perform)


def _deleting(table: sa.Table, *columns: str) -> Operation:
    """Deletes by the first values of a row, one for each of the columns."""

    def perform(connection: sa.Connection, rows: Sequence[Row]) -> Size | None:
        return _delete(connection, table, columns, [row[: len(columns)] for row in rows])

    return Operation(table, perform)


def _delete(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Sequence[Row]
) -> Size | None:
    if table not in schema.MEASURED:
        delete(connection, table, columns, rows)
        return None
    removed = delete_measured(connection, table, columns, rows)
    return Size(-removed.documents, -removed.bytes)


def _add_entities(connection: sa.Connection, rows: Sequence[Row]) -> None:
    columns = [column.name for column in schema.entities.c if column.name != "id"]
    with _unique_names([(row[2], row[3]) for row in rows[:2]]):
        insert(connection, schema.entities, columns, rows)


@contextmanager
def _unique_names(entities: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Raises `Conflict` for an existing entity; names it if only one is written."""
    try:
        yield
    except IntegrityError:
        type, name = entities[0]
        which = f"`{type}:{name}`" if len(entities) == 1 else "one of the entities"
        raise Conflict(f"{which} already exists") from None


def _drop_entities(connection: sa.Connection, rows: Sequence[Row]) -> None:
    count = delete(connection, schema.entities, ("scope", "key"), [row[:2] for row in rows])
    _check_found(connection, rows, count)


def _move_entities(connection: sa.Connection, rows: Sequence[Row]) -> None:
    new = ("parent_key", "parent_type", "parent_name")
    moved = [row[:5] for row in rows]
    count = update(connection, schema.entities, new, ("scope", "key"), moved)
    _check_found(connection, [row[3:] for row in rows], count)


def _rename_entities(connection: sa.Connection, rows: Sequence[Row]) -> None:
    renamed = [row[:4] for row in rows]
    with _unique_names([(row[4], row[1]) for row in rows[:2]]):
        count = update(connection, schema.entities, ("key", "name"), ("scope", "key"), renamed)
    _check_found(connection, [row[2:] for row in rows], count)
    parents = ("parent_key", "parent_name")
    update(connection, schema.entities, parents, ("scope", "parent_key"), renamed)


def _check_found(connection: sa.Connection, rows: Sequence[Row], count: int) -> None:
    """Rows are (scope, key, type, name). Raises `Unknown` for one that is not stored."""
    if count == len(rows):
        return
    table = schema.entities
    for scope, entity_key, type, name in rows:
        query = sa.select(table.c.id).where(table.c.scope == scope, table.c.key == entity_key)
        if connection.execute(query).first() is None:
            raise Unknown("entity", f"{type}:{name}")
    raise Unknown("entity", f"{rows[0][2]}:{rows[0][3]}")


def _renaming(table: sa.Table, key_column: str, name_column: str) -> Perform:
    def perform(connection: sa.Connection, rows: Sequence[Row]) -> None:
        renamed = [row[:4] for row in rows]
        update(connection, table, (key_column, name_column), ("scope", key_column), renamed)

    return perform


def _rename_relations(connection: sa.Connection, rows: Sequence[Row]) -> None:
    _renaming(schema.relations, "source_key", "source_name")(connection, rows)
    _renaming(schema.relations, "target_key", "target_name")(connection, rows)


def _drop_documents(connection: sa.Connection, rows: Sequence[Row]) -> Size | None:
    """Rows are (scope, key of an entity, …)."""
    keys = [(row[0], ENTITY, row[1]) for row in rows]
    return _delete(connection, schema.documents, _DOCUMENT, keys)


def _rename_documents(connection: sa.Connection, rows: Sequence[Row]) -> None:
    renamed = [(*row[:3], ENTITY, row[3]) for row in rows]
    update(connection, schema.documents, ("key", "name"), ("scope", "what", "key"), renamed)


def _set_attributes(connection: sa.Connection, rows: Sequence[Row]) -> None:
    last = {row[:3]: row for row in rows}
    key_columns = ("scope", "entity_key", "attribute_key")
    delete(connection, schema.attributes, key_columns, list(last))
    columns = [column.name for column in schema.attributes.c]
    values = [
        (*row[:3], key(value), *row[3:6], value)
        for row in last.values()
        for value in sorted(set(row[6]))
    ]
    if values:
        insert(connection, schema.attributes, columns, values)


def _clear_usage(connection: sa.Connection, rows: Sequence[Row]) -> None:
    delete(connection, schema.usage, ("realm",), rows)


def _put_links(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Rows are those of the table. The same link may already be stored with its ends swapped."""
    last = {row[:4]: row for row in rows}
    delete(connection, schema.links, _LINK, [(*key[2:], *key[:2]) for key in last])
    columns = [column.name for column in schema.links.c]
    insert(connection, schema.links, columns, list(last.values()), OnConflict.REPLACE, _LINK)


def _drop_links(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Rows are the keys of the two ends."""
    keys = [row[:4] for row in rows]
    delete(connection, schema.links, _LINK, [*keys, *((*row[2:], *row[:2]) for row in keys)])


def _unlink_entities(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Rows are (scope, key of an entity, …)."""
    realm = _linked_realm(connection, rows)
    if realm is not None:
        keys = [(realm, row[1]) for row in rows]
        delete(connection, schema.links, _LINK[:2], keys)
        delete(connection, schema.links, _LINK[2:], keys)


def _relink_entities(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Rows are (new key, new name, scope, key of an entity, …)."""
    realm = _linked_realm(connection, [row[2:] for row in rows])
    if realm is not None:
        renamed = [(*row[:2], realm, row[3]) for row in rows]
        update(connection, schema.links, ("one_key", "one_name"), _LINK[:2], renamed)
        update(connection, schema.links, ("other_key", "other_name"), _LINK[2:], renamed)


def _linked_realm(connection: sa.Connection, rows: Sequence[Row]) -> str | None:
    """The realm of the scope in all rows, if the realm has any link."""
    of, scopes = schema.links.c, schema.scopes.c
    realm = connection.execute(sa.select(scopes.name).where(scopes.id == rows[0][0])).scalar_one()
    ends = [sa.select(column).where(column == realm) for column in (of.one_realm, of.other_realm)]
    is_linked = any(connection.execute(end.limit(1)).first() is not None for end in ends)
    return realm if is_linked else None


def _unlink_realms(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Rows are names of realms."""
    for column in ("one_realm", "other_realm"):
        delete(connection, schema.links, (column,), rows)


_LINK = ("one_realm", "one_key", "other_realm", "other_key")
_EDGE = ("scope", "source_key", "kind", "target_key")
_OWNER = ("scope", "entity_key", "owner_key")
_MEMBERSHIP = ("scope", "member_key", "of_key")
_DOCUMENT = ("scope", "what", "key")
_VALUE = ("scope", "entity_key", "aspect", "time", "mark")
_SECRET = ("scope", "entity_key", "secret_key")
_KEY = ("scope", "key")

ADD_ENTITY = Operation(schema.entities, _add_entities)
MOVE_ENTITY = Operation(schema.entities, _move_entities)
DROP_ENTITY = (
    Operation(schema.entities, _drop_entities),
    _deleting(schema.relations, "scope", "source_key"),
    _deleting(schema.attributes, "scope", "entity_key"),
    _deleting(schema.owners, "scope", "entity_key"),
    Operation(schema.documents, _drop_documents),
    _deleting(schema.timeseries, "scope", "entity_key"),
    _deleting(schema.secrets, "scope", "entity_key"),
    _deleting(schema.credentials, "scope", "entity_key"),
    Operation(schema.links, _unlink_entities),
)
"""Relations *to* the entity stay: those that end with it arrive as separate changes, see
`kernel.cascade`."""
RENAME_ENTITY = (
    Operation(schema.entities, _rename_entities),
    Operation(schema.relations, _rename_relations),
    Operation(schema.attributes, _renaming(schema.attributes, "entity_key", "name")),
    Operation(schema.owners, _renaming(schema.owners, "entity_key", "name")),
    Operation(schema.documents, _rename_documents),
    Operation(schema.timeseries, _renaming(schema.timeseries, "entity_key", "name")),
    Operation(schema.secrets, _renaming(schema.secrets, "entity_key", "name")),
    Operation(schema.credentials, _renaming(schema.credentials, "entity_key", "name")),
    Operation(schema.links, _relink_entities),
)
ADD_RELATION = _inserting(schema.relations, OnConflict.KEEP, _EDGE)
DROP_RELATION = _deleting(schema.relations, *_EDGE)
SET_ATTRIBUTE = Operation(schema.attributes, _set_attributes)
ADD_OWNER = _inserting(schema.owners, OnConflict.KEEP, _OWNER)
DROP_OWNER = _deleting(schema.owners, *_OWNER)
ADD_PRINCIPAL = _inserting(schema.principals, OnConflict.KEEP, _KEY)
DROP_PRINCIPAL = _deleting(schema.principals, *_KEY)
ADD_MEMBERSHIP = _inserting(schema.memberships, OnConflict.KEEP, _MEMBERSHIP)
DROP_MEMBERSHIP = _deleting(schema.memberships, *_MEMBERSHIP)
PUT_STATEMENT = _inserting(schema.statements, OnConflict.REPLACE, _KEY)
DROP_STATEMENT = _deleting(schema.statements, *_KEY)
PUT_DOCUMENT = _replacing_measured(schema.documents, _DOCUMENT)
DROP_DOCUMENT = _deleting(schema.documents, *_DOCUMENT)
PUT_VALUE = _replacing_measured(schema.timeseries, _VALUE)
DROP_VALUE = _deleting(schema.timeseries, *_VALUE)
PUT_SECRET = _inserting(schema.secrets, OnConflict.REPLACE, _SECRET)
DROP_SECRET = _deleting(schema.secrets, *_SECRET)
PUT_TOKEN = _inserting(schema.tokens, OnConflict.REPLACE, _KEY, ("scope", "key", *TOKEN_COLUMNS))
DROP_TOKEN = _deleting(schema.tokens, *_KEY)
PUT_MODEL = _inserting(schema.models, OnConflict.REPLACE, ("digest",))
PUT_REALM = _inserting(schema.realms, OnConflict.REPLACE, ("scope",))
CLEAR = tuple(_deleting(table, "scope") for table in schema.OF_A_REALM)
CLEAR_USAGE = Operation(schema.usage, _clear_usage)
PUT_LINK = Operation(schema.links, _put_links)
DROP_LINK = Operation(schema.links, _drop_links)
UNLINK_REALM = Operation(schema.links, _unlink_realms)
