"""The stored rows: the single declaration of their shapes.

A test compares the store's tables, the pipeline's Spark schemas and the rows below with
`TABLES`, so the three cannot diverge. The order of rows has no meaning and
duplicates are harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, overload

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import Statement


class EntityRow(NamedTuple):
    """A stored entity and its containment parent, which must be stored too."""

    entity: Entity
    parent: Entity | None = None


Cells = tuple[str, str, str | None, str | None]
"""Type and name of an entity, and of its parent."""

Slice: TypeAlias = "slice[int | None, int | None, int | None]"


class EntityColumns(Sequence[EntityRow]):
    """Entity rows kept as columns: holds a million rows without an object for each.

    `parent_types` and `parent_names` hold None at the top.
    """

    __slots__ = ("names", "parent_names", "parent_types", "types")

    def __init__(
        self,
        types: Sequence[str],
        names: Sequence[str],
        parent_types: Sequence[str | None],
        parent_names: Sequence[str | None],
    ) -> None:
        self.types = types
        self.names = names
        self.parent_types = parent_types
        self.parent_names = parent_names

    @staticmethod
    def of(rows: Sequence[EntityRow]) -> EntityColumns:
        """The same rows as columns."""
        if isinstance(rows, EntityColumns):
            return rows
        return EntityColumns(
            [row.entity.type for row in rows],
            [row.entity.name for row in rows],
            [None if row.parent is None else row.parent.type for row in rows],
            [None if row.parent is None else row.parent.name for row in rows],
        )

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: int) -> EntityRow: ...
    @overload
    def __getitem__(self, at: Slice) -> EntityColumns: ...
    def __getitem__(self, at: int | Slice) -> EntityRow | EntityColumns:
        if isinstance(at, slice):
            return EntityColumns(
                self.types[at], self.names[at], self.parent_types[at], self.parent_names[at]
            )
        return next(iter(self[at : at + 1 or None]))

    def __iter__(self) -> Iterator[EntityRow]:
        parent: Entity | None = None
        for type, name, parent_type, parent_name in self.cells():
            if (parent_type, parent_name) != parent:  # most have the parent of the previous row
                parent = _placed(parent_type, parent_name)
            yield EntityRow(Entity(type, name), parent)

    def cells(self) -> Iterator[Cells]:
        """The rows as plain cells."""
        return zip(self.types, self.names, self.parent_types, self.parent_names, strict=True)

    def beside(self, known: Collection[Cells]) -> EntityColumns:
        """The rows that are not among the known cells."""
        if not known:
            return self
        left = [cells for cells in self.cells() if cells not in known]
        return EntityColumns(
            [cells[0] for cells in left],
            [cells[1] for cells in left],
            [cells[2] for cells in left],
            [cells[3] for cells in left],
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # mutable like a list, hence not hashable


def _placed(type: str | None, name: str | None) -> Entity | None:
    return None if type is None or name is None else Entity(type, name)


class RelationRow(NamedTuple):
    """An edge of a declared kind from one entity to another (tag, domain, subject, …).

    The target need not be stored: a criterion may name a tag that has no row.
    """

    kind: str
    source: Entity
    target: Entity


class AttributeRow(NamedTuple):
    """A stored value of a declared attribute, or of a structured property."""

    entity: Entity
    attribute: str
    value: str


class OwnerRow(NamedTuple):
    """An owner of an entity; `ownership` is the ownership type, empty if there is none."""

    entity: Entity
    owner: Principal
    ownership: str = ""


class MembershipRow(NamedTuple):
    """`member` acts as `of` too: user or group in a group, user or group holding a role."""

    member: Principal
    of: Principal


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is stored for one realm, as rows.

    `principals` are the stored users, groups and roles; a principal that appears
    only in a membership, an owner row or a statement is merely mentioned.
    """

    entities: Sequence[EntityRow] = ()
    relations: Sequence[RelationRow] = ()
    attributes: Sequence[AttributeRow] = ()
    owners: Sequence[OwnerRow] = ()
    principals: Sequence[Principal] = ()
    memberships: Sequence[MembershipRow] = ()
    statements: Sequence[Statement] = field(default=())


class Column(NamedTuple):
    """A column of a stored table: `kind` is `string`, `strings`, `float` or `boolean`."""

    name: str
    kind: str = "string"
    nullable: bool = False


TABLES: dict[str, tuple[Column, ...]] = {
    "entities": (
        Column("type"),
        Column("name"),
        Column("parent_type", nullable=True),
        Column("parent_name", nullable=True),
    ),
    "relations": (
        Column("kind"),
        Column("source_type"),
        Column("source_name"),
        Column("target_type"),
        Column("target_name"),
    ),
    "attributes": (Column("type"), Column("name"), Column("attribute"), Column("value")),
    "owners": (
        Column("type"),
        Column("name"),
        Column("owner_kind"),
        Column("owner_name"),
        Column("ownership"),
    ),
    "principals": (Column("kind"), Column("name")),
    "memberships": (
        Column("member_kind"),
        Column("member_name"),
        Column("of_kind"),
        Column("of_name"),
    ),
}
"""Columns of each table, in order. Statements are stored as files beside the tables."""

COLUMN_TYPE: Final = "type"
"""The attribute that holds a column's type, as its catalog gives it."""

READS: Final = "reads"
"""The attribute of a view that says what its query reads.

`table:NAME` is a table, or a view of that name; `column:NAME` is one of its columns. A table
without any named column is read with all its columns.
"""

REMOVED: Final = "status.removed"
"""The attribute that marks an entity as removed while it stays stored (`true`)."""
