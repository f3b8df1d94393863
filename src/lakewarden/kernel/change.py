"""The changes of a realm's facts: one dataclass for each kind of added, removed or changed row."""

from __future__ import annotations

from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.statement import Statement


@dataclass(frozen=True, slots=True)
class EntityAdded:
    """An entity is added, under `parent` (None: at the top)."""

    entity: Entity
    parent: Entity | None = None


@dataclass(frozen=True, slots=True)
class EntityDropped:
    """An entity is removed, with its owners, relations and attributes.

    Where names that are not stored are denied, everything below is removed too. In a model that
    binds statements to identity, so are the grants anchored there. Filters and masks stay.
    """

    entity: Entity


@dataclass(frozen=True, slots=True)
class EntityMoved:
    """An entity, with all below it, moves to another parent (None: to the top)."""

    entity: Entity
    parent: Entity | None


@dataclass(frozen=True, slots=True)
class EntityRenamed:
    """An entity is renamed; in a model that binds to identity, statements follow it."""

    entity: Entity
    name: str


@dataclass(frozen=True, slots=True)
class RelationChanged:
    """An edge is added or removed."""

    row: RelationRow
    present: bool


@dataclass(frozen=True, slots=True)
class AttributeChanged:
    """The stored values of one attribute of an entity; empty: the attribute is removed."""

    entity: Entity
    attribute: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnerChanged:
    """An owner is added or removed."""

    row: OwnerRow
    present: bool


@dataclass(frozen=True, slots=True)
class PrincipalChanged:
    """A user, group or role is added or removed."""

    principal: Principal
    present: bool


@dataclass(frozen=True, slots=True)
class MembershipChanged:
    """A membership is added or removed."""

    row: MembershipRow
    present: bool


@dataclass(frozen=True, slots=True)
class StatementAdded:
    """A statement is added; it replaces one with the same id."""

    statement: Statement


@dataclass(frozen=True, slots=True)
class StatementRemoved:
    """The statement with this id is removed."""

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
