"""Analytics: counts over the stored entities.

A caller who may see them sees numbers about all entities, including hidden ones. SOURCE: datahub
reference 1.1; datahub-project/datahub:…/analytics/resolver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.kinds import KINDS, types_of
from lakewarden.systems.datahub.http.graphql.paging import contains_words
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_VIEW: Final = "analytics.view"
_BARS: Final = 20
"""The number of bars shown, the longest ones."""

_COUNTED: Final = (
    ("dataset", "Datasets"),
    ("dashboard", "Dashboards"),
    ("chart", "Charts"),
    ("dataFlow", "Pipelines"),
    ("dataJob", "Tasks"),
    ("domain", "Domains"),
    ("glossaryTerm", "Glossary Terms"),
    ("corpuser", "Users"),
    ("corpGroup", "Groups"),
)
"""The types that have a number of their own."""

_PLATFORM: Final = "urn:li:dataPlatform:"
_PLATFORM_FIRST: Final = frozenset(
    ("dataset", "mlModel", "mlModelGroup", "mlFeatureTable", "dataPlatformInstance")
)
"""Types whose names begin with their platform."""


def _highlights(_: object, info: Info) -> list[Mapping[str, Any]]:
    call: Call = info.context
    authorization.allow(call, _VIEW)
    return [
        {"value": len(_stored(call, type)), "title": title, "body": ""} for type, title in _COUNTED
    ]


def _charts(_: object, info: Info) -> list[Mapping[str, Any]]:
    call: Call = info.context
    authorization.allow(call, _VIEW)
    counts = {type: len(_stored(call, type)) for type in KINDS}
    ids = BitMap.union(*(_stored(call, type) for type in KINDS))
    charts = [_bars("Entities by type", Counter(counts)), *_landscape(call, ids)]
    return [_group(charts)]


def _metadata_charts(_: object, info: Info, input: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    call: Call = info.context
    authorization.allow(call, _VIEW)
    type, domain = input.get("entityType"), input.get("domain")
    types = KINDS.keys() if type is None else types_of(type)
    ids = BitMap().union(*(_stored(call, type) for type in types))
    if domain not in (None, "", "GLOBAL"):
        ids &= _with_target(call, "domain", calls.entity(domain, "domain"))
    tree = call.state.matrix.snapshot.coded.tree
    query = input.get("query")
    if not contains_words(query):
        ids = BitMap(id for id in ids if contains_words(query, tree.entity(id).name))
    return [_group(list(_landscape(call, ids)))]


def _group(charts: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {"groupId": "WhatThereIs", "title": "What there is", "charts": charts}


def _stored(call: Call, type: str) -> BitMap:
    snapshot = call.state.matrix.snapshot
    return snapshot.of_type(type) & snapshot.coded.tree.stored


def _with_target(call: Call, kind: str, target: Entity) -> BitMap:
    coded = call.state.matrix.snapshot.coded
    id, edges = coded.tree.find(target), coded.relations.get(kind)
    return BitMap() if id is None or edges is None else edges.sources_of(BitMap([id]))


def _landscape(call: Call, ids: BitMap) -> Iterator[Mapping[str, Any]]:
    yield _bars("Entities by platform", _platforms(call, ids))
    yield _bars("Entities by environment", _environments(call, ids))
    for kind, title in (("domain", "Entities by domain"), ("term", "Entities by glossary term")):
        yield _bars(title, _targets(call, kind, ids))


def _platforms(call: Call, ids: BitMap) -> Counter[str]:
    def platform(entity: Entity) -> str | None:
        if entity.type not in _PLATFORM_FIRST:
            return None
        return entity.name.partition(_PLATFORM)[2].partition(",")[0]

    return _by(call, ids, platform)


def _environments(call: Call, ids: BitMap) -> Counter[str]:
    def environment(entity: Entity) -> str | None:
        return entity.name[:-1].rpartition(",")[2] if entity.type == "dataset" else None

    return _by(call, ids, environment)


def _by(call: Call, ids: BitMap, name: Callable[[Entity], str | None]) -> Counter[str]:
    tree = call.state.matrix.snapshot.coded.tree
    names = (name(tree.entity(id)) for id in ids)
    return Counter(name for name in names if name is not None)


def _targets(call: Call, kind: str, ids: BitMap) -> Counter[str]:
    coded = call.state.matrix.snapshot.coded
    edges = coded.relations.get(kind)
    if edges is None:
        return Counter()
    sizes = {
        coded.tree.entity(target).name: len(sources & ids)
        for target, sources in edges.inverted().items()
    }
    return Counter({name: size for name, size in sizes.items() if size})


def _bars(title: str, counts: Counter[str]) -> Mapping[str, Any]:
    bars = [
        {"name": name, "segments": [{"label": "#Entities", "value": count}]}
        for name, count in sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))[
            :_BARS
        ]
        if count
    ]
    return {"__typename": "BarChart", "title": title, "bars": bars}


def _is_enabled(_: object, _info: Info) -> bool:
    return True


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "isAnalyticsEnabled": _is_enabled,
        "getHighlights": _highlights,
        "getAnalyticsCharts": _charts,
        "getMetadataAnalyticsCharts": _metadata_charts,
    },
}
