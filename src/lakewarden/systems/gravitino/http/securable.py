"""Privileges of roles in bodies: what may be granted where, and how a role is shown.

    [{"fullName": "sales.raw", "type": "schema",
      "privileges": [{"name": "select_table", "condition": "allow"}]}]

Names of privileges, including older ones, are stored and shown as they were given; they are
compared by their current names.
SOURCE: gravitino reference 1.2, 1.3 and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import GRANTING, Effect
from lakewarden.names.canonical import lower_word, quoted
from lakewarden.service.grant import GrantedPrivilege, Grants, spelling_of
from lakewarden.service.state import RealmState
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import is_stored
from lakewarden.systems.gravitino.http.bodies import Body, Json, enum_word
from lakewarden.systems.gravitino.http.errors import Failure, illegal
from lakewarden.systems.gravitino.http.kinds import catalog_type

FAMILIES: Final = frozenset({"relational", "messaging", "fileset", "model"})
"""Types of catalogs; a privilege flagged with one of them has no effect in the others."""

_FOREIGN: Final = "database"
"""The flag of privileges that databases have but Gravitino does not."""

MOST: Final = 1_000
"""The maximum number of objects in one role's body, and of privileges on one object."""


class PrivilegeBody(Body):
    """One privilege with its condition, both in any case."""

    name: str
    condition: str


class ObjectBody(Body):
    """An object, and the privileges on it."""

    full_name: str
    type: str
    privileges: list[PrivilegeBody]


def illegal_privilege(message: str) -> Failure:
    """400: a privilege that cannot be bound to this object, or contradicts another one."""
    return illegal(message, "IllegalPrivilegeException")


def illegal_object(message: str) -> Failure:
    """400: an object that does not exist, or not of this metalake."""
    return illegal(message, "IllegalMetadataObjectException")


def privileges_named(bodies: Sequence[PrivilegeBody], model: Model) -> list[GrantedPrivilege]:
    """The privileges in the bodies, in order; raises `Failure` 400 for none, or unknown ones."""
    if not bodies:
        raise illegal("expected at least one privilege")
    if len(bodies) > MOST:
        raise illegal(f"{len(bodies)} privileges, at most {MOST} are allowed")
    return [_privilege_name(body, model) for body in bodies]


def _privilege_name(body: PrivilegeBody, model: Model) -> GrantedPrivilege:
    name = lower_word(body.name).upper()
    try:
        privilege = model.privilege(name)
    except Unknown:
        raise illegal(f"unknown privilege {quoted(body.name)}") from None
    if not privilege.grantable or _FOREIGN in privilege.flags:
        raise illegal(f"unknown privilege {quoted(body.name)}")
    condition = enum_word(body.condition, [effect.value for effect in GRANTING], "condition")
    return GrantedPrivilege(name, Effect(condition))


def check_bindings(
    model: Model, granted: Iterable[GrantedPrivilege], on: Entity, catalog: str | None
) -> None:
    """Raises `Failure` 400 for a privilege that an object of this type cannot hold.

    `catalog` is the type of the catalog that the object is or is in; None if it is not known or
    does not matter. A metalake can hold privileges of every family.
    """
    for name, _ in granted:
        privilege = model.privilege(name)
        if on.type not in privilege.on:
            expected = ", ".join(sorted(privilege.on))
            raise illegal_privilege(
                f"privilege `{name}` cannot be bound to a {on.type}; only to: {expected}"
            )
        # Older names belong to no family.
        families = FAMILIES.intersection(privilege.flags) if name == privilege.name else frozenset()
        wrong = families and catalog is not None and catalog not in families
        if wrong and on.type in ("catalog", "schema"):
            raise illegal_privilege(
                f"privilege `{name}` cannot be bound to a {on.type} of a {catalog} catalog"
            )


def check_conflicts(model: Model, granted: Iterable[GrantedPrivilege], on: Entity) -> None:
    """Raises `Failure` 400 if one object would hold a privilege in two ways.

    Two ways are ALLOW and DENY, or the older name together with the current one.
    """
    spelling = spelling_of(model)
    by_name: dict[str, GrantedPrivilege] = {}
    for privilege in sorted(
        granted, key=lambda privilege: (privilege.privilege, privilege.effect.value)
    ):
        other = by_name.setdefault(spelling(privilege.privilege), privilege)
        if other != privilege:
            raise illegal_privilege(
                f"{_privileges_text(privilege)} and {_privileges_text(other)} cannot both be held"
                f" on the {on.type} {quoted(gravitino.full_name(on))}; revoke one first"
            )


def _privileges_text(granted: GrantedPrivilege) -> str:
    return f"{granted.effect.name} `{granted.privilege}`"


def grants_of(state: RealmState, metalake: str, bodies: Sequence[ObjectBody]) -> Grants:
    """The validated grants of the bodies, by object; raises `Failure` 400.

    The objects must exist, none may be named twice, and each must have at least one privilege and
    no duplicates.
    """
    if len(bodies) > MOST:
        raise illegal(f"{len(bodies)} objects, at most {MOST} are allowed")
    words_by_object: dict[Entity, frozenset[GrantedPrivilege]] = {}
    for body in bodies:
        on = object_of(metalake, body.type, body.full_name)
        if on in words_by_object:
            raise illegal(f"the {on.type} {quoted(body.full_name)} is named twice")
        granted = privileges_named(body.privileges, state.system.model)
        if len(set(granted)) < len(granted):
            raise illegal_privilege(
                f"a privilege on the {on.type} {quoted(body.full_name)} is named twice"
            )
        check_bindings(state.system.model, granted, on, None)
        if not is_stored(state, on):
            raise illegal_object(f"{on.type} {quoted(body.full_name)} does not exist")
        check_held(state, on, granted)
        check_conflicts(state.system.model, granted, on)
        words_by_object[on] = frozenset(granted)
    return words_by_object


def check_held(state: RealmState, on: Entity, granted: Iterable[GrantedPrivilege]) -> None:
    """Raises `Failure` 400 for a privilege that this object cannot hold."""
    catalog = catalog_type(state, on) if on.type in ("catalog", "schema") else None
    check_bindings(state.system.model, granted, on, catalog)


def object_of(metalake: str, type: str, full_name: str) -> Entity:
    """The object of a type word, in any case, and a full name; raises `Failure` 400."""
    try:
        return gravitino.entity(metalake, type, full_name)
    except (BadInput, Unknown) as error:
        is_metalake = lower_word(type) == "metalake"
        raise (illegal_object if is_metalake else illegal)(str(error)) from None


def object_of_path(exchange: Exchange) -> Entity:
    """The object of `{metalake}`, `{type}` and `{name}` in the path; as `object_of`."""
    params = exchange.params
    return object_of(params["metalake"], params["type"], params["name"])


def audit_details(bodies: Sequence[ObjectBody]) -> list[str]:
    """The requested privileges, for the audit trail."""
    return [
        f"{privilege.condition} {privilege.name} on {body.type} {body.full_name}"
        for body in bodies
        for privilege in body.privileges
    ]


def objects_body(grants: Grants, model: Model) -> list[Json]:
    """The grants of a role in the form of replies: by object, privileges by name.

    Privileges that Gravitino does not know are left out, since its clients would fail on them.
    """
    shown = {
        on: [w for w in granted if _FOREIGN not in model.privilege(w.privilege).flags]
        for on, granted in grants.items()
    }
    return [
        {"fullName": gravitino.full_name(on), "type": on.type, "privileges": _privileges(granted)}
        for on, granted in shown.items()
        if granted
    ]


def _privileges(granted: Iterable[GrantedPrivilege]) -> list[Json]:
    pairs = sorted((privilege.privilege.lower(), privilege.effect.value) for privilege in granted)
    return [{"name": name, "condition": condition} for name, condition in pairs]
