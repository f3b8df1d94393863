"""References to an entity of DataHub from other entities: found, and removed.

A deleted entity leaves references behind, as in the original, where a separate call removes them.
Roles are not references: policies decide who has one. Tags and terms of columns are references of
their dataset, in its aspects: they are removed there too, so the aspects do not show labels that no
longer have an effect.

SOURCE: datahub reference 6.6, `deleteReferences`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from lakewarden.systems.datahub.aspects.column_labels import ASPECTS as LABELLING
from lakewarden.systems.datahub.aspects.column_labels import without_label
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write

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

_LABELS: Final = {kind: aspect for aspect, (_, *kinds) in LABELLING.items() for kind in kinds}
"""The aspect of a dataset that states a relation of its columns."""

_CHUNK: Final = 500
"""The number of datasets read at once."""

_PLACES: Final = {
    "container": "container",
    "domain": "domainProperties",
    "glossaryNode": "glossaryNodeInfo",
}
"""The aspect that states a parent, by the type of the parent."""


class Reference(NamedTuple):
    """One reference: its source, its aspect, and the effects that remove it."""

    source: Entity
    aspect: str
    effects: tuple[Effect, ...]


def references(snapshot: Snapshot, entity: Entity) -> list[Reference]:
    """All references to the entity, in order of their sources."""
    edges = [
        *_edges(snapshot, entity),
        *_labels(snapshot, entity),
        *_children(snapshot, entity),
        *_of_actor(snapshot, entity),
    ]
    return sorted(edges, key=lambda edge: (edge.source, edge.aspect))


def remove_references(
    transaction: WriteTransaction, realm: str, entity: Entity, actor: Entity
) -> list[Reference]:
    """Removes all references to the entity for `actor`, and returns them."""
    edges = references(transaction.realm(realm).matrix.snapshot, entity)
    if edges:
        transaction.change(realm, *(effect for edge in edges for effect in edge.effects))
    labelled = [edge for edge in edges if edge.aspect in LABELLING]
    for start in range(0, len(labelled), _CHUNK):
        _unlabel(transaction, realm, labelled[start : start + _CHUNK], entity.name, actor)
    return edges


def _unlabel(
    transaction: WriteTransaction, realm: str, edges: Sequence[Reference], urn: str, actor: Entity
) -> None:
    """Removes a tag or a term from the aspects of datasets that have it on columns."""
    documents = transaction.store.documents(realm, list({edge.source for edge in edges}))
    writes = [
        Write(edge.source, edge.aspect, without_label(edge.aspect, own.value, urn), own.system)
        for edge in edges
        if (own := aspects.stored_aspects(documents.get(edge.source)).get(edge.aspect)) is not None
    ]
    aspects.write(transaction, realm, writes, actor.name)


def _edges(snapshot: Snapshot, entity: Entity) -> Iterator[Reference]:
    tree = snapshot.coded.tree
    id = tree.find(entity)
    if id is None:
        return
    for kind, edges in snapshot.coded.relations.items():
        for source in () if kind in _LABELS else edges.sources_of(BitMap([id])):
            row = RelationRow(kind, tree.entity(source), entity)
            yield Reference(row.source, _ASPECTS.get(kind, kind), (RelationChanged(row, False),))


def _labels(snapshot: Snapshot, entity: Entity) -> Iterator[Reference]:
    """The datasets with the tag or term on some of their columns, once per aspect."""
    tree = snapshot.coded.tree
    id = tree.find(entity)
    if id is None:
        return
    rows: dict[tuple[Entity, str], list[RelationRow]] = {}
    for kind, aspect in _LABELS.items():
        for source in snapshot.coded.relations[kind].sources_of(BitMap([id])):
            column = tree.entity(source)
            dataset = datahub.parent(column) or column
            rows.setdefault((dataset, aspect), []).append(RelationRow(kind, column, entity))
    for (dataset, aspect), own in rows.items():
        yield Reference(dataset, aspect, tuple(RelationChanged(row, False) for row in own))


def _children(snapshot: Snapshot, entity: Entity) -> Iterator[Reference]:
    """The entities whose parent is the entity, other than by their names."""
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
            yield Reference(child, name, (EntityMoved(child, parent),))


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
                yield Reference(owned, "ownership", (OwnerChanged(row, False),))
    for member in coded.memberships.members.get(id, ()) if actor.kind == GROUP else ():
        principal = coded.memberships.principals[member]
        user = Entity("corpuser", principal.name)
        removed = MembershipChanged(MembershipRow(principal, actor), False)
        yield Reference(user, "groupMembership", (removed,))
