"""One question as it is asked: the members that are read, and what must be there.

    subject    type (user, group or role), id
    action     name: an operation of the realm's model, or a privilege
    resource   type, id, properties.realm (the realm, where type and id do not tell it)
    context    at_least_revision, answer, and what `request_context` reads

All other members are ignored. A member that is null is a member that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lakewarden.kernel.errors import BadInput

Members = Mapping[str, object]

NOTHING: Members = {}


class Asked(NamedTuple):
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


def asked(members: Members) -> Asked:
    """The question of one evaluation; raises `BadInput` naming the member."""
    subject = required(members, "subject")
    action = required(members, "action")
    resource = required(members, "resource")
    about = properties(resource, "resource")
    return Asked(
        text(subject, "subject", "type"),
        text(subject, "subject", "id"),
        text(action, "action", "name"),
        text(resource, "resource", "type"),
        text(resource, "resource", "id"),
        realm_of(about),
        properties(subject, "subject"),
        properties(action, "action"),
        about,
        optional(members, "context"),
    )


def required(members: Members, name: str) -> Members:
    """The object that is the member `name`."""
    found = members.get(name)
    if found is None:
        raise BadInput("missing", where=name)
    return _object(found, name)


def optional(members: Members, name: str, within: str = "") -> Members:
    """The object that is the member `name`, or an empty one."""
    found = members.get(name)
    return NOTHING if found is None else _object(found, within + name)


def properties(members: Members, where: str) -> Members:
    """The properties of a subject, action or resource."""
    return optional(members, "properties", f"{where}.")


def _object(value: object, where: str) -> Members:
    if not isinstance(value, dict):
        raise BadInput("expected an object", where=where)
    return value


def text(members: Members, where: str, name: str) -> str:
    """The string that is the member `name`; only ids may be empty."""
    found = members.get(name)
    if found is None:
        raise BadInput("missing", where=f"{where}.{name}")
    if not isinstance(found, str):
        raise BadInput("expected a string", where=f"{where}.{name}")
    if not found and name != "id":
        raise BadInput("is empty", where=f"{where}.{name}")
    return found


def realm_of(about: Members) -> str | None:
    """The realm that the resource's properties name, if they do."""
    found = about.get("realm")
    if found is not None and not isinstance(found, str):
        raise BadInput("expected a string", where="resource.properties.realm")
    return found


def at_least(members: Members) -> int:
    """The revision that the context asks for at least; 0 for any."""
    found = optional(members, "context").get("at_least_revision")
    if found is None:
        return 0
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise BadInput("expected a revision", where="context.at_least_revision")
    return found


def is_short(members: Members) -> bool:
    """Whether the context asks for answers that are the decision alone."""
    return check_answer(optional(members, "context").get("answer"))


def check_answer(found: object) -> bool:
    """As `is_short`, of the member itself; raises `BadInput` for a word that is not known."""
    if found not in (None, "full", "short"):
        raise BadInput("expected `full` or `short`", where="context.answer")
    return found == "short"
