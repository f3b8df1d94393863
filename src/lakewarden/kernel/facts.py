"""The stored facts, integer-coded: entities, edges, owners, attributes and memberships.

`Coded` is immutable; a change makes a new one that shares the unchanged parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel import tree as trees
from lakewarden.kernel.edges import Edges
from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Model
from lakewarden.kernel.numbering import Numbering
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal, members_of
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityColumns,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.tree import Tree

Ints = NDArray[np.int32]
ROOT = 0
"""The id of the request without a resource."""


@dataclass(frozen=True, slots=True)
class Coded:
    """The integer-coded facts of one realm.

    `relations[kind]` leads from entity ids to entity ids; `owners` from entity ids to
    principal ids, labelled with an index into `ownerships`; `attributes[id]` holds the
    stored values of an entity by attribute.
    """

    model: Model
    spelling: Spelling
    tree: Tree
    memberships: Memberships
    relations: Mapping[str, Edges]
    owners: Edges
    ownerships: tuple[str, ...]
    attributes: Mapping[int, Mapping[str, tuple[str, ...]]]

    def is_known(self, entity: Entity) -> bool:
        """Whether the entity is stored."""
        id = self.tree.find(entity)
        return id is not None and id in self.tree.stored

    def ancestors(self, entity: Entity) -> Iterator[Entity]:
        """All ancestors, nearest first: a stored entity's stored parent, else the spelled one."""
        id = self.tree.find(entity)
        if id is not None and (id in self.tree.stored or self.tree.parents[id] >= 0):
            yield from (self.tree.entity(other) for other in self.tree.ancestors(id))
            return
        parent = spelled_parent(self.spelling, entity)
        if parent is not None:
            yield parent
            yield from self.ancestors(parent)

    def key(self, entity: Entity) -> tuple[trees.Name, ...]:
        """The entity's place in the canonical order, whether or not it is stored."""
        chain = (entity, *self.ancestors(entity))
        return tuple((other.name, other.type) for other in reversed(chain))

    def label(self, ownership: str) -> int:
        """The number of an ownership type; -1 for one that no owner row has."""
        return self.ownerships.index(ownership) if ownership in self.ownerships else -1


def code(facts: Facts, model: Model, spelling: Spelling) -> Coded:
    """The coded form of rows.

    Raises `BadInput` when an entity has two parents, when a row is about an entity that is
    not stored, names one under a model that denies names that are not stored, or is of an
    undeclared relation.
    """
    numbering = Numbering(EntityColumns.of(facts.entities))
    for entity in _named_entities(facts, model, numbering):
        _add_named(numbering, entity, spelling)
    tree = numbering.tree()
    _check_stored(tree, facts, model)
    memberships = Memberships.build(
        facts.principals, facts.memberships, _actors(facts, model, tree)
    )
    ownerships = ("", *sorted({row.ownership for row in facts.owners} - {""}))
    return Coded(
        model=model,
        spelling=spelling,
        tree=tree,
        memberships=memberships,
        relations=_relations(facts.relations, tree, model),
        owners=_owners(facts.owners, tree, memberships, ownerships),
        ownerships=ownerships,
        attributes=_attributes(facts, tree),
    )


def _named_entities(facts: Facts, model: Model, numbering: Numbering) -> Iterator[Entity]:
    """Entities that need an id, even if they are not stored."""
    types = {*model.types, *numbering.types}
    yield from [Entity(type, "") for type in types if model.judged(type)]
    yield from {row.target for row in facts.relations}
    yield from numbering.unknown


def _add_named(numbering: Numbering, entity: Entity, spelling: Spelling) -> None:
    """Adds the entity, and the ancestors that its name spells, up to a known one."""
    child: Entity | None = entity
    while child is not None and child not in numbering:
        parent = spelled_parent(spelling, child)
        numbering.mention(child, parent)
        child = parent


def spelled_parent(spelling: Spelling, entity: Entity) -> Entity | None:
    """The parent that the name spells; a type alone has none."""
    return spelling.parent(entity) if entity.name else None


def _actors(facts: Facts, model: Model, tree: Tree) -> Iterator[Principal]:
    yield SERVICE_ADMINS
    yield from (row.owner for row in facts.owners)
    for type in model.membership_types:
        yield from (members_of(tree.names[id]) for id in tree.of_type(type))
    for statement in facts.statements:
        yield from statement.named


def _check_stored(tree: Tree, facts: Facts, model: Model) -> None:
    """Checks that the entities of rows are stored, and referenced ones where names are denied."""
    for rows, what in (
        (facts.relations, "relation"),
        (facts.owners, "owner"),
        (facts.attributes, "attribute"),
    ):
        for row in rows:
            about = row.source if isinstance(row, RelationRow) else row.entity
            id = tree.find(about)
            if id is None or id not in tree.stored:
                raise BadInput(f"{what} of `{about}`, which is not stored")
    for id in BitMap(range(1, len(tree))) - tree.stored:
        entity = tree.entity(id)
        if not model.judged(entity.type):
            raise BadInput(f"`{entity}` is named but not stored")


def _relations(rows: Sequence[RelationRow], tree: Tree, model: Model) -> dict[str, Edges]:
    triples: dict[str, list[tuple[int, int, int]]] = {kind: [] for kind in model.relations}
    for row in rows:
        if row.kind not in triples:
            expected = ", ".join(sorted(model.relations)) or "none"
            raise BadInput(f"unknown relation `{row.kind}`; expected one of: {expected}")
        triples[row.kind].append((_id(tree, row.source), _id(tree, row.target), 0))
    return {kind: Edges.build(len(tree), edges) for kind, edges in triples.items()}


def _id(tree: Tree, entity: Entity) -> int:
    """The id of an entity that is known to have one."""
    id = tree.find(entity)
    assert id is not None, entity  # noqa: S101 — INVARIANT: `_named_entities` gave it one
    return id


def _owners(
    rows: Sequence[OwnerRow], tree: Tree, memberships: Memberships, ownerships: tuple[str, ...]
) -> Edges:
    labels = {name: label for label, name in enumerate(ownerships)}
    triples = (
        (_id(tree, row.entity), memberships.ids[row.owner], labels[row.ownership]) for row in rows
    )
    return Edges.build(len(tree), triples)


def _attributes(facts: Facts, tree: Tree) -> dict[int, dict[str, tuple[str, ...]]]:
    values: dict[int, dict[str, tuple[str, ...]]] = {}
    for entity, attribute, value in sorted(set(facts.attributes)):
        of_entity = values.setdefault(_id(tree, entity), {})
        of_entity[attribute] = (*of_entity.get(attribute, ()), value)
    # Columns carry their types, and there are few types: equal attributes share one object.
    alike: dict[tuple[tuple[str, tuple[str, ...]], ...], dict[str, tuple[str, ...]]] = {}
    return {id: alike.setdefault(tuple(each.items()), each) for id, each in values.items()}


def rows_of(coded: Coded, statements: Mapping[str, Statement]) -> Facts:
    """The rows that `code` reads back as the same facts, without implied statements."""
    tree, principals = coded.tree, coded.memberships.principals
    name = tree.entity
    stored = list(tree.stored)
    parents = tree.parents
    return Facts(
        entities=[
            EntityRow(name(i), name(int(parents[i])) if parents[i] >= 0 else None) for i in stored
        ],
        relations=[
            RelationRow(kind, name(i), name(target))
            for kind, edges in coded.relations.items()
            for i in stored
            for target, _ in edges.of(i)
        ],
        attributes=[
            AttributeRow(name(i), attribute, value)
            for i, attributes in coded.attributes.items()
            for attribute, values in attributes.items()
            for value in values
        ],
        owners=[
            OwnerRow(name(i), principals[owner], coded.ownerships[label])
            for i in stored
            for owner, label in coded.owners.of(i)
        ],
        principals=[principals[i] for i in sorted(coded.memberships.stored)],
        memberships=[
            MembershipRow(principals[member], principals[group])
            for member, groups in coded.memberships.of.items()
            for group in groups
        ]
        + [MembershipRow(principals[m], principals[g]) for m, g in sorted(coded.memberships.inert)],
        statements=[s for s in statements.values() if not is_implied(s)],
    )
