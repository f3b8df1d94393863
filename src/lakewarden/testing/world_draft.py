"""The rows of a world under construction, and names that its system can spell."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.model import ANY, NONE
from lakewarden.kernel.principal import (
    Principal,
)
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import (
    Statement,
)
from lakewarden.service.system import System

NOW = 1_700_000_000.0
"""The time of all questions; windows of validity lie around it."""

ANY_SUBRESOURCE = Entity("allEntities", "urn:li:allEntities:all")
"""The sub-resource that stands for every sub-resource."""

T = TypeVar("T")

OWNERSHIPS = ("", "urn:li:ownershipType:technical", "urn:li:ownershipType:business")
"""Types of ownership, and none."""

_WORDS = ("a", "ab", "abc", "b", "ba", "sales", "sales_2", "raw", "x1", "Raw", "orders", "system")
_ODD_WORDS = ("a*", "a?", "a%", "a_", "ä", "a'b", "a-b", "a$b")
_PROGRAMS = ("worker", "workflow", "spark")

# Tried in turn until the system's own grammar accepts one; the second row only then.
_PLAIN_FORMS = ("{p}.{w}", "{p}:{w}", "{p}.{k}.{w}", "{w}")
_PERSON_FORM = "{w}/h1@CORP"
"""For a type whose names contain more than a person's name."""

_URN_FORMS = (
    "urn:li:{t}:{w}",
    "urn:li:{t}:({p},{w})",
    "urn:li:{t}:(urn:li:dataPlatform:hive,{w},PROD)",
    "urn:li:{t}:(urn:li:dataPlatform:hive,{w})",
    "urn:li:{t}:({w},b,PROD)",
    "urn:li:{t}:({w},PROD)",
)
_UNLISTED_TYPE = "assertion"
"""A type that no model lists, for models with open types."""


class Names:
    """Names of entities and principals, as a system spells them."""

    def __init__(self, system: System, rng: random.Random) -> None:
        self._system = system
        self._rng = rng
        self._forms: dict[tuple[str, bool], list[str]] = {}

    def entity(self, type: str, parent: Entity | None) -> Entity | None:
        """A name of the type inside `parent`, or None where the grammar has no such name.

        The name spells `parent` as its container, or spells none.
        """
        key = type, parent is None
        if key not in self._forms:
            self._forms[key] = self._accepted(type, parent)
        if not self._forms[key]:
            return None
        form = self._rng.choice(self._forms[key])
        word = self._rng.choice(_ODD_WORDS if self._rng.random() < 0.08 else _WORDS)
        return self._spelled(form, type, parent, word) or self._spelled(form, type, parent, "a")

    def principal(self, kind: str, container: Entity | None) -> Principal:
        """A user, group or role; in the container, if its kind lives in one."""
        word = self._rng.choice(_WORDS)
        for declared in self._system.model.types.values():
            if declared.principal == kind:
                entity = self.entity(declared.name, container if declared.parents else None)
                spelled = None if entity is None else self._system.model.principal_kind(entity)
                return Principal(kind, word) if spelled is None else Principal(*spelled)
        return Principal(kind, word)

    def _accepted(self, type: str, parent: Entity | None) -> list[str]:
        declared = self._system.model.types.get(type)
        longer = (_PERSON_FORM,) if declared is not None and declared.principal_until else ()
        for forms in ((*_PLAIN_FORMS, *longer), _URN_FORMS):
            fitting = [form for form in forms if self._spelled(form, type, parent, "a")]
            if fitting:
                return fitting
        return []

    def _spelled(self, form: str, type: str, parent: Entity | None, word: str) -> Entity | None:
        if parent is None and "{p}" in form:
            return None
        inside = "" if parent is None else parent.name
        text = form.format(p=inside, w=word, t=type, k=self._rng.choice(_PROGRAMS))
        try:
            entity = self._system.spelling.parse(type, text)
        except WardenError:
            return None
        spelled = self._system.spelling.parent(entity)
        return entity if spelled in (None, parent) else None


class WorldDraft:
    """The rows of a world under construction, and what follows from them."""

    def __init__(self, system: System, rng: random.Random) -> None:
        self.system = system
        self.model = system.model
        self.rng = rng
        self.names = Names(system, rng)
        self.parents: dict[Entity, Entity | None] = {}
        self.principals: list[Principal] = []
        self.relations: list[RelationRow] = []
        self.attributes: list[AttributeRow] = []
        self.owners: list[OwnerRow] = []
        self.memberships: list[MembershipRow] = []
        self.statements: list[Statement] = []
        self.has_wildcards = _has_wildcards(system)
        self.ids = 0

    @classmethod
    def of(cls, system: System, facts: Facts, rng: random.Random) -> WorldDraft:
        """A draft that starts from existing rows."""
        draft = cls(system, rng)
        draft.parents = {row.entity: row.parent for row in facts.entities}
        draft.principals = list(facts.principals)
        draft.relations = list(facts.relations)
        draft.attributes = list(facts.attributes)
        draft.owners = list(facts.owners)
        draft.memberships = list(facts.memberships)
        draft.statements = list(facts.statements)
        draft.ids = len(facts.statements) + rng.randrange(1_000_000)
        return draft

    def facts(self) -> Facts:
        """The rows, in random order."""
        rows = [EntityRow(entity, parent) for entity, parent in self.parents.items()]
        return Facts(
            entities=self._shuffled(rows),
            relations=self._shuffled(self.relations),
            attributes=self._shuffled(self.attributes),
            owners=self._shuffled(self.owners),
            principals=self._shuffled(self.principals),
            memberships=self._shuffled(self.memberships),
            statements=self._shuffled(self.statements),
        )

    def _shuffled(self, rows: Iterable[T]) -> tuple[T, ...]:
        unique = list(dict.fromkeys(rows))
        self.rng.shuffle(unique)
        return tuple(unique)

    def some(self, items: Iterable[T], limit: int = 2, least: int = 1) -> list[T]:
        """A few of the items, without repetition; fewer if there are fewer."""
        pool = list(items)
        return self.rng.sample(pool, min(len(pool), self.rng.randint(least, limit)))

    def one(self, items: Sequence[T]) -> T | None:
        """One of the items, if there is any."""
        return self.rng.choice(items) if items else None

    def often(self, share: float) -> bool:
        """True in that share of cases."""
        return self.rng.random() < share

    # derived from the rows, computed again each time

    def parent(self, entity: Entity) -> Entity | None:
        """The stored parent, or the one that the name spells."""
        if entity in self.parents:
            return self.parents[entity]
        return self.system.spelling.parent(entity) if entity.name else None

    def path(self, entity: Entity) -> list[Entity]:
        """The entity and all above it, nearest first."""
        chain: list[Entity] = []
        at: Entity | None = entity
        while at is not None and at not in chain:
            chain.append(at)
            at = self.parent(at)
        return chain

    def below(self, entity: Entity) -> list[Entity]:
        """The stored entities below it."""
        return [e for e in self.parents if e != entity and entity in self.path(e)]

    def of_types(self, types: Iterable[str]) -> list[Entity]:
        """The stored entities of these types; of all, when there are none or `any` is named."""
        selected = frozenset(types)
        return [e for e in self.parents if not selected or ANY in selected or e.type in selected]

    def acts_as(self, principal: Principal) -> list[Principal]:
        """What the principal acts as by memberships."""
        reached = [principal]
        for at in reached:
            reached += [m.of for m in self.memberships if m.member == at and m.of not in reached]
        return reached

    def as_principal(self, entity: Entity) -> Principal | None:
        """The user, group or role that the entity also is."""
        principal = self.model.principal_kind(entity) if entity.name else None
        return None if principal is None else Principal(*principal)

    def own_entities(self, user: Principal, types: Iterable[str]) -> list[Entity]:
        """Entities of the types that are the user; a mentioned one, if none is stored."""
        own_types = [t for t in self.types_of(types) if t in self.model.types]
        stored = [e for e in self.parents if self.as_principal(e) == user and e.type in own_types]
        judged = [t for t in own_types if self.model.judged(t)]
        named = [e for e in (self._parsed(t, user.name) for t in judged) if e is not None]
        return stored or [e for e in named if self.as_principal(e) == user]

    def _parsed(self, type: str, text: str) -> Entity | None:
        try:
            return self.system.spelling.parse(type, text)
        except WardenError:
            return None

    def people(self, kind: str) -> list[Principal]:
        """The principals of that kind."""
        return [p for p in self.principals if p.kind == kind]

    def may_be_named(self, entity: Entity) -> bool:
        """Whether rows may name it: it is stored, or names of its type are judged."""
        return entity in self.parents or self.model.judged(entity.type)

    def describe(self, entity: Entity, attribute: str, value: str) -> None:
        """Stores the attribute; an attribute that the model declares has one value."""
        single = any(name.partition(".")[2] == attribute for name in self.model.attributes)
        if single:
            same = entity, attribute
            self.attributes = [r for r in self.attributes if (r.entity, r.attribute) != same]
        self.attributes.append(AttributeRow(entity, attribute, value))

    # --- names that are not stored, and requests without a resource ---

    def container_for(self, type: str) -> Entity | None:
        """A stored entity that may contain one of the type."""
        declared = self.model.types.get(type)
        return self.one(self.of_types(declared.parents)) if declared and declared.parents else None

    def unstored(self, type: str) -> Entity | None:
        """A name of the type that is not stored, mostly in a stored container."""
        parent = self.container_for(type)
        declared = self.model.types.get(type)
        if self.often(0.2) and declared and declared.parents:
            outer = declared.parents[0]
            parent = self.names.entity(outer, self.container_for(outer)) or parent
        for _ in range(4):
            entity = self.names.entity(type, parent)
            if entity is not None and entity not in self.parents:
                return entity
        return None

    def listed_types(self) -> list[str]:
        """The types of the model, and an unlisted one if the model's types are open."""
        types = [t for t in self.model.types if t != ANY]
        return [*types, _UNLISTED_TYPE] if self.model.open_types else types

    def types_of(self, on: Iterable[str]) -> list[str]:
        """The types that a set of types stands for."""
        selected = sorted(set(on))
        return self.listed_types() if ANY in selected or not selected else selected

    def target(self, on: str) -> Entity:
        """An entity of the type: mostly stored, sometimes only named, or the type alone."""
        if on == NONE:
            return NO_RESOURCE
        type = self.rng.choice(self.types_of({on}))
        stored = self.of_types({type})
        named = self.unstored(type) if not stored or self.often(0.12) else None
        if self.often(0.04) or (named is None and not stored):
            return Entity(type, "")
        return named or self.rng.choice(stored)

    def act(self) -> str:
        """An operation or, sometimes, a privilege by its name or by an older one."""
        if self.often(0.15) or not self.model.operations:
            privilege = self.rng.choice(list(self.model.privileges.values()))
            return self.rng.choice((privilege.name, *privilege.aliases))
        names = list(self.model.operations)
        kind = operation_class(self.rng.choice(names))
        if self.often(0.5):
            kind = self.rng.choice(sorted({operation_class(name) for name in names}))
        return self.rng.choice([name for name in names if operation_class(name) == kind])

    def next_id(self) -> str:
        """An id that no statement has."""
        self.ids += 1
        return f"s{self.ids}"


def _has_wildcards(system: System) -> bool:
    for type in system.model.types:
        for text in ("*", "*.*", "*.*.*"):
            try:
                system.spelling.pattern(type, text)
            except WardenError:
                continue
            return True
    return False


def operation_class(name: str) -> str:
    """The first word of an operation's name: the subject of the act."""
    return name.partition(".")[0]
