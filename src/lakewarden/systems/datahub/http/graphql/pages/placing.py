"""The placement of an entity: its platform, its parent, and all ancestors.

The stored facts define the ancestors, regardless of who stated them. Hidden ancestors are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import Placement, stored_facts
from lakewarden.systems.datahub.http.graphql.aspect_record import aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.references import (
    Naming,
    entities_of_urns,
    first_visible,
    follow,
    naming,
)
from lakewarden.systems.datahub.http.graphql.resolving import Field, Fields, Info

_SPELLED: Final = frozenset(
    (
        *("dataset", "dataPlatformInstance", "mlFeatureTable", "mlModel", "mlModelDeployment"),
        "mlModelGroup",
    )
)
"""Types whose URN begins with the URN of the platform."""

_TOOLS: Final = frozenset({"chart", "dashboard", "dataFlow", "notebook"})
"""Types whose URN begins with the name of the platform."""

_PLATFORM: Final = frozenset({"dataPlatform"})
_INSTANCE: Final = "dataPlatformInstance"

_ABOVE: Final = {"domain": "domainProperties", "glossaryNode": "glossaryNodeInfo"}


def _platforms(call: Call, entity: Entity) -> list[Entity]:
    """The platform in the URN, or else the one that the aspect names."""
    if entity.type in _SPELLED:
        return entities_of_urns(datahub.key_parts(entity.name)[:1], _PLATFORM)
    if entity.type in _TOOLS:
        return entities_of_urns(
            [f"urn:li:dataPlatform:{datahub.key_parts(entity.name)[0]}"], _PLATFORM
        )
    return entities_of_urns([aspect(call, entity, _INSTANCE).get("platform")], _PLATFORM)


def _ancestors(stated_by: str) -> Naming:
    """The ancestors of an entity, nearest first, by the aspect that states them."""

    def name(call: Call, entity: Entity) -> list[Entity]:
        ancestors: dict[Entity, None] = {}
        above = _parent(call, entity, stated_by)
        while above is not None and above not in ancestors and above != entity:
            ancestors[above] = None
            above = _parent(call, above, _ABOVE.get(above.type, stated_by))
        return list(ancestors)

    return name


def _parent(call: Call, entity: Entity, stated_by: str) -> Entity | None:
    for fact in stored_facts(entity, stated_by, call.state.matrix.snapshot):
        match fact:
            case Placement(_, parent):
                return parent
            case RelationRow(_, _, target):
                return target
    return None


def _entity_resolver(naming: Naming) -> Field:
    """A field that shows the first named entity; null if it is hidden."""
    return lambda entity, info: first_visible(info.context, entity, naming)


def _entities_resolver(naming: Naming, key: str) -> Field:
    """A field that shows all ancestors, and their number."""

    def resolve(entity: Entity, info: Info) -> Mapping[str, Any]:
        ancestors = follow(info.context, entity, naming)
        return {"count": len(ancestors), key: ancestors}

    return resolve


_NODES: Final = {type: _ancestors(f"{type}Info") for type in ("glossaryNode", "glossaryTerm")}


def _nodes(call: Call, entity: Entity) -> list[Entity]:
    return list(_NODES[entity.type](call, entity))


def _containers(call: Call, entity: Entity) -> Iterator[Entity]:
    container = _parent(call, entity, "container")
    return iter(() if container is None else (container,))


SHARED: Final[Fields] = {
    "container": _entity_resolver(_containers),
    "dataPlatformInstance": _entity_resolver(
        naming((_INSTANCE, "instance"), frozenset({_INSTANCE}))
    ),
    "logicalParent": _entity_resolver(naming(("logicalParent", "parent", "destinationUrn"))),
    "parentContainers": _entities_resolver(_ancestors("container"), "containers"),
    "parentDomains": _entities_resolver(_ancestors("domainProperties"), "domains"),
    "parentNodes": _entities_resolver(_nodes, "nodes"),
    "platform": _entity_resolver(_platforms),
}
