"""Roles of the realm: created, dropped, granted and revoked.

SOURCE: cdap reference 2.10, 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.change import MembershipChanged, PrincipalChanged
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.names.canonical import MAX_USER_CHARACTERS, check_identifier
from lakewarden.service.grant import removal_changes
from lakewarden.service.role import role_memberships
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import Json, empty_reply, ok
from lakewarden.systems.cdap.http.errors import bad, exists, not_found
from lakewarden.systems.cdap.http.privileges import BASE, acts_as, allow_about, principal_of_path


def create(exchange: Exchange) -> Reply:
    """Creates a role, which nobody holds yet."""
    role = _role(exchange)
    check_identifier(role.name, label="the name of the role", limit=MAX_USER_CHARACTERS)

    def create_role(transaction: WriteTransaction) -> None:
        if is_known(transaction.realm(exchange.realm), role):
            raise exists(_id(role))
        transaction.change(exchange.realm, PrincipalChanged(role, True))

    write(exchange, "role.create", NO_RESOURCE, create_role, details={"role": role.name})
    return empty_reply()


def drop(exchange: Exchange) -> Reply:
    """Drops a role with its memberships and its grants."""
    role = _role(exchange)

    def drop_role(transaction: WriteTransaction) -> None:
        state = _require(transaction, exchange, role)
        transaction.change(
            exchange.realm,
            *(MembershipChanged(row, False) for row in role_memberships(state, role)),
            *removal_changes(state, frozenset({role})),
            PrincipalChanged(role, False),
        )

    write(exchange, "role.drop", NO_RESOURCE, drop_role, details={"role": role.name})
    return empty_reply()


def roles(exchange: Exchange) -> Reply:
    """All roles."""
    state = allow(exchange, "role.list")
    memberships = state.matrix.snapshot.coded.memberships
    return ok(_role_bodies(memberships.principals[id] for id in memberships.stored))


def roles_of(exchange: Exchange) -> Reply:
    """The roles of a principal, its own or those of its groups."""
    principal = principal_of_path(exchange)
    state = allow_about(exchange, "role.list", principal)
    return ok(_role_bodies(acts_as(exchange, state, principal) - {principal}))


def add(exchange: Exchange) -> Reply:
    """Grants a role to a user or group."""
    return _set_role(exchange, "role.add", True)


def remove(exchange: Exchange) -> Reply:
    """Revokes a role from a user or group; does nothing if it does not hold the role."""
    return _set_role(exchange, "role.remove", False)


def _set_role(exchange: Exchange, operation: str, present: bool) -> Reply:
    role, holder = _role(exchange), principal_of_path(exchange)
    if holder.kind == ROLE:
        raise bad("a role is held by users and groups only")

    def change_membership(transaction: WriteTransaction) -> None:
        state = _require(transaction, exchange, role)
        row = MembershipRow(holder, role)
        if (row in state.own.memberships) is not present:
            transaction.change(exchange.realm, MembershipChanged(row, present))

    details = {"role": role.name, "holder": f"{holder.kind}:{holder.name}"}
    write(exchange, operation, NO_RESOURCE, change_membership, details=details)
    return empty_reply()


def is_known(state: RealmState, role: Principal) -> bool:
    """Whether the role exists."""
    memberships = state.matrix.snapshot.coded.memberships
    return memberships.ids.get(role) in memberships.stored


def _require(transaction: WriteTransaction, exchange: Exchange, role: Principal) -> RealmState:
    state = transaction.realm(exchange.realm)
    if not is_known(state, role):
        raise not_found(_id(role))
    return state


def _role(exchange: Exchange) -> Principal:
    return Principal(ROLE, exchange.params["role"])


def _id(role: Principal) -> str:
    return f"role:{role.name}"


def _role_bodies(principals: Iterable[Principal]) -> list[Json]:
    names = sorted(principal.name for principal in principals if principal.kind == ROLE)
    return [{"name": name, "type": "ROLE"} for name in names]


ROUTES: Final[Sequence[Route]] = (
    Route("GET", f"{BASE}/roles", "role.list", roles),
    Route("PUT", f"{BASE}/roles/{{role}}", "role.create", create, encoded_slash=True),
    Route("DELETE", f"{BASE}/roles/{{role}}", "role.drop", drop, encoded_slash=True),
    Route("GET", f"{BASE}/{{kind}}/{{name}}/roles", "role.list", roles_of, encoded_slash=True),
    Route("PUT", f"{BASE}/{{kind}}/{{name}}/roles/{{role}}", "role.add", add, encoded_slash=True),
    Route(
        *("DELETE", f"{BASE}/{{kind}}/{{name}}/roles/{{role}}", "role.remove", remove),
        encoded_slash=True,
    ),
)
