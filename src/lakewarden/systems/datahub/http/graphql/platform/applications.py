"""Applications: programs, and the assets that belong to them.

SOURCE: datahub reference 1.2; datahub-project/datahub:…/resolvers/application.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.edges import BELONGING
from lakewarden.systems.datahub.http import viewing
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages.assets import or_key
from lakewarden.systems.datahub.http.graphql.pages.part import Part, aspect, custom_properties
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import (
    Draft,
    given,
    limited,
    named,
    write_all,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import shown
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.searching import asking
from lakewarden.systems.datahub.search.neighbours import Neighbours

_ASPECT: Final = "applicationProperties"
_ON_ASSETS: Final = "applications"
_TYPE: Final = "application"
_MANAGE: Final = "entity.manage"
_PUT: Final = "applications.edit"
_ALL: Final = Entity(_TYPE, "")
"""The type: what the right to manage applications is asked about."""

HAVING_APPLICATIONS: Final = (
    *("Chart", "Container", "Dashboard", "DataFlow", "DataJob", "DataProduct", "Dataset"),
)
"""The types of assets that show to which applications they belong."""

_HAVING_LISTS: Final = (
    *("GlossaryNode", "GlossaryTerm", "MLFeature", "MLFeatureTable", "MLModel", "MLModelGroup"),
)
"""Those that show it as a list alone."""


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    application = named(_TYPE, input.get("id"))
    domain = None if input.get("domainUrn") is None else calls.entity(input["domainUrn"], "domain")

    def asks(_: Draft) -> list[Ask]:
        of_domain = [] if domain is None else [Ask("domain.edit", application)]
        return [Ask(_MANAGE, _ALL), *of_domain]

    def task(draft: Draft) -> Entity:
        draft.check_new(application)
        value = {"customProperties": {}, **given(input["properties"], "name", "description")}
        draft.put(application, _ASPECT, value)
        if domain is not None:
            draft.check_there(domain)
            draft.put(application, "domains", {"domains": [domain.name]})
        return application

    return write_all(info.context, asks, task, {"application": application.name})


def _set(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    """Adds an application to assets; none: they belong to no application any more."""
    urn = input.get("applicationUrn")
    application = None if urn is None else calls.entity(urn, _TYPE)

    def changed(there: list[str]) -> list[str]:
        return [] if application is None else list(dict.fromkeys([*there, application.name]))

    return _change(info, input["resourceUrns"], application, changed)


def _unset(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    application = calls.entity(input["applicationUrn"], _TYPE)

    def changed(there: list[str]) -> list[str]:
        return [urn for urn in there if urn != application.name]

    return _change(info, input["resourceUrns"], None, changed)


def _change(
    info: Info,
    urns: Iterable[str],
    wanted: Entity | None,
    changed: Callable[[list[str]], list[str]],
) -> bool:
    named = dict.fromkeys(calls.entity(urn) for urn in urns)
    assets = limited(info.context, list(named), "resourceUrns")
    if not assets:
        raise bad("expected `resourceUrns`: the assets that are meant")

    def task(draft: Draft) -> bool:
        draft.check_there(*assets, *(() if wanted is None else (wanted,)))
        for asset in assets:
            value = draft.value(asset, _ON_ASSETS)
            there = shapes.texts(value.get("applications"))
            draft.put(asset, _ON_ASSETS, {**value, "applications": changed(there)})
        return True

    return write_all(info.context, lambda _: [Ask(_PUT, asset) for asset in assets], task)


def _assets(properties: Part, info: Info) -> int:
    """How many assets belong to an application, of those that the caller is shown."""
    call: Call = info.context
    with asking(call.exchange, viewing.hits) as asked:
        ids = Neighbours(asked.texts()).sources(properties.entity, [BELONGING])
        ids &= asked.index.tree.stored
    return len(authorization.visible_ids(call, ids))


def _of_asset(asset: Entity, info: Info) -> list[Mapping[str, Any]]:
    value = info.context.aspect(asset, _ON_ASSETS)
    found = shapes.entities(value.get("applications"), _TYPE)
    there = [one for one in found if shown(info.context, one) is not None]
    return [{"application": one, "associatedUrn": asset.name} for one in there]


def _first(asset: Entity, info: Info) -> Mapping[str, Any] | None:
    return next(iter(_of_asset(asset, info)), None)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createApplication": _create,
        "batchSetApplication": _set,
        "batchUnsetApplication": _unset,
    },
    "Application": {"properties": aspect(_ASPECT)},
    "ApplicationProperties": {
        "name": or_key("name", 0),
        "numAssets": _assets,
        "customProperties": custom_properties,
    },
    **{type: {"application": _first, "applications": _of_asset} for type in HAVING_APPLICATIONS},
    **{type: {"applications": _of_asset} for type in _HAVING_LISTS},
}
