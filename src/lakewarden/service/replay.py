"""The rows that result from a change feed, and how they differ from the stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from lakewarden.kernel.change import (
    AttributeChanged,
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
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import Statement
from lakewarden.service.effect import Effect, FeedRow, RealmChanged, decode
from lakewarden.service.link import LinkChanges, Links
from lakewarden.service.ports import Reading
from lakewarden.service.realm import Realm, people_of
from lakewarden.service.state_builder import change_links
from lakewarden.service.system import System, load_system

Values = dict[str, tuple[str, ...]]
Row = TypeVar("Row")


@dataclass(slots=True)
class _NamedBy:
    """By entity, the rows that may name it: children, and relations from these entities.

    COST: a rename rebuilds only those rows. Rows that changed since may still be listed.
    """

    children: dict[Entity, set[Entity]] = field(default_factory=dict)
    sources: dict[Entity, set[Entity]] = field(default_factory=dict)

    @staticmethod
    def of(tables: ScopeTables) -> _NamedBy:
        named_by = _NamedBy()
        for entity, parent in tables.entities.items():
            named_by.place(entity, parent)
        for source, rows in tables.relations.items():
            for row in rows:
                named_by.relate(source, row.target)
        return named_by

    def place(self, entity: Entity, parent: Entity | None) -> None:
        if parent is not None:
            self.children.setdefault(parent, set()).add(entity)

    def relate(self, source: Entity, target: Entity) -> None:
        self.sources.setdefault(target, set()).add(source)


@dataclass(slots=True)
class ScopeTables:
    """The tables of one scope: their rows, to which effects are applied in order."""

    entities: dict[Entity, Entity | None] = field(default_factory=dict)
    relations: dict[Entity, set[RelationRow]] = field(default_factory=dict)
    owners: dict[Entity, set[OwnerRow]] = field(default_factory=dict)
    attributes: dict[Entity, Values] = field(default_factory=dict)
    principals: set[Principal] = field(default_factory=set)
    memberships: set[MembershipRow] = field(default_factory=set)
    statements: dict[str, Statement] = field(default_factory=dict)
    _named_by: _NamedBy | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(facts: Facts) -> ScopeTables:
        """The tables with the rows of stored facts."""
        rows = ScopeTables()
        rows.entities = dict(facts.entities)
        for relation in facts.relations:
            rows.relations.setdefault(relation.source, set()).add(relation)
        for owner in facts.owners:
            rows.owners.setdefault(owner.entity, set()).add(owner)
        for entity, attribute, value in facts.attributes:
            values = rows.attributes.setdefault(entity, {})
            values[attribute] = tuple(sorted({*values.get(attribute, ()), value}))
        rows.principals, rows.memberships = set(facts.principals), set(facts.memberships)
        rows.statements = {statement.id: statement for statement in facts.statements}
        return rows

    def facts(self) -> Facts:
        """The rows in the form that the kernel compiles."""
        return Facts(
            entities=[EntityRow(*row) for row in self.entities.items()],
            relations=[row for rows in self.relations.values() for row in rows],
            attributes=[
                AttributeRow(entity, name, value)
                for entity, by_name in self.attributes.items()
                for name, values in by_name.items()
                for value in values
            ],
            owners=[row for rows in self.owners.values() for row in rows],
            principals=tuple(self.principals),
            memberships=tuple(self.memberships),
            statements=tuple(self.statements.values()),
        )

    def apply(self, effect: Effect) -> None:
        """Applies one effect. Documents and the like are ignored."""
        match effect:
            case EntityAdded(entity, parent) | EntityMoved(entity, parent):
                self._place(entity, parent)
            case EntityDropped(entity):
                for table in (self.entities, self.relations, self.owners, self.attributes):
                    table.pop(entity, None)
            case EntityRenamed(entity, name):
                self._rename(entity, Entity(entity.type, name))
            case RelationChanged(row, present):
                _put(self.relations.setdefault(row.source, set()), row, present)
                if self._named_by is not None:
                    self._named_by.relate(row.source, row.target)
            case OwnerChanged(owner, present):
                _put(self.owners.setdefault(owner.entity, set()), owner, present)
            case AttributeChanged(entity, attribute, values):
                stored = self.attributes.setdefault(entity, {})
                stored.pop(attribute, None)
                if values:
                    stored[attribute] = tuple(sorted(set(values)))
            case PrincipalChanged(principal, present):
                _put(self.principals, principal, present)
            case MembershipChanged(membership, present):
                _put(self.memberships, membership, present)
            case StatementAdded(statement):
                self.statements[statement.id] = statement
            case StatementRemoved(id):
                self.statements.pop(id, None)

    def _place(self, entity: Entity, parent: Entity | None) -> None:
        self.entities[entity] = parent
        if self._named_by is not None:
            self._named_by.place(entity, parent)

    def _rename(self, old: Entity, new: Entity) -> None:
        if self._named_by is None:
            self._named_by = _NamedBy.of(self)
        named_by = self._named_by
        if old in self.entities:
            self._place(new, self.entities.pop(old))
        for child in named_by.children.pop(old, ()):
            if self.entities.get(child) == old:
                self._place(child, new)
        for source in named_by.sources.pop(old, ()):
            rows = self.relations.get(source, set())
            for row in [row for row in rows if row.target == old]:
                rows.discard(row)
                rows.add(row._replace(target=new))
                named_by.relate(source, new)
        for row in self.relations.pop(old, ()):
            self.relations.setdefault(new, set()).add(row._replace(source=new))
            named_by.relate(new, row.target)
        for owner in self.owners.pop(old, ()):
            self.owners.setdefault(new, set()).add(owner._replace(entity=new))
        if old in self.attributes:
            self.attributes[new] = self.attributes.pop(old)

    def difference(self, other: ScopeTables) -> dict[str, int]:
        """By table, the number of rows that only one of the two has."""
        counts = {
            "entities": len(self.entities.items() ^ other.entities.items()),
            "relations": len(_all(self.relations) ^ _all(other.relations)),
            "owners": len(_all(self.owners) ^ _all(other.owners)),
            "attributes": len(_values(self.attributes) ^ _values(other.attributes)),
            "principals": len(self.principals ^ other.principals),
            "memberships": len(self.memberships ^ other.memberships),
            "statements": len(self.statements.items() ^ other.statements.items()),
        }
        return {table: count for table, count in counts.items() if count}


def _put(rows: set[Row], row: Row, present: bool) -> None:
    (rows.add if present else rows.discard)(row)


def _all(by_entity: Mapping[Entity, Iterable[object]]) -> set[object]:
    return {row for rows in by_entity.values() for row in rows}


def _values(attributes: Mapping[Entity, Values]) -> set[tuple[object, ...]]:
    return {
        (e, name, values) for e, by_name in attributes.items() for name, values in by_name.items()
    }


@dataclass(slots=True)
class Replay:
    """Realms, their rows and links, after the rows of a change feed from its beginning."""

    realms: dict[str, Realm] = field(default_factory=dict)
    systems: dict[str, System] = field(default_factory=dict)
    scopes: dict[str, ScopeTables] = field(default_factory=dict)
    # COST: one object for all rows; otherwise each row would traverse all links.
    _links: LinkChanges = field(default_factory=lambda: LinkChanges(Links()))

    @property
    def links(self) -> Links:
        """The current links; they change with the next row."""
        return self._links.links()

    def apply(self, row: FeedRow) -> None:
        """Applies the next row of the feed."""
        effect = decode(row, self.systems.get(row.scope))
        change_links(self._links, row.scope, effect)
        if not isinstance(effect, RealmChanged):
            self.scopes.setdefault(row.scope, ScopeTables()).apply(effect)
        elif effect.realm is None:
            for by_name in (self.realms, self.systems, self.scopes):
                by_name.pop(effect.name, None)
        else:
            realm = self.realms[effect.name] = effect.realm
            self.systems[effect.name] = load_system(realm.model, realm.settings, realm.text)


LINKS: Final = "links"
"""Stands for a scope if links disagree, since they connect realms."""


class Disagreement(NamedTuple):
    """Rows of a scope that only the feed or only the tables have, by table."""

    scope: str
    rows: Mapping[str, int]


def compare(reading: Reading) -> list[Disagreement]:
    """The differences between the whole change feed and the stored rows; empty if all is well.

    Raises `FeedTruncated` if the feed does not reach back to the beginning.
    """
    replay = Replay()
    for row in reading.feed(0):
        replay.apply(row)
    scopes, systems, links = replay.scopes, replay.systems, replay.links
    disagreements = []
    for realm in reading.realms():
        scope = people_of(realm.directory)
        for name, system in ((realm.name, systems.get(realm.name)), (scope, None)):
            rows = scopes.pop(name, None)
            if name == scope and rows is None:
                continue  # checked with another realm, or empty
            stored = ScopeTables.of(reading.facts(name, system))
            differing = stored.difference(rows or ScopeTables())
            if differing:
                disagreements.append(Disagreement(name, differing))
    differing = {"links": len(set(links.all()) ^ set(Links.of(reading.links()).all()))}
    return [*disagreements, Disagreement(LINKS, differing)] if differing["links"] else disagreements
