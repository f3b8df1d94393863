"""Documents as the schema shows them.

SOURCE: PDL records of documents, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    custom_properties,
    typed,
)
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import shown, stamp_field
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TYPE: Final = "document"
ASPECT: Final = "documentInfo"
SETTINGS: Final = "documentSettings"
SUBTYPES: Final = "subTypes"


def parent_of(value: Mapping[str, Any]) -> Entity | None:
    """The document in which one lies, by its aspect."""
    return shapes.entity(shapes.mapping(value.get("parentDocument")).get("document"), TYPE)


def _subtype(document: Entity, info: Info) -> str | None:
    names = shapes.texts(info.context.aspect(document, SUBTYPES).get("typeNames"))
    return names[0] if names else None


def _settings(document: Entity, info: Info) -> Mapping[str, Any] | None:
    value = info.context.aspect(document, SETTINGS)
    return {"showInGlobalContext": value.get("showInGlobalContext") is not False} if value else None


def _parents(document: Entity, info: Info) -> Mapping[str, Any]:
    """What it lies in, the nearest first, as far up as the caller is shown it."""
    call: Call = info.context
    found: list[Entity] = []
    above = shown(call, parent_of(call.aspect(document, ASPECT)))
    while above is not None and above not in found and above != document:
        found.append(above)
        above = shown(call, parent_of(call.aspect(above, ASPECT)))
    return {"count": len(found), "documents": found}


def _contents(of: Part, _info: Info) -> Mapping[str, Any]:
    contents = of.part("contents")
    return {"text": (contents and contents.text("text")) or ""}


def _parent(of: Part, info: Info) -> Mapping[str, Any] | None:
    found = shown(info.context, parent_of(of.value))
    return None if found is None else {"document": found}


def _related(key: str, member: str, *types: str) -> Callable[..., Any]:
    def resolve(of: Part, info: Info) -> list[Mapping[str, Any]]:
        named = (shapes.entity(one.get(member), *types) for one in of.parts(key))
        found = (shown(info.context, one) for one in named)
        return [{member: one} for one in found if one is not None]

    return resolve


RESOLVERS: Final[Resolvers] = {
    "Document": {
        "info": aspect(ASPECT),
        "settings": _settings,
        "subType": _subtype,
        "parentDocuments": _parents,
    },
    "DocumentInfo": {
        "contents": _contents,
        "created": stamp_field("created"),
        "lastModified": stamp_field("lastModified"),
        "relatedAssets": _related("relatedAssets", "asset"),
        "relatedDocuments": _related("relatedDocuments", "document", TYPE),
        "parentDocument": _parent,
        "customProperties": custom_properties,
    },
    "DocumentSource": {"sourceType": typed(otherwise="EXTERNAL")},
    "DocumentStatus": {"state": typed(otherwise="UNPUBLISHED")},
}
