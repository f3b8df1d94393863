"""Requests and decisions: who wants to do what on which entity, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypedDict

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.principal import Principal

Scalar = str | bool | int | float


class Reason(Enum):
    """The reason of a decision, as a code; `explain` gives the details."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NOT_STORED = "not stored"
    ROLE_NOT_HELD = "role not held"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one request, and the revision of the facts it is based on.

    It is true if it allows, which makes `if warden.check(...)` safe.
    """

    allow: bool
    reason: Reason
    revision: int

    def __bool__(self) -> bool:
        return self.allow


@dataclass(frozen=True, slots=True)
class Request:
    """One authorization request.

    `operation` is an operation of the model, or a privilege by its bare name. `now` is the
    server's clock, in seconds since the epoch. `targets` and `lists` are the further
    entities that the operation names; `attributes` the declared facts that come with the
    request; `subresources` what the action touches inside the target; `groups` are memberships
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
        """Whether the request has none of the optional parts, only the first four fields."""
        return not (
            self.targets
            or self.lists
            or self.attributes
            or self.subresources
            or self.groups
            or self.roles is not None
        )


class Parts(TypedDict, total=False):
    """The optional parts of a request beside its operation and target: see `Request`."""

    targets: Mapping[str, Entity]
    lists: Mapping[str, tuple[Entity, ...]]
    attributes: Mapping[str, Scalar]
    subresources: tuple[Entity, ...]
    roles: frozenset[Principal] | None
