"""Applications: programs, and the assets that belong to them.

SOURCE: datahub reference 1.2; datahub-project/datahub:…/resolvers/application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.edges import BELONGING
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Kind,
    check_limit,
    creation,
    deletion,
    reference,
)
from lakewarden.systems.datahub.http.graphql.records import Input, Member
from lakewarden.systems.datahub.http.graphql.references import visible_at
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Info, Resolvers
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.neighbours import Neighbours

_ASPECT: Final = "applicationProperties"
_ON_ASSETS: Final = "applications"
_TYPE: Final = "application"
_TYPES: Final = frozenset({_TYPE})
_MANAGE: Final = "entity.manage"
_URN: Final = "applicationUrn"


_KIND: Final = Kind(
    _TYPE,
    _ASPECT,
    (
        Member("name", of="properties.name"),
        Member("description", of="properties.description"),
        Member("customProperties", default={}),
    ),
    audited_as="application",
    about=Entity(_TYPE, ""),
)
"""The right to manage applications is checked for their type."""


def _creation_requirements(
    _: AspectChanges, application: Entity, input: Input
) -> list[Requirement]:
    of_domain = (
        [Requirement("domain.edit", application)] if input.get("domainUrn") is not None else []
    )
    return [Requirement(_MANAGE, Entity(_TYPE, "")), *of_domain]


def _put_domain(changes: AspectChanges, application: Entity, input: Input) -> None:
    domain = input.get("domainUrn")
    if domain is not None:
        changes.check_exists(domain)
        changes.put(application, "domains", {"domains": [domain.name]})


def _resources(call: Call, input: Input) -> list[Entity]:
    targets = dict.fromkeys(calls.entity(urn) for urn in input["resourceUrns"])
    assets = check_limit(call, list(targets), "resourceUrns")
    if not assets:
        raise bad("expected `resourceUrns`: the assets that are meant")
    return assets


def _set(changes: AspectChanges, assets: Sequence[Entity], input: Input) -> None:
    """Adds an application to assets; without an application, removes the assets from theirs."""
    application = input.get(_URN)
    changes.check_exists(*assets, *(() if application is None else (application,)))
    for asset in assets:
        before = shapes.texts(changes.value(asset, _ON_ASSETS).get("applications"))
        urns = [] if application is None else list(dict.fromkeys([*before, application.name]))
        changes.merge(asset, _ON_ASSETS, applications=urns)


def _unset(changes: AspectChanges, assets: Sequence[Entity], input: Input) -> None:
    changes.check_exists(*assets)
    for asset in assets:
        before = shapes.texts(changes.value(asset, _ON_ASSETS).get("applications"))
        urns = [urn for urn in before if urn != input[_URN].name]
        changes.merge(asset, _ON_ASSETS, applications=urns)


def _requirements(_: AspectChanges, assets: Sequence[Entity], __: Input) -> list[Requirement]:
    return [Requirement("applications.edit", asset) for asset in assets]


def _assets(properties: Record, info: Info) -> int:
    """The number of an application's visible assets."""
    call: Call = info.context
    with search_session(call.exchange, view_authorization.hits) as session:
        ids = Neighbours(session.texts()).sources(properties.entity, [BELONGING])
        ids &= session.index.tree.stored
    return len(authorization.visible_ids(call, ids))


def _asset_application(asset: Entity, info: Info) -> list[Mapping[str, Any]]:
    stored = aspect(info.context, asset, _ON_ASSETS)
    applications = visible_at(info.context, stored, (_ON_ASSETS,), _TYPES)
    return [{"application": one, "associatedUrn": asset.name} for one in applications]


def _first(asset: Entity, info: Info) -> Mapping[str, Any] | None:
    return next(iter(_asset_application(asset, info)), None)


SHARED: Final[Fields] = {"application": _first, "applications": _asset_application}

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createApplication": creation(
            _KIND,
            _creation_requirements,
            then=_put_domain,
            reads={"domainUrn": reference("domain")},
        ),
        "deleteApplication": deletion(_KIND, _MANAGE),
        "batchSetApplication": AspectWrite(
            _resources, _requirements, _set, {_URN: reference(_TYPE)}
        ),
        "batchUnsetApplication": AspectWrite(
            _resources, _requirements, _unset, {_URN: reference(_TYPE)}
        ),
    },
    "ApplicationProperties": {"numAssets": _assets},
}
