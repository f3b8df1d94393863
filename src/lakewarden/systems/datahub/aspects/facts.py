"""The kernel facts that an aspect states: read from a value, or from the store.

Some aspects state facts of the same kind about an entity (both kinds of group membership). A stored
fact then counts as stated by the first of them, unless the other one contains it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, ROLE, Principal
from lakewarden.kernel.relations import REMOVED, AttributeRow, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.source_row import NOTES, Row
from lakewarden.systems.datahub.aspects import meaning
from lakewarden.systems.datahub.aspects.fields import Fields

PROPERTY: Final = "urn:li:structuredProperty:"
"""The prefix of the names of attributes that are structured properties."""


class Placement(NamedTuple):
    """The parent of an entity."""

    entity: Entity
    parent: Entity


Fact = RelationRow | OwnerRow | AttributeRow | MembershipRow | Placement | Statement


def stated_facts(
    entity: Entity, aspect: str, value: object, model: Model, spelling: Spelling
) -> frozenset[Fact]:
    """The facts in an aspect's value; none for an aspect without meaning for authorization.

    Raises `BadInput` with the aspect's field.
    """
    if aspect not in meaning.READERS:
        return frozenset()
    rows = meaning.rows(entity, aspect, Fields(value, aspect), aspect, model)
    return frozenset(_facts(rows, model, spelling))


def _facts(rows: Iterable[Row], model: Model, spelling: Spelling) -> Iterator[Fact]:
    for row in rows:
        if row.reason:
            raise BadInput(row.detail or row.reason, where=row.place)
        match row.table, row.cells:
            case "relations", (kind, a, b, c, d):
                yield RelationRow(kind, Entity(a, b), Entity(c, d))
            case "owners", (a, b, c, d, ownership):
                yield OwnerRow(Entity(a, b), Principal(c, d), ownership)
            case "attributes", (a, b, attribute, text):
                yield AttributeRow(Entity(a, b), attribute, text)
            case "memberships", (a, b, c, d):
                yield MembershipRow(Principal(a, b), Principal(c, d))
            case "placements", (a, b, c, d):
                yield Placement(Entity(a, b), Entity(c, d))
            case "statements", (_, text):
                yield from read_statements([json.loads(text)], model, spelling, row.place)
            case table, _:
                if table != NOTES:
                    raise AssertionError(table)


def stored_facts(entity: Entity, aspect: str, snapshot: Snapshot) -> frozenset[Fact]:
    """The stored facts of the kinds that the aspect states about the entity."""
    finder = _FINDERS.get(aspect)
    return frozenset() if finder is None else frozenset(finder(entity, snapshot))


Finder = Callable[[Entity, Snapshot], Iterator[Fact]]


def _relations(*kinds: str) -> Finder:
    def find(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
        coded = snapshot.coded
        id = coded.tree.find(entity)
        for kind in kinds:
            edges = coded.relations.get(kind)
            for target, _ in () if id is None or edges is None else edges.of(id):
                yield RelationRow(kind, entity, coded.tree.entity(target))

    return find


def _owners(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
    coded = snapshot.coded
    id = coded.tree.find(entity)
    for owner, label in () if id is None else coded.owners.of(id):
        yield OwnerRow(entity, coded.memberships.principals[owner], coded.ownerships[label])


def _attribute_finder(is_meant: Callable[[str], bool]) -> Finder:
    def find(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
        id = snapshot.coded.tree.find(entity)
        attributes = {} if id is None else snapshot.coded.attributes.get(id, {})
        for attribute, values in attributes.items():
            if is_meant(attribute):
                yield from (AttributeRow(entity, attribute, text) for text in values)

    return find


def _memberships(kind: str) -> Finder:
    def find(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
        principal_key = snapshot.model.principal_kind(entity)
        memberships = snapshot.coded.memberships
        member = None if principal_key is None else Principal(*principal_key)
        id = None if member is None else memberships.ids.get(member)
        for of in () if id is None else memberships.of.get(id, ()):
            group = memberships.principals[of]
            if group.kind == kind and member is not None:
                yield MembershipRow(member, group)

    return find


def _placed(type: str, of: str = "") -> Finder:
    """The parent of an entity, if it is of the type and not implied by the entity's name.

    `of`: the only type of entities whose parent the aspect states.
    """

    def find(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
        coded = snapshot.coded
        id = coded.tree.find(entity) if of in ("", entity.type) else None
        above = -1 if id is None else int(coded.tree.parents[id])
        if above >= 0:
            parent = coded.tree.entity(above)
            if parent.type == type and parent != coded.spelling.parent(entity):
                yield Placement(entity, parent)

    return find


def _find_container(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
    yield from _placed("container")(entity, snapshot)
    yield from _relations("container")(entity, snapshot)


def _find_statement(entity: Entity, snapshot: Snapshot) -> Iterator[Fact]:
    statement = snapshot.table.statements.get(entity.name)
    if statement is not None and not statement.obliges:
        yield statement


_FINDERS: Final[Mapping[str, Finder]] = {
    "container": _find_container,
    "dataHubPolicyInfo": _find_statement,
    "dataPlatformInstance": _relations("platform_instance"),
    "dataProductProperties": _relations("asset"),
    "domainProperties": _placed("domain", "domain"),
    "domains": _relations("domain", "product_domain"),
    "globalTags": _relations("tag"),
    "glossaryNodeInfo": _placed("glossaryNode", "glossaryNode"),
    "glossaryTermInfo": _placed("glossaryNode", "glossaryTerm"),
    "glossaryTerms": _relations("term"),
    "groupMembership": _memberships(GROUP),
    "logicalParent": _relations("logical_parent"),
    "nativeGroupMembership": _memberships(GROUP),
    "ownership": _owners,
    "querySubjects": _relations("subject"),
    "roleMembership": _memberships(ROLE),
    "status": _attribute_finder(lambda name: name == REMOVED),
    "structuredProperties": _attribute_finder(lambda name: name.startswith(PROPERTY)),
}

SHARED: Final[Mapping[str, str]] = {
    "groupMembership": "nativeGroupMembership",
    "nativeGroupMembership": "groupMembership",
}
"""Aspects that state facts of the same kind, mapped to each other."""
