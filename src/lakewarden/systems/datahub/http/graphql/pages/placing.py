"""Where an entity is found: its platform, what it lies in, and what lies above that.

What lies above an entity is told by the facts that decide, whoever stated them. Of what lies
above, the caller is shown what it may view; the rest is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import Placed, stored
from lakewarden.systems.datahub.http.graphql.aspect_record import aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.references import Naming, first, follow, named, naming
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
    """The platform that the URN spells, or else the one that the aspect names."""
    if entity.type in _SPELLED:
        return named(datahub.key_parts(entity.name)[:1], _PLATFORM)
    if entity.type in _TOOLS:
        return named([f"urn:li:dataPlatform:{datahub.key_parts(entity.name)[0]}"], _PLATFORM)
    return named([aspect(call, entity, _INSTANCE).get("platform")], _PLATFORM)


def _ancestors(stated_by: str) -> Naming:
    """What an entity lies in, the nearest first, by the aspect that states it."""

    def name(call: Call, entity: Entity) -> list[Entity]:
        ancestors: dict[Entity, None] = {}
        above = _parent(call, entity, stated_by)
        while above is not None and above not in ancestors and above != entity:
            ancestors[above] = None
            above = _parent(call, above, _ABOVE.get(above.type, stated_by))
        return list(ancestors)

    return name


def _parent(call: Call, entity: Entity, stated_by: str) -> Entity | None:
    for fact in stored(entity, stated_by, call.state.matrix.snapshot):
        match fact:
            case Placed(_, parent):
                return parent
            case RelationRow(_, _, target):
                return target
    return None


def _first(naming: Naming) -> Field:
    """A field that shows the first entity that is named; null where the caller is not shown it."""
    return lambda entity, info: first(info.context, entity, naming)


def _all(naming: Naming, key: str) -> Field:
    """A field that shows everything above, and how much that is."""

    def resolve(entity: Entity, info: Info) -> Mapping[str, Any]:
        shown = follow(info.context, entity, naming)
        return {"count": len(shown), key: shown}

    return resolve


_NODES: Final = {type: _ancestors(f"{type}Info") for type in ("glossaryNode", "glossaryTerm")}


def _nodes(call: Call, entity: Entity) -> list[Entity]:
    return list(_NODES[entity.type](call, entity))


def _containers(call: Call, entity: Entity) -> Iterator[Entity]:
    container = _parent(call, entity, "container")
    return iter(() if container is None else (container,))


SHARED: Final[Fields] = {
    "container": _first(_containers),
    "dataPlatformInstance": _first(naming((_INSTANCE, "instance"), frozenset({_INSTANCE}))),
    "logicalParent": _first(naming(("logicalParent", "parent", "destinationUrn"))),
    "parentContainers": _all(_ancestors("container"), "containers"),
    "parentDomains": _all(_ancestors("domainProperties"), "domains"),
    "parentNodes": _all(_nodes, "nodes"),
    "platform": _first(_platforms),
}
