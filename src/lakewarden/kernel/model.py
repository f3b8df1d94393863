"""A declared system: entity types, privileges, operations with their rules, defaults.

A `Model` is validated data; `model_file` reads one and rejects inconsistent declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.expression import Node
from lakewarden.kernel.statement import OBLIGING, Effect

ANY = "any"
"""In `on`: every entity type of the model, and types that it does not list."""

NONE = "none"
"""In an operation's `on`: the request names no resource."""

MEMBER = "MEMBER"
"""The privilege that membership of a container (a metalake) gives, below the container."""

Table = Mapping[str, object]


AttributeType = type[str] | type[bool] | type[float]


class Reach(Enum):
    """How far a privilege reaches from the entity on which it is granted."""

    EXACTLY = "exactly"
    BELOW = "below"
    ABOVE = "above"


class Source(Enum):
    """Where an attribute's value comes from."""

    STORED = "stored"
    REQUEST = "request"
    REQUEST_OVER_STORED = "request over stored"


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entity.

    `parents` are the types that may contain it. `owned`: may have owners. `principal`: the
    kind of principal that an entity of this type also is; `principal_until` cuts the name
    at the first of these characters before it is used as a principal's name. `judged`: a
    well-formed name that is not stored is evaluated by its name; otherwise denied. `filtered`:
    it has rows, which filters may hide. `masked`: it is a column, whose values may be masked.
    """

    name: str
    title: str
    parents: tuple[str, ...] = ()
    owned: bool = False
    principal: str | None = None
    principal_until: str = ""
    judged: bool = False
    filtered: bool = False
    masked: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class Privilege:
    """A privilege that statements can grant, or that only follows from others.

    `on`: the types it may be granted on (`any`; empty for a privilege of requests without a
    resource). `aliases`: older spellings. `implied_by`: an ALLOW of one of these is an ALLOW of
    this one (a DENY is not). `grantable`: statements may name it. `asked`: the reason why no
    operation's rule names it, when none does. `flags` are the source's own marks.
    """

    name: str
    title: str
    on: frozenset[str]
    reach: Reach
    aliases: tuple[str, ...] = ()
    implied_by: tuple[str, ...] = ()
    grantable: bool = True
    asked: str = ""
    flags: tuple[str, ...] = ()
    source: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """What a criterion's field resolves to for a resource.

    `origin` is `type`, `name`, `owners`, `groups`, `attribute`, `parent` (the containment
    parent, if its type is in `up`), or a relation kind; with several relation kinds, the first
    that has any target is read. `up`: the resolved entities are followed by their containment
    ancestors, as long as these are of the types named. `itself`: for resources of these types,
    the resource itself counts too, with its ancestors if `up`. `inherited`: what the resource's
    containment ancestors resolve to counts too. `every`: all origins count, not only the first.
    Without `grants`, only filters and masks can use the field; `limits` is the field that they
    use in its place, "" for the field itself.
    """

    name: str
    origin: tuple[str, ...]
    up: frozenset[str] = frozenset()
    itself: frozenset[str] = frozenset()
    inherited: bool = False
    every: bool = False
    grants: bool = True
    limits: str = ""
    aliases: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A kind of edge between entities.

    `within`: a target of the type on the left is replaced by its ancestor of the type on the
    right (a column by its table). Without `grants`, only fields for filters and masks use the
    relation.
    """

    name: str
    sources: frozenset[str]
    targets: frozenset[str]
    within: Mapping[str, str] = field(default_factory=dict)
    grants: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A fact about the resource, the action, the subject or the context of a request."""

    name: str
    type: AttributeType
    source: Source


@dataclass(frozen=True, slots=True)
class Operation:
    """A named action and what it requires.

    `rules` maps a target type to its rule; `any` covers the types without a rule of their own.
    `targets` and `lists` name further entities of the request with the types allowed
    (empty: any). `filter`: the operation that each child of a listing must pass. `effects`
    say what a success changes. `gated`: the model's gate is already part of every rule.
    `asked`: the reason why no call of the system's own interfaces requires it, when none does.
    """

    name: str
    title: str
    rules: Mapping[str, Node]
    targets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)
    filter: str | None = None
    effects: tuple[str, ...] = ()
    gated: bool = False
    source: str = ""
    since: str = ""
    note: str = ""
    asked: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    def rule_or_none(self, type: str) -> Node | None:
        """The rule for a target of `type` (empty: no resource), if the operation has one."""
        if not type:
            return self.rules.get(NONE)
        return self.rules.get(type) or self.rules.get(ANY)

    def rule(self, type: str) -> Node:
        """The rule for a target of `type`; raises `Unknown` when the operation has none."""
        rule = self.rule_or_none(type)
        if rule is None:
            expected = ", ".join(sorted(self.rules))
            hint = f"`{self.name}` is asked about: {expected}"
            raise Unknown("target type", type or NONE, hint)
        return rule

    @property
    def type(self) -> str | None:
        """The one target type; None if there are several."""
        return next(iter(self.rules)) if len(self.rules) == 1 and ANY not in self.rules else None


SEE: Final = "see"
READ: Final = "read"
CHANGE: Final = "change"
VALUES: Final = "values"
"""The access level beside `WAYS`: reading the values of a column."""
WAYS: Final = (SEE, READ, CHANGE)
"""The access levels in any system: see an asset, read its data, change its data."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, its default value first; without values it holds types, none by default.

    `title` describes the setting. `enforces`: it says how the system enforces the stored rows, and
    is no property of the rows. `weakens` says, by value, what is then not checked.
    """

    name: str
    title: str
    values: tuple[str, ...]
    enforces: bool = False
    weakens: Mapping[str, str] = field(default_factory=dict)

    @property
    def default(self) -> str:
        """The value of a realm that does not set it."""
        return self.values[0] if self.values else ""


@dataclass(frozen=True, slots=True)
class Model:
    """A declared system, validated. `digest` identifies its text and settings.

    `settings` are the chosen values of `declared_settings`. `enforcing` are the settings that say
    how the system enforces the stored rows; `weakened` says what is not checked under the chosen
    settings.
    `granting` is the operation that granting a privilege on an entity requires;
    `self_privileges` are held by every user on the entity that is that user. `gate` and
    `macros` are kept as text, for display: they are already part of every rule. `access` maps
    each level (`WAYS`) to the operations that mean this level of access to an entity; `values`
    are the operations that read values of a column.
    """

    name: str
    title: str
    version: str
    source: str
    spelling: str
    binds_identity: bool
    denies: bool
    types: Mapping[str, EntityType]
    privileges: Mapping[str, Privilege]
    operations: Mapping[str, Operation]
    fields: Mapping[str, Field]
    relations: Mapping[str, Relation]
    attributes: Mapping[str, Attribute]
    declared_settings: Mapping[str, Setting]
    settings: Mapping[str, str]
    enforcing: frozenset[str]
    weakened: tuple[str, ...]
    granting: str | None
    self_privileges: frozenset[str]
    defaults: tuple[Table, ...]
    roles: tuple[Table, ...]
    digest: str
    spelled: Mapping[str, str]
    gate: str = "anyone"
    macros: Mapping[str, str] = field(default_factory=dict)
    access: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: tuple[str, ...] = ()

    def privilege(self, name: str) -> Privilege:
        """The privilege of that name or alias; raises `Unknown`."""
        privilege = self.privileges.get(self.spelled.get(name, name))
        if privilege is None:
            raise Unknown("privilege", name, f"`lakewarden operations` lists those of {self.name}")
        return privilege

    def operation(self, name: str) -> Operation:
        """The operation of that name; raises `Unknown`."""
        operation = self.operations.get(name)
        if operation is None:
            raise Unknown("operation", name, f"`lakewarden operations` lists those of {self.name}")
        return operation

    def reaching(self, way: str, type: str) -> str | None:
        """The operation that gives this access level on an entity of `type`, if there is one."""
        for name in self.values if way == VALUES else self.access.get(way, ()):
            if self.operations[name].rule_or_none(type) is not None:
                return name
        return None

    def field_of(self, name: str) -> Field:
        """The field of that name or alias, in any case; raises `Unknown`."""
        upper = name.upper()
        for candidate in self.fields.values():
            if upper == candidate.name or upper in candidate.aliases:
                return candidate
        raise Unknown("field", name, f"expected one of: {', '.join(sorted(self.fields))}")

    @property
    def choosing(self) -> bool:
        """Whether grants choose their resources by criteria."""
        return any(field.grants for field in self.fields.values())

    def supports(self, effect: Effect) -> bool:
        """Whether statements of the effect mean something in this system."""
        if effect is Effect.DENY:
            return self.denies
        return effect not in OBLIGING or any(_binds(effect, t) for t in self.types.values())

    def reaches(self, effect: Effect, type: str) -> bool:
        """Whether a filter or mask on an entity of `type` reaches any entity that it can bind."""
        return any(
            _binds(effect, declared) and type in above(self.types, declared.name)
            for declared in self.types.values()
        )

    def judged(self, type: str) -> bool:
        """Whether a name of `type` that is not stored is evaluated rather than denied."""
        declared = self.types.get(type)
        return self.open_types if declared is None else declared.judged

    @property
    def default_ids(self) -> frozenset[str]:
        """The ids of the statements that the system ships."""
        return frozenset(str(table.get("id", "")) for table in self.defaults)

    @property
    def immutable_ids(self) -> frozenset[str]:
        """The ids of the shipped statements that cannot be changed."""
        fixed = (table for table in self.defaults if not table.get("editable", False))
        return frozenset(str(table.get("id", "")) for table in fixed)

    @property
    def role_names(self) -> frozenset[str]:
        """The names of the roles that the system ships."""
        return frozenset(str(table.get("name", "")) for table in self.roles)

    @property
    def membership_types(self) -> frozenset[str]:
        """The types whose entities have members; none in most models."""
        privilege = self.privileges.get(MEMBER)
        return frozenset() if privilege is None else privilege.on

    @property
    def open_types(self) -> bool:
        """Whether entity types that the model does not list are accepted."""
        return ANY in self.types

    def check_type(self, type: str) -> None:
        """Raises `Unknown` when the model has no such entity type."""
        if type not in self.types and not self.open_types:
            raise Unknown("type", type, f"expected one of: {', '.join(sorted(self.types))}")

    def principal_kind(self, entity: Entity) -> tuple[str, str] | None:
        """The principal (kind, name) that the entity also is; None for none or an empty name.

        A name with a container prefix (`lake:ana`) keeps it for roles, which live in their
        container, and loses it for users and groups, who live in the directory.
        """
        declared = self.types.get(entity.type)
        if declared is None or declared.principal is None:
            return None
        name = entity.name
        if declared.parents and declared.principal != "role":
            name = name.partition(":")[2]
        for stop in declared.principal_until:
            name = name.partition(stop)[0]
        return (declared.principal, name) if name else None


def _binds(effect: Effect, declared: EntityType) -> bool:
    """Whether filters, or masks, bind entities of the type."""
    return declared.filtered if effect is Effect.FILTER else declared.masked


def above(types: Mapping[str, EntityType], type: str) -> frozenset[str]:
    """`type` and every type that may lie above it.

    >>> above({"a": EntityType("a", "", ()), "b": EntityType("b", "", ("a",))}, "b") == {"a", "b"}
    True
    """
    visited: set[str] = set()
    todo = [type]
    while todo:
        name = todo.pop()
        if name not in visited and name in types:
            visited.add(name)
            todo.extend(types[name].parents)
    return frozenset(visited)
