"""The content of an export, with Gravitino's entities and principals instead of source names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.names.letter_case import same_but_for_case
from lakewarden.service.source_row import Row
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest.catalogs.mapping import SourceMapping
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Complete,
    Exists,
    Granted,
    GrantedColumns,
    Grantee,
    Limited,
    MemberOf,
    Present,
    Record,
    Securable,
    Tagged,
    Untranslated,
    label,
)
from lakewarden.systems.gravitino.ingest.grants import stored

TABLE: Final = "table"
VIEW: Final = "view"
COLUMN: Final = "column"
LEAVES: Final = frozenset({TABLE, VIEW})

_ABOVE_COLUMN: Final = 3
"""The number of name parts above a column: catalog, schema and table."""


@dataclass(slots=True)
class ExportContent:
    """The collected records of one source; `catalog` is the one that an option names.

    `notes` are the items without a counterpart, by subject. `inactive` are users who may do
    nothing. `tagged` are the objects with a tag, for all tags of the `tag_kinds`.
    """

    mapping: SourceMapping
    metalake: str
    catalog: str = ""
    places: dict[Entity, str] = field(default_factory=dict)
    owners: list[tuple[Entity, Grantee]] = field(default_factory=list)
    columns: dict[Entity, set[str]] = field(default_factory=lambda: defaultdict(set))
    granted: list[Granted | GrantedColumns] = field(default_factory=list)
    members: list[MemberOf] = field(default_factory=list)
    limited: list[Limited] = field(default_factory=list)
    principals: set[Principal] = field(default_factory=set)
    inactive: set[Principal] = field(default_factory=set)
    notes: list[tuple[str, str]] = field(default_factory=list)
    tagged: dict[Securable, list[Tagged]] = field(default_factory=lambda: defaultdict(list))
    tag_kinds: set[str] = field(default_factory=set)
    _origins: dict[Principal, tuple[str, str]] = field(default_factory=dict)
    _present: set[Principal] = field(default_factory=set)
    _listed: set[str] = field(default_factory=set)
    _people: set[Principal] = field(default_factory=set)
    _misnamed: list[tuple[Entity, Entity, str]] = field(default_factory=list)
    _known: set[Entity] = field(default_factory=set)
    _types: set[str] = field(default_factory=set)

    def add_record(self, record: Record) -> None:
        """Adds one record."""
        match record:
            case Exists():
                self._exists(record)
            case Granted() | GrantedColumns():
                self.granted.append(record)
            case MemberOf():
                self.members.append(record)
            case Limited():
                self.limited.append(record)
            case Present():
                self._list(record)
            case Tagged():
                self.tagged[record.tag].append(record)
            case Complete():
                self._complete(record.kind)
            case Untranslated():
                self.notes.append((record.subject, self.reason(record.feature)))

    def reason(self, feature: str) -> str:
        """Why a feature does not carry over, for the report."""
        found = self.mapping.features[feature]
        return f"{found.title}: {found.never}"

    def add_known(self, entities: Iterable[Entity]) -> None:
        """Adds entities that exist but are not in the source; users among them are its people."""
        for entity in entities:
            self._add(entity)
            metalake, _, name = entity.name.partition(":")
            if entity.type == USER and metalake == self.metalake:
                self._people.add(Principal(USER, name))

    def _exists(self, record: Exists) -> None:
        entity = self.named(record.on)
        if entity is None:
            reason = self.mapping.kind(record.on.kind).never
            self.notes.append((label(record.on), f"{record.on.kind}: {reason}"))
            return
        table = self._misnamed_table(record.on, entity)
        if table is not None:
            self._misnamed.append((entity, table, record.place))
            return
        self.places.setdefault(entity, record.place)
        self._add(entity)
        if record.owner is not None:
            self.owners.append((entity, record.owner))

    def _add(self, entity: Entity) -> None:
        self._known.add(entity)
        self._types.add(entity.type)
        if entity.type == COLUMN:
            table, name = split(entity)
            self.columns[table].add(name)

    def _list(self, record: Present) -> None:
        principal, why = self._principal(record.principal)
        if principal is None:
            self.notes.append((record.principal.name, why))
            return
        self._present.add(principal)
        self._listed.add(principal.kind)
        self.principals.add(principal)
        if not record.is_active and principal.kind == USER:
            self.inactive.add(principal)

    def _complete(self, kind: str) -> None:
        principal = self.mapping.principals.get(kind)
        if principal is None:
            self.tag_kinds.add(kind)
        else:
            self._listed.add(principal.kind)

    def tables_and_views(self) -> list[Entity]:
        """All tables and views, by name: of the source, and existing ones from elsewhere."""
        return sorted({one for one in (*self._known, *self.places) if one.type in LEAVES})

    def names(self, on: Securable) -> bool:
        """Whether the source lists a table or view of that name, or names it in a grant."""
        named = self.named(on)
        entities = [Entity(type, named.name) for type in LEAVES] if named is not None else []
        return any(one in self._known or one in self.places for one in entities)

    def named(self, on: Securable) -> Entity | None:
        """The entity of that name; None if the kind has no counterpart."""
        type = self.mapping.kind(on.kind).type
        if not type:
            return None
        return Entity(type, f"{self.metalake}:{'.'.join(self._parts(on))}")

    def _parts(self, on: Securable) -> tuple[str, ...]:
        return (self.catalog, *on.parts) if self.mapping.one_catalog else on.parts

    def _misnamed_table(self, on: Securable, column: Entity) -> Entity | None:
        """The table of a column, if dots in the names above would look like those of the column."""
        above = self._parts(on)[:_ABOVE_COLUMN]
        if column.type != COLUMN or not any("." in part for part in above):
            return None
        return Entity(TABLE, f"{self.metalake}:{'.'.join(above)}")

    def entity(self, on: Securable, place: str) -> tuple[Entity | None, str]:
        """The entity, or the reason why there is none.

        A view that the source calls a table is found. An entity that is named but not listed
        exists, unless the source lists all of its type.
        """
        entity = self.named(on)
        if entity is None:
            return None, f"{on.kind}: {self.mapping.kind(on.kind).never}"
        if self._misnamed_table(on, entity) is not None:
            return None, "the name of its table has a dot"
        if entity.type in LEAVES and entity not in self._known:
            for type in LEAVES - {entity.type}:
                if Entity(type, entity.name) in self._known:
                    return Entity(type, entity.name), ""
        if entity not in self._known and entity.type in self._types:
            return None, f"there is no such {entity.type}"
        self.places.setdefault(entity, place)
        return entity, ""

    def principal(self, grantee: Grantee) -> tuple[Principal | None, str]:
        """The principal, or why there is none.

        A principal that is named but not listed exists, unless the source, or the people of
        inventories, list all of the kind.
        """
        principal, why = self._principal(grantee)
        if principal is None or principal == members_of(self.metalake):
            return principal, why
        found, _ = self.mapping.principal_kind(grantee.kind, grantee.name)
        is_listed = found.is_listed and principal.kind in self._listed
        if (is_listed or found.is_always_listed) and principal not in self._present:
            return None, f"there is no such {principal.kind}"
        if found.is_in_people and self._people and principal not in self._people:
            return None, f"no inventory with people has this {principal.kind}"
        self.principals.add(principal)
        return principal, ""

    def _principal(self, grantee: Grantee) -> tuple[Principal | None, str]:
        found, name = self.mapping.principal_kind(grantee.kind, grantee.name)
        if not found.kind:
            return None, found.never
        if grantee.name in found.everybody:
            return members_of(self.metalake), ""
        container = grantee.container if found.is_qualified else ""
        if found.is_qualified and not container:
            return None, "the source does not say what it is in"
        whole = f"{container}.{name}" if container else name
        principal = Principal(
            found.kind, f"{self.metalake}:{whole}" if found.kind == ROLE else whole
        )
        if self._origins.setdefault(principal, (container, name)) != (container, name):
            raise BadInput(f"two {found.kind}s are called `{whole}`, in different places")
        return principal, ""

    def rows(self, place: str) -> Iterator[Row]:
        """All entities that exist, their containers before them."""
        views = {entity.name for entity in self._known if entity.type == VIEW}
        written: set[Entity] = set()
        yield from stored(Entity("metalake", self.metalake), place)
        for column, table, at in self._misnamed:
            yield from stored(column, at, inside=table)
        for entity, at in self.places.items():
            for one in (*reversed(list(containers(entity))), entity):
                if one in written or (one.type == TABLE and one.name in views):
                    continue
                written.add(one)
                yield from self._entity_rows(one, at, views)

    def _entity_rows(self, entity: Entity, place: str, views: set[str]) -> Iterator[Row]:
        if entity.type != COLUMN:
            yield from stored(entity, place)
            return
        table, _ = split(entity)
        if table.name not in views:
            yield from stored(entity, place, inside=table)


def split(column: Entity) -> tuple[Entity, str]:
    """The table of a column, and the column's name there, including its record.

    >>> split(Entity("column", "lk:c.s.t.a.b"))
    (Entity(type='table', name='lk:c.s.t'), 'a.b')
    """
    *above, name = gravitino.parts(column)
    return Entity(TABLE, f"{above[0]}:{'.'.join(above[1:])}"), name


def are_parts(column: str, other: str) -> bool:
    """Whether one column is the other or a part of it, for engines that fold names.

    >>> are_parts("Card", "CARD"), are_parts("to", "to.town"), are_parts("to.town", "to.street")
    (True, True, False)
    """
    paths = (same_but_for_case(name).split(".") for name in (column, other))
    return all(own == theirs for own, theirs in zip(*paths, strict=False))


def containers(entity: Entity) -> Iterator[Entity]:
    """The containers of an entity, below the metalake, nearest first.

    >>> [one.name for one in containers(Entity("table", "lk:c.s.t"))]
    ['lk:c.s', 'lk:c']
    """
    above = gravitino.parent(entity)
    while above is not None and above.type != "metalake":
        yield above
        above = gravitino.parent(above)
