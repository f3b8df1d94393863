"""Live catalogs: the schemas and tables that their database has now.

A relational catalog of MySQL or PostgreSQL is live if the operator listed its host. Schemas and
tables found there are stored without an owner before they are listed or loaded, so they can have
grants; they are removed, with their grants, once they are no longer found. Nothing is written to a
database.
SOURCE: gravitino reference 6.1 and 9; security reference, R-58.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, cast

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.change import EntityAdded, EntityDropped
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.audit import AuditEvent
from lakewarden.service.effect import Effect
from lakewarden.service.live import Live, LiveColumn, Source, address_of, is_listed, source_of
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import allow, is_stored
from lakewarden.systems.gravitino.http.bodies import Json, present
from lakewarden.systems.gravitino.http.errors import CONNECTION_FAILED, Failure, unsupported
from lakewarden.systems.gravitino.http.sealing import sealing
from lakewarden.systems.gravitino.settings import GravitinoSettings

PROVIDERS: Final = {"jdbc-mysql": "mysql", "jdbc-postgresql": "postgresql"}
"""Providers whose catalogs can be live, and the engine that their address must name."""

_TYPES: Final = {
    "bool": "boolean",
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "mediumint": "integer",
    "int": "integer",
    "integer": "integer",
    "bigint": "long",
    "real": "float",
    "float": "float",
    "double": "double",
    "double precision": "double",
    "date": "date",
    "time": "time",
    "time without time zone": "time",
    "datetime": "timestamp",
    "timestamp": "timestamp_tz",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamp_tz",
    "text": "string",
    "tinytext": "string",
    "mediumtext": "string",
    "longtext": "string",
    "blob": "binary",
    "longblob": "binary",
    "bytea": "binary",
    "uuid": "uuid",
}
"""Types without parameters, in Gravitino's spelling."""

TYPES: Final = ("schema", "table")
"""The types of entities that are read from databases."""

MOST: Final = 100_000
"""The maximum number of schemas of a database, or of tables of a schema."""

_SIZED: Final = re.compile(r"(decimal|numeric|varchar|char)\((\d+)(?:, ?(\d+))?\)")


def source(
    exchange: Exchange, catalog: Entity, changes: Mapping[str, str] | None = None
) -> Source | None:
    """The database behind a live catalog; None for a catalog that is not live.

    `changes` are properties to try instead of the catalog's own.
    """
    options = exchange.services.of(GravitinoSettings)
    if exchange.services.live is None or not options.jdbc_hosts:
        return None
    with exchange.service.reading() as reading:
        body = reading.documents(exchange.realm, [catalog]).get(catalog) or {}
        secrets = reading.secrets(exchange.realm, catalog)
    properties = dict(cast("Mapping[str, str]", body.get("properties") or {}))
    own = {**properties, **{key: sealing(exchange).unseal(text) for key, text in secrets.items()}}
    return source_in(exchange, str(body.get("provider", "")), {**own, **(changes or {})})


def source_in(exchange: Exchange, provider: str, properties: Mapping[str, str]) -> Source | None:
    """The database that these properties name, if such a catalog would be live."""
    engine = PROVIDERS.get(provider)
    if engine is None or "jdbc-url" not in properties:
        return None
    try:
        parsed = source_of(
            properties["jdbc-url"],
            properties.get("jdbc-user", ""),
            properties.get("jdbc-password", ""),
        )
    except BadInput:
        return None
    is_live = parsed.engine == engine and is_listed(
        parsed, exchange.services.of(GravitinoSettings).jdbc_hosts
    )
    return parsed if is_live else None


def check(exchange: Exchange, database: Source | None) -> None:
    """Checks that the database answers; raises `Failure` 502 if it does not."""
    if database is not None:
        _live_names(exchange, database, "")


def refuse_write(exchange: Exchange, entity: Entity) -> None:
    """Raises `Failure` 405 for a schema or table of a live catalog, which is read-only."""
    if entity.type in TYPES and source(exchange, catalog_of(entity)) is not None:
        raise unsupported(
            f"the catalog is read live: its {entity.type}s are changed in its database"
        )


def catalog_of(entity: Entity) -> Entity:
    """The catalog that the entity is or is in."""
    parts = gravitino.parts(entity)
    return Entity("catalog", f"{parts[0]}:{parts[1]}")


def allow_refreshed(exchange: Exchange, operation: str, target: Entity) -> RealmState:
    """As `authorization.allow`, after querying the database about entities that are not stored yet.

    The database is only queried for callers who pass the rule.
    """
    try:
        return allow(exchange, operation, target)
    except Failure as failure:
        if failure.status != HTTPStatus.NOT_FOUND or target.type not in TYPES:
            raise
        refresh_above(exchange, target)
    return allow(exchange, operation, target)


def refresh_above(exchange: Exchange, target: Entity) -> None:
    """Refreshes the catalog of a schema or table, and then the schema of a table."""
    catalog = catalog_of(target)
    if not is_stored(exchange.realm_state, catalog):
        return
    refresh(exchange, catalog)
    schema = gravitino.parent(target)
    if target.type == "table" and schema and is_stored(exchange.realm_state, schema):
        refresh(exchange, schema)


def refresh(exchange: Exchange, container: Entity) -> None:
    """Updates the stored children of a catalog or schema to those of its database.

    Does nothing for a catalog that is not live. Raises `Failure` 502 if the database does not
    answer; then nothing changes.
    """
    database = source(exchange, catalog_of(container))
    if database is None:
        return
    schema = "" if container.type == "catalog" else object_store.last(container)
    type = "table" if schema else "schema"
    live_entities = frozenset(_entities(container, type, _live_names(exchange, database, schema)))
    if _stored_entities(exchange.realm_state, container, type) == live_entities:
        return

    def store_differences(transaction: WriteTransaction) -> None:
        state = transaction.realm(exchange.realm)
        if not is_stored(state, container):
            return
        stored = _stored_entities(state, container, type)
        removed: list[Effect] = [EntityDropped(entity) for entity in sorted(stored - live_entities)]
        come = [EntityAdded(entity, container) for entity in sorted(live_entities - stored)]
        transaction.change(exchange.realm, *removed, *come)
        transaction.record(_event(exchange, transaction, container, len(come), len(removed)))

    exchange.write(store_differences)


def _stored_entities(state: RealmState, container: Entity, type: str) -> frozenset[Entity]:
    return frozenset(object_store.children(state, container, lambda child: child.type == type))


def _entities(container: Entity, type: str, names: Iterable[str]) -> Iterable[Entity]:
    """The entities of names that Gravitino can spell; the others cannot be requested."""
    for name in names:
        full = f"{gravitino.full_name(container)}.{name}"
        try:
            yield gravitino.entity(gravitino.metalake(container), type, full)
        except BadInput:
            continue


def document(exchange: Exchange, entity: Entity) -> Json | None:
    """The document of an object; for a live table, with the columns of its database.

    None for a schema or table that no longer exists in the database.
    """
    body = object_store.document(exchange, entity)
    database = source(exchange, catalog_of(entity)) if entity.type in TYPES else None
    if database is None:
        return body
    if entity.type == "schema":
        return body if object_store.last(entity) in _live_names(exchange, database, "") else None
    return _table(exchange, database, entity, body)


def _table(exchange: Exchange, database: Source, table: Entity, body: Json) -> Json | None:
    _, _, schema, name = gravitino.parts(table)
    live, address = _live(exchange, database)
    try:
        found_table = live.table(database, address, schema, name)
    except Unavailable as error:
        raise _unreachable(error) from None
    if found_table is None:
        return None
    own = present(
        comment=found_table.comment, columns=[_column(column) for column in found_table.columns]
    )
    return {**body, **own}


def _column(column: LiveColumn) -> Json:
    return present(
        name=column.name,
        type=_type(column.type),
        comment=column.comment,
        nullable=column.nullable,
        autoIncrement=column.counts_up,
    )


def _type(text: str) -> object:
    """A database's type in Gravitino's spelling; a type that it does not know becomes external.

    >>> _type("numeric(10, 2)"), _type("json")
    ('decimal(10,2)', {'type': 'external', 'catalogString': 'json'})
    """
    sized = _SIZED.fullmatch(text)
    if sized is not None:
        name, size, scale = sized.groups()
        if name in ("decimal", "numeric"):
            return f"decimal({size},{scale or 0})"
        return f"{name}({size})"
    plain = _TYPES.get(text) or _TYPES.get(text.partition("(")[0])
    return plain or {"type": "external", "catalogString": text}


def _live_names(exchange: Exchange, database: Source, schema: str) -> Sequence[str]:
    """The schemas of the database, or the tables of one schema."""
    live, address = _live(exchange, database)
    try:
        names = (
            live.tables(database, address, schema) if schema else live.schemas(database, address)
        )
    except Unavailable as error:
        raise _unreachable(error) from None
    if len(names) > MOST:
        raise _unreachable(Unavailable(f"the database has more than {MOST} objects in one place"))
    return names


def _live(exchange: Exchange, database: Source) -> tuple[Live, str]:
    live = exchange.services.live
    assert live is not None  # noqa: S101 — INVARIANT: otherwise there is no source
    try:
        return live, address_of(database, exchange.services.of(GravitinoSettings).jdbc_hosts)
    except Unavailable as error:
        raise _unreachable(error) from None


def _unreachable(error: Unavailable) -> Failure:
    return Failure(502, CONNECTION_FAILED, "ConnectionFailedException", str(error))


def _event(
    exchange: Exchange, transaction: WriteTransaction, container: Entity, come: int, removed: int
) -> AuditEvent:
    return exchange.actor.event(
        f"{container.type}.refresh",
        container,
        "allow",
        "found in its database",
        now=transaction.now,
        realm=exchange.realm,
        details={"come": come, "gone": removed},
    )
