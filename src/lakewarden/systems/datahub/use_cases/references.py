"""What refers to an entity of DataHub from elsewhere: found, and removed.

A deleted entity leaves references behind, as in the original, where a separate call removes them.
Roles are not references: policies decide who has one.

SOURCE: datahub reference 6.6, `deleteReferences`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from pyroaring import BitMap

from lakewarden.kernel.change import (
    EntityMoved,
    MembershipChanged,
    OwnerChanged,
    RelationChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.service.effect import Effect
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub

_ASPECTS: Final = {
    "asset": "dataProductProperties",
    "container": "container",
    "domain": "domains",
    "logical_parent": "logicalParent",
    "platform_instance": "dataPlatformInstance",
    "product_domain": "domains",
    "subject": "querySubjects",
    "tag": "globalTags",
    "term": "glossaryTerms",
}
"""The aspect that states a relation."""

_PLACES: Final = {
    "container": "container",
    "domain": "domainProperties",
    "glossaryNode": "glossaryNodeInfo",
}
"""The aspect that states a parent, by the type of the parent."""


class Reference(NamedTuple):
    """One reference: who refers, in which aspect, and what removes it."""

    source: Entity
    aspect: str
    effect: Effect


def references(snapshot: Snapshot, entity: Entity) -> list[Reference]:
    """All references to the entity, in order of their sources."""
    edges = [
        *_edges(snapshot, entity),
        *_children(snapshot, entity),
        *_of_actor(snapshot, entity),
    ]
    return sorted(edges, key=lambda edge: (edge.source, edge.aspect))


def forget(transaction: WriteTransaction, realm: str, entity: Entity) -> list[Reference]:
    """Removes all references to the entity, and says which they were."""
    edges = references(transaction.realm(realm).matrix.snapshot, entity)
    if edges:
        transaction.change(realm, *(edge.effect for edge in edges))
    return edges


def _edges(snapshot: Snapshot, entity: Entity) -> Iterator[Reference]:
    tree = snapshot.coded.tree
    id = tree.find(entity)
    if id is None:
        return
    for kind, edges in snapshot.coded.relations.items():
        for source in edges.sources_of(BitMap([id])):
            row = RelationRow(kind, tree.entity(source), entity)
            yield Reference(row.source, _ASPECTS.get(kind, kind), RelationChanged(row, False))


def _children(snapshot: Snapshot, entity: Entity) -> Iterator[Reference]:
    """The entities that were placed in the entity, other than by their names."""
    tree = snapshot.coded.tree
    id = tree.find(entity)
    aspect = _PLACES.get(entity.type)
    if id is None or aspect is None:
        return
    for below in tree.subtree(id) - BitMap([id]):
        child = tree.entity(below)
        parent = datahub.parent(child)
        if int(tree.parents[below]) == id and parent != entity:
            name = "glossaryTermInfo" if child.type == "glossaryTerm" else aspect
            yield Reference(child, name, EntityMoved(child, parent))


def _of_actor(snapshot: Snapshot, entity: Entity) -> Iterator[Reference]:
    """The ownerships of a user or group, and the members of a group."""
    coded = snapshot.coded
    principal_key = snapshot.model.principal_kind(entity)
    actor = None if principal_key is None else Principal(*principal_key)
    id = None if actor is None else coded.memberships.ids.get(actor)
    if actor is None or id is None:
        return
    for source in coded.owners.sources_of(BitMap([id])):
        owned = coded.tree.entity(source)
        for owner, label in coded.owners.of(source):
            if owner == id:
                row = OwnerRow(owned, actor, coded.ownerships[label])
                yield Reference(owned, "ownership", OwnerChanged(row, False))
    for member in coded.memberships.members.get(id, ()) if actor.kind == GROUP else ():
        principal = coded.memberships.principals[member]
        user = Entity("corpuser", principal.name)
        removed = MembershipChanged(MembershipRow(principal, actor), False)
        yield Reference(user, "groupMembership", removed)
