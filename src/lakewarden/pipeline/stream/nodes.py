"""Applies events to the entities of an index: which of the affected ones exist, and where.

A *node* is an entity that keeps its number when its name or its place changes: its id in the index,
or a number after those for a new one. Changes recorded for a node therefore survive a rename.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    OwnerChanged,
    RelationChanged,
)
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import ROOT, spelled_parent
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.index.preorder import TOP
from lakewarden.pipeline.stream.events import Event
from lakewarden.pipeline.stream.skeleton import Skeleton
from lakewarden.service.effect import Effect
from lakewarden.service.system import System

Attribute = tuple[int, str]


@dataclass(slots=True)
class Nodes:
    """The nodes that events mention, while the events are applied in order.

    `names` are known names by node, `at` is its inverse. If the index has them, it must contain
    every entity that an event names, all ancestors according to its name, and all entities that are
    not stored. `emptied` lost all their rows. For the others, `edges`, `owners` and `attributes`
    record additions (True) and removals.
    """

    skeleton: Skeleton
    system: System
    names: dict[int, Entity]
    at: dict[Entity, int] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    stored: dict[int, bool] = field(default_factory=dict)
    renamed: set[int] = field(default_factory=set)
    emptied: set[int] = field(default_factory=set)
    edges: dict[tuple[int, str, int], bool] = field(default_factory=dict)
    owners: dict[tuple[int, Principal, str], bool] = field(default_factory=dict)
    attributes: dict[Attribute, tuple[str, ...]] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self.at = {entity: node for node, entity in self.names.items()}
        self._next = self.skeleton.count

    def take(self, event: Event) -> None:
        """Applies one event. Raises `BadInput` if it does not fit the entities."""
        try:
            self._take(event.effect)
        except BadInput as error:
            raise BadInput(f"{error.message}; ingest and index anew", where=event.place) from None

    def _take(self, effect: Effect) -> None:
        match effect:
            case EntityAdded(entity, parent):
                self._put(self._mentioned(entity), parent)
            case EntityMoved(entity, parent):
                self._put(self._known(entity), parent)
            case EntityDropped(entity):
                self._drop(self._known(entity))
            case EntityRenamed(entity, name):
                self._rename(self._known(entity), Entity(entity.type, name))
            case RelationChanged(row, present):
                source, target = self._known(row.source), self._mentioned(row.target)
                self.edges[(source, row.kind, target)] = present
            case OwnerChanged(row, present):
                self.owners[(self._known(row.entity), row.owner, row.ownership)] = present
            case AttributeChanged(entity, attribute, values):
                self.attributes[(self._known(entity), attribute)] = tuple(sorted(set(values)))

    def _known(self, entity: Entity) -> int:
        node = self.at.get(entity)
        if node is None or not self.is_stored(node):
            raise BadInput(f"`{entity}` is not stored in the index")
        return node

    def _mentioned(self, entity: Entity) -> int:
        node = self.at.get(entity)
        if node is None:
            node, self._next = self._next, self._next + 1
            self.names[node], self.at[entity] = entity, node
            self.stored[node] = False
            self._place_by_name(node)
        return node

    def _place_by_name(self, node: int) -> None:
        """Places an entity that is not stored where its name says."""
        entity = self.names[node]
        above = None if entity == NO_RESOURCE else spelled_parent(self.system.spelling, entity)
        self.parents[node] = TOP if above is None else self._mentioned(above)

    def _put(self, node: int, parent: Entity | None) -> None:
        self.stored[node] = True
        self.parents[node] = TOP if parent is None else self._mentioned(parent)

    def _drop(self, node: int) -> None:
        self.stored[node] = False
        self.emptied.add(node)
        self.edges = {key: value for key, value in self.edges.items() if key[0] != node}
        self.owners = {key: value for key, value in self.owners.items() if key[0] != node}
        self.attributes = {key: value for key, value in self.attributes.items() if key[0] != node}
        self._place_by_name(node)

    def _rename(self, node: int, entity: Entity) -> None:
        taken = self.at.get(entity)
        if taken is not None and (self.is_stored(taken) or taken in self.targets()):
            raise BadInput(f"`{entity}` has its name already")
        old = self.names[node]
        # Includes members of an entity that was dropped before and whose name is reused.
        below = [n for n, above in self._not_stored() if above in (node, taken)]
        del self.at[old]
        self.names[node], self.at[entity] = entity, node
        self.renamed.add(node)
        for other in below:
            self._place_by_name(other)

    def _not_stored(self) -> Iterator[tuple[int, int]]:
        for node in self.names:
            if not self.is_stored(node):
                yield node, self.parent(node)

    # The state after the events

    def is_stored(self, node: int) -> bool:
        """Whether the entity is stored now."""
        known = self.stored.get(node)
        return bool(self.skeleton.stored[node]) if known is None else known

    def parent(self, node: int) -> int:
        """The node's current container, or `TOP`."""
        known = self.parents.get(node)
        return int(self.skeleton.parents[node]) if known is None else known

    def targets(self) -> set[int]:
        """The nodes that are not stored and are targets of a relation."""
        known, rows = self.names, self.skeleton.edges
        removed = {key for key, present in self.edges.items() if not present}
        not_stored = np.array(
            [n for n in known if n < self.skeleton.count and not self.is_stored(n)]
        )
        target_nodes = {target for (_, _, target), present in self.edges.items() if present}
        for place in np.flatnonzero(np.isin(rows.to, not_stored)).tolist():
            source, target = int(rows.ids[place]), int(rows.to[place])
            key = (source, rows.texts[int(rows.codes[place])], target)
            if source not in self.emptied and key not in removed:
                target_nodes.add(target)
        return {node for node in target_nodes if not self.is_stored(node)}

    def holding(self) -> set[int]:
        """The nodes that are not stored and contain stored entities."""
        skeleton = self.skeleton
        count = skeleton.count
        changed = np.array(
            sorted({n for n in (*self.stored, *self.parents) if n < count}), dtype=np.int64
        )
        stored = skeleton.stored.copy()
        stored[changed] = False
        containers = set(np.unique(skeleton.parents[stored]).tolist())
        later = {*self.stored, *self.parents}
        containers |= {self.parent(node) for node in later if self.is_stored(node)}
        return {node for node in containers if node != TOP and not self.is_stored(node)}

    def types(self) -> set[str]:
        """The types of stored entities."""
        skeleton = self.skeleton
        changed = np.array([n for n in self.stored if n < skeleton.count], dtype=np.int64)
        stored = skeleton.stored.copy()
        stored[changed] = False
        names = {skeleton.kinds[code] for code in np.unique(skeleton.types[stored]).tolist()}
        return names | {self.names[node].type for node, is_there in self.stored.items() if is_there}

    def only_named(self) -> set[int]:
        """The nodes that exist without being stored, as in `numbering.placed`."""
        model = self.system.model
        types = (type for type in {*model.types, *self.types()} if model.judged(type))
        alone = {self._mentioned(Entity(type, "")) for type in types}
        unstored = self.targets() | self.holding()
        self._refuse_denied(unstored)
        unstored |= {ROOT, *alone}
        todo = list(unstored)
        while todo:
            above = self.parent(todo.pop())
            if above != TOP and not self.is_stored(above) and above not in unstored:
                unstored.add(above)
                todo.append(above)
        return unstored

    def _refuse_denied(self, named: set[int]) -> None:
        """Raises for denied names: `ingest` would set aside the rows that refer to them."""
        for node in named:
            entity = self.names[node]
            if not self.system.model.judged(entity.type):
                message = f"`{entity}` is named, and not stored"
                raise BadInput(f"{message}; ingest and index anew")


@dataclass(frozen=True, slots=True)
class Changed:
    """The differences between the tree of the nodes and that of the index.

    `moved` are nodes of the index with another place or name, `fresh` are new ones, both with their
    new container; `removed` no longer exist. `restated` are other nodes that became stored or only
    named.
    """

    moved: Mapping[int, int]
    fresh: Mapping[int, int]
    removed: frozenset[int]
    restated: frozenset[int]

    @property
    def is_any(self) -> bool:
        """Whether ids shift, or could."""
        return bool(self.moved or self.fresh or self.removed)


def changed(nodes: Nodes) -> Changed:
    """The changes of the tree. Raises `BadInput` for an entity that would lie below itself."""
    named = nodes.only_named()
    skeleton, count = nodes.skeleton, nodes.skeleton.count
    present_nodes = {node for node in nodes.names if nodes.is_stored(node) or node in named}
    touched = {*nodes.stored, *nodes.parents, *nodes.renamed}
    moved, restated = {}, set()
    for node in sorted(n for n in touched if n < count and n in present_nodes):
        parent = nodes.parent(node)
        if parent != int(skeleton.parents[node]) or node in nodes.renamed:
            moved[node] = parent
        elif nodes.is_stored(node) != bool(skeleton.stored[node]):
            restated.add(node)
    fresh = {node: nodes.parent(node) for node in sorted(present_nodes) if node >= count}
    removed = frozenset(n for n in nodes.names if n < count and n not in present_nodes)
    nodes_changed = Changed(moved, fresh, removed, frozenset(restated))
    _refuse_cycles(nodes, nodes_changed)
    return nodes_changed


def _refuse_cycles(nodes: Nodes, nodes_changed: Changed) -> None:
    for node in (*nodes_changed.moved, *nodes_changed.fresh):
        visited, at = {node}, nodes.parent(node)
        while at != TOP:
            if at in visited:
                entity = nodes.names[node]
                message = f"`{entity}` would lie below itself"
                raise BadInput(f"{message}; ingest and index anew")
            visited.add(at)
            at = nodes.parent(at)
