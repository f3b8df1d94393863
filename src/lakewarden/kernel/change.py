"""From one snapshot to the next: a change rebuilds only what it touches.

The result answers exactly as a snapshot compiled afresh from the changed rows would. What
is rematched against the scopes are the entities whose ancestors or fields changed; what is
worked out again are the rows of the subjects and privileges concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyroaring import BitMap

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.classes import Partition, partition, reclassed
from lakewarden.kernel.edges import Edges
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown
from lakewarden.kernel.facts import Coded, rows_of, spelled_parent
from lakewarden.kernel.grants import Table, changed, interval, touched
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.matrix import Matrix, Plan
from lakewarden.kernel.principal import IMPLIED, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.scopes import match
from lakewarden.kernel.snapshot import (
    CLASS_LIMIT,
    Snapshot,
    compile,
    decisions,
    membership,
)
from lakewarden.kernel.statement import On, Statement
from lakewarden.kernel.subject import Subject

DISPLACED_LIMIT = 4_096
"""More entities out of their numbered place than this, and everything is numbered afresh."""


@dataclass(frozen=True, slots=True)
class EntityAdded:
    """An entity is stored from now on, under `parent` (None: at the top)."""

    entity: Entity
    parent: Entity | None = None


@dataclass(frozen=True, slots=True)
class EntityDropped:
    """An entity is no longer stored, with its owners, relations and attributes.

    Where names that are not stored are denied, everything below goes with it, as do, in a
    model that binds statements to identity, the statements anchored there.
    """

    entity: Entity


@dataclass(frozen=True, slots=True)
class EntityMoved:
    """An entity, with all below it, hangs under another parent (None: at the top)."""

    entity: Entity
    parent: Entity | None


@dataclass(frozen=True, slots=True)
class EntityRenamed:
    """An entity gets another name; in a model that binds to identity, statements follow it."""

    entity: Entity
    name: str


@dataclass(frozen=True, slots=True)
class RelationChanged:
    """An edge is there from now on, or gone."""

    row: RelationRow
    present: bool


@dataclass(frozen=True, slots=True)
class AttributeChanged:
    """The stored values of one attribute of an entity; none: it has it no more."""

    entity: Entity
    attribute: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnerChanged:
    """An owner is there from now on, or gone."""

    row: OwnerRow
    present: bool


@dataclass(frozen=True, slots=True)
class PrincipalChanged:
    """A user, group or role is stored from now on, or no longer."""

    principal: Principal
    present: bool


@dataclass(frozen=True, slots=True)
class MembershipChanged:
    """A membership is there from now on, or gone."""

    row: MembershipRow
    present: bool


@dataclass(frozen=True, slots=True)
class StatementAdded:
    """A statement is stored from now on; it takes the place of one with the same id."""

    statement: Statement


@dataclass(frozen=True, slots=True)
class StatementRemoved:
    """The statement with this id is gone."""

    id: str


Change = (
    EntityAdded
    | EntityDropped
    | EntityMoved
    | EntityRenamed
    | RelationChanged
    | AttributeChanged
    | OwnerChanged
    | PrincipalChanged
    | MembershipChanged
    | StatementAdded
    | StatementRemoved
)


def apply(matrix: Matrix, changes: Iterable[Change], *, now: float, revision: int) -> Matrix:
    """The matrix after `changes`, in order, for the interval around `now`.

    No changes at all: the same facts, moved to the interval around `now`. Raises `Unknown`
    for an entity or statement that is not stored, `Conflict` for one that is stored already,
    `BadInput` for what the model does not declare and what would close a cycle,
    `LimitExceeded` for what would be nested too deep; the matrix given stays as it is,
    whatever happens.
    """
    step = _Step(matrix.snapshot)
    for change in changes:
        step.take(change)
    return step.finished(matrix, now, revision)


class _Step:
    """The state between two snapshots, and what has been touched on the way."""

    def __init__(self, before: Snapshot) -> None:
        self._before = before
        self._coded = before.coded
        self._statements = dict(before.table.statements)
        self._changed_statements: set[str] = set()
        self._owned_by = dict(before.owned_by)
        self._rematched = BitMap()
        self._chain = BitMap()
        self._placed = BitMap()
        self._subjects: set[int] = set()
        self._everybody = False

    def take(self, change: Change) -> None:
        """One change."""
        match change:
            case EntityAdded(entity, parent):
                self._add(entity, parent)
            case EntityDropped(entity):
                self._drop(entity)
            case EntityMoved(entity, parent):
                self._move(entity, parent)
            case EntityRenamed(entity, name):
                self._rename(entity, name)
            case RelationChanged(row, present):
                self._relation(row, present)
            case AttributeChanged(entity, attribute, values):
                self._attribute(entity, attribute, values)
            case OwnerChanged(row, present):
                self._owner(row, present)
            case PrincipalChanged(principal, present):
                memberships = self._coded.memberships.with_stored(principal, stored=present)
                self._coded = replace(self._coded, memberships=memberships)
            case MembershipChanged(row, present):
                self._membership(row, present)
            case StatementAdded(statement):
                self._state(statement)
            case _:
                self._retract(change.id)

    # Entities

    def _stored(self, entity: Entity) -> int:
        id = self._coded.tree.find(entity)
        if id is None or id not in self._coded.tree.stored:
            raise Unknown("entity", f"{entity.type}:{entity.name}")
        return id

    def _parent(self, parent: Entity | None) -> int:
        if parent is None:
            return -1
        id = self._coded.tree.find(parent)
        if id is not None and id in self._coded.tree.stored:
            return id
        return self._mentioned(parent)

    def _mentioned(self, entity: Entity) -> int:
        """The id of an entity that need not be stored, with the parents its name spells."""
        id = self._coded.tree.find(entity)
        if id is not None:
            return id
        if not self._coded.model.judged(entity.type):
            raise Unknown("entity", f"{entity.type}:{entity.name}")
        spelled = spelled_parent(self._coded.spelling, entity)
        above = -1 if spelled is None else self._mentioned(spelled)
        tree, id = self._coded.tree.with_entity(entity, above, stored=False)
        self._coded = replace(self._coded, tree=tree)
        self._rematched.add(id)
        self._placed.add(id)
        return id

    def _add(self, entity: Entity, parent: Entity | None) -> None:
        self._coded.model.check_type(entity.type)
        if self._coded.is_known(entity):
            raise Conflict(f"`{entity.type}:{entity.name}` is stored already")
        self._type_question(entity.type)
        above = self._parent(parent)
        known = self._coded.tree.find(entity)
        if known is not None:
            self._touch(known)
        tree, id = self._coded.tree.with_entity(entity, above, stored=True)
        self._coded = replace(self._coded, tree=tree)
        self._refuse_cycle(id)
        self._touch(id)
        if entity.type in self._coded.model.membership_types:
            self._number(members_of(entity.name))
            self._state(membership(entity))

    def _type_question(self, type: str) -> None:
        """Entities of a type come with the question about the type alone, where it is judged."""
        if self._coded.model.judged(type):
            self._mentioned(Entity(type, ""))

    def _touch(self, id: int) -> None:
        """The subtree of `id`, what refers into it, and its ancestors are to be rematched."""
        tree = self._coded.tree
        below = tree.below(tree.looped | BitMap([id]) if id in tree.looped else BitMap([id]))
        self._placed |= below
        self._chain |= below
        self._chain.update(tree.ancestors(id))
        self._rematched |= self._chain
        for field in self._coded.model.fields.values():
            for origin in field.origin:
                edges = self._coded.relations.get(origin)
                if edges is not None:
                    self._rematched |= edges.sources_of(below)

    def _refuse_cycle(self, id: int) -> None:
        tree, at = self._coded.tree, int(self._coded.tree.parents[id])
        seen: set[int] = set()
        while at >= 0 and at not in seen:
            if at == id:
                raise BadInput(f"`{tree.entity(id).name}` would lie below itself")
            seen.add(at)
            at = int(tree.parents[at])

    def _refuse_depth(self) -> None:
        """Refuses what has come to lie too deep; what did so before may stay."""
        before = self._coded.tree.deep
        tree = self._coded.tree.judged_again(self._placed)
        self._coded = replace(self._coded, tree=tree)
        for id in (tree.deep - before) & tree.stored:
            raise LimitExceeded(
                f"`{tree.entity(id).name}` would have more than {MAX_LEVELS} levels above it"
            )

    def _drop(self, entity: Entity) -> None:
        id = self._stored(entity)
        self._touch(id)
        tree, model = self._coded.tree, self._coded.model
        judged = model.judged(entity.type)
        gone = BitMap([id]) if judged else tree.below(tree.cycle(id)) & tree.stored
        for other in gone:
            self._forget_rows(other)
        if model.binds_identity:
            self._drop_statements({tree.entity(other) for other in gone})
            self._drop_edges_to(gone)
        for container in [tree.entity(other) for other in gone]:
            if container.type in model.membership_types:
                self._drop_statements_with({membership(container).id})
        if not judged:
            self._coded = replace(self._coded, tree=tree.without(gone))
            return
        spelled = spelled_parent(self._coded.spelling, entity)
        above = -1 if spelled is None else self._mentioned(spelled)
        tree = self._coded.tree.moved(id, above).unstored(id)
        self._coded = replace(self._coded, tree=tree)
        self._refuse_cycle(id)
        self._touch(id)

    def _forget_rows(self, id: int) -> None:
        for owner, _ in self._coded.owners.of(id):
            self._owned_by[owner] = self._owned_by[owner] - BitMap([id])
            self._subjects |= self._coded.memberships.acting_as(owner)
        relations = {
            kind: edges.replaced(id, ()) if edges.of(id) else edges
            for kind, edges in self._coded.relations.items()
        }
        attributes = {k: v for k, v in self._coded.attributes.items() if k != id}
        self._coded = replace(
            self._coded,
            owners=self._coded.owners.replaced(id, ()),
            relations=relations,
            attributes=attributes,
        )

    def _drop_statements(self, entities: set[Entity]) -> None:
        anchored = {
            id
            for id, statement in self._statements.items()
            if isinstance(statement.scope, On) and statement.scope.entity in entities
        }
        self._drop_statements_with(anchored)

    def _drop_statements_with(self, ids: Iterable[str]) -> None:
        for id in ids:
            if self._statements.pop(id, None) is not None:
                self._changed_statements.add(id)

    def _drop_edges_to(self, gone: BitMap) -> None:
        relations: dict[str, Edges] = dict(self._coded.relations)
        for kind, edges in relations.items():
            for source in edges.sources_of(gone):
                kept = [pair for pair in edges.of(source) if pair[0] not in gone]
                relations[kind] = relations[kind].replaced(source, kept)
                self._rematched.add(source)
        self._coded = replace(self._coded, relations=relations)

    def _move(self, entity: Entity, parent: Entity | None) -> None:
        id = self._stored(entity)
        self._touch(id)
        above = self._parent(parent)
        self._coded = replace(self._coded, tree=self._coded.tree.moved(id, above))
        self._refuse_cycle(id)
        self._touch(id)

    def _rename(self, entity: Entity, name: str) -> None:
        id = self._stored(entity)
        renamed = Entity(entity.type, name)
        if self._coded.tree.find(renamed) is not None:
            raise Conflict(f"`{renamed.type}:{name}` is stored already")
        if not self._coded.model.binds_identity:
            raise BadInput(f"{self._coded.model.title} knows entities by their names only")
        self._touch(id)
        self._coded = replace(self._coded, tree=self._coded.tree.renamed(id, name))
        if entity.type in self._coded.model.membership_types:
            self._drop_statements_with({membership(entity).id})
            self._number(members_of(name))
            self._state(membership(renamed))
        for statement in list(self._statements.values()):
            if isinstance(statement.scope, On) and statement.scope.entity == entity:
                self._state(replace(statement, scope=On(renamed)))

    # What entities carry

    def _relation(self, row: RelationRow, present: bool) -> None:
        edges = self._coded.relations.get(row.kind)
        if edges is None:
            raise BadInput(f"unknown relation `{row.kind}`")
        source, target = self._stored(row.source), self._mentioned(row.target)
        pairs = set(self._coded.relations[row.kind].of(source)) - {(target, 0)}
        if present:
            pairs.add((target, 0))
        relations = {**self._coded.relations, row.kind: edges.replaced(source, pairs)}
        self._coded = replace(self._coded, relations=relations)
        self._rematched.add(source)

    def _attribute(self, entity: Entity, attribute: str, values: tuple[str, ...]) -> None:
        id = self._stored(entity)
        kept = {k: v for k, v in self._coded.attributes.get(id, {}).items() if k != attribute}
        if values:
            kept[attribute] = tuple(sorted(set(values)))
        self._coded = replace(self._coded, attributes={**self._coded.attributes, id: kept})
        self._rematched.add(id)

    def _owner(self, row: OwnerRow, present: bool) -> None:
        id, owner = self._stored(row.entity), self._number(row.owner)
        coded = self._coded
        if row.ownership not in coded.ownerships:
            coded = replace(coded, ownerships=(*coded.ownerships, row.ownership))
        pair = (owner, coded.label(row.ownership))
        pairs = set(coded.owners.of(id)) - {pair}
        if present:
            pairs.add(pair)
        self._coded = replace(coded, owners=coded.owners.replaced(id, pairs))
        owned = self._owned_by.get(owner, BitMap()) - BitMap([id])
        if any(other == owner for other, _ in pairs):
            owned.add(id)
        self._owned_by[owner] = owned
        self._subjects |= self._coded.memberships.acting_as(owner)
        self._spread(owner)
        self._rematched.add(id)

    # Principals and statements

    def _number(self, principal: Principal) -> int:
        memberships, id = self._coded.memberships.numbered(principal)
        self._coded = replace(self._coded, memberships=memberships)
        self._subjects.add(id)
        return id

    def _membership(self, row: MembershipRow, present: bool) -> None:
        member = self._number(row.member)
        self._number(row.of)
        if present:
            self._coded.memberships.check_membership(row.member, row.of)
        before = self._coded.memberships.acting_as(member)
        memberships = self._coded.memberships.with_membership(row.member, row.of, present=present)
        self._everybody |= bool(self._coded.memberships.inert or self._coded.memberships.beyond)
        self._coded = replace(self._coded, memberships=memberships)
        self._subjects |= before
        self._spread(member)
        for id in before:
            self._rematched |= self._before.entities_of([memberships.principals[id]])

    def _spread(self, id: int) -> None:
        """A change at an implied set concerns everybody."""
        memberships = self._coded.memberships
        if any(memberships.principals[i].kind == IMPLIED for i in memberships.acting_as(id)):
            self._everybody = True

    def _state(self, statement: Statement) -> None:
        for privilege in statement.privileges:
            self._coded.model.privilege(privilege)
        for principal in statement.principals:
            self._number(principal)
        self._statements[statement.id] = statement
        self._changed_statements.add(statement.id)

    def _retract(self, id: str) -> None:
        if id not in self._statements:
            raise Unknown("statement", id)
        self._drop_statements_with([id])

    # The next snapshot

    def finished(self, matrix: Matrix, now: float, revision: int) -> Matrix:
        """The matrix over the next snapshot, with every row that still holds."""
        self._refuse_depth()
        if len(self._coded.tree.displaced) > DISPLACED_LIMIT:
            return Matrix(renumbered(self._coded, self._statements, now, revision))
        index, gone, come = self._table(now)
        block = Stored(self._coded)
        bitmaps = self._bitmaps(index, block)
        snapshot = Snapshot(
            coded=self._coded,
            table=index,
            block=block,
            bitmaps=bitmaps,
            classes=self._advanced(self._before.classes, range(len(bitmaps)), bitmaps),
            owned_by=self._owned_by,
            revision=revision,
            decisions=decisions(revision),
        )
        touch = _Touch.of(self._coded, (*gone, *come))
        self._carry(snapshot, touch)
        return matrix.carried(
            snapshot,
            lambda plan, subject: self._keeps(plan, subject, touch),
            moved=bool(self._rematched),
        )

    def _table(self, now: float) -> tuple[Table, list[Statement], list[Statement]]:
        before = self._before.table
        ids = set(self._changed_statements)
        if not before.start <= now < before.end:
            ids |= {s.id for s in self._statements.values() if _is_timed(s)}
        gone = [before.statements[i] for i in sorted(ids) if before.in_force(i)]
        come = [self._statements[i] for i in sorted(ids) if i in self._statements]
        come = [statement for statement in come if statement.applies(now)]
        index = changed(before, self._statements, gone, come, self._coded.memberships)
        start, end = self._interval(now)
        return replace(index, start=start, end=end, moment=now), gone, come

    def _interval(self, now: float) -> tuple[float, float]:
        """The interval around `now`: that of before, where no window of time came or went."""
        before = self._before.table
        sides = (before.statements, self._statements)
        changed = (side[id] for id in self._changed_statements for side in sides if id in side)
        if before.start <= now < before.end and not any(map(_is_timed, changed)):
            return before.start, before.end
        return interval(self._statements.values(), now)

    def _bitmaps(self, index: Table, block: Stored) -> tuple[BitMap, ...]:
        old = self._before.bitmaps
        if self._rematched:
            known = index.scopes[: len(old)]
            again = match(Stored(self._coded, self._rematched), known)
            old = tuple(
                (was - self._rematched) | now if (was & self._rematched) != now else was
                for was, now in zip(old, again, strict=True)
            )
        return (*old, *match(block, index.scopes[len(old) :]))

    def _advanced(
        self, classes: Partition | None, scopes: Iterable[int], bitmaps: tuple[BitMap, ...]
    ) -> Partition | None:
        """The classes after the changes, over `scopes`; None where there are none or too many."""
        size = len(self._coded.tree)
        if classes is not None and self._rematched:
            known = {number: bitmaps[number] for number in classes.scopes}
            classes = reclassed(classes, size, self._rematched, known, CLASS_LIMIT)
        if classes is None:
            return None
        fresh = {n: bitmaps[n] for n in sorted(scopes) if n not in classes.scopes}
        return partition(size, fresh, CLASS_LIMIT, classes) if fresh else classes

    def _keeps(self, plan: Plan, subject: Subject, touch: _Touch) -> bool:
        return self._same(subject) and not (
            plan.shape.privileges & touch.privileges
            and (touch.owners or bool(subject.deny & touch.principals))
        )

    def _same(self, subject: Subject) -> bool:
        """Whether the subject acts as and owns what it did before."""
        if self._everybody or subject.owned.intersect(self._chain):
            return False
        id = self._coded.memberships.ids.get(subject.principal)
        return id is None or id not in self._subjects

    def _carry(self, snapshot: Snapshot, touch: _Touch) -> None:
        old, new = self._before.memos, snapshot.memos
        new.errors = old.errors
        new.subjects = {p: s for p, s in list(old.subjects.items()) if self._same(s)}
        for privileges, classes in list(old.partitions.items()):
            scopes = snapshot.table.scopes_of(privileges)
            new.partitions[privileges] = self._advanced(classes, scopes, snapshot.bitmaps)
        if snapshot.coded.tree is self._before.coded.tree:
            new.paths, new.types, new.entities = old.paths, old.types, old.entities
        if snapshot.classes is self._before.classes and not self._rematched:
            for key, cells in list(old.cells.items()):
                same = key[3] is None or new.partitions[key[3]] is old.partitions[key[3]]
                if same and key[0] not in touch.privileges:
                    new.add_cells(key, cells)


@dataclass(frozen=True, slots=True)
class _Touch:
    """What a set of statements bears on; `owners`: some of them speak to owners."""

    privileges: frozenset[str]
    principals: frozenset[int]
    owners: bool

    @staticmethod
    def of(coded: Coded, statements: Iterable[Statement]) -> _Touch:
        found = list(statements)
        privileges = [touched(statement, coded.model) for statement in found]
        principals = {coded.memberships.ids[p] for s in found for p in s.principals}
        return _Touch(
            frozenset().union(*privileges),
            frozenset(principals),
            any(statement.owners is not None for statement in found),
        )


def _is_timed(statement: Statement) -> bool:
    return statement.valid_from is not None or statement.valid_until is not None


def renumbered(
    coded: Coded, statements: Mapping[str, Statement], now: float, revision: int
) -> Snapshot:
    """The same facts, every entity numbered afresh in preorder."""
    return compile(
        rows_of(coded, statements), coded.model, coded.spelling, now=now, revision=revision
    )
