"""Templates and modules of pages as the schema shows them.

SOURCE: PDL records of page templates and modules, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.pages.part import Part, typed
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import shown, stamp_field
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TEMPLATE: Final = "dataHubPageTemplate"
TEMPLATE_ASPECT: Final = "dataHubPageTemplateProperties"
MODULE: Final = "dataHubPageModule"
MODULE_ASPECT: Final = "dataHubPageModuleProperties"

PARAMS: Final = ("linkParams", "richTextParams", "assetCollectionParams", "hierarchyViewParams")
"""What a module of a type is made with."""


def _whole(aspect: str) -> Callable[..., Any]:
    return lambda entity, info: Part(entity, info.context.aspect(entity, aspect))


def _some(key: str) -> Callable[..., Any]:
    return lambda of, _info: of.part(key) or Part(of.entity, {})


def _modules(row: Part, info: Info) -> list[Entity]:
    found = (shown(info.context, one) for one in shapes.entities(row.texts("modules"), MODULE))
    return [one for one in found if one is not None]


def _property(element: Part, info: Info) -> Entity | None:
    found = shapes.entity(element.get("structuredPropertyUrn"), "structuredProperty")
    return shown(info.context, found)


def _assets(of: Part, info: Info) -> list[str]:
    """The URNs of those assets that the caller is shown."""
    found = (shown(info.context, one) for one in shapes.entities(of.texts("assetUrns")))
    return [one.name for one in found if one is not None]


_STAMPS: Final[Mapping[str, Callable[..., Any]]] = {
    name: stamp_field(name) for name in ("created", "lastModified")
}

RESOLVERS: Final[Resolvers] = {
    "DataHubPageTemplate": {"properties": _whole(TEMPLATE_ASPECT)},
    "DataHubPageTemplateProperties": {
        "surface": _some("surface"),
        "visibility": _some("visibility"),
        **_STAMPS,
    },
    "DataHubPageTemplateRow": {"modules": _modules},
    "SummaryElement": {
        "elementType": typed(otherwise="CREATED"),
        "structuredProperty": _property,
    },
    "DataHubPageModule": {"properties": _whole(MODULE_ASPECT)},
    "DataHubPageModuleProperties": {
        "type": typed(otherwise="UNKNOWN"),
        "visibility": _some("visibility"),
        "params": _some("params"),
        **_STAMPS,
    },
    "AssetCollectionModuleParams": {"assetUrns": _assets},
    "HierarchyViewModuleParams": {"assetUrns": _assets},
}
