"""Random changes: what may happen to a world, and the resulting rows.

The rows are computed here from the meaning of each change; tests compare them
with a snapshot that was changed step by step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from lakewarden.kernel.change import (
    AttributeChanged,
    Change,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Source
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    GROUP,
    MASTER,
    ROLE,
    SERVICE_ADMINS,
    USER,
    Principal,
    members_of,
)
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import On, Statement
from lakewarden.service.system import System
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import OWNERSHIPS, WorldDraft

T = TypeVar("T")


def change(system: System, facts: Facts, seed: int) -> tuple[Change, Facts]:
    """A random change of the facts, and the facts afterwards."""
    generator = _ChangeGenerator(system, facts, random.Random(seed))
    while True:
        made = generator.any()
        if made is not None:
            return made, after(system, facts, made)


class _ChangeGenerator:
    """Draws one change; None if the drawn kind of change is not possible."""

    def __init__(self, system: System, facts: Facts, rng: random.Random) -> None:
        self._model = system.model
        self._facts = facts
        self._rng = rng
        self._draft = WorldDraft.of(system, facts, rng)

    def any(self) -> Change | None:
        kinds: list[Callable[[], Change | None]] = [
            self._added,
            self._dropped,
            self._moved,
            self._owner,
            self._owner,
            self._membership,
            self._membership,
            self._statement,
            self._statement,
            self._statement,
            self._removed,
            self._principal,
        ]
        if self._model.binds_identity:
            kinds.append(self._renamed)
        if self._model.relations:
            kinds += [self._relation, self._relation]
        if self._attributes():
            kinds.append(self._attribute)
        return self._rng.choice(kinds)()

    def _added(self) -> Change | None:
        draft = self._draft
        entity = draft.unstored(self._rng.choice(draft.listed_types()))
        if entity is None:
            return None
        spelled = draft.system.spelling.parent(entity)
        parent = spelled or (draft.container_for(entity.type) if draft.often(0.7) else None)
        if parent is not None and (not draft.may_be_named(parent) or entity in draft.path(parent)):
            return None
        return EntityAdded(entity, parent)

    def _stored(self) -> Entity | None:
        return self._draft.one(list(self._draft.parents))

    def _dropped(self) -> Change | None:
        entity = self._stored()
        return None if entity is None else EntityDropped(entity)

    def _moved(self) -> Change | None:
        draft, entity = self._draft, self._stored()
        if entity is None:
            return None
        parent = draft.container_for(entity.type)
        if parent is not None and entity in draft.path(parent):
            return None
        free = draft.system.spelling.parent(entity) is None
        return EntityMoved(entity, parent) if parent is not None or free else None

    def _renamed(self) -> Change | None:
        draft, entity = self._draft, self._stored()
        if entity is None or entity.type in self._model.membership_types:
            return None
        spelled = draft.system.spelling.parent(entity)
        name = draft.names.entity(entity.type, spelled)
        is_taken = name is None or name in draft.parents or self._is_named(name)
        return None if name is None or is_taken else EntityRenamed(entity, name.name)

    def _is_named(self, entity: Entity) -> bool:
        """Whether a row names the entity already, stored or not."""
        named = {row.target for row in self._facts.relations}
        named |= {row.parent for row in self._facts.entities if row.parent is not None}
        return entity in {above for name in named for above in self._draft.path(name)}

    def _relation(self) -> Change | None:
        draft = self._draft
        if self._facts.relations and draft.often(0.5):
            return RelationChanged(self._rng.choice(self._facts.relations), present=False)
        kind = self._rng.choice(sorted(self._model.relations))
        declared = self._model.relations[kind]
        source = draft.one(draft.of_types(declared.sources))
        target = draft.target(self._rng.choice(draft.types_of(declared.targets)))
        if source is None or not target.name or not draft.may_be_named(target):
            return None
        return RelationChanged(RelationRow(kind, source, target), present=True)

    def _attributes(self) -> list[str]:
        names = [
            name.partition(".")[2]
            for name, declared in self._model.attributes.items()
            if declared.source is not Source.REQUEST
        ]
        return names + sorted({row.attribute for row in self._facts.attributes})

    def _attribute(self) -> Change | None:
        entity, name = self._stored(), self._rng.choice(self._attributes())
        values = self._draft.some(("high", "low", "1.0", "true"), 1, 0)
        return None if entity is None else AttributeChanged(entity, name, tuple(values))

    def _owner(self) -> Change | None:
        draft = self._draft
        if self._facts.owners and draft.often(0.5):
            return OwnerChanged(self._rng.choice(self._facts.owners), present=False)
        types = self._model.types
        owned = [e for e in draft.parents if e.type not in types or types[e.type].owned]
        entity = draft.one(owned)
        owner = draft.one([*draft.people(USER), *draft.people(GROUP)])
        if entity is None or owner is None:
            return None
        return OwnerChanged(OwnerRow(entity, owner, self._rng.choice(OWNERSHIPS)), present=True)

    def _membership(self) -> Change | None:
        draft = self._draft
        if self._facts.memberships and draft.often(0.5):
            return MembershipChanged(self._rng.choice(self._facts.memberships), present=False)
        member = draft.one([*draft.people(USER), *draft.people(GROUP)])
        implied = [ALL_USERS, ANY_GROUP]
        if draft.often(0.1):
            member = self._rng.choice(implied)
        groups = [*draft.people(GROUP), *draft.people(ROLE), SERVICE_ADMINS, MASTER]
        containers = draft.of_types(self._model.membership_types or "-")
        groups += [members_of(e.name) for e in containers if e.name]
        of = self._rng.choice(groups)
        if member is None or member in draft.acts_as(of):
            return None
        return MembershipChanged(MembershipRow(member, of), present=True)

    def _statement(self) -> Change | None:
        statement = StatementGenerator(self._draft).anything()
        old = self._draft.one([s.id for s in self._facts.statements])
        if old is not None and self._draft.often(0.3):
            return StatementAdded(replace(statement, id=old))
        return StatementAdded(statement)

    def _removed(self) -> Change | None:
        old = self._draft.one([s.id for s in self._facts.statements])
        return None if old is None else StatementRemoved(old)

    def _principal(self) -> Change | None:
        draft = self._draft
        kind = self._rng.choice((USER, USER, GROUP, ROLE))
        if draft.often(0.4):
            removed = draft.one(draft.people(kind))
            return None if removed is None else PrincipalChanged(removed, present=False)
        container = draft.one(draft.of_types(self._model.membership_types or "-"))
        principal = draft.names.principal(kind, container)
        return PrincipalChanged(Principal(*principal), present=True)


def after(system: System, facts: Facts, made: Change) -> Facts:
    """The rows after the change."""
    match made:
        case EntityAdded(entity, parent):
            return replace(facts, entities=(*facts.entities, EntityRow(entity, parent)))
        case EntityDropped(entity):
            return _without(system, facts, entity)
        case EntityMoved(entity, parent):
            rows = [r._replace(parent=parent) if r.entity == entity else r for r in facts.entities]
            return replace(facts, entities=rows)
        case EntityRenamed(entity, name):
            return _renamed(facts, entity, Entity(entity.type, name))
        case RelationChanged(row, present):
            return replace(facts, relations=_with(facts.relations, row, present=present))
        case AttributeChanged(entity, attribute, values):
            others = [r for r in facts.attributes if (r.entity, r.attribute) != (entity, attribute)]
            return replace(
                facts, attributes=others + [AttributeRow(entity, attribute, v) for v in values]
            )
        case OwnerChanged(row, present):
            return replace(facts, owners=_with(facts.owners, row, present=present))
        case PrincipalChanged(principal, present):
            return replace(facts, principals=_with(facts.principals, principal, present=present))
        case MembershipChanged(row, present):
            return replace(facts, memberships=_with(facts.memberships, row, present=present))
        case StatementAdded(statement):
            return _restated(facts, statement.id, statement)
        case StatementRemoved(id):
            return _restated(facts, id)


def _with(rows: Sequence[T], row: T, *, present: bool) -> list[T]:
    others = [other for other in rows if other != row]
    return [*others, row] if present else others


def _restated(facts: Facts, id: str, *statements: Statement) -> Facts:
    others = [s for s in facts.statements if s.id != id]
    return replace(facts, statements=[*others, *statements])


def _without(system: System, facts: Facts, entity: Entity) -> Facts:
    """The facts without the entity; where names are denied, also without all below."""
    draft = WorldDraft.of(system, facts, random.Random(0))
    removed = {entity} if system.model.judged(entity.type) else {entity, *draft.below(entity)}
    bound = system.model.binds_identity
    return replace(
        facts,
        entities=[r for r in facts.entities if r.entity not in removed],
        relations=[
            r
            for r in facts.relations
            if r.source not in removed and not (bound and r.target in removed)
        ],
        attributes=[r for r in facts.attributes if r.entity not in removed],
        owners=[r for r in facts.owners if r.entity not in removed],
        statements=[
            s
            for s in facts.statements
            if s.obliges or not (bound and isinstance(s.scope, On) and s.scope.entity in removed)
        ],
    )


def _renamed(facts: Facts, old: Entity, new: Entity) -> Facts:
    """The entity under another name, in every row that refers to it."""

    def named(entity: Entity) -> Entity:
        return new if entity == old else entity

    return replace(
        facts,
        entities=[
            EntityRow(named(r.entity), None if r.parent is None else named(r.parent))
            for r in facts.entities
        ],
        relations=[RelationRow(r.kind, named(r.source), named(r.target)) for r in facts.relations],
        attributes=[r._replace(entity=named(r.entity)) for r in facts.attributes],
        owners=[r._replace(entity=named(r.entity)) for r in facts.owners],
        statements=[
            replace(s, scope=On(new)) if s.scope == On(old) else s for s in facts.statements
        ],
    )
