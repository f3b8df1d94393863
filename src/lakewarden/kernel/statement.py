"""Stored facts that allow, deny or oblige: who, which privileges, on what, under which limits.

A statement says where it is anchored; how far a privilege reaches from there (only that
entity, everything below it, or also what lies above it) is a property of the privilege
in the model, and the privileges of one grant may reach differently far. Row filters and
column masks reach everything below their anchor.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.principal import Principal

MAX_CRITERIA: Final = 64
"""How many criteria one statement may have, including those of its constraint."""

MAX_VALUES: Final = 1_000
"""How many values one criterion may have."""


class Effect(Enum):
    """Whether a statement allows, denies, or limits the result of an allowed read."""

    ALLOW = "allow"
    DENY = "deny"
    FILTER = "filter"
    MASK = "mask"


GRANTING: Final = (Effect.ALLOW, Effect.DENY)
"""The effects of grants: they allow or deny privileges."""

OBLIGING: Final = (Effect.FILTER, Effect.MASK)
"""The effects of row filters and column masks: they allow and deny nothing."""


class Condition(Enum):
    """How a criterion compares the resolved values V of a field with its own values W.

    EQUALS: some w is in V. STARTS_WITH: some v starts with some w that is not empty.
    NOT_EQUALS: no w is in V. With an empty W, the first two never hold and the third always
    does.
    SOURCE: DataHub, PolicyEngine; datahub reference 3.4.
    """

    EQUALS = "EQUALS"
    STARTS_WITH = "STARTS_WITH"
    NOT_EQUALS = "NOT_EQUALS"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One condition on one field of the resource; the field is declared in the model."""

    field: str
    condition: Condition
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Every entity, stored or only named, and also a request that names no resource."""


@dataclass(frozen=True, slots=True)
class On:
    """Anchored at one entity; each privilege reaches from there as the model declares."""

    entity: Entity


@dataclass(frozen=True, slots=True)
class Matching:
    """Anchored at every entity of a type whose name parts match wildcards, part by part.

    `*` stands for any run of characters, `?` for exactly one; they are wildcards only here. The
    number of parts must be equal.
    """

    type: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Every resource on which all criteria hold; with no criteria, every resource.

    Unlike `Anything` it never contains a request without a resource.
    """

    criteria: tuple[Criterion, ...]


Scope = Anything | On | Matching | Where


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of the resource as actors; `types` limits them to ownership types.

    `types` None: an owner of any ownership type, or of none. An empty set matches no owner.
    """

    types: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One stored fact. It applies while it is active and `valid_from <= now < valid_until`.

    `id` is unique in its realm; `title` is its display name (a policy's name, a role).
    `principals` and `owners` are alternatives, as are the members of `principals`.
    `constraint` limits the sub-resources of a request: each of them must meet all criteria.
    Times are seconds since the epoch, UTC; None is unbounded.

    A filter or a mask has an `expression` and no privileges. It binds the principals of
    `principals` or `owners`, or everybody if these are empty, but not those of `exceptions` or
    `except_owners`. An exception applies to its own statement alone.
    """

    id: str
    effect: Effect
    privileges: frozenset[str]
    scope: Scope
    principals: frozenset[Principal] = frozenset()
    owners: Owners | None = None
    constraint: tuple[Criterion, ...] | None = None
    valid_from: float | None = None
    valid_until: float | None = None
    active: bool = True
    title: str = ""
    exceptions: frozenset[Principal] = frozenset()
    except_owners: Owners | None = None
    expression: str = ""

    @property
    def obliges(self) -> bool:
        """Whether it is a filter or a mask."""
        return self.effect in OBLIGING

    @property
    def named(self) -> frozenset[Principal]:
        """All principals that it names, including its exceptions."""
        return self.principals | self.exceptions

    def falls_with(self, entities: Container[Entity]) -> bool:
        """Whether dropping these entities removes it, in models that bind statements to identity.

        Filters and masks stay and bind the next entity of that name: otherwise a table that its
        owner drops and recreates would show everything.
        """
        return not self.obliges and isinstance(self.scope, On) and self.scope.entity in entities

    def applies(self, now: float) -> bool:
        """Whether the statement is in force at `now` (seconds since the epoch)."""
        return (
            self.active
            and (self.valid_from is None or self.valid_from <= now)
            and (self.valid_until is None or now < self.valid_until)
        )


def check_size(statement: Statement) -> None:
    """Raises `LimitExceeded` for a statement with too many criteria, or too many values."""
    scope = statement.scope.criteria if isinstance(statement.scope, Where) else ()
    criteria = (*scope, *(statement.constraint or ()))
    if len(criteria) > MAX_CRITERIA:
        raise LimitExceeded(
            f"statement `{statement.id}` has {len(criteria)} criteria, at most {MAX_CRITERIA} are"
            " allowed"
        )
    for criterion in criteria:
        if len(criterion.values) > MAX_VALUES:
            raise LimitExceeded(
                f"statement `{statement.id}` has {len(criterion.values)} values of"
                f" `{criterion.field}`, at most {MAX_VALUES} are allowed"
            )
