"""Templates and modules of the home page: its layout, and its content.

Every user may create personal ones; global ones require Manage Home Page Templates. SOURCE:
datahub-project/datahub:…/resolvers/{template,module}, PageTemplateService.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.platform import personal, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Kind,
    deletion,
    mutation,
    new_entity,
)
from lakewarden.systems.datahub.http.graphql.records import Input, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

TEMPLATE: Final = "dataHubPageTemplate"

_MANAGE: Final = "home_template.manage"
_PARAMS: Final = ("linkParams", "richTextParams", "assetCollectionParams", "hierarchyViewParams")
"""The members with the parameters of a module, which depend on its type."""

_MODULE: Final = Kind("dataHubPageModule", "dataHubPageModuleProperties")
_TEMPLATE: Final = Kind(TEMPLATE, "dataHubPageTemplateProperties")


def _template(changes: AspectChanges, input: Input) -> Value:
    rows = [[calls.entity(urn, _MODULE.type) for urn in row["modules"]] for row in input["rows"]]
    changes.check_exists(*(module for row in rows for module in row))
    value: Value = {
        "rows": [{"modules": [module.name for module in row]} for row in rows],
        "surface": {"surfaceType": input["surfaceType"]},
    }
    if input.get("assetSummary") is not None:
        elements = [
            _element(summaryElement) for summaryElement in input["assetSummary"]["summaryElements"]
        ]
        value["assetSummary"] = {"summaryElements": elements}
    return value


def _element(input: Input) -> Value:
    urn = input.get("structuredPropertyUrn")
    if urn is None:
        return {"elementType": input["elementType"]}
    property = calls.entity(urn, "structuredProperty")
    return {"elementType": input["elementType"], "structuredPropertyUrn": property.name}


def _module(_: AspectChanges, input: Input) -> Value:
    params = provided_members(members(*_PARAMS), input["params"])
    return {"name": input["name"], "type": input["type"], "params": params}


def _upsert_write(kind: Kind, value: Callable[[AspectChanges, Input], Value]) -> AspectWrite:
    def entities(_: Call, input: Input) -> list[Entity]:
        urn = input.get("urn")
        return [new_entity(kind.type, None) if urn is None else calls.entity(urn, kind.type)]

    def requirements(changes: AspectChanges, entity: Entity, input: Input) -> Sequence[Requirement]:
        before = _change_requirements(changes, entity, kind) if changes.is_stored(entity) else []
        return [*before, *personal.creation_requirement(input["scope"], _MANAGE)]

    def upsert(changes: AspectChanges, entity: Entity, input: Input) -> None:
        stamp = changes.stamp
        before = changes.value(entity, kind.aspect) or {"created": stamp}
        scope = {"visibility": {"scope": input["scope"]}, "lastModified": stamp}
        changes.put(entity, kind.aspect, {**before, **value(changes, input), **scope})

    return mutation(entities, requirements, upsert, audited_as="page")


def _change_requirements(
    changes: AspectChanges, entity: Entity, kind: Kind
) -> Sequence[Requirement]:
    value = changes.value(entity, kind.aspect)
    scope = shapes.mapping(value.get("visibility")).get("scope")
    return personal.change_requirement(shapes.text(scope), value.get("created"), _MANAGE)


def _deletion_write(kind: Kind) -> AspectWrite:
    return deletion(kind, lambda changes, entity, _: _change_requirements(changes, entity, kind))


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertPageTemplate": _upsert_write(_TEMPLATE, _template),
        "deletePageTemplate": _deletion_write(_TEMPLATE),
        "upsertPageModule": _upsert_write(_MODULE, _module),
        "deletePageModule": _deletion_write(_MODULE),
    },
}
