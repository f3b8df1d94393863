"""Questions and answers: who wants to do what on which entity, and the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypedDict

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.principal import Principal

Scalar = str | bool | int | float


class Reason(Enum):
    """Why a decision came out as it did; the details come from `explain`."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NOT_STORED = "not stored"
    ROLE_NOT_HELD = "role not held"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one question, and the revision of the facts it was taken from.

    It is true where it allows, so that `if warden.check(...)` lets nobody else in.
    """

    allow: bool
    reason: Reason
    revision: int

    def __bool__(self) -> bool:
        return self.allow


@dataclass(frozen=True, slots=True)
class Request:
    """One question.

    `operation` is an operation of the model, or a privilege by its bare name. `now` is the
    server's clock, in seconds since the epoch. `targets` and `lists` are the further
    entities that the operation names; `attributes` the declared facts that come with the
    request; `subresources` what the act touches inside the target; `groups` are memberships
    that the identity provider asserts; `roles`, when given, are the only ones whose
    ALLOWs count (DENYs and ownership always do).
    """

    principal: Principal
    operation: str
    target: Entity = NO_RESOURCE
    now: float = 0.0
    targets: Mapping[str, Entity] = field(default_factory=dict)
    lists: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    subresources: tuple[Entity, ...] = ()
    groups: tuple[Principal, ...] = ()
    roles: frozenset[Principal] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the request brings nothing of its own beyond the four first facts."""
        return not (
            self.targets
            or self.lists
            or self.attributes
            or self.subresources
            or self.groups
            or self.roles is not None
        )


class Parts(TypedDict, total=False):
    """What a request may bring beside its operation and target: see `Request`."""

    targets: Mapping[str, Entity]
    lists: Mapping[str, tuple[Entity, ...]]
    attributes: Mapping[str, Scalar]
    subresources: tuple[Entity, ...]
    roles: frozenset[Principal] | None
