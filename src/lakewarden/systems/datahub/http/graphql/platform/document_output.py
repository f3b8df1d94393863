"""Documents in the form of the schema.

SOURCE: PDL records of documents, acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import visible_entity
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TYPE: Final = "document"
ASPECT: Final = "documentInfo"
SETTINGS: Final = "documentSettings"
SUBTYPES: Final = "subTypes"


def parent_of(value: Mapping[str, Any]) -> Entity | None:
    """The parent of a document, by its aspect."""
    return shapes.entity(shapes.mapping(value.get("parentDocument")).get("document"), TYPE)


def _subtype(document: Entity, info: Info) -> str | None:
    names = shapes.texts(info.context.aspect(document, SUBTYPES).get("typeNames"))
    return names[0] if names else None


def _parents(document: Entity, info: Info) -> Mapping[str, Any]:
    """The ancestors, nearest first, up to the first hidden one."""
    call: Call = info.context
    parents: list[Entity] = []
    above = visible_entity(call, parent_of(call.aspect(document, ASPECT)))
    while above is not None and above not in parents and above != document:
        parents.append(above)
        above = visible_entity(call, parent_of(call.aspect(above, ASPECT)))
    return {"count": len(parents), "documents": parents}


RESOLVERS: Final[Resolvers] = {
    "Document": {"subType": _subtype, "parentDocuments": _parents},
}
