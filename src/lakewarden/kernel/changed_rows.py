"""The coded rows and statements after changes, and what has to be recomputed.

Entities are matched again with the scopes where their ancestors or fields changed; rows of the
matrix are computed again for the principals and privileges concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyroaring import BitMap

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
)
from lakewarden.kernel.edges import Edges
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown
from lakewarden.kernel.facts import spelled_parent
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.implied import membership
from lakewarden.kernel.principal import IMPLIED, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import On, Statement


@dataclass(slots=True)
class Stale:
    """What changes have made stale: ids of entities and principals, and ids of statements.

    `matches`: entities to match again with the scopes. `lineages`: entities whose place in the
    tree changed, with all below and above them. `placed`: those of them whose depth may differ.
    `principals`: those whose memberships or owned entities changed; `everybody`: all of them may.
    `statements`: the ids of added, removed and changed statements.
    """

    matches: BitMap = field(default_factory=BitMap)
    lineages: BitMap = field(default_factory=BitMap)
    placed: BitMap = field(default_factory=BitMap)
    principals: set[int] = field(default_factory=set)
    everybody: bool = False
    statements: set[str] = field(default_factory=set)


class ChangedRows:
    """The coded rows and statements of a snapshot after some changes, and what is stale now."""

    def __init__(self, before: Snapshot) -> None:
        self._before = before
        self.coded = before.coded
        self.statements = dict(before.table.statements)
        self.owned_by = dict(before.owned_by)
        self.stale = Stale()
        self._attributes: dict[int, Mapping[str, tuple[str, ...]]] | None = None
        self._anchored: dict[Entity, dict[str, None]] | None = None
        self._has_dropped = False

    def apply(self, change: Change) -> None:
        """Applies one change; raises the errors of `incremental_compile.apply`."""
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
                self._change_relation(row, present)
            case AttributeChanged(entity, attribute, values):
                self._change_attribute(entity, attribute, values)
            case OwnerChanged(row, present):
                self._change_owner(row, present)
            case PrincipalChanged(principal, present):
                memberships = self.coded.memberships.with_stored(principal, stored=present)
                self.coded = replace(self.coded, memberships=memberships)
            case MembershipChanged(row, present):
                self._change_membership(row, present)
            case StatementAdded(statement):
                self._put_statement(statement)
            case _:
                self._remove_statement(change.id)

    # Entities

    def _stored(self, entity: Entity) -> int:
        id = self.coded.tree.find(entity)
        if id is None or id not in self.coded.tree.stored:
            raise Unknown("entity", str(entity))
        return id

    def _parent(self, parent: Entity | None) -> int:
        if parent is None:
            return -1
        id = self.coded.tree.find(parent)
        if id is not None and id in self.coded.tree.stored:
            return id
        return self._mention(parent)

    def _mention(self, entity: Entity) -> int:
        """The id of an entity that need not be stored, with the parents its name spells."""
        id = self.coded.tree.find(entity)
        if id is not None:
            return id
        if not self.coded.model.judged(entity.type):
            raise Unknown("entity", str(entity))
        spelled = spelled_parent(self.coded.spelling, entity)
        above = -1 if spelled is None else self._mention(spelled)
        tree, id = self.coded.tree.with_entity(entity, above, stored=False)
        self.coded = replace(self.coded, tree=tree)
        self.stale.matches.add(id)
        self.stale.placed.add(id)
        return id

    def _add(self, entity: Entity, parent: Entity | None) -> None:
        self.coded.model.check_type(entity.type)
        if self.coded.is_known(entity):
            raise Conflict(f"`{entity}` already exists")
        self._mention_type(entity.type)
        above = self._parent(parent)
        known = self.coded.tree.find(entity)
        if known is not None:
            self._mark_subtree(known)
        tree, id = self.coded.tree.with_entity(entity, above, stored=True)
        self.coded = replace(self.coded, tree=tree)
        self._refuse_cycle(id)
        if known is None:
            self._mark_lineages(id)  # nothing refers to a new number yet
        else:
            self._mark_subtree(id)
        if entity.type in self.coded.model.membership_types:
            self._number(members_of(entity.name))
            self._put_statement(membership(entity))

    def _mention_type(self, type: str) -> None:
        """Numbers the type alone, if it is judged, because the type now has entities."""
        if self.coded.model.judged(type):
            self._mention(Entity(type, ""))

    def _mark_subtree(self, id: int) -> None:
        """Marks the subtree of `id`, the entities that refer to it, and its ancestors."""
        below = self._mark_lineages(id)
        origins = {origin for one in self.coded.model.fields.values() for origin in one.origin}
        for origin in origins & self.coded.relations.keys():
            self._match_again(origin, self.coded.relations[origin].sources_of(below))

    def _mark_lineages(self, id: int) -> BitMap:
        """Marks the subtree of `id`, which it returns, and its ancestors."""
        tree = self.coded.tree
        below = tree.below(tree.looped | BitMap([id]) if id in tree.looped else BitMap([id]))
        self.stale.placed |= below
        self.stale.lineages |= below
        self.stale.lineages.update(tree.ancestors(id))
        self.stale.matches |= self.stale.lineages
        return below

    def _match_again(self, relation: str, sources: BitMap) -> None:
        """Marks entities whose relations changed, and the entities that inherit from them."""
        inherited = any(
            field.inherited and relation in field.origin
            for field in self.coded.model.fields.values()
        )
        self.stale.matches |= self.coded.tree.below(sources) if inherited else sources

    def _refuse_cycle(self, id: int) -> None:
        tree, at = self.coded.tree, int(self.coded.tree.parents[id])
        visited: set[int] = set()
        while at >= 0 and at not in visited:
            if at == id:
                raise BadInput(f"`{tree.entity(id).name}` would lie below itself")
            visited.add(at)
            at = int(tree.parents[at])

    def refuse_depth(self) -> None:
        """Raises `LimitExceeded` for entities that are newly too deep; old ones may stay."""
        before = self.coded.tree.deep
        tree = self.coded.tree.with_rechecked_depth(self.stale.placed)
        self.coded = replace(self.coded, tree=tree)
        for id in (tree.deep - before) & tree.stored:
            raise LimitExceeded(
                f"`{tree.entity(id).name}` would have more than {MAX_LEVELS} levels above it"
            )

    def _drop(self, entity: Entity) -> None:
        id = self._stored(entity)
        self._mark_subtree(id)
        tree, model = self.coded.tree, self.coded.model
        judged = model.judged(entity.type)
        removed = BitMap([id]) if judged else tree.below(tree.cycle(id)) & tree.stored
        for other in removed:
            self._drop_rows_of(other)
        if model.binds_identity:
            self._drop_statements_on({tree.entity(other) for other in removed})
            self._drop_edges_to(removed)
        for container in [tree.entity(other) for other in removed]:
            if container.type in model.membership_types:
                self._drop_statements({membership(container).id})
        if not judged:
            self.coded = replace(self.coded, tree=tree.without(removed))
            return
        spelled = spelled_parent(self.coded.spelling, entity)
        above = -1 if spelled is None else self._mention(spelled)
        tree = self.coded.tree.moved(id, above).unstored(id)
        self.coded = replace(self.coded, tree=tree)
        self._refuse_cycle(id)
        self._mark_subtree(id)

    def _drop_rows_of(self, id: int) -> None:
        for owner, _ in self.coded.owners.of(id):
            self.owned_by[owner] = self.owned_by[owner] - BitMap([id])
            self.stale.principals |= self.coded.memberships.acting_as(owner)
        relations = {
            kind: edges.replaced(id, ()) if edges.of(id) else edges
            for kind, edges in self.coded.relations.items()
        }
        if id in self.coded.attributes:
            del self._own_attributes()[id]
        self.coded = replace(
            self.coded, owners=self.coded.owners.replaced(id, ()), relations=relations
        )

    def _own_attributes(self) -> dict[int, Mapping[str, tuple[str, ...]]]:
        """All attributes, as a mapping that may be modified.

        COST: columns may carry their types; therefore one copy is made for all changes.
        """
        if self._attributes is None:
            self._attributes = dict(self.coded.attributes)
            self.coded = replace(self.coded, attributes=self._attributes)
        return self._attributes

    def _drop_statements_on(self, entities: set[Entity]) -> None:
        """COST: the first drop scans all statements; if more drops follow, they are indexed."""
        lying: Iterable[Statement]
        if self._has_dropped:
            lying = (one for entity in entities for one in self._on(entity))
        else:
            lying = self.statements.values()
        self._has_dropped = True
        self._drop_statements([one.id for one in lying if one.falls_with(entities)])

    def _drop_statements(self, ids: Iterable[str]) -> None:
        for id in ids:
            if self.statements.pop(id, None) is not None:
                self.stale.statements.add(id)

    def _drop_edges_to(self, removed: BitMap) -> None:
        relations: dict[str, Edges] = dict(self.coded.relations)
        for kind, edges in relations.items():
            for source in edges.sources_of(removed):
                remaining = [pair for pair in edges.of(source) if pair[0] not in removed]
                relations[kind] = relations[kind].replaced(source, remaining)
                self._match_again(kind, BitMap([source]))
        self.coded = replace(self.coded, relations=relations)

    def _move(self, entity: Entity, parent: Entity | None) -> None:
        id = self._stored(entity)
        self._mark_subtree(id)
        above = self._parent(parent)
        self.coded = replace(self.coded, tree=self.coded.tree.moved(id, above))
        self._refuse_cycle(id)
        self._mark_subtree(id)

    def _rename(self, entity: Entity, name: str) -> None:
        id = self._stored(entity)
        renamed = Entity(entity.type, name)
        if self.coded.tree.find(renamed) is not None:
            raise Conflict(f"`{renamed.type}:{name}` already exists")
        if not self.coded.model.binds_identity:
            raise BadInput(f"{self.coded.model.title} knows entities by their names only")
        self._mark_subtree(id)
        self.coded = replace(self.coded, tree=self.coded.tree.renamed(id, name))
        if entity.type in self.coded.model.membership_types:
            self._drop_statements({membership(entity).id})
            self._number(members_of(name))
            self._put_statement(membership(renamed))
        for statement in self._on(entity):
            self._put_statement(replace(statement, scope=On(renamed)))

    def _on(self, entity: Entity) -> list[Statement]:
        """The statements on exactly this entity.

        COST: a catalog is renamed with all below it; therefore all statements are scanned once.
        """
        if self._anchored is None:
            self._anchored = {}
            for statement in self.statements.values():
                self._anchor(statement)
        ids = self._anchored.get(entity, {})
        known = (self.statements[id] for id in ids if id in self.statements)
        return [statement for statement in known if statement.scope == On(entity)]

    def _anchor(self, statement: Statement) -> None:
        """Records the anchor of the statement if the index exists; the statement may be removed."""
        if self._anchored is not None and isinstance(statement.scope, On):
            self._anchored.setdefault(statement.scope.entity, {})[statement.id] = None

    # What entities carry

    def _change_relation(self, row: RelationRow, present: bool) -> None:
        edges = self.coded.relations.get(row.kind)
        if edges is None:
            raise BadInput(f"unknown relation `{row.kind}`")
        source, target = self._stored(row.source), self._mention(row.target)
        pairs = set(self.coded.relations[row.kind].of(source)) - {(target, 0)}
        if present:
            pairs.add((target, 0))
        relations = {**self.coded.relations, row.kind: edges.replaced(source, pairs)}
        self.coded = replace(self.coded, relations=relations)
        self._match_again(row.kind, BitMap([source]))

    def _change_attribute(self, entity: Entity, attribute: str, values: tuple[str, ...]) -> None:
        id = self._stored(entity)
        attributes = {k: v for k, v in self.coded.attributes.get(id, {}).items() if k != attribute}
        if values:
            attributes[attribute] = tuple(sorted(set(values)))
        self._own_attributes()[id] = attributes
        self.stale.matches.add(id)

    def _change_owner(self, row: OwnerRow, present: bool) -> None:
        id, owner = self._stored(row.entity), self._number(row.owner)
        coded = self.coded
        if row.ownership not in coded.ownerships:
            coded = replace(coded, ownerships=(*coded.ownerships, row.ownership))
        pair = (owner, coded.label(row.ownership))
        pairs = set(coded.owners.of(id)) - {pair}
        if present:
            pairs.add(pair)
        self.coded = replace(coded, owners=coded.owners.replaced(id, pairs))
        owned = self.owned_by.get(owner, BitMap()) - BitMap([id])
        if any(other == owner for other, _ in pairs):
            owned.add(id)
        self.owned_by[owner] = owned
        self.stale.principals |= self.coded.memberships.acting_as(owner)
        self._mark_implied(owner)
        self.stale.matches.add(id)

    # Principals and statements

    def _number(self, principal: Principal) -> int:
        memberships, id = self.coded.memberships.numbered(principal)
        self.coded = replace(self.coded, memberships=memberships)
        self.stale.principals.add(id)
        return id

    def _change_membership(self, row: MembershipRow, present: bool) -> None:
        member = self._number(row.member)
        self._number(row.of)
        if present:
            self.coded.memberships.check_membership(row.member, row.of)
        before = self.coded.memberships.acting_as(member)
        memberships = self.coded.memberships.with_membership(row.member, row.of, present=present)
        self.stale.everybody |= bool(
            self.coded.memberships.inert or self.coded.memberships.too_nested
        )
        self.coded = replace(self.coded, memberships=memberships)
        self.stale.principals |= before
        self._mark_implied(member)
        for id in before:
            self.stale.matches |= self._before.entities_of([memberships.principals[id]])

    def _mark_implied(self, id: int) -> None:
        """Marks everybody where a change concerns an implied set."""
        memberships = self.coded.memberships
        if any(memberships.principals[i].kind == IMPLIED for i in memberships.acting_as(id)):
            self.stale.everybody = True

    def _put_statement(self, statement: Statement) -> None:
        for privilege in statement.privileges:
            self.coded.model.privilege(privilege)
        for principal in statement.named:
            self._number(principal)
        self.statements[statement.id] = statement
        self._anchor(statement)
        self.stale.statements.add(statement.id)

    def _remove_statement(self, id: str) -> None:
        if id not in self.statements:
            raise Unknown("statement", id)
        self._drop_statements([id])
