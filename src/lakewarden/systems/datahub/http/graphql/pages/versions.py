"""Versions of assets, and their version sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.kinds import type_word
from lakewarden.systems.datahub.http.graphql.references import naming, visible_at
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.results import search_page
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.neighbours import Neighbours

_SETS: Final = frozenset({"versionSet"})
_LATEST: Final = naming(("versionSetProperties", "latest"))


def _is_latest(version: Record, info: Info) -> bool:
    sets = visible_at(info.context, version, ("versionSet",), _SETS)
    return any(version.entity in _LATEST(info.context, version_set) for version_set in sets)


def _search(of: Entity, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    with search_session(call.exchange, view_authorization.hits) as search:
        ids = Neighbours(search.texts()).sources(of, ["VersionOf"]) & search.index.tree.stored
        versions = [search.index.tree.entity(id) for id in ids]
    types = input.get("types") or sorted({type_word(version, info) for version in versions})
    return search_page(info, input, types, among=[version.name for version in versions])


RESOLVERS: Final[Resolvers] = {
    "VersionProperties": {"isLatest": _is_latest},
    "VersionSet": {"versionsSearch": _search},
}
