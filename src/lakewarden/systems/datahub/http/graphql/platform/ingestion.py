"""Ingestion sources: recipes that are stored here.

The server itself runs no recipe: a request to run one is stored for an executor.
SOURCE: datahub reference 1.3, 5.4; datahub-project/datahub:…/resolvers/ingest/source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.paging import contains_words, page
from lakewarden.systems.datahub.http.graphql.platform import executions, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    by_urn,
    deletion,
    mutation,
    new_entity,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import stored_entities
from lakewarden.systems.datahub.http.graphql.records import (
    Input,
    Member,
    entries,
    members,
    provided_members,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import criterion
from lakewarden.systems.datahub.search.criteria import comparison
from lakewarden.systems.datahub.search.question import Condition

_MANAGE: Final = "ingestion.manage"
TYPE: Final = executions.SOURCE
ASPECT: Final = "dataHubIngestionSourceInfo"
_FIELDS: Final = ("name", "type", "urn")
_EXPECTED: Final = "expected one of `name`, `type`, `urn`"


def _update_requirements(changes: AspectChanges, source: Entity, _: Input) -> list[Requirement]:
    is_there = changes.is_stored(source)
    return [Requirement("entity.update" if is_there else "entity.create", source)]


def _put(changes: AspectChanges, source: Entity, input: Input) -> None:
    """Replaces a source, or creates it: clients deploy recipes in this way."""
    value, config_input = changes.value(source, ASPECT), input["config"]
    config = {**shapes.mapping(value.get("config")), **provided_members(_CONFIG, config_input)}
    value.pop("schedule", None)
    changes.put(source, ASPECT, {**value, **provided_members(_RECORD, input), "config": config})


_RECORD: Final = members("name", "type", "schedule")
_CONFIG: Final = (
    *members("recipe", "version", "executorId", "debugMode"),
    Member("extraArgs", read=entries),
)


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    criteria = [_criterion(item) for item in input.get("filters") or ()]
    sort = input.get("sort") or {"field": "name", "sortOrder": "ASCENDING"}
    if sort["field"] not in _FIELDS:
        raise bad(f"`sort.field`: {_EXPECTED}, got `{sort['field']}`")
    sources = [
        source
        for source in (aspect(call, entity, ASPECT) for entity in stored_entities(call, TYPE))
        if source.value
        and all(fits(source) for fits in criteria)
        and contains_words(input.get("query"), _text(source, "name"), _text(source, "type"))
    ]
    sources.sort(key=lambda source: (_text(source, sort["field"]), source.entity.name))
    if sort["sortOrder"] == "DESCENDING":
        sources.reverse()
    page_sources, numbers = page(sources, input, call.exchange.services.page_rows)
    return {**numbers, "ingestionSources": [source.entity for source in page_sources]}


def _text(source: Record, field: str) -> str:
    return source.entity.name if field == "urn" else source.text(field) or ""


def _criterion(input: Mapping[str, Any]) -> Callable[[Record], bool]:
    """Whether a source matches a criterion."""
    parsed = criterion(input)
    field = parsed.field.removesuffix(".keyword")
    if field not in _FIELDS:
        raise bad(f"`filters.field`: {_EXPECTED}, got `{field}`")
    fits = bool if parsed.condition is Condition.EXISTS else comparison(parsed)
    return lambda source: fits(_text(source, field)) is not parsed.negated


def _source(_: object, info: Info, urn: str) -> Entity | None:
    call: Call = info.context
    source = calls.entity(urn, TYPE)
    authorization.allow(call, _MANAGE)
    return source if is_known(call.state, source) else None


RESOLVERS: Final[Resolvers] = {
    "Query": {"listIngestionSources": _list, "ingestionSource": _source},
    "Mutation": {
        "createIngestionSource": mutation(
            lambda *_: [new_entity(TYPE, None)], "entity.create", _put
        ),
        "updateIngestionSource": mutation(by_urn(TYPE), _update_requirements, _put),
        "deleteIngestionSource": deletion(Kind(TYPE, ASPECT, about=None), "entity.delete"),
    },
}
