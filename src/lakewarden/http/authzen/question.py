"""One incoming question: the members that are read, and those that are required.

    subject    type (user, group or role), id
    action     name: an operation of the realm's model, or a privilege
    resource   type, id, properties.realm (the realm, where type and id leave it open)
    context    at_least_revision, answer, and what `request_context` reads

All other members are ignored. A null member counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lakewarden.kernel.errors import BadInput

Members = Mapping[str, object]

NOTHING: Members = {}


class Question(NamedTuple):
    """One question. `kind` and `who` are the subject's; `realm` is the one named, if any.

    The mappings are the properties of the three, and the context.
    """

    kind: str
    who: str
    action: str
    type: str
    id: str
    realm: str | None = None
    subject: Members = NOTHING
    act: Members = NOTHING
    resource: Members = NOTHING
    context: Members = NOTHING


def read_question(members: Members) -> Question:
    """The question of one evaluation; raises `BadInput` naming the member."""
    subject = required(members, "subject")
    action = required(members, "action")
    resource = required(members, "resource")
    resource_properties = properties(resource, "resource")
    return Question(
        text(subject, "subject", "type"),
        text(subject, "subject", "id"),
        text(action, "action", "name"),
        text(resource, "resource", "type"),
        text(resource, "resource", "id"),
        realm_of(resource_properties),
        properties(subject, "subject"),
        properties(action, "action"),
        resource_properties,
        optional(members, "context"),
    )


def required(members: Members, name: str) -> Members:
    """The object that is the member `name`."""
    value = members.get(name)
    if value is None:
        raise BadInput("missing", where=name)
    return _object(value, name)


def optional(members: Members, name: str, within: str = "") -> Members:
    """The object that is the member `name`, or an empty one."""
    value = members.get(name)
    return NOTHING if value is None else _object(value, within + name)


def properties(members: Members, where: str) -> Members:
    """The properties of a subject, action or resource."""
    return optional(members, "properties", f"{where}.")


def _object(value: object, where: str) -> Members:
    if not isinstance(value, dict):
        raise BadInput("expected an object", where=where)
    return value


def text(members: Members, where: str, name: str) -> str:
    """The string that is the member `name`; only ids may be empty."""
    value = members.get(name)
    if value is None:
        raise BadInput("missing", where=f"{where}.{name}")
    if not isinstance(value, str):
        raise BadInput("expected a string", where=f"{where}.{name}")
    if not value and name != "id":
        raise BadInput("is empty", where=f"{where}.{name}")
    return value


def realm_of(properties: Members) -> str | None:
    """The realm in the resource's properties, if there is one."""
    realm = properties.get("realm")
    if realm is not None and not isinstance(realm, str):
        raise BadInput("expected a string", where="resource.properties.realm")
    return realm


def at_least(members: Members) -> int:
    """The minimum revision of the context; 0 for any."""
    revision = optional(members, "context").get("at_least_revision")
    if revision is None:
        return 0
    if isinstance(revision, bool) or not isinstance(revision, int) or revision < 0:
        raise BadInput("expected a revision", where="context.at_least_revision")
    return revision


def is_short(members: Members) -> bool:
    """Whether the context requests answers without a context."""
    return check_answer(optional(members, "context").get("answer"))


def check_answer(value: object) -> bool:
    """Like `is_short`, for the member itself; raises `BadInput` for an unknown word."""
    if value not in (None, "full", "short"):
        raise BadInput("expected `full` or `short`", where="context.answer")
    return value == "short"
