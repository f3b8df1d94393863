"""The compiled state of one realm at one revision, for one interval of time.

A value; what is computed from it on first use is cached in its `memos`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.cells import ALLOWED, DENIED, OWNERS, Cells, by_bitmap, by_class
from lakewarden.kernel.classes import Partition, partition
from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.facts import Coded, code
from lakewarden.kernel.grants import Grant, Table, table
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.implied import membership
from lakewarden.kernel.memos import Memos
from lakewarden.kernel.model import AttributeType, Model
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Decision, Reason, Scalar
from lakewarden.kernel.scopes import match
from lakewarden.kernel.selectors import Ids, step
from lakewarden.kernel.sole_owners import SoleOwners
from lakewarden.kernel.statement import On, Owners, Statement
from lakewarden.kernel.subject import NO_ROLE_SETS, RoleSets, Subject, resolve

SUBJECT = "subject"
"""Prefix of the attributes of the subject."""

CLASS_LIMIT = 16_384
"""With more classes than this over all privileges, each group of privileges that some operation
combines has its own classes; with more even there, the group is kept as bitmaps.
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One realm, compiled.

    `bitmaps[s]` are the entity ids in scope `s` of the table; `classes` is None if there
    are too many; `owned_by` maps a principal id to the entities it owns. Requests
    for moments outside `table.start <= now < table.end` are rejected.
    """

    coded: Coded
    table: Table
    block: Stored
    bitmaps: tuple[BitMap, ...]
    classes: Partition | None
    owned_by: Mapping[int, BitMap]
    revision: int
    decisions: Mapping[Reason, Decision]
    memos: Memos = field(default_factory=Memos, compare=False, repr=False)

    @property
    def model(self) -> Model:
        """The declared system that decides."""
        return self.coded.model

    def subject(self, principal: Principal) -> Subject:
        """The principal, resolved; cached."""
        subject = self.memos.subjects.get(principal)
        if subject is None:
            memberships = self.coded.memberships
            named = self.table.named
            subject = resolve(principal, memberships, self.coded.tree, self.owned_by, named)
            self.memos.add_subject(principal, subject, numbered=principal in memberships.ids)
        return subject

    def caches(self, subject: Subject) -> bool:
        """Whether the subject is cached with its role sets: it is that of a plain request."""
        return self.memos.subjects.get(subject.principal) is subject

    def partition(self, privileges: frozenset[str]) -> Partition | None:
        """Classes that distinguish these privileges: those over all privileges, if few.

        Otherwise classes over their own scopes alone; None if even these are too many.
        """
        if self.classes is not None:
            return self.classes
        if privileges not in self.memos.partitions:
            scopes = {n: self.bitmaps[n] for n in sorted(self.table.scopes_of(privileges))}
            classes = partition(len(self.coded.tree), scopes, CLASS_LIMIT)
            self.memos.partitions[privileges] = classes
        return self.memos.partitions[privileges]

    def cells(self, privilege: str, subject: Subject, of: frozenset[str] | None = None) -> Cells:
        """Where the privilege is allowed, denied or open to owners, for this role set.

        Over the classes of the privileges `of`, which must include it; by default over those of the
        whole snapshot, or as bitmaps if the snapshot has no classes.
        """
        allow, deny = subject.key
        over = None if self.classes else of
        cells = self.memos.cells.get((privilege, allow, deny, over))
        if cells is not None:
            return cells
        # Second, because most are asked about where they have grants.
        role_sets = self.role_sets((privilege,), subject)
        key = (privilege, *role_sets, over)
        cells = self.memos.cells.get(key)
        if cells is None:
            classes = self.classes if of is None else self.partition(of)
            cells = self._cells(privilege, subject, classes)
            key_bytes = 0 if self.has_in_memory(role_sets, subject) else subject.key_bytes
            cells = self.memos.add_cells(key, cells, key_bytes)
        return cells

    def role_sets(self, privileges: Iterable[str], subject: Subject) -> RoleSets:
        """What the bits of these privileges depend on: subjects without grants share them."""
        allow, deny = subject.key
        for privilege in privileges:
            allows, denies = self.table.allows(privilege), self.table.denies(privilege)
            if allows.names_any(allow) or denies.names_any(deny):
                return subject.key
        return NO_ROLE_SETS

    def has_in_memory(self, role_sets: RoleSets, subject: Subject) -> bool:
        """Whether the role sets are in memory anyway."""
        return role_sets is NO_ROLE_SETS or self.caches(subject)

    def _cells(self, privilege: str, subject: Subject, classes: Partition | None) -> Cells:
        allows, denies = self.table.allows(privilege), self.table.denies(privilege)
        layers = (
            (ALLOWED, (grant.scope for grant in allows.of(subject.allow))),
            (DENIED, (grant.scope for grant in denies.of(subject.deny))),
            (OWNERS, (grant.scope for grant in allows.to_owners)),
        )
        if classes is None:
            return by_bitmap(self.bitmaps, layers)
        return by_class(classes, layers)

    def place(self, entity: Entity) -> int | NamedPlace:
        """The entity's id, or its place by name if it has no id."""
        id = self.coded.tree.find(entity)
        if id is not None:
            return id
        place = self.memos.named.get(entity)
        if place is None:
            place = NamedPlace.of(self.coded, entity, self.table.scopes)
            self.memos.add_named(place)
        return place

    def lies_in(self, place: int | NamedPlace, grant: Grant) -> bool:
        """Whether the grant's scope contains the place."""
        if isinstance(place, NamedPlace):
            return place.lies_in(grant.scope)
        return place in self.bitmaps[grant.scope]

    def owns_as(self, subject: Subject, clause: Owners, id: int) -> bool:
        """Whether the subject owns the entity with an ownership that the clause names."""
        coded = self.coded
        labels = None if clause.types is None else {coded.label(type) for type in clause.types}
        return any(
            owner in subject.deny and (labels is None or label in labels)
            for owner, label in coded.owners.of(id)
        )

    def of_type(self, type: str) -> BitMap:
        """The stored entities of one type, without those that are nested too deep; cached."""
        ids, tree = self.memos.types.get(type), self.coded.tree
        if ids is None:
            ids = tree.of_type(type) - tree.deep
            if type in tree.codes:  # other types are words that callers sent
                self.memos.types[type] = ids
        return ids

    def is_judged(self, entity: Entity, place: int | NamedPlace) -> bool:
        """Whether the entity is stored, or of a type whose unknown names are evaluated too.

        Never an entity that is nested too deep.
        """
        tree = self.coded.tree
        if isinstance(place, NamedPlace):
            return len(place.ancestors) <= MAX_LEVELS and self.model.judged(entity.type)
        known = place in tree.stored or self.model.judged(entity.type)
        return known and place not in tree.deep

    def stored_attribute(
        self, name: str, place: int | NamedPlace, principal: Principal
    ) -> Scalar | None:
        """The stored value of an attribute of the resource or of the subject, or None."""
        prefix, _, key = name.partition(".")
        id: int | NamedPlace | None = place
        if prefix == SUBJECT:
            ids = self.entities_of([principal]) & self.coded.tree.stored
            id = ids.min() if ids else None
        if not isinstance(id, int):
            return None
        values = self.coded.attributes.get(id, {}).get(key, ())
        return _typed(values[0], self.model.attributes[name].type) if values else None

    def entities_of(self, principals: Iterable[Principal]) -> BitMap:
        """The entities, including those that are only mentioned, that are one of the principals."""
        if self.memos.entities is None:
            self.memos.entities = _entities_by_principal(self.coded)
        maps = [self.memos.entities[p] for p in principals if p in self.memos.entities]
        return BitMap.union(*maps) if maps else BitMap()

    def anchored(self, entity: Entity) -> Sequence[Statement]:
        """The statements on exactly this entity, whether in force or not."""
        if self.memos.anchored is None:
            anchored: dict[Entity, list[Statement]] = {}
            for statement in self.table.statements.values():
                if isinstance(statement.scope, On):
                    anchored.setdefault(statement.scope.entity, []).append(statement)
            self.memos.anchored = anchored
        return self.memos.anchored.get(entity, ())

    def sole_owners(self) -> SoleOwners:
        """The owner of each entity that has exactly one; cached."""
        if self.memos.sole_owners is None:
            self.memos.sole_owners = SoleOwners.of(self.owned_by, len(self.coded.tree))
        return self.memos.sole_owners

    def path(self, selectors: tuple[str, ...]) -> Ids:
        """For every entity id, the id that a chain of selectors leads to, or -1."""
        ids = self.memos.paths.get(selectors)
        if ids is None:
            ids = self._path(selectors)
            self.memos.paths[selectors] = ids
        return ids

    def _path(self, selectors: tuple[str, ...]) -> Ids:
        if not selectors:
            return np.arange(len(self.coded.tree), dtype=np.int32)
        start = self.path(selectors[:-1])
        return np.where(start >= 0, self.step(start, selectors[-1]), np.int32(-1)).astype(np.int32)

    def step(self, ids: Ids, selector: str) -> Ids:
        """For each id, the id that one selector leads to, or -1."""
        return step(self.coded, ids, selector)


def _typed(text: str, type: AttributeType) -> Scalar | None:
    """The stored text as a value of the declared type; None if it is not one."""
    if type is bool:
        return {"true": True, "false": False}.get(text)
    if type is float:
        try:
            return float(text)
        except ValueError:
            return None
    return text


def _entities_by_principal(coded: Coded) -> dict[Principal, BitMap]:
    tree = coded.tree
    people = (t.name for t in coded.model.types.values() if t.principal is not None)
    codes = [tree.codes[type] for type in people if type in tree.codes]
    ids: list[int] = np.flatnonzero(np.isin(tree.types, codes)).tolist()
    kinds = ((id, coded.model.principal_kind(tree.entity(id))) for id in ids)
    entities: dict[Principal, BitMap] = {}
    for id, principal in ((id, Principal(*kind)) for id, kind in kinds if kind is not None):
        entities.setdefault(principal, BitMap()).add(id)
    return entities


def compile(
    facts: Facts, model: Model, spelling: Spelling, *, now: float = 0.0, revision: int = 0
) -> Snapshot:
    """The snapshot of `facts` for the interval around `now`.

    Raises `BadInput` for inconsistent rows and `Unknown` for a statement's
    privilege or field that the model does not declare.
    """
    coded = code(facts, model, spelling)
    statements = {s.id: s for s in (*facts.statements, *implied(coded))}
    index = table(statements, model, coded.memberships, now)
    return assemble(coded, index, revision)


def assemble(coded: Coded, index: Table, revision: int) -> Snapshot:
    """The snapshot of coded facts and the statements in force."""
    block = Stored(coded)
    bitmaps = tuple(match(block, index.scopes))
    classes = partition(len(coded.tree), dict(enumerate(bitmaps)), CLASS_LIMIT)
    return Snapshot(
        coded=coded,
        table=index,
        block=block,
        bitmaps=bitmaps,
        classes=classes,
        owned_by=coded.owners.inverted(),
        revision=revision,
        decisions=decisions(revision),
    )


def decisions(revision: int) -> dict[Reason, Decision]:
    """The prepared answers of one revision."""
    return {reason: Decision(reason is Reason.ALLOWED, reason, revision) for reason in Reason}


def implied(coded: Coded) -> Iterable[Statement]:
    """The statements that follow from membership containers: their members are members."""
    for type in sorted(coded.model.membership_types):
        for id in coded.tree.of_type(type):
            yield membership(coded.tree.entity(id))
