"""Grants and revokes roles, and changes the privileges of roles.

Roles are granted to users and groups of the metalake; privileges are granted to roles, object by
object. Both are idempotent. A role holds a privilege on an object either as ALLOW or as DENY: the
opposite is refused until the first is revoked.
SOURCE: gravitino reference 1.2, 1.3, 2.4, 3.4, 4.3 and 4.4; `overrides`:
apache/gravitino:server/src/main/java/org/apache/gravitino/server/web/rest/PermissionOperations.java@f461aa31aa75.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service import grant, role
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.member import principal_of
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import entity, is_stored, write
from lakewarden.systems.gravitino.http.bodies import Body, Json, altered, ok, read
from lakewarden.systems.gravitino.http.errors import Failure, illegal, no_such, no_such_entity
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.people import person_body
from lakewarden.systems.gravitino.http.roles import role_body
from lakewarden.systems.gravitino.http.securable import (
    ObjectBody,
    PrivilegeBody,
    audit_details,
    check_conflicts,
    check_held,
    grants_of,
    object_of,
    privileges_named,
)

MOST: Final = 1_000
"""The maximum number of roles in one call."""


class Roles(Body):
    """The roles to grant or to revoke."""

    role_names: list[str]


class Privileges(Body):
    """The privileges to grant or to revoke."""

    privileges: list[PrivilegeBody]


class Overrides(Body):
    """All privileges that a role should hold from now on."""

    overrides: list[ObjectBody]


def change_roles(exchange: Exchange, type: str, verb: str) -> Reply:
    """Grants roles to a user or group (`verb` grant), or revokes them (revoke)."""
    metalake = entity(exchange, "metalake")
    holder = entity(exchange, type)
    names = read(exchange, Roles).role_names
    if not 1 <= len(names) <= MOST:
        raise illegal(f"body: expected 1 to {MOST} role names, got {len(names)}")
    roles = [gravitino.entity(metalake.name, "role", name) for name in names]
    act = role.assign_roles if verb == "grant" else role.revoke_roles

    def change_memberships(transaction: WriteTransaction) -> Json:
        state = transaction.realm(exchange.realm)
        for listed_role in roles:
            if not is_stored(state, listed_role):
                raise illegal(
                    f"role {quoted(gravitino.full_name(listed_role))} does not exist",
                    "IllegalRoleException",
                )
        if not is_stored(state, holder):
            raise no_such_entity(holder)
        act(transaction, exchange.realm, roles, principal_of(state, holder))
        body = updated_document(exchange, transaction, holder)
        return person_body(transaction.realm(exchange.realm), holder, body)

    details = {type: gravitino.full_name(holder), "roles": names}
    return ok(
        **{type: write(exchange, f"role.{verb}", metalake, change_memberships, details=details)}
    )


def change_privileges(exchange: Exchange, verb: str) -> Reply:
    """Grants a role privileges on an object, or revokes them."""
    params = exchange.params
    on = object_of(params["metalake"], params["type"], params["name"])
    target = entity(exchange, "role")
    bodies = read(exchange, Privileges).privileges
    granted = privileges_named(bodies, exchange.realm_state.system.model)

    def change_grants(transaction: WriteTransaction) -> Json:
        state = transaction.realm(exchange.realm)
        check_held(state, on, granted)
        if not is_stored(state, target):
            raise no_such_entity(target)
        _change(exchange, transaction, target, on, granted, verb)
        body = updated_document(exchange, transaction, target)
        return role_body(transaction.realm(exchange.realm), target, body)

    details = {
        "role": gravitino.full_name(target),
        "privileges": [f"{privilege.effect.name} {privilege.privilege}" for privilege in granted],
    }
    role_after = write(
        exchange, f"privilege.{verb}", on, change_grants, missing=no_such_object, details=details
    )
    return ok(role=role_after)


def _change(
    exchange: Exchange,
    transaction: WriteTransaction,
    target: Entity,
    on: Entity,
    granted: Sequence[grant.GrantedPrivilege],
    verb: str,
) -> None:
    state = transaction.realm(exchange.realm)
    principal = principal_of(state, target)
    if verb == "revoke":
        grant.revoke_privileges(transaction, exchange.realm, principal, on, granted)
        return
    check_conflicts(state.system.model, {*granted, *grant.privileges_on(state, principal, on)}, on)
    grant.grant_privileges(transaction, exchange.realm, principal, {on: frozenset(granted)})


def override(exchange: Exchange) -> Reply:
    """Replaces all privileges of a role."""
    target = entity(exchange, "role")
    bodies = read(exchange, Overrides).overrides

    def replace_grants(transaction: WriteTransaction) -> Json:
        state = transaction.realm(exchange.realm)
        grants = grants_of(state, exchange.params["metalake"], bodies)
        grant.replace_grants(transaction, exchange.realm, principal_of(state, target), grants)
        body = updated_document(exchange, transaction, target)
        return role_body(transaction.realm(exchange.realm), target, body)

    details = {"objects": audit_details(bodies)}
    return ok(role=write(exchange, "privilege.replace", target, replace_grants, details=details))


def no_such_object(target: Entity) -> Failure:
    """404: the object does not exist."""
    return no_such("metadata object", f"{target.type} {gravitino.full_name(target)}")


def updated_document(exchange: Exchange, transaction: WriteTransaction, target: Entity) -> Json:
    """The document of a changed object, with an updated audit."""
    body: Json = dict(transaction.store.documents(exchange.realm, [target]).get(target) or {})
    body["audit"] = altered(body.get("audit"), exchange.actor.user, transaction.now)
    transaction.change(exchange.realm, DocumentChanged(target, body))
    return body


_ROOT: Final = METALAKE + "/permissions"
_OBJECT: Final = _ROOT + "/roles/{role}/{type}/{name}"

ROUTES: Final = (
    *(
        Route(
            "PUT",
            f"{_ROOT}/{type}s/{{{type}}}/{verb}",
            f"role.{verb}",
            partial(change_roles, type=type, verb=verb),
        )
        for type in ("user", "group")
        for verb in ("grant", "revoke")
    ),
    *(
        Route(
            "PUT", f"{_OBJECT}/{verb}", f"privilege.{verb}", partial(change_privileges, verb=verb)
        )
        for verb in ("grant", "revoke")
    ),
    Route("PUT", _ROOT + "/roles/{role}", "privilege.replace", override),
)
