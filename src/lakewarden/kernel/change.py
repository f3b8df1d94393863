"""The changes of a realm's facts: a dataclass for each kind of row that comes, goes or differs."""

from __future__ import annotations

from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.statement import Statement


@dataclass(frozen=True, slots=True)
class EntityAdded:
    """An entity is stored from now on, under `parent` (None: at the top)."""

    entity: Entity
    parent: Entity | None = None


@dataclass(frozen=True, slots=True)
class EntityDropped:
    """An entity is no longer stored, with its owners, relations and attributes.

    Where names that are not stored are denied, everything below goes with it, as do, in a
    model that binds statements to identity, the grants anchored there. Filters and masks stay.
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
