"""The entities of a realm."""

from __future__ import annotations

from lakewarden.http.admin.bodies.entity import (
    Entities,
    EntityName,
    EntityRequest,
    EntityResponse,
    Owner,
)
from lakewarden.http.admin.endpoint import (
    PAGED,
    Endpoint,
    HandlerResult,
    Parameter,
    number,
    place_of,
    token_after,
)
from lakewarden.http.admin.field_types import ENTITY
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.identities import entity_text
from lakewarden.service import entities
from lakewarden.service.control import Denied
from lakewarden.service.entities import EntityRecord
from lakewarden.service.page_size import PAGE_ROWS

_TYPE = Parameter("type", "only entities of this type")
_WITHIN = Parameter("within", "only entities below this entity", pattern=ENTITY)
_Q = Parameter("q", "only entities whose label contains this text, case-insensitive")
_ENTITY = Parameter("entity", "the entity, `type:name` or a URN", required=True, pattern=ENTITY)


def listed(exchange: Exchange) -> HandlerResult:
    """The entities of a realm, in hierarchy order."""
    name, type = exchange.params["realm"], exchange.one("type") or None
    within = exchange.one("within") or None
    text = exchange.one("q")
    question = (exchange.path, type, within, text)
    place = place_of(exchange.one("page.token"), str, *question)
    page = entities.listed(
        exchange.state,
        exchange.actor,
        name,
        exchange.now,
        type=type,
        within=within,
        text=text,
        size=number(exchange, "page.limit", PAGE_ROWS),
        after=place,
        skip=number(exchange, "page.skip", 0) if place is None else 0,
    )
    if isinstance(page, Denied):
        return page
    after = None if page.after is None else entity_text(page.after)
    return Entities(
        entities=[EntityName(type=entity.type, name=entity.name) for entity in page.entities],
        total=page.total,
        page=token_after(after, *question),
    )


def load(exchange: Exchange) -> HandlerResult:
    """One entity with its attributes and relations."""
    name, text = exchange.params["realm"], exchange.one("entity")
    record = entities.load(exchange.state, exchange.actor, name, text, exchange.now)
    return record if isinstance(record, Denied) else _response(record)


def put(exchange: Exchange, body: EntityRequest) -> HandlerResult:
    """Stores or moves an entity."""
    name = exchange.params["realm"]
    owners = body.owners
    pairs = None if owners is None else [(owner.principal, owner.ownership) for owner in owners]
    record = exchange.write(
        lambda transaction: entities.put(transaction, name, body.entity, body.parent, pairs)
    )
    return record if isinstance(record, Denied) else _response(record)


def drop(exchange: Exchange) -> HandlerResult:
    """Removes an entity with its descendants and their rows."""
    name, text = exchange.params["realm"], exchange.one("entity")
    return exchange.write(lambda transaction: entities.drop(transaction, name, text))


def _response(record: EntityRecord) -> EntityResponse:
    return EntityResponse(
        entity=entity_text(record.entity),
        type=record.entity.type,
        name=record.entity.name,
        parent=None if record.parent is None else entity_text(record.parent),
        owners=[
            Owner(principal=principal_text(row.owner), ownership=row.ownership)
            for row in record.owners
        ],
        attributes={name: list(values) for name, values in sorted(record.attributes.items())},
        relations={
            kind: [entity_text(target) for target in targets]
            for kind, targets in sorted(record.relations.items())
        },
    )


_ONE = "/realms/{realm}/entity"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/realms/{realm}/entities",
        "entity.list",
        listed,
        "list entities",
        response=Entities,
        query=(_TYPE, _WITHIN, _Q, *PAGED),
    ),
    Endpoint(
        "GET",
        _ONE,
        "entity.load",
        load,
        "read an entity",
        response=EntityResponse,
        query=(_ENTITY,),
    ),
    Endpoint(
        "PUT",
        _ONE,
        "entity.put",
        put,
        "create or move an entity",
        request=EntityRequest,
        response=EntityResponse,
    ),
    Endpoint("DELETE", _ONE, "entity.drop", drop, "delete an entity", query=(_ENTITY,)),
)
