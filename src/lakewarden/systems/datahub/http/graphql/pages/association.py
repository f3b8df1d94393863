"""Who and what an entity is tied to: owners, tags, terms, domain, properties, links.

What the caller is not shown is left out, and so is what holds nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.rendering import SYSTEM_TYPES
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages import column_parts
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    Naming,
    alone,
    each,
    member,
    named,
    naming,
    shown,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Field,
    Part,
    aspect,
    entries,
    stamp,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ACTORS: Final = frozenset({"corpuser", "corpGroup"})
_URN_OF_WORD: Final = {word: urn for urn, word in SYSTEM_TYPES.items()}

_OWNERS: Final = naming("ownership", each("owners", "owner"), *sorted(_ACTORS))


def _type_urn(owner: Part) -> str | None:
    """The ownership type: by its URN, or by the older word for one that every DataHub has."""
    return owner.text("typeUrn") or _URN_OF_WORD.get(owner.text("type") or "")


def _type_urns(ownership: Part) -> Iterator[object]:
    return (_type_urn(owner) for owner in ownership.parts("owners"))


_OWNERSHIP_TYPES: Final = naming("ownership", _type_urns, "ownershipType")


def _owners(ownership: Part, info: Info) -> list[Part]:
    return _held(ownership.parts("owners"), "owner", info.context, _OWNERS)


def _ownership_type(owner: Part, info: Info) -> Entity | None:
    found = named((_type_urn(owner),))
    seen = shown(info.context, owner.entity, _OWNERSHIP_TYPES)
    return found[0] if found and found[0] in seen else None


def _held(parts: Iterable[Part], key: str, call: Call, naming: Naming | None) -> list[Part]:
    """Those of the parts that name, under the key, what the caller is shown."""
    found = [(one, there[0]) for one in parts if (there := named((one.get(key),)))]
    call.name(len(found))
    if naming is None:
        seen = frozenset(authorization.visible(call, (entity for _, entity in found)))
        return [one for one, entity in found if entity in seen]
    return [one for one, entity in found if entity in shown(call, one.entity, naming)]


def _named(key: str) -> Field:
    """The entity under a key of a part that is there only because the caller is shown it."""
    return lambda part, _info: named((part.get(key),))[0]


def _tags_named(aspect: str) -> Naming:
    return naming(aspect, lambda part: column_parts.urns(part, "tags", "tag"), "tag")


def _terms_named(aspect: str) -> Naming:
    return naming(aspect, lambda part: column_parts.urns(part, "terms", "urn"), "glossaryTerm")


_TAGS: Final[Mapping[str, Naming]] = {name: _tags_named(name) for name in column_parts.TAGGED}
_TERMS: Final[Mapping[str, Naming]] = {name: _terms_named(name) for name in column_parts.TAGGED}
"""The tags and terms that an aspect names, by the aspect."""


def _tags(tags: Part, info: Info) -> list[Part]:
    return _held(tags.parts("tags"), "tag", info.context, _TAGS.get(tags.aspect))


def _terms(terms: Part, info: Info) -> list[Part]:
    return _held(terms.parts("terms"), "urn", info.context, _TERMS.get(terms.aspect))


def _domains_named(call: Call, entity: Entity) -> list[Entity]:
    """The domains of an entity; of a product, those that its associations name, if any."""
    value = Part(entity, call.aspect(entity, "domains"))
    found: list[object] = list(value.texts("domains"))
    if entity.type == "dataProduct":
        found = [one.get("domain") for one in value.parts("domainAssociations")] or found
    return named(found, frozenset({"domain"}))


def _domain(entity: Entity, info: Info) -> Mapping[str, Any] | None:
    seen = shown(info.context, entity, _domains_named)
    found = [one for one in _domains_named(info.context, entity) if one in seen]
    if not found:
        return None
    value = Part(entity, info.context.aspect(entity, "domains"))
    said = (one for one in value.parts("domainAssociations") if one.get("domain") == found[0].name)
    attribution = next((one.part("attribution") for one in said), None)
    return {"domain": found[0], "associatedUrn": entity.name, "attribution": attribution}


_PROPERTIES: Final = naming(
    "structuredProperties", each("properties", "propertyUrn"), "structuredProperty"
)


_VALUES: Final = naming(
    "structuredProperties",
    lambda part: (value for entry in part.parts("properties") for value in entry.listed("values")),
)


def _properties(properties: Part, info: Info) -> list[Part]:
    return _held(properties.parts("properties"), "propertyUrn", info.context, _PROPERTIES)


def _property_values(entry: Part, info: Info) -> list[Mapping[str, Any]]:
    """The values, but the URNs of what the caller is not shown."""
    seen = shown(info.context, entry.entity, _VALUES)
    found = [one for one in entry.listed("values") if isinstance(one, str | int | float)]
    return [_value(one) for one in found if not (there := named((one,))) or there[0] in seen]


def _value(value: str | float) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"__typename": "StringValue", "stringValue": value}
    return {"__typename": "NumberValue", "numberValue": float(value)}


def _value_entities(entry: Part, info: Info) -> list[Entity]:
    seen = shown(info.context, entry.entity, _VALUES)
    return [one for one in named(entry.listed("values")) if one in seen]


def _associated(part: Part, _info: Info) -> str:
    return part.entity.name


def _elements(memory: Part, _info: Info) -> list[Part]:
    return [one for one in memory.parts("elements") if one.text("url") is not None]


_WRITERS: Final = naming(
    "institutionalMemory",
    lambda part: (
        made.get("actor")
        for one in part.parts("elements")
        if (made := one.part("createStamp")) is not None
    ),
    *sorted(_ACTORS),
)


def _writer(element: Part, info: Info) -> Entity | None:
    made = element.part("createStamp")
    return None if made is None else member("actor", _WRITERS)(made, info)


def _author(element: Part, info: Info) -> Entity | None:
    found = _writer(element, info)
    return found if found is not None and found.type == "corpuser" else None


_DEPRECATION: Final = naming(
    "deprecation", lambda part: (part.get("actor"), part.get("replacement"))
)

_ATTRIBUTION: Final[Fields] = {
    "actor": alone("actor"),
    "source": alone("source"),
    "sourceDetail": entries("sourceDetail"),
}

SHARED: Final[Fields] = {
    "deprecation": aspect("deprecation"),
    "domain": _domain,
    "globalTags": aspect("globalTags"),
    "glossaryTerms": aspect("glossaryTerms"),
    "institutionalMemory": aspect("institutionalMemory"),
    "ownership": aspect("ownership"),
    "structuredProperties": aspect("structuredProperties"),
    "tags": aspect("globalTags"),
}

RESOLVERS: Final[Resolvers] = {
    "Ownership": {"owners": _owners, "lastModified": stamp("lastModified", always=True)},
    "Owner": {
        "owner": _named("owner"),
        "ownershipType": _ownership_type,
        "associatedUrn": _associated,
    },
    "OwnershipSource": {"type": typed(otherwise="OTHER")},
    "MetadataAttribution": _ATTRIBUTION,
    "GlobalTags": {"tags": _tags},
    "TagAssociation": {
        "tag": _named("tag"),
        "associatedUrn": _associated,
    },
    "GlossaryTerms": {"terms": _terms},
    "GlossaryTermAssociation": {
        "term": _named("urn"),
        "actor": alone("actor", "corpuser"),
        "associatedUrn": _associated,
    },
    "StructuredProperties": {"properties": _properties},
    "StructuredPropertiesEntry": {
        "structuredProperty": _named("propertyUrn"),
        "values": _property_values,
        "valueEntities": _value_entities,
        "associatedUrn": _associated,
    },
    "InstitutionalMemory": {"elements": _elements},
    "InstitutionalMemoryMetadata": {
        "label": typed("description"),
        "author": _author,
        "actor": _writer,
        "created": stamp("createStamp", always=True),
        "updated": stamp("updateStamp"),
        "associatedUrn": _associated,
    },
    "Deprecation": {
        "actorEntity": member("actor", _DEPRECATION),
        "replacement": member("replacement", _DEPRECATION),
    },
}
