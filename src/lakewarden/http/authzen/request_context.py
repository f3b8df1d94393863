"""Additional parts of a question, as the parts of a `Request`.

    context.targets        {"name": {"type", "id"}}    further entities, named by the operation
    context.lists          {"name": [{"type", "id"}]}  lists of entities, likewise
    context.subResources   [{"type", "id"}]            what the act touches inside the resource
    context.active_roles   ["name"]                    the only roles whose ALLOWs count
    context.groups         ["name"]                    memberships; from an enforcement point only
    NAME of subject.properties, action.properties, resource.properties, or the context
                           the attribute `subject.NAME`, … if the model declares it as one that
                           comes with the request

An entity may also be written as one text, `type:name`, or by its URN alone.

Undeclared members are ignored. A stored fact overrides that of the request, unless the model
declares the attribute "request over stored". A value of another type than declared is ignored.
The time is the server's, never the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.http.authzen import name_resolution
from lakewarden.http.authzen.question import Members, Question, optional, text
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.kernel.model import Source
from lakewarden.kernel.principal import GROUP, ROLE, Principal
from lakewarden.kernel.request import Request, Scalar
from lakewarden.service.state import RealmState

MOST_ROLES: Final = 100
"""The most roles and groups in one question."""

MOST_ENTITIES: Final = 1_000
"""The most further entities in one question."""

_KEYS: Final = frozenset({"targets", "lists", "subResources", "active_roles", "groups"})
_OURS: Final = frozenset(
    {
        "resource.realm",
        "context.answer",
        "context.at_least_revision",
        "context.realms",
        *(f"context.{key}" for key in _KEYS),
    }
)
"""The names that no attribute can have here."""


def has_no_parts(question: Question, realm: RealmState) -> bool:
    """Whether the question has no parts besides its names that could affect the decision."""
    if not _KEYS.isdisjoint(question.context):
        return False
    bare = not (question.context or question.subject or question.act or question.resource)
    return bare or not realm.system.model.attributes


def with_parts(
    request: Request,
    question: Question,
    realm: RealmState,
    *,
    trusted: bool,
    groups: tuple[str, ...],
) -> Request:
    """The request with the further parts of the question.

    `groups` are asserted by the caller's own credential; the groups in the body count only if the
    caller is `trusted`. Raises `BadInput`, `LimitExceeded` and `Unknown`.
    """
    context = question.context
    named = [*groups, *(_texts(context, "groups") if trusted else ())]
    roles = None
    if context.get("active_roles") is not None:
        names = _texts(context, "active_roles")
        roles = frozenset(name_resolution.principal(realm, ROLE, name) for name in names)
    return Request(
        request.principal,
        request.operation,
        request.target,
        request.now,
        targets=dict(_targets(context, realm)),
        lists=dict(_lists(context, realm)),
        attributes=dict(_attributes(question, realm)),
        subresources=tuple(_entities(context, "subResources", realm)),
        groups=tuple(sorted({_group(realm, name) for name in named})),
        roles=roles,
    )


def _group(realm: RealmState, name: str) -> Principal:
    return name_resolution.principal(realm, GROUP, name)


def _texts(members: Members, name: str) -> list[str]:
    values = _array(members, name)
    if len(values) > MOST_ROLES:
        raise LimitExceeded(f"context.{name}: at most {MOST_ROLES} are allowed")
    if not all(isinstance(each, str) and each for each in values):
        raise BadInput("expected strings", where=f"context.{name}")
    return [str(each) for each in values]


def _array(members: Members, name: str, where: str = "context.") -> list[object]:
    values = members.get(name)
    if values is None:
        return []
    if not isinstance(values, list):
        raise BadInput("expected an array", where=where + name)
    return values


def _targets(context: Members, realm: RealmState) -> Iterator[tuple[str, Entity]]:
    for name, value in optional(context, "targets", "context.").items():
        yield name, _entity(value, f"context.targets.{name}", realm)


def _lists(context: Members, realm: RealmState) -> Iterator[tuple[str, tuple[Entity, ...]]]:
    lists = optional(context, "lists", "context.")
    for name in lists:
        yield name, tuple(_entities(lists, name, realm, "context.lists."))


def _entities(
    members: Members, name: str, realm: RealmState, where: str = "context."
) -> Iterator[Entity]:
    values = _array(members, name, where)
    if len(values) > MOST_ENTITIES:
        raise LimitExceeded(f"{where}{name}: at most {MOST_ENTITIES} are allowed")
    for number, value in enumerate(values):
        yield _entity(value, f"{where}{name}[{number}]", realm)


def _entity(value: object, where: str, realm: RealmState) -> Entity:
    if isinstance(value, str):
        try:
            return realm.system.entity(value)
        except BadInput:
            raise Unknown("resource", value) from None
    if not isinstance(value, dict):
        raise BadInput("expected an object or a name", where=where)
    return name_resolution.entity(realm, text(value, where, "type"), text(value, where, "id"))


def _attributes(question: Question, realm: RealmState) -> Iterator[tuple[str, Scalar]]:
    parts: Mapping[str, Members] = {
        "subject": question.subject,
        "action": question.act,
        "resource": question.resource,
        "context": question.context,
    }
    for name, declared in realm.system.model.attributes.items():
        part, _, key = name.partition(".")
        value = parts.get(part, {}).get(key)
        if name in _OURS or declared.source is Source.STORED:
            continue
        if isinstance(value, (str, bool, int, float)):
            yield name, value
