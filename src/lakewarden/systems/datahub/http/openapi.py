"""The newer interface: entities and aspects below `/openapi/v3/entity`.

SOURCE: datahub reference 6.6 and 6.9; emitter of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.strict_json import read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.names.canonical import quoted
from lakewarden.service.timeseries import values
from lakewarden.systems.datahub.aspects import keys
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.record_names import is_timed
from lakewarden.systems.datahub.http.authorization import (
    allow,
    check_open,
    check_readable,
    put,
    shown,
    take_away,
)
from lakewarden.systems.datahub.http.bodies import LARGEST, entity, fields, number, ok
from lakewarden.systems.datahub.http.errors import no_such
from lakewarden.systems.datahub.http.search_calls import read_page
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_version import expected_version, system_metadata
from lakewarden.systems.datahub.use_cases.aspects import SECRETS, Aspect
from lakewarden.systems.datahub.use_cases.proposals import Proposal

_TYPE: Final = "/openapi/v3/entity/{type}"
_GENERIC: Final = "/openapi/v3/entity/generic"
_ENTITY: Final = f"{_TYPE}/{{urn}}"
_ASPECT: Final = f"{_ENTITY}/{{aspect}}"

_URN: Final = "urn"


def _declared_type(exchange: Exchange) -> str:
    """The type of the path as the model spells it, or as it is where the model has none."""
    named = exchange.params["type"]
    types = exchange.state.realm(exchange.realm).system.model.types
    return next((type for type in types if type.lower() == named.lower()), named)


def load_all(exchange: Exchange) -> Reply:
    """A page of the entities of a type that the caller may read, or of those with some words."""
    count = min(number(exchange.one("count", "10"), "count"), exchange.services.page_rows)
    type, query = _declared_type(exchange), exchange.one("query", "*")
    if query.strip(" *"):
        page, place = read_page(exchange, (type,), query, count, exchange.one("scrollId"))
        return _shown(exchange, page.entities, page.total, place)
    start = number(exchange.one("scrollId", "0"), "scrollId")
    listed = shown(exchange, type, start, count)
    end = start + len(listed.entities)
    place = str(end) if listed.entities and end < listed.total else None
    return _shown(exchange, listed.entities, listed.total, place)


def _shown(exchange: Exchange, found: Sequence[Entity], total: int, place: str | None) -> Reply:
    """A page of entities, of each the aspects that are named, and where to go on."""
    wanted = exchange.query.get("aspects") or exchange.query.get("aspectNames")
    entities = read_bodies(exchange, dict.fromkeys(found, _words(wanted)))
    return ok({"scrollId": place, "entities": entities, "totalCount": total})


def load_batch(exchange: Exchange) -> Reply:
    """The entities that the body names, of each the aspects that it names."""
    wanted = dict(_wanted(item, exchange) for item in _items(exchange))
    check_readable(exchange, list(wanted))
    return Reply(200, msgspec.json.encode(read_bodies(exchange, wanted)))


def _wanted(item: Fields, exchange: Exchange) -> tuple[Entity, set[str] | None]:
    """An entity, and the aspects that are named of it, if any are."""
    found = entity(item.text(_URN), exchange.params["type"])
    return found, {name for name in item.everything() if name != _URN} or None


def load(exchange: Exchange) -> Reply:
    """One entity."""
    found = _named(exchange)
    check_readable(exchange, [found])
    bodies = read_bodies(exchange, {found: _words(exchange.query.get("aspects"))})
    if not bodies:
        raise no_such(quoted(found.name))
    return ok(bodies[0])


def load_aspect(exchange: Exchange) -> Reply:
    """One aspect."""
    found, name = _named(exchange), exchange.params["aspect"]
    check_readable(exchange, [found])
    kept = _kept(exchange, [found], [name]).get(found, {})
    if name not in kept:
        raise no_such(f"the aspect {quoted(name)} of {quoted(found.name)}")
    return ok(_body(exchange, kept[name]))


def exists(exchange: Exchange) -> Reply:
    """Whether an entity is there, or an aspect of it."""
    found = _named(exchange)
    allow(exchange, "entity.exists", found)
    name = exchange.params.get("aspect")
    kept = _kept(exchange, [found])
    if found not in kept or (name is not None and name not in kept[found]):
        raise no_such(quoted(found.name))
    return Reply(HTTPStatus.NO_CONTENT)


def create(exchange: Exchange) -> Reply:
    """Writes aspects of entities of the type, or nothing."""
    return _write(exchange, _change(exchange))


def change(exchange: Exchange) -> Reply:
    """Patches aspects of entities of the type, or nothing."""
    return _write(exchange, Change.PATCH)


def create_aspect(exchange: Exchange) -> Reply:
    """Writes one aspect."""
    return _write_one(exchange, _change(exchange))


def change_aspect(exchange: Exchange) -> Reply:
    """Patches one aspect."""
    return _write_one(exchange, Change.PATCH)


def delete(exchange: Exchange) -> Reply:
    """Takes an entity away, the aspects of it that are named, or with `clear` all but its key.

    As in the original an empty `aspects` names none, and the key aspect stands for the entity.
    """
    found = _named(exchange)
    given = exchange.query.get("aspects")
    names = _words(given)
    if names is None and any(given or ()):
        raise BadInput("expected names of aspects", where="aspects")
    key = keys.name_of(found.type)
    if exchange.one("clear", "false").lower() == "true":
        allow(exchange, "entity.delete", found)
        names = _kept(exchange, [found]).get(found, {}).keys() - {key}
    elif names is None or key in names:
        take_away(exchange, found)
        return Reply(200)
    put(exchange, [Proposal(found, n, Change.DELETE, None, {}, "aspects") for n in sorted(names)])
    return Reply(200)


def delete_aspect(exchange: Exchange) -> Reply:
    """Takes one aspect away; the key aspect, and with it the entity."""
    found, name = _named(exchange), exchange.params["aspect"]
    put(exchange, [Proposal(found, name, Change.DELETE, None, {}, "aspect")])
    return Reply(200)


def create_generic(exchange: Exchange) -> Reply:
    """Writes aspects of entities of several types, or nothing: lists by type."""
    return _write_generic(exchange, _change(exchange))


def change_generic(exchange: Exchange) -> Reply:
    """Patches aspects of entities of several types, or nothing."""
    return _write_generic(exchange, Change.PATCH)


def load_generic_batch(exchange: Exchange) -> Reply:
    """The entities that the body names by type, of each the aspects that it names."""
    wanted: dict[str, dict[Entity, set[str] | None]] = {}
    for of_type, items in _by_type(exchange):
        own = wanted.setdefault(of_type.params["type"], {})
        own |= dict(_wanted(item, of_type) for item in items)
    check_readable(exchange, [one for own in wanted.values() for one in own])
    return ok({type: read_bodies(exchange, own) for type, own in wanted.items()})


def load_generic(exchange: Exchange) -> Reply:
    """One entity of any type."""
    return load(_of_type(exchange, ""))


def exists_generic(exchange: Exchange) -> Reply:
    """Whether an entity of any type is there."""
    return exists(_of_type(exchange, ""))


def delete_generic(exchange: Exchange) -> Reply:
    """Takes an entity of any type away, or the aspects of it that are named."""
    return delete(_of_type(exchange, ""))


def _write_generic(exchange: Exchange, change: Change) -> Reply:
    proposals: list[Proposal] = []
    told: dict[str, list[dict[str, object]]] = {}
    for of_type, items in _by_type(exchange):
        told[of_type.params["type"]] = [_open(item) for item in items]
        proposals += [one for item in items for one in _proposals(item, of_type, change)]
    put(exchange, proposals)
    return ok(told)


def _by_type(exchange: Exchange) -> list[tuple[Exchange, list[Fields]]]:
    """The lists of a body by type, each with the request as if it were for that type."""
    body = fields(exchange)
    found = [(_of_type(exchange, type), body.objects(type)) for type in body.everything()]
    if not any(items for _, items in found):
        raise BadInput("expected lists of entities by type", where=body.where)
    most = exchange.services.batch_rows
    if sum(len(items) for _, items in found) > most:
        raise LimitExceeded(f"more than {most} entities")
    return found


def _of_type(exchange: Exchange, type: str) -> Exchange:
    return replace(exchange, params={**exchange.params, "type": type})


def _named(exchange: Exchange) -> Entity:
    return entity(exchange.params["urn"], exchange.params["type"])


def _words(given: tuple[str, ...] | None) -> set[str] | None:
    """Names that may stand one by one or with commas; None: there are none."""
    found = {word for text in given or () for word in text.split(",") if word}
    return found or None


def _kept(
    exchange: Exchange, entities: list[Entity], names: Iterable[str] = ()
) -> dict[Entity, dict[str, Aspect]]:
    """The aspects of the entities; of `names` that are values in time, the newest value.

    Raises `Failure` 403 where the caller may not be told one that is named.
    """
    check_open(names)
    in_time = sorted(name for name in set(names) if is_timed(name))
    for one in entities if in_time else ():
        allow(exchange, "timeseries.read", one)
    with exchange.service.reading() as reading:
        found = aspects.read(reading, exchange.realm_state, entities)
        for one, kept in found.items():
            for name in in_time:
                for newest in values(reading, exchange.realm, one, name, limit=1):
                    kept[name] = Aspect(dict(newest.value), dict(newest.system), {})
    return found


def _alike(
    wanted: Mapping[Entity, set[str] | None],
) -> Iterator[tuple[frozenset[str], list[Entity]]]:
    """The entities of which the same aspects are wanted, together."""
    groups: dict[frozenset[str], list[Entity]] = {}
    for one, names in wanted.items():
        groups.setdefault(frozenset(names or ()), []).append(one)
    yield from groups.items()


def read_bodies(
    exchange: Exchange, wanted: Mapping[Entity, set[str] | None]
) -> list[dict[str, object]]:
    """The entities that are there, of each the aspects that are wanted, or all (None)."""
    found: dict[Entity, dict[str, Aspect]] = {}
    for alike, ones in _alike(wanted):
        found |= _kept(exchange, ones, alike)
    bodies: list[dict[str, object]] = []
    for one, names in wanted.items():
        if one in found:
            kept = {n: a for n, a in found[one].items() if names is None or n in names}
            own = {name: _body(exchange, aspect) for name, aspect in kept.items()}
            bodies.append({_URN: one.name, **own})
    return bodies


def _body(exchange: Exchange, aspect: Aspect) -> dict[str, object]:
    body: dict[str, object] = {"value": aspect.value}
    if exchange.one("systemMetadata", "false").lower() == "true":
        body |= {"systemMetadata": system_metadata(aspect), "auditStamp": aspect.created}
    return body


def _items(exchange: Exchange) -> list[Fields]:
    body = read(exchange.body)
    found = Fields({"items": body}, "body").objects("items") if isinstance(body, list) else None
    if found is None:
        raise BadInput("expected a list", where="body")
    most = exchange.services.batch_rows
    if len(found) > most:
        raise LimitExceeded(f"more than {most} entities")
    return found


def _change(exchange: Exchange) -> Change:
    if exchange.one("createIfNotExists", "false").lower() == "true":
        return Change.CREATE
    if exchange.one("createEntityIfNotExists", "false").lower() == "true":
        return Change.CREATE_ENTITY
    return Change.PUT


def _write(exchange: Exchange, change: Change) -> Reply:
    items = _items(exchange)
    put(exchange, [one for item in items for one in _proposals(item, exchange, change)])
    return Reply(200, msgspec.json.encode([_open(item) for item in items]))


def _write_one(exchange: Exchange, change: Change) -> Reply:
    name = exchange.params["aspect"]
    found = _named(exchange)
    body = fields(exchange)
    put(exchange, [_proposal(found, name, body, change)])
    return ok(_open(Fields({_URN: found.name, name: body.everything()}, "body")))


def _proposals(item: Fields, exchange: Exchange, change: Change) -> Iterator[Proposal]:
    found = entity(item.text(_URN), exchange.params["type"])
    names = [name for name in item.everything() if name != _URN]
    if not names:
        key = f"{found.type}Key"
        raise BadInput(f"expected aspects, `{key}` at least", where=item.where)
    for name in names:
        yield _proposal(found, name, Fields(item.whole(name), item.at(name)), change)


def _proposal(found: Entity, name: str, body: Fields, change: Change) -> Proposal:
    system = body.object_or_none("systemMetadata")
    metadata = {} if system is None else system.everything()
    expected = expected_version(body)
    if change is Change.PATCH and "value" not in body:
        patch = {key: value for key, value in body.everything().items() if key != "headers"}
        return Proposal(found, name, change, patch, metadata, body.where, expected)
    value, where = body.whole("value"), body.at("value")
    return Proposal(found, name, change, value, metadata, where, expected)


def _open(item: Fields) -> dict[str, object]:
    """What was sent, to be sent back, without what is secret in it."""
    return {name: value for name, value in item.everything().items() if name not in SECRETS}


ROUTES: Final = (
    Route("POST", _GENERIC, "entity.update", create_generic, body_limit=LARGEST),
    Route("PATCH", _GENERIC, "entity.update", change_generic, body_limit=LARGEST),
    Route("POST", f"{_GENERIC}/batchGet", "entity.read", load_generic_batch),
    Route("HEAD", f"{_GENERIC}/{{urn}}", "entity.exists", exists_generic, encoded_slash=True),
    Route("GET", f"{_GENERIC}/{{urn}}", "entity.read", load_generic, encoded_slash=True),
    Route("DELETE", f"{_GENERIC}/{{urn}}", "entity.delete", delete_generic, encoded_slash=True),
    Route("GET", _TYPE, "entity.read", load_all),
    Route("POST", _TYPE, "entity.update", create, body_limit=LARGEST),
    Route("PATCH", _TYPE, "entity.update", change, body_limit=LARGEST),
    Route("POST", f"{_TYPE}/batchGet", "entity.read", load_batch),
    Route("HEAD", _ENTITY, "entity.exists", exists, encoded_slash=True),
    Route("GET", _ENTITY, "entity.read", load, encoded_slash=True),
    Route("DELETE", _ENTITY, "entity.delete", delete, encoded_slash=True),
    Route("HEAD", _ASPECT, "entity.exists", exists, encoded_slash=True),
    Route("GET", _ASPECT, "entity.read", load_aspect, encoded_slash=True),
    Route("POST", _ASPECT, "entity.update", create_aspect, encoded_slash=True, body_limit=LARGEST),
    Route("PATCH", _ASPECT, "entity.update", change_aspect, encoded_slash=True, body_limit=LARGEST),
    Route("DELETE", _ASPECT, "entity.delete", delete_aspect, encoded_slash=True),
)
