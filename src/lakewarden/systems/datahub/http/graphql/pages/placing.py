"""Where an entity is found: its platform, what it lies in, and what lies above that.

What lies above an entity is told by the facts that decide, whoever stated them. Of what lies
above, the caller is shown what it may view; the rest is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import Placed, stored
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    Naming,
    follow,
    named,
    naming,
    one,
    under,
)
from lakewarden.systems.datahub.http.graphql.pages.part import Part
from lakewarden.systems.datahub.http.graphql.resolving import Info

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

_ABOVE: Final = {"domain": "domainProperties", "glossaryNode": "glossaryNodeInfo"}


def _platforms(call: Call, entity: Entity) -> list[Entity]:
    """The platform that the URN spells, or else the one that the aspect names."""
    if entity.type in _SPELLED:
        return named(datahub.key_parts(entity.name)[:1], _PLATFORM)
    if entity.type in _TOOLS:
        return named([f"urn:li:dataPlatform:{datahub.key_parts(entity.name)[0]}"], _PLATFORM)
    value = call.aspect(entity, "dataPlatformInstance")
    return named([Part(entity, value).get("platform")], _PLATFORM)


def ancestors(aspect: str) -> Naming:
    """What an entity lies in, the nearest first, by the aspect that states it."""

    def name(call: Call, entity: Entity) -> list[Entity]:
        found: dict[Entity, None] = {}
        above = _parent(call, entity, aspect)
        while above is not None and above not in found and above != entity:
            found[above] = None
            above = _parent(call, above, _ABOVE.get(above.type, aspect))
        return list(found)

    return name


def _parent(call: Call, entity: Entity, aspect: str) -> Entity | None:
    for fact in stored(entity, aspect, call.state.matrix.snapshot):
        match fact:
            case Placed(_, parent):
                return parent
            case RelationRow(_, _, target):
                return target
    return None


def parents(found: Naming, key: str) -> Callable[..., Mapping[str, Any]]:
    """A field that shows everything above, and how much that is."""

    def resolve(entity: Entity, info: Info) -> Mapping[str, Any]:
        shown = follow(info.context, entity, found)
        return {"count": len(shown), key: shown}

    return resolve


_NODES: Final = {type: ancestors(f"{type}Info") for type in ("glossaryNode", "glossaryTerm")}


def _nodes(call: Call, entity: Entity) -> list[Entity]:
    return list(_NODES[entity.type](call, entity))


def _containers(call: Call, entity: Entity) -> Iterator[Entity]:
    found = _parent(call, entity, "container")
    return iter(() if found is None else (found,))


SHARED: Final[Fields] = {
    "container": one(_containers),
    "dataPlatformInstance": one(
        naming("dataPlatformInstance", under("instance"), "dataPlatformInstance")
    ),
    "logicalParent": one(
        naming(
            "logicalParent",
            lambda part: () if (to := part.part("parent")) is None else (to.get("destinationUrn"),),
        )
    ),
    "parentContainers": parents(ancestors("container"), "containers"),
    "parentDomains": parents(ancestors("domainProperties"), "domains"),
    "parentNodes": parents(_nodes, "nodes"),
    "platform": one(_platforms),
}
