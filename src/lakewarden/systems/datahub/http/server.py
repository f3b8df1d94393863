"""Calls about the server itself: its configuration, its health, its models, its traces.

The configuration announces a version below those at which clients use the newer interface and wait
for traces: writes are complete when the reply is sent. SOURCE: datahub reference 7.2.
"""

from __future__ import annotations

from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.strict_json import read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import keys, registry
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.record_names import TIMESERIES
from lakewarden.systems.datahub.http.authorization import readable
from lakewarden.systems.datahub.http.bodies import number, ok
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import aspects

_MOST: Final = 1_000


def config(exchange: Exchange) -> Reply:
    """The configuration, which clients read first."""
    services = exchange.services
    version = {"version": services.of(DataHubSettings).version, "commit": ""}
    return ok(
        {
            "noCode": "true",
            "versions": {"acryldata/datahub": version},
            "datahub": {"serverEnv": "core", "serverType": "prod"},
            "statefulIngestionCapable": True,
            "patchCapable": True,
            "supportsImpactAnalysis": True,
            "managedIngestion": {"enabled": False, "defaultCliVersion": ""},
            "telemetry": {"enabledCli": False, "enabledIngestion": False},
            "retention": "true",
            "baseUrl": services.public_url,
        }
    )


def health(_exchange: Exchange) -> Reply:
    """The health of the server."""
    return ok({"status": "UP"})


def specifications(exchange: Exchange) -> Reply:
    """A page of the known entity types, with the names of their aspects."""
    start = number(exchange.one("start", "0"), "start")
    count = min(number(exchange.one("count", "100"), "count"), _MOST)
    model = exchange.realm_state.system.model
    own = {name for name in model.types if name.isalnum() and name != "platform"}
    names = sorted(own.union(registry.TYPES))
    page = [_specification(name) for name in names[start : start + count]]
    return ok({"start": start, "count": len(page), "total": len(names), "elements": page})


def _specification(type: str) -> dict[str, object]:
    key = keys.name_of(type)
    names = (key, *registry.aspects_of(type))
    return {
        "name": type,
        "keyAspectName": key,
        "keyAspectSpec": _aspect_specification(key),
        "aspectSpecs": [_aspect_specification(name) for name in names],
    }


def _aspect_specification(aspect: str) -> dict[str, object]:
    return {"aspectAnnotation": {"name": aspect, "timeseries": aspect in TIMESERIES}}


def trace(exchange: Exchange) -> Reply:
    """The state of writes: done, if the aspect exists. The trace id is not used.

    Callers who may not read an entity learn nothing about it.
    """
    body = Fields(read(exchange.body) if exchange.body else {}, "body")
    names = {_entity(urn): body.texts(urn) for urn in body.everything()}
    entities = readable(exchange, list(names))
    with exchange.service.reading() as reading:
        stored = aspects.read(reading, exchange.realm_state, entities)
    states = {
        entity.name: {name: _state(name in stored.get(entity, {})) for name in names[entity]}
        for entity in entities
    }
    return Reply(200, msgspec.json.encode(states))


def _entity(urn: str) -> Entity:
    entity = datahub.parse("", urn)
    if not entity.name:
        raise BadInput("expected a URN", where="body")
    return entity


def _state(is_there: bool) -> dict[str, object]:
    status = "ACTIVE_STATE" if is_there else "NO_OP"
    storage = {"writeStatus": status, "writeMessage": None}
    return {"success": True, "primaryStorage": storage, "searchStorage": storage}


_OPEN: Final = "said to everybody, as clients ask before they have credentials"

ROUTES: Final = (
    Route("GET", "/config", "", config, inline=True, public=True, why=_OPEN),
    Route("GET", "/health", "", health, inline=True, public=True, why=_OPEN),
    Route(
        "GET",
        "/openapi/v1/registry/models/entity/specifications",
        "",
        specifications,
        inline=True,
        why="names of types, which are the same everywhere",
    ),
    Route("GET", "/openapi/v1/trace/write/{id}", "entity.read", trace),
    Route("POST", "/openapi/v1/trace/write/{id}", "entity.read", trace),
)
