"""Catalogs: list, create, test, load, alter, enable, disable, drop.

No external system is contacted for a catalog unless its host is on the configured list; any
provider and any properties are accepted.
SOURCE: gravitino reference 1.1, 3.1, 4.3, 6.1 and 9; schemas that come with a catalog:
CatalogManager and KafkaCatalogOperations of apache/gravitino.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.change import AttributeChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import authorization_plugins, kinds, live, object_store
from lakewarden.systems.gravitino.http.authorization import allow, entity, is_stored, listed
from lakewarden.systems.gravitino.http.bodies import Body, Json, enum_word, is_on, ok, present, read
from lakewarden.systems.gravitino.http.errors import (
    FORBIDDEN,
    INTERNAL,
    Failure,
    error_body,
    exists,
    failure_of,
    illegal,
)
from lakewarden.systems.gravitino.http.kinds import (
    CATALOG,
    DEFAULT,
    MESSAGING,
    METALAKE,
    Created,
    Kind,
    plain,
)
from lakewarden.systems.gravitino.http.metalakes import check_drop, switch
from lakewarden.systems.gravitino.http.updates import (
    SHARED,
    Draft,
    SetProperty,
    apply_shared,
    read_updates,
)

TYPES: Final = ("relational", "fileset", "messaging", "model")

_OWN_METADATA: Final = ("fileset", "model")
"""Types whose catalogs need no provider."""

_DEFAULT_SCHEMA: Final = "holds all topics of the catalog"

_OWN_SCHEMAS: Final[Mapping[str, str]] = {"hive": "default", "jdbc-postgresql": "public"}
"""By provider, the schema that exists from the start; it does not block a drop."""


class Create(Body):
    """The body of POST …/catalogs."""

    name: str
    type: str
    provider: str | None = None
    comment: str | None = None
    properties: dict[str, str] | None = None


def _read(exchange: Exchange) -> Created:
    return _checked(read(exchange, Create))


def _checked(body: Create) -> Created:
    type = enum_word(body.type, TYPES, "catalog type")
    provider = body.provider or (type if type in _OWN_METADATA else None)
    if provider is None or not provider.strip():
        raise illegal(f"body: a catalog of type `{type}` needs a `provider`")
    own = present(type=type, provider=provider)
    return body.name, {**own, **kinds.described(body.comment, body.properties)}


def _show(name: str, body: Json) -> Json:
    own = present(type=body.get("type", "relational"), provider=body.get("provider", ""))
    return {**own, **plain(name, body)}


def _added(exchange: Exchange, transaction: WriteTransaction, catalog: Entity, body: Json) -> None:
    type = str(body["type"])
    _, asked = _read(exchange)
    properties = cast("Mapping[str, str]", asked["properties"])
    authorization_plugins.added(exchange, transaction, catalog, properties)
    transaction.change(exchange.realm, AttributeChanged(catalog, gravitino.TYPE, (type,)))
    if type == MESSAGING:
        schema = object_store.child(catalog, "schema", DEFAULT)
        # Nobody requested it, so it has no owner.
        object_store.add(
            exchange, transaction, schema, kinds.described(_DEFAULT_SCHEMA, None), owned=False
        )


def _apply(draft: Draft, update: object) -> None:
    authorization_plugins.check_update(update)
    apply_shared(draft, update)


def _altered(
    exchange: Exchange, transaction: WriteTransaction, catalog: Entity, draft: Draft
) -> None:
    authorization_plugins.altered(exchange, transaction, catalog, draft.body, draft.secrets)


def _before_drop(exchange: Exchange, state: RealmState, catalog: Entity) -> None:
    if is_stored(state, catalog):
        check_drop(
            exchange, state, catalog, "schema", besides=_own_schema(exchange, state, catalog)
        )


def _own_schema(exchange: Exchange, state: RealmState, catalog: Entity) -> set[str]:
    """The schema that the catalog has from the start, if any."""
    if kinds.catalog_type(state, catalog) == MESSAGING:
        return {DEFAULT}
    provider = str(object_store.document(exchange, catalog).get("provider", ""))
    return {_OWN_SCHEMAS[provider]} if provider in _OWN_SCHEMAS else set()


CATALOGS: Final = Kind(
    type="catalog",
    within="metalake",
    path=METALAKE + "/catalogs",
    read=_read,
    show=_show,
    apply=_apply,
    added=_added,
    altered=_altered,
    before_drop=_before_drop,
)


def list_all(exchange: Exchange) -> Reply:
    """The catalogs that the caller may load: identifiers, or with `details` the whole catalogs."""
    if not is_on(exchange, "details"):
        return kinds.list_names(CATALOGS, exchange)
    catalogs = listed(exchange, "catalog.list", entity(exchange, "metalake"))
    bodies = object_store.documents(exchange, catalogs)
    pairs = zip(catalogs, bodies, strict=True)
    return ok(catalogs=[_show(object_store.last(catalog), body) for catalog, body in pairs])


def test_connection(exchange: Exchange) -> Reply:
    """Whether such a catalog could be created.

    An error is reported with status 200 and a code that is not 0; a refusal, an unreadable request
    and an internal error keep their own status.
    """
    metalake = entity(exchange, "metalake")
    asked = read(exchange, Create)
    enum_word(asked.type, TYPES, "catalog type")
    try:
        state = allow(exchange, "catalog.test_connection", metalake)
        name, body = _checked(asked)
        new = object_store.child(metalake, "catalog", name)
        if is_stored(state, new):
            raise exists("catalog", gravitino.full_name(new))
        properties = cast("Mapping[str, str]", body["properties"])
        authorization_plugins.declared(properties)
        live.check(exchange, live.source_in(exchange, str(body["provider"]), properties))
    except WardenError as error:
        failure = failure_of(error)
        if failure.code in (INTERNAL, FORBIDDEN):
            raise
        return Reply(200, error_body(failure))
    return ok()


def test_existing(exchange: Exchange) -> Reply:
    """Whether an existing catalog could be reached, with changes that are not stored.

    Requires the right to alter it: the changes may contain other addresses and passwords.
    """
    catalog = entity(exchange, "catalog")
    allow(exchange, "catalog.alter", catalog)
    updates = read_updates(exchange, SHARED) if exchange.body else []
    changes = {
        update.property: update.value for update in updates if isinstance(update, SetProperty)
    }
    try:
        live.check(exchange, live.source(exchange, catalog, changes))
    except Failure as failure:
        return Reply(200, error_body(failure))
    return ok()


def enable(exchange: Exchange) -> Reply:
    """Enables or disables the catalog."""
    return switch(exchange, "catalog")


_FIVE: Final = kinds.routes_of(CATALOGS)

ROUTES: Final = (
    Route("GET", CATALOGS.path, "catalog.list", list_all),
    *(route for route in _FIVE if route.operation != "catalog.list"),
    Route(
        "POST",
        CATALOGS.path + "/testConnection",
        "catalog.test_connection",
        test_connection,
    ),
    Route("POST", CATALOG + "/testConnection", "catalog.alter", test_existing),
    Route("PATCH", CATALOG, "catalog.set", enable),
)
