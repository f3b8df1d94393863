"""Associations that the schema cannot declare: ownership types, domain, property values.

Hidden entities are left out, as are associations without any other content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.rendering import SYSTEM_TYPES
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.references import (
    entities_of_urns,
    naming,
    visible_at,
    visible_of_group,
)
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Info, Resolvers

_URN_OF_WORD: Final = {type: urn for urn, type in SYSTEM_TYPES.items()}
_VALUES: Final = naming(("structuredProperties", "properties", "values"))


def _type_urn(owner: Record) -> str | None:
    """The ownership type: by its URN, or by the older enum value of a standard type."""
    return owner.text("typeUrn") or _URN_OF_WORD.get(owner.text("type") or "")


def _ownership_types(call: Call, entity: Entity) -> list[Entity]:
    owners = aspect(call, entity, "ownership").records("owners")
    return entities_of_urns(map(_type_urn, owners), frozenset({"ownershipType"}))


def _ownership_type(owner: Record, info: Info) -> Entity | None:
    types = entities_of_urns((_type_urn(owner),))
    visible = visible_of_group(info.context, owner.entity, _ownership_types)
    return types[0] if types and types[0] in visible else None


def _domains(call: Call, entity: Entity) -> list[Entity]:
    """The domains of an entity; for a product, those of its associations, if any."""
    record = aspect(call, entity, "domains")
    urns: list[object] = list(record.texts("domains"))
    if entity.type == "dataProduct":
        urns = [record.get("domain") for record in record.records("domainAssociations")] or urns
    return entities_of_urns(urns, frozenset({"domain"}))


def _domain(entity: Entity, info: Info) -> Mapping[str, Any] | None:
    visible = visible_of_group(info.context, entity, _domains)
    domain = next((domain for domain in _domains(info.context, entity) if domain in visible), None)
    if domain is None:
        return None
    associations = aspect(info.context, entity, "domains").records("domainAssociations")
    own = (association for association in associations if association.get("domain") == domain.name)
    attribution = next((association.record("attribution") for association in own), None)
    return {"domain": domain, "associatedUrn": entity.name, "attribution": attribution}


def _values(entry: Record, info: Info) -> list[Mapping[str, Any]]:
    """The values, without the URNs of hidden entities."""
    visible = visible_of_group(info.context, entry.entity, _VALUES)
    values = [value for value in entry.raw_list("values") if isinstance(value, str | int | float)]
    return [
        property_value(value) for value in values if visible.issuperset(entities_of_urns((value,)))
    ]


def property_value(value: str | float) -> Mapping[str, Any]:
    """A value of a structured property."""
    if isinstance(value, str):
        return {"__typename": "StringValue", "stringValue": value}
    return {"__typename": "NumberValue", "numberValue": float(value)}


def _steps(path: Record, info: Info) -> list[Mapping[str, Any]]:
    """The steps of browse paths, without those of hidden entities."""
    steps: list[Mapping[str, Any]] = []
    for step in path.records("path"):
        entities = visible_at(info.context, step, ("urn",), frozenset())
        is_hidden = bool(entities_of_urns((step.get("urn"),))) and not entities
        if step.text("id") is not None and not is_hidden:
            steps.append({"name": step.text("id"), "entity": entities[0] if entities else None})
    return steps


SHARED: Final[Fields] = {"domain": _domain}

RESOLVERS: Final[Resolvers] = {
    "Owner": {"ownershipType": _ownership_type},
    "BrowsePathV2": {"path": _steps},
    "StructuredPropertiesEntry": {"values": _values},
}
