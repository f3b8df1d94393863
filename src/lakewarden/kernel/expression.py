"""A rule as typed nodes: what an operation requires of the subject.

A node is plain data; every node that can be constructed is well formed. `rules` parses text
into nodes; the compiled form, the explanation and the tests' literal evaluator read them.
Every node is monotone in what is granted: only in `NotDenied` is there a negation.
"""

from __future__ import annotations

from dataclasses import dataclass

SELF = "self"
"""In `Owner` and `At`: the target of the operation itself."""

PARENT = "parent"
"""In `At`: the containment parent of the target."""

REQUEST = "request."
"""Prefix, in `At`, `Every` and `Some`, of targets and lists that the request sends."""

PLATFORM = "platform"
"""In `At`: the request without a resource."""

TYPE = "type"
"""In `At`: the request about the target's type alone."""

ANCESTORS = "ancestors"
"""In `Every` and `Some`: the containment ancestors of the target, nearest first."""


@dataclass(frozen=True, slots=True)
class Anyone:
    """Nothing is required."""


@dataclass(frozen=True, slots=True)
class Nobody:
    """Never met: the operation is always denied."""


@dataclass(frozen=True, slots=True)
class Holds:
    """An active ALLOW of the privilege reaches the target, and no active DENY does."""

    privilege: str


@dataclass(frozen=True, slots=True)
class NotDenied:
    """No active DENY of the privilege reaches the target, whether or not an ALLOW does."""

    privilege: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The subject owns the target's ancestor-or-self of one of these types (or `self`)."""

    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IsSelf:
    """The target, seen as a principal, is the subject or something that it acts as."""


@dataclass(frozen=True, slots=True)
class ServiceAdmin:
    """The subject is one of the configured service administrators."""


@dataclass(frozen=True, slots=True)
class At:
    """`inner`, evaluated at another entity; false when there is no such entity.

    `selector`: parent, platform, type, the ancestor-or-self of a type, or `request.NAME`,
    a target that comes with the request.
    """

    selector: str
    inner: Node


@dataclass(frozen=True, slots=True)
class Every:
    """`inner` holds on every related entity; never met when there is none.

    `source` is a relation kind, `ancestors`, or `request.NAME`: entities sent with the
    request.
    """

    source: str
    inner: Node


@dataclass(frozen=True, slots=True)
class Some:
    """`inner` holds on at least one related entity. `source` as in `Every`."""

    source: str
    inner: Node


@dataclass(frozen=True, slots=True)
class May:
    """Another operation's rule, of the target's own type."""

    operation: str


@dataclass(frozen=True, slots=True)
class Compare:
    """A declared attribute compared with a constant; false where the attribute is absent.

    `operator` is `==`, `!=` or `in`; `value` is a string, a boolean, a number, or for
    `in` a tuple of them.
    """

    attribute: str
    operator: str
    value: str | bool | int | float | tuple[str | bool | int | float, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All parts; at least two."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part; at least two parts."""

    parts: tuple[Node, ...]


Node = (
    Anyone
    | Nobody
    | Holds
    | NotDenied
    | Owner
    | IsSelf
    | ServiceAdmin
    | At
    | Every
    | Some
    | May
    | Compare
    | And
    | Or
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside `node`, in order; the body of a `May` is not inside it."""
    match node:
        case And(parts) | Or(parts):
            return parts
        case At(_, inner) | Every(_, inner) | Some(_, inner):
            return (inner,)
        case _:
            return ()
