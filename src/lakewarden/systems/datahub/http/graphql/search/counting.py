"""Counts for each type and each platform; and the search for users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.kinds import type_word, types_of
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import question, types_of_values
from lakewarden.systems.datahub.http.graphql.search.results import search_page
from lakewarden.systems.datahub.http.searching import SearchSession, search_session
from lakewarden.systems.datahub.search.search import Search

Input = Mapping[str, Any]

_PLATFORMS: Final = 5
_TYPES: Final = ("DATASET", "DASHBOARD", "CHART", "DATA_JOB", "DOMAIN", "GLOSSARY_TERM")
"""The offered filters: the most frequent platforms, and these types."""


def _users(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    return search_page(info, input, ["CORP_USER"])


def _counts(_: object, info: Info, input: Input | None = None) -> Mapping[str, Any]:
    call: Call = info.context
    wanted_input = input or {}
    type_names = wanted_input.get("types")
    names = type_names or dict.fromkeys(
        type_word(Entity(type, ""), info) for type in types_of_values(call, None)
    )
    with search_session(call.exchange, view_authorization.hits) as session:
        search = session.search(question(call, wanted_input, type_names))
        counts = [{"entityType": name, "count": _count(session, search, name)} for name in names]
    return {"counts": counts}


def _count(session: SearchSession, search: Search, name: str) -> int:
    return len(search.results & session.index.of_types(tuple(types_of(name))))


def _filters(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    call: Call = info.context
    with search_session(call.exchange, view_authorization.hits) as session:
        search = session.search(question(call, input, None))
        platforms = session.facets.of("platform", search.results, _PLATFORMS).counts
        types = [name for name in _TYPES if _count(session, search, name)]
    entities = [Entity("dataPlatform", platform.value) for platform in platforms]
    visible = authorization.visible(call, entities)
    call.add_group(visible)
    filters: list[Mapping[str, object]] = [
        {"field": "platform", "value": platform.name, "entity": platform} for platform in visible
    ]
    filters += [{"field": "_entityType", "value": name, "entity": None} for name in types]
    return {"quickFilters": filters}


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "getEntityCounts": _counts,
        "getQuickFilters": _filters,
        "searchUsers": _users,
    }
}
