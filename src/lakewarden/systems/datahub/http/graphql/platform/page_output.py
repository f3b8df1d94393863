"""Templates and modules of pages as the schema shows them.

SOURCE: PDL records of page templates and modules, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.pages.part import Part, flag, part, parts, text, word
from lakewarden.systems.datahub.http.graphql.platform import personal, shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import shown, shown_stamp
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TEMPLATE: Final = "dataHubPageTemplate"
TEMPLATE_ASPECT: Final = "dataHubPageTemplateProperties"
MODULE: Final = "dataHubPageModule"
MODULE_ASPECT: Final = "dataHubPageModuleProperties"

PARAMS: Final = ("linkParams", "richTextParams", "assetCollectionParams", "hierarchyViewParams")
"""What a module of a type is made with."""

_KINDS: Final = (
    *("LINK", "RICH_TEXT", "ASSET_COLLECTION", "HIERARCHY", "OWNED_ASSETS", "DOMAINS", "ASSETS"),
    *("OUTPUT_PORTS", "CHILD_HIERARCHY", "DATA_PRODUCTS", "SUB_DATA_PRODUCTS", "RELATED_TERMS"),
    *("PLATFORMS", "LINEAGE", "COLUMNS", "UNKNOWN"),
)
_ELEMENTS: Final = (
    *("CREATED", "LAST_MODIFIED", "LAST_INGESTED", "TAGS", "GLOSSARY_TERMS", "OWNERS", "DOMAIN"),
    *("STRUCTURED_PROPERTY", "DOCUMENT_STATUS", "DOCUMENT_TYPE", "SEMANTIC_MODEL"),
)
_SURFACES: Final = ("HOME_PAGE", "ASSET_SUMMARY")


def _whole(aspect: str) -> Callable[..., Any]:
    return lambda entity, info: Part(entity, info.context.aspect(entity, aspect))


def _some(key: str) -> Callable[..., Any]:
    return lambda of, _info: of.part(key) or Part(of.entity, {})


def _stamp(key: str) -> Callable[..., Any]:
    return lambda of, info: shown_stamp(info.context, of.get(key)) or shapes.NO_STAMP


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
    name: _stamp(name) for name in ("created", "lastModified")
}

RESOLVERS: Final[Resolvers] = {
    "DataHubPageTemplate": {"properties": _whole(TEMPLATE_ASPECT)},
    "DataHubPageTemplateProperties": {
        "rows": parts("rows"),
        "assetSummary": part("assetSummary"),
        "surface": _some("surface"),
        "visibility": _some("visibility"),
        **_STAMPS,
    },
    "DataHubPageTemplateRow": {"modules": _modules},
    "DataHubPageTemplateSurface": {"surfaceType": word("surfaceType", _SURFACES)},
    "DataHubPageTemplateVisibility": {"scope": word("scope", personal.SCOPES)},
    "DataHubPageTemplateAssetSummary": {"summaryElements": parts("summaryElements")},
    "SummaryElement": {
        "elementType": word("elementType", _ELEMENTS, "CREATED"),
        "structuredProperty": _property,
    },
    "DataHubPageModule": {"properties": _whole(MODULE_ASPECT)},
    "DataHubPageModuleProperties": {
        "name": text("name", ""),
        "type": word("type", _KINDS, "UNKNOWN"),
        "visibility": _some("visibility"),
        "params": _some("params"),
        **_STAMPS,
    },
    "DataHubPageModuleVisibility": {"scope": word("scope", personal.SCOPES)},
    "DataHubPageModuleParams": {name: part(name) for name in PARAMS},
    "LinkModuleParams": {
        "linkUrl": text("linkUrl", ""),
        "imageUrl": text("imageUrl"),
        "description": text("description"),
    },
    "RichTextModuleParams": {"content": text("content", "")},
    "AssetCollectionModuleParams": {
        "assetUrns": _assets,
        "dynamicFilterJson": text("dynamicFilterJson"),
    },
    "HierarchyViewModuleParams": {
        "assetUrns": _assets,
        "showRelatedEntities": flag("showRelatedEntities"),
        "relatedEntitiesFilterJson": text("relatedEntitiesFilterJson"),
    },
}
