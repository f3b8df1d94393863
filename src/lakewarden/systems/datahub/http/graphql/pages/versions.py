"""Versions of assets, and the sets that they are in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import viewing
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.kinds import word_of
from lakewarden.systems.datahub.http.graphql.pages.following import (
    first,
    naming,
    one,
    resolved_stamp,
    under,
)
from lakewarden.systems.datahub.http.graphql.pages.part import Part
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.results import searched
from lakewarden.systems.datahub.http.searching import asking
from lakewarden.systems.datahub.search.neighbours import Neighbours

_VERSION: Final = "versionProperties"
_SET: Final = "versionSetProperties"
_SET_OF: Final = naming(_VERSION, under("versionSet"), "versionSet")
_LATEST: Final = naming(_SET, under("latest"))
_EMPTY: Final[Mapping[str, Any]] = {}


def _version(asset: Entity, info: Info) -> Part | None:
    value = info.context.aspect(asset, _VERSION)
    is_shown = value and first(info.context, asset, _SET_OF) is not None
    return Part(asset, value, _VERSION) if is_shown else None


def _set(version: Part, info: Info) -> Entity | None:
    return first(info.context, version.entity, _SET_OF)


def _tag(version: Part, _info: Info) -> Part:
    return version.part("version") or version.of(_EMPTY)


def _is_latest(version: Part, info: Info) -> bool:
    of = _set(version, info)
    return of is not None and version.entity in _LATEST(info.context, of)


def _search(of: Entity, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    with asking(call.exchange, viewing.hits) as asked:
        ids = Neighbours(asked.texts()).sources(of, ["VersionOf"]) & asked.index.tree.stored
        found = [asked.index.tree.entity(id) for id in ids]
    types = input.get("types") or sorted({word_of(one, info) for one in found})
    return searched(info, input, types, among=[one.name for one in found])


RESOLVERS: Final[Resolvers] = {
    "Dataset": {"versionProperties": _version},
    "MLModel": {"versionProperties": _version},
    "VersionProperties": {
        "versionSet": _set,
        "version": _tag,
        "isLatest": _is_latest,
        "created": resolved_stamp("metadataCreatedTimestamp"),
        "createdInSource": resolved_stamp("sourceCreatedTimestamp"),
    },
    "VersionSet": {"latestVersion": one(_LATEST), "versionsSearch": _search},
}
