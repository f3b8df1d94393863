"""The rows that are stored: the one declaration of their shapes.

The store's tables, the pipeline's Spark schemas and the rows below are compared with
`TABLES` by a test, so that the three cannot drift. Order of rows carries no meaning and
duplicates are harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import Statement


class EntityRow(NamedTuple):
    """A stored entity and its containment parent, which must be stored too."""

    entity: Entity
    parent: Entity | None = None


class RelationRow(NamedTuple):
    """An edge of a declared kind from one entity to another (tag, domain, subject, …).

    The target need not be stored: a criterion may name a tag that nobody ever described.
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
    """An owner of an entity; `ownership` is the ownership type, empty where there is none."""

    entity: Entity
    owner: Principal
    ownership: str = ""


class MembershipRow(NamedTuple):
    """`member` acts as `of` too: user or group in a group, user or group holding a role."""

    member: Principal
    of: Principal


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is stored about one realm, as rows.

    `principals` are the users, groups and roles that are stored; a principal that appears
    only in a membership, an owner row or a statement counts as only named.
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
"""Columns of each table, in order. Statements are kept as files beside the tables."""
