"""A parsed request of Polaris: the user, the operation, and the securables.

Unknown members are ignored, because newer releases send more; members that are read are required
and must have their type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from lakewarden.http.opa.body import decoded
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_text

ROOT: Final = "ROOT"
PRINCIPAL: Final = "PRINCIPAL"
NAMESPACE: Final = "NAMESPACE"

MOST_SECURABLES: Final = 10_000
"""The most securables of one question."""

_CONTAINERS: Final = {
    ROOT: (),
    PRINCIPAL: (),
    "PRINCIPAL_ROLE": (),
    "CATALOG": (),
    "CATALOG_ROLE": ("CATALOG",),
    NAMESPACE: ("CATALOG",),
    "TABLE_LIKE": ("CATALOG", NAMESPACE),
    "POLICY": ("CATALOG", NAMESPACE),
    "SEMANTIC_MODEL": ("CATALOG", NAMESPACE),
}
"""The types above a securable of each type, outermost first."""

_PARTS: Final = {"CATALOG": "catalog", NAMESPACE: "schema", "TABLE_LIKE": "table"}
"""The names of securables in templates of names."""


class Parent(Struct, gc=False):
    """The parent of a securable."""

    type: str
    name: str


class Securable(Struct, gc=False):
    """The resource of an operation; `parents` are the outermost first."""

    type: str
    name: str
    parents: list[Parent] = []


class Actor(Struct, gc=False):
    """The user, and the principal roles that Polaris knows."""

    principal: str
    roles: list[str] = []


class Resource(Struct, gc=False):
    """`targets` are the resources of the operation, `secondaries` the others in the request."""

    targets: list[Securable]
    secondaries: list[Securable]


class Question(Struct, gc=False):
    """One question."""

    actor: Actor
    action: str
    resource: Resource


class _Body(Struct, gc=False):
    input: Question


_DECODER: Final = msgspec.json.Decoder(_Body)


def read(body: bytes) -> Question:
    """The question of a body; raises `BadInput` that names the member."""
    question = decoded(_DECODER, body).input
    check_text(question.actor.principal, "the name of the principal")
    for member in ("targets", "secondaries"):
        count = len(getattr(question.resource, member))
        if count > MOST_SECURABLES:
            message = f"{count:,} securables, at most {MOST_SECURABLES:,} are allowed"
            raise BadInput(message, where=f"input.resource.{member}")
    return question


def names(securable: Securable) -> Mapping[str, str] | None:
    """The names that a securable gives: `catalog`, `schema`, `table`.

    None if they do not give one place: an unknown type, parents that do not fit it, or a nested
    namespace, for which no realm has a name.
    """
    containers = _CONTAINERS.get(securable.type)
    # Polaris includes the root as a parent of all in some requests, and omits it in others.
    parents = securable.parents[1:] if _begins_at_root(securable) else securable.parents
    if containers is None or tuple(parent.type for parent in parents) != containers:
        return None
    path = [(parent.type, parent.name) for parent in parents]
    path.append((securable.type, securable.name))
    return {_PARTS[type]: name for type, name in path if type in _PARTS}


def _begins_at_root(securable: Securable) -> bool:
    return bool(securable.parents) and securable.parents[0].type == ROOT
