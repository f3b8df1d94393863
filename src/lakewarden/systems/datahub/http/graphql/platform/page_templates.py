"""Templates and modules of the home page: how it is laid out, and what stands on it.

One's own are anybody's to make; those for everybody take Manage Home Page Templates.
SOURCE: datahub-project/datahub:…/resolvers/{template,module}, PageTemplateService.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.platform import page_output, personal, shapes
from lakewarden.systems.datahub.http.graphql.platform.deletion import deleting
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write_all
from lakewarden.systems.datahub.http.graphql.platform.page_output import (
    MODULE,
    MODULE_ASPECT,
    TEMPLATE,
    TEMPLATE_ASPECT,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_MANAGE: Final = "home_template.manage"


def _upsert_template(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    def value(draft: Draft) -> dict[str, Any]:
        rows = [
            {"modules": [calls.entity(urn, MODULE) for urn in row["modules"]]}
            for row in input["rows"]
        ]
        draft.check_there(*(one for row in rows for one in row["modules"]))
        found: dict[str, Any] = {
            "rows": [{"modules": [one.name for one in row["modules"]]} for row in rows],
            "surface": {"surfaceType": input["surfaceType"]},
        }
        if input.get("assetSummary") is not None:
            elements = [_element(one) for one in input["assetSummary"]["summaryElements"]]
            found["assetSummary"] = {"summaryElements": elements}
        return found

    return _upsert(info, input, TEMPLATE, TEMPLATE_ASPECT, value)


def _element(input: Mapping[str, Any]) -> dict[str, Any]:
    urn = input.get("structuredPropertyUrn")
    if urn is None:
        return {"elementType": input["elementType"]}
    property = calls.entity(urn, "structuredProperty")
    return {"elementType": input["elementType"], "structuredPropertyUrn": property.name}


def _upsert_module(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    def value(_: Draft) -> dict[str, Any]:
        params = given(input["params"], *page_output.PARAMS)
        return {"name": input["name"], "type": input["type"], "params": params}

    return _upsert(info, input, MODULE, MODULE_ASPECT, value)


def _upsert(info: Info, input: Mapping[str, Any], type: str, aspect: str, value: Any) -> Entity:
    urn = input.get("urn")
    entity = named(type, None) if urn is None else calls.entity(urn, type)

    def asks(draft: Draft) -> list[Ask]:
        before = _asked(draft, entity, aspect) if draft.is_there(entity) else []
        return [*before, *personal.creating(input["scope"], _MANAGE)]

    def task(draft: Draft) -> Entity:
        stamp = draft.stamp()
        before = draft.value(entity, aspect) or {"created": stamp}
        told = {"visibility": {"scope": input["scope"]}, "lastModified": stamp}
        draft.put(entity, aspect, {**before, **value(draft), **told})
        return entity

    return write_all(info.context, asks, task, {"page": entity.name})


def _asking(aspect: str) -> Callable[[Draft, Entity], list[Ask]]:
    return lambda draft, entity: _asked(draft, entity, aspect)


def _asked(draft: Draft, entity: Entity, aspect: str) -> list[Ask]:
    value = draft.value(entity, aspect)
    scope = shapes.mapping(value.get("visibility")).get("scope")
    return personal.changing(shapes.text(scope), value.get("created"), _MANAGE)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertPageTemplate": _upsert_template,
        "deletePageTemplate": deleting(TEMPLATE, _asking(TEMPLATE_ASPECT)),
        "upsertPageModule": _upsert_module,
        "deletePageModule": deleting(MODULE, _asking(MODULE_ASPECT)),
    },
    **page_output.RESOLVERS,
}
