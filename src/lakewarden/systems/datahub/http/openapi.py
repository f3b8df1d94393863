"""The newer interface: entities and aspects below `/openapi/v3/entity`.

SOURCE: datahub reference 6.6 and 6.9; emitter of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import msgspec

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.http.strict_json import read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.service.timeseries import values
from lakewarden.systems.datahub.aspects import keys
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.record_names import is_timed
from lakewarden.systems.datahub.http import authorization
from lakewarden.systems.datahub.http.authorization import (
    allow,
    check_open,
    check_readable,
    put_proposals,
    readable_page,
)
from lakewarden.systems.datahub.http.bodies import (
    LARGEST,
    check_count,
    entity,
    fields,
    includes_removed,
    ok,
    page_size,
    scroll_id,
    scroll_start,
)
from lakewarden.systems.datahub.http.errors import not_found
from lakewarden.systems.datahub.http.search_calls import read_page
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_version import conditions, system_metadata
from lakewarden.systems.datahub.use_cases.aspects import SECRETS, Aspect
from lakewarden.systems.datahub.use_cases.proposals import Proposal

_TYPE: Final = "/openapi/v3/entity/{type}"
_GENERIC: Final = "/openapi/v3/entity/generic"
_ENTITY: Final = f"{_TYPE}/{{urn}}"
_ASPECT: Final = f"{_ENTITY}/{{aspect}}"

_URN: Final = "urn"

_CREATE_ENTITY: Final = ("createEntityIfNotExists", "createIfEntityNotExists")
"""Parameters that ask to create an entity. SOURCE: the original's interface, v2 and v3."""

# SOURCE: GenericEntitiesController of the original, createEntity and createAspect: a POST of
# entities writes; a POST of one aspect creates it unless `createIfNotExists` is false (0124).

Write = Callable[[Exchange, Change], Reply]
"""Applies a change to the aspects in a request."""


def _declared_type(exchange: Exchange) -> str:
    """The type in the path in the model's spelling; unchanged if the model does not know it."""
    name = exchange.params["type"]
    types = exchange.state.realm(exchange.realm).system.model.types
    return next((type for type in types if type.lower() == name.lower()), name)


def load_all(exchange: Exchange) -> Reply:
    """A page of the entities of a type that the caller may read, optionally matching some words."""
    count = page_size(exchange)
    type, query = _declared_type(exchange), exchange.one("query", "*")
    if query.strip(" *"):
        page, place = read_page(exchange, (type,), query, count)
        return _entity_page(exchange, page.entities, page.total, place)
    start = scroll_start(exchange)
    listed = readable_page(exchange, type, start, count, removed=includes_removed(exchange))
    place = scroll_id(start, len(listed.entities), listed.total)
    return _entity_page(exchange, listed.entities, listed.total, place)


def _entity_page(
    exchange: Exchange, entities: Sequence[Entity], total: int, place: str | None
) -> Reply:
    """The reply with a page of entities, their named aspects, and the position of the next page."""
    bodies = read_bodies(exchange, dict.fromkeys(entities, _requested_aspects(exchange)))
    return ok({"scrollId": place, "entities": bodies, "totalCount": total})


def load_batch(exchange: Exchange) -> Reply:
    """The entities and aspects that the body names."""
    requested = dict(_entity_and_aspects(item, exchange) for item in _items(exchange))
    check_readable(exchange, list(requested))
    return Reply(200, msgspec.json.encode(read_bodies(exchange, requested)))


def _entity_and_aspects(item: Fields, exchange: Exchange) -> tuple[Entity, set[str] | None]:
    """An entity in a body, and its named aspects, if any."""
    target = entity(item.text(_URN), exchange.params["type"])
    return target, {name for name in item.everything() if name != _URN} or None


def load(exchange: Exchange) -> Reply:
    """One entity."""
    target = _path_entity(exchange)
    check_readable(exchange, [target])
    bodies = read_bodies(exchange, {target: _requested_aspects(exchange)})
    if not bodies:
        raise not_found(quoted(target.name))
    return ok(bodies[0])


def load_aspect(exchange: Exchange) -> Reply:
    """One aspect; only the newest version is stored."""
    target, name = _path_entity(exchange), exchange.params["aspect"]
    check_readable(exchange, [target])
    stored = _stored(exchange, [target], [name]).get(target, {})
    if name not in stored or exchange.one("version", "0") not in ("0", ""):
        raise not_found(f"the aspect {quoted(name)} of {quoted(target.name)}")
    return ok(_body(exchange, stored[name]))


def exists(exchange: Exchange) -> Reply:
    """Whether an entity or an aspect of it exists; nothing of a softly deleted one does."""
    target = _path_entity(exchange)
    allow(exchange, "entity.exists", target)
    name = exchange.params.get("aspect")
    stored = _stored(exchange, [target])
    if target not in stored or (name is not None and name not in stored[target]):
        raise not_found(quoted(target.name))
    is_removed = Index.of(exchange.realm_state.matrix.snapshot).is_removed(target)
    if is_removed and not includes_removed(exchange):
        raise not_found(quoted(target.name))
    return Reply(HTTPStatus.NO_CONTENT)


def delete(exchange: Exchange) -> Reply:
    """Deletes an entity, its named aspects, or with `clear` everything but its key.

    As in the original, an empty `aspects` names none, and the key aspect stands for the entity.
    """
    target = _path_entity(exchange)
    parameters = exchange.query.get("aspects")
    names = _name_list(parameters)
    if names is None and any(parameters or ()):
        raise BadInput("expected names of aspects", where="aspects")
    key = keys.name_of(target.type)
    if exchange.one("clear", "false").lower() == "true":
        allow(exchange, "entity.delete", target)
        names = _stored(exchange, [target]).get(target, {}).keys() - {key}
    elif names is None or key in names:
        authorization.delete(exchange, target)
        return Reply(200)
    put_proposals(
        exchange, [Proposal(target, n, Change.DELETE, None, {}, "aspects") for n in sorted(names)]
    )
    return Reply(200)


def delete_aspect(exchange: Exchange) -> Reply:
    """Deletes one aspect; for the key aspect, the entity."""
    target, name = _path_entity(exchange), exchange.params["aspect"]
    put_proposals(exchange, [Proposal(target, name, Change.DELETE, None, {}, "aspect")])
    return Reply(200)


def load_generic_batch(exchange: Exchange) -> Reply:
    """The entities and aspects that the body names, by type."""
    requested: dict[str, dict[Entity, set[str] | None]] = {}
    for of_type, items in _by_type(exchange):
        own = requested.setdefault(of_type.params["type"], {})
        own |= dict(_entity_and_aspects(item, of_type) for item in items)
    check_readable(
        exchange, [requested_entity for own in requested.values() for requested_entity in own]
    )
    return ok({type: read_bodies(exchange, own) for type, own in requested.items()})


def generic_handler(handler: Handler) -> Handler:
    """The handler for an entity of any type."""
    return lambda exchange: handle_as(handler, exchange, params={**exchange.params, "type": ""})


def handle_as(handler: Handler, exchange: Exchange, **changes: Any) -> Reply:
    """The handler's reply to the request with these changes; its writes become visible to both."""
    changed = replace(exchange, **changes)
    try:
        return handler(changed)
    finally:
        exchange.state = changed.state


def put_handler(write: Write) -> Handler:
    """A handler that writes aspects atomically."""
    return lambda exchange: write(exchange, _change(exchange, Change.CREATE, "false"))


def add_handler(write: Write) -> Handler:
    """A handler that creates an aspect, or writes it if the request says so."""
    return lambda exchange: write(exchange, _change(exchange, Change.ADD, "true"))


def patch_handler(write: Write) -> Handler:
    """A handler that patches aspects atomically."""
    return lambda exchange: write(exchange, Change.PATCH)


def write_generic(exchange: Exchange, change: Change) -> Reply:
    """Changes aspects of entities of several types: lists by type."""
    proposals: list[Proposal] = []
    written: dict[str, list[dict[str, object]]] = {}
    for of_type, items in _by_type(exchange):
        written[of_type.params["type"]] = [_without_secrets(item) for item in items]
        proposals += [proposal for item in items for proposal in _proposals(item, of_type, change)]
    put_proposals(exchange, proposals)
    return ok(written)


def _by_type(exchange: Exchange) -> list[tuple[Exchange, list[Fields]]]:
    """The lists of a body by type, each with the request rewritten for that type."""
    body = fields(exchange)
    lists = [(_of_type(exchange, type), body.objects(type)) for type in body.everything()]
    if not any(items for _, items in lists):
        raise BadInput("expected lists of entities by type", where=body.where)
    check_count(exchange, sum(len(items) for _, items in lists))
    return lists


def _of_type(exchange: Exchange, type: str) -> Exchange:
    return replace(exchange, params={**exchange.params, "type": type})


def _path_entity(exchange: Exchange) -> Entity:
    return entity(exchange.params["urn"], exchange.params["type"])


def _requested_aspects(exchange: Exchange) -> set[str] | None:
    """The names of aspects, from either parameter; None for all aspects."""
    return _name_list(exchange.query.get("aspects") or exchange.query.get("aspectNames"))


def _name_list(parameters: tuple[str, ...] | None) -> set[str] | None:
    """Names from parameters, which may be separated by commas; None if there are none."""
    names = {name for text in parameters or () for name in text.split(",") if name}
    return names or None


def _stored(
    exchange: Exchange, entities: list[Entity], names: Iterable[str] = ()
) -> dict[Entity, dict[str, Aspect]]:
    """The aspects of the entities; of timeseries aspects in `names`, the newest value.

    Raises `Failure` 403 if the caller may not read a named aspect.
    """
    check_open(names)
    in_time = sorted(name for name in set(names) if is_timed(name))
    for timed_entity in entities if in_time else ():
        allow(exchange, "timeseries.read", timed_entity)
    with exchange.service.reading() as reading:
        read = aspects.read(reading, exchange.realm_state, entities)
        for timed_entity, stored in read.items():
            for name in in_time:
                for newest in values(reading, exchange.realm, timed_entity, name, limit=1):
                    stored[name] = Aspect(dict(newest.value), dict(newest.system), {})
    return read


def _by_aspects(
    requested: Mapping[Entity, set[str] | None],
) -> Iterator[tuple[frozenset[str], list[Entity]]]:
    """Groups of entities with the same requested aspects."""
    groups: dict[frozenset[str], list[Entity]] = {}
    for requested_entity, names in requested.items():
        groups.setdefault(frozenset(names or ()), []).append(requested_entity)
    yield from groups.items()


def read_bodies(
    exchange: Exchange, requested: Mapping[Entity, set[str] | None]
) -> list[dict[str, object]]:
    """The stored entities, with the requested aspects, or all (None)."""
    aspects: dict[Entity, dict[str, Aspect]] = {}
    for alike, ones in _by_aspects(requested):
        aspects |= _stored(exchange, ones, alike)
    bodies: list[dict[str, object]] = []
    for requested_entity, names in requested.items():
        if requested_entity in aspects:
            selected = {
                n: a for n, a in aspects[requested_entity].items() if names is None or n in names
            }
            own = {name: _body(exchange, aspect) for name, aspect in selected.items()}
            bodies.append({_URN: requested_entity.name, **own})
    return bodies


def _body(exchange: Exchange, aspect: Aspect) -> dict[str, object]:
    body: dict[str, object] = {"value": aspect.value}
    if exchange.one("systemMetadata", "false").lower() == "true":
        body |= {"systemMetadata": system_metadata(aspect), "auditStamp": aspect.created}
    return body


def _items(exchange: Exchange) -> list[Fields]:
    body = read(exchange.body)
    if not isinstance(body, list):
        raise BadInput("expected a list", where="body")
    items = Fields({"items": body}, "body").objects("items")
    check_count(exchange, len(items))
    return items


def _change(exchange: Exchange, create: Change, otherwise: str) -> Change:
    """The requested change; `create` means creating aspects, used if `otherwise` is true."""
    if any(exchange.one(name).lower() == "true" for name in _CREATE_ENTITY):
        return Change.CREATE_ENTITY
    is_new = exchange.one("createIfNotExists") or otherwise
    return create if is_new.lower() == "true" else Change.PUT


def write(exchange: Exchange, change: Change) -> Reply:
    """Changes aspects of entities of the type."""
    items = _items(exchange)
    put_proposals(
        exchange, [proposal for item in items for proposal in _proposals(item, exchange, change)]
    )
    return Reply(200, msgspec.json.encode([_without_secrets(item) for item in items]))


def write_aspect(exchange: Exchange, change: Change) -> Reply:
    """Changes one aspect."""
    name = exchange.params["aspect"]
    target = _path_entity(exchange)
    body = fields(exchange)
    put_proposals(exchange, [_proposal(target, name, body, change)])
    return ok(_without_secrets(Fields({_URN: target.name, name: body.everything()}, "body")))


def _proposals(item: Fields, exchange: Exchange, change: Change) -> Iterator[Proposal]:
    target = entity(item.text(_URN), exchange.params["type"])
    names = [name for name in item.everything() if name != _URN]
    if not names:
        key = f"{target.type}Key"
        raise BadInput(f"expected aspects, `{key}` at least", where=item.where)
    for name in names:
        yield _proposal(target, name, Fields(item.whole(name), item.at(name)), change)


def _proposal(target: Entity, name: str, body: Fields, change: Change) -> Proposal:
    system = body.object_or_none("systemMetadata")
    metadata = {} if system is None else system.everything()
    kept = conditions(body, change)
    if change is Change.PATCH and "value" not in body:
        patch = {key: value for key, value in body.everything().items() if key != "headers"}
        return Proposal(target, name, change, patch, metadata, body.where, *kept)
    value, where = body.whole("value"), body.at("value")
    return Proposal(target, name, change, value, metadata, where, *kept)


def _without_secrets(item: Fields) -> dict[str, object]:
    """The written item in the reply's format, without secrets."""
    return {name: value for name, value in item.everything().items() if name not in SECRETS}


_GENERIC_URN: Final = f"{_GENERIC}/{{urn}}"

ROUTES: Final = (
    Route("POST", _GENERIC, "entity.update", put_handler(write_generic), body_limit=LARGEST),
    Route("PATCH", _GENERIC, "entity.update", patch_handler(write_generic), body_limit=LARGEST),
    Route("POST", f"{_GENERIC}/batchGet", "entity.read", load_generic_batch),
    *(
        Route(method, _GENERIC_URN, operation, generic_handler(handler), encoded_slash=True)
        for method, operation, handler in (
            ("HEAD", "entity.exists", exists),
            ("GET", "entity.read", load),
            ("DELETE", "entity.delete", delete),
        )
    ),
    Route("GET", _TYPE, "entity.read", load_all),
    Route("POST", _TYPE, "entity.update", put_handler(write), body_limit=LARGEST),
    Route("PATCH", _TYPE, "entity.update", patch_handler(write), body_limit=LARGEST),
    Route("POST", f"{_TYPE}/batchGet", "entity.read", load_batch),
    Route("HEAD", _ENTITY, "entity.exists", exists, encoded_slash=True),
    Route("GET", _ENTITY, "entity.read", load, encoded_slash=True),
    Route("DELETE", _ENTITY, "entity.delete", delete, encoded_slash=True),
    Route("HEAD", _ASPECT, "entity.exists", exists, encoded_slash=True),
    Route("GET", _ASPECT, "entity.read", load_aspect, encoded_slash=True),
    *(
        Route(method, _ASPECT, "entity.update", handler, encoded_slash=True, body_limit=LARGEST)
        for method, handler in (
            ("POST", add_handler(write_aspect)),
            ("PATCH", patch_handler(write_aspect)),
        )
    ),
    Route("DELETE", _ASPECT, "entity.delete", delete_aspect, encoded_slash=True),
)
