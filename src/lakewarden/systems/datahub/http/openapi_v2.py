"""Version 2 of the interface: entities with their aspects in a nested object.

Version 3 implements the shared parts. SOURCE: acryl-datahub 1.7.0.17,
`DataHubGraph.get_entities_v2`; GenericEntityV2 and the entity controllers of DataHub.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.http.strict_json import read
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http import openapi
from lakewarden.systems.datahub.http.authorization import check_readable
from lakewarden.systems.datahub.http.bodies import LARGEST, check_count, entity, fields, ok
from lakewarden.systems.datahub.http.openapi import read_bodies

_TYPE: Final = "/openapi/v2/entity/{type}"
_ENTITY: Final = f"{_TYPE}/{{urn}}"
_ASPECT: Final = f"{_ENTITY}/{{aspect}}"
_URN: Final = "urn"


def load_batch(exchange: Exchange) -> Reply:
    """The named entities with named aspects; the caller must be able to read all of them."""
    body = fields(exchange)
    urns = body.texts("urns")
    check_count(exchange, len(urns))
    targets = [entity(urn, exchange.params["type"]) for urn in dict.fromkeys(urns)]
    check_readable(exchange, targets)
    names = set(body.texts("aspectNames")) or None
    bodies = read_bodies(exchange, dict.fromkeys(targets, names))
    return ok({"entities": [_nested_body(body) for body in bodies]})


def load_all(exchange: Exchange) -> Reply:
    """A page of the entities of a type that the caller may read."""
    page = json.loads(openapi.load_all(_as_v3_request(exchange)).body)
    results = [_nested_body(entity) for entity in page["entities"]]
    return ok({"scrollId": page["scrollId"], "results": results})


def load(exchange: Exchange) -> Reply:
    """One entity."""
    return ok(_nested_body(json.loads(openapi.load(_as_v3_request(exchange)).body)))


def create(exchange: Exchange) -> Reply:
    """Writes aspects of entities of the type atomically."""
    body = read(exchange.body)
    if not isinstance(body, list):
        raise BadInput("expected a list", where="body")
    together = [_flat_body(item) for item in Fields({"items": body}, "body").objects("items")]
    put = openapi.put_handler(openapi.write)
    reply = openapi.handle_as(put, exchange, body=msgspec.json.encode(together))
    return Reply(200, msgspec.json.encode([_nested_body(load) for load in json.loads(reply.body)]))


def _as_v3_request(exchange: Exchange) -> Exchange:
    """The request in version 3, whose parameter for aspects has a different name."""
    return replace(exchange, query=_v3_query(exchange))


def _v3_query(exchange: Exchange) -> Mapping[str, tuple[str, ...]]:
    query = exchange.query
    aspect_names = query.get("aspectNames") or query.get("aspects")
    return {**query, "aspects": aspect_names} if aspect_names else query


def _nested_body(body: Mapping[str, Any]) -> dict[str, object]:
    """An entity with its aspects in a nested object."""
    return {_URN: body[_URN], "aspects": {name: body[name] for name in body if name != _URN}}


def _flat_body(item: Fields) -> dict[str, object]:
    """An entity with its aspects beside its URN."""
    held = item.object_or_none("aspects")
    return {_URN: item.text(_URN), **({} if held is None else held.everything())}


def _v3_handler(handler: Handler) -> Handler:
    """A handler of version 3 for requests of version 2."""
    return lambda exchange: openapi.handle_as(handler, exchange, query=_v3_query(exchange))


ROUTES: Final = (
    Route("POST", "/openapi/v2/entity/batch/{type}", "entity.read", load_batch),
    Route("GET", _TYPE, "entity.read", load_all),
    Route("POST", _TYPE, "entity.update", create, body_limit=LARGEST),
    Route("HEAD", _ENTITY, "entity.exists", openapi.exists, encoded_slash=True),
    Route("GET", _ENTITY, "entity.read", load, encoded_slash=True),
    Route("DELETE", _ENTITY, "entity.delete", _v3_handler(openapi.delete), encoded_slash=True),
    Route("HEAD", _ASPECT, "entity.exists", openapi.exists, encoded_slash=True),
    Route("GET", _ASPECT, "entity.read", openapi.load_aspect, encoded_slash=True),
    Route("DELETE", _ASPECT, "entity.delete", openapi.delete_aspect, encoded_slash=True),
)
