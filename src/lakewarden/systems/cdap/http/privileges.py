"""Grants, revokes and lists privileges, in the request formats of both families of releases.

A privilege is held on an entity or on a pattern of names, and compared as text: a grant on a
pattern is only listed and revoked under that pattern. `ALL` stands for every action.
SOURCE: cdap reference 2.10, 3.2, 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, USER, Principal
from lakewarden.kernel.statement import Matching
from lakewarden.names.canonical import check_segment, check_text, lower_word, quoted
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    allow,
    exists,
    question,
    write_all,
)
from lakewarden.systems.cdap.http.bodies import Body, Json, empty_reply, ok, read
from lakewarden.systems.cdap.http.errors import bad, not_found
from lakewarden.systems.cdap.use_cases import pattern_grants
from lakewarden.systems.cdap.use_cases.pattern_grants import Anchor

BASE: Final = "/v3/security/authorization"

KINDS: Final = (USER, GROUP, ROLE)

ALL: Final = "ALL"

MOST_AUDITED: Final = 100
"""The maximum number of names in the audit trail of those who lost something by a revocation."""


class PrincipalBody(Body):
    """A user, group or role."""

    name: str
    type: str


class PrivilegesBody(Body):
    """A grant or revocation, in either format: `authorizable` is the one since release 4.3.

    `permissions`, of release 6, are narrower than the actions that apply if none are given.
    """

    principal: PrincipalBody | None = None
    authorizable: Json | None = None
    entity: Json | None = None
    actions: list[str] | None = None
    permissions: object = None


def grant(exchange: Exchange) -> Reply:
    """Grants a principal actions on an entity or a pattern; without `actions`, all of them."""
    body = _body(exchange)
    anchor, to = _anchor(body), _principal(exchange, body)
    if to is None:
        raise bad("expected a `principal` to grant to")
    state = exchange.realm_state
    actions = _actions(state, body.actions)
    target = _entity_asked(anchor)

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        first = Requirement("privilege.grant", target)
        if isinstance(anchor, Entity) and exists(transaction.realm(exchange.realm), anchor):
            return [first]
        otherwise = not_found(anchor) if isinstance(anchor, Entity) else None
        return [first, Requirement("privilege.grant_ahead", target, otherwise=otherwise)]

    def write_grant(transaction: WriteTransaction) -> None:
        pattern_grants.grant(transaction, exchange.realm, to, anchor, actions)

    write_all(exchange, requirements, write_grant, ahead=True, details=_details(to, actions))
    return empty_reply()


def revoke(exchange: Exchange) -> Reply:
    """Revokes actions on an entity or a pattern from a principal, or all of them from everybody.

    Revoking what nobody holds is no error. A pattern requires the right to grant on it: as a name,
    the text of a pattern is also matched by narrower patterns (`sales.*` by `sales.?`).
    """
    body = _body(exchange)
    anchor, holder = _anchor(body), _principal(exchange, body)
    if holder is None and body.actions is not None:
        raise bad("expected a `principal` from whom to take the `actions`")
    actions = None if body.actions is None else _actions(exchange.realm_state, body.actions)
    every = pattern_grants.grantable(exchange.realm_state.system.model)
    details = dict(_details(holder, every if actions is None else actions))

    def take_grant(transaction: WriteTransaction) -> None:
        taken = pattern_grants.revoke(transaction, exchange.realm, anchor, holder, actions)
        if holder is None:
            details["holders"] = len(taken)
            details["taken_from"] = [_text(one) for one in sorted(taken)[:MOST_AUDITED]]

    target = _entity_asked(anchor)
    requirements = [Requirement("privilege.revoke", target)]
    if isinstance(anchor, Matching):
        requirements.append(Requirement("privilege.grant_ahead", target))
    write_all(exchange, requirements, take_grant, ahead=True, details=details)
    return empty_reply()


def privileges(exchange: Exchange) -> Reply:
    """The privileges of a principal: its own, and those of its groups and roles."""
    principal = principal_of_path(exchange)
    state = allow_about(exchange, "privilege.list", principal)
    held = pattern_grants.grants_of(state, acts_as(exchange, state, principal), exchange.now)
    rows = [
        {"authorizable": cdap.to_authorizable(anchor), "action": action}
        for anchor, action in sorted(
            held, key=lambda holding: (cdap.format_id(holding[0]), holding[1])
        )
    ]
    return ok(rows)


def allow_about(exchange: Exchange, operation: str, principal: Principal) -> RealmState:
    """The realm's state, if the caller may ask this about the principal; about itself always."""
    state = exchange.realm_state
    if principal == exchange.actor.principal(state.realm, state.system):
        return state
    return allow(exchange, operation)


def acts_as(exchange: Exchange, state: RealmState, principal: Principal) -> frozenset[Principal]:
    """The principal with its groups and roles; for the caller, also those in its credentials."""
    request = question(exchange, state, Requirement("privilege.list"), exchange.now)
    groups = request.groups if principal == request.principal else ()
    memberships = state.matrix.snapshot.coded.memberships
    principals = (memberships.principals[id] for id in memberships.acts_as(principal, groups))
    return frozenset(
        {principal, *groups, *(implied for implied in principals if implied.kind != IMPLIED)}
    )


def principal_of_path(exchange: Exchange) -> Principal:
    """The principal of `{kind}` (in any case) and `{name}`; raises `Failure` 400."""
    kind = lower_word(exchange.params["kind"])
    if kind not in KINDS:
        raise bad(f"unknown principal type {quoted(exchange.params['kind'])}; {_EXPECTED}")
    return _principal_of_text(exchange, kind, exchange.params["name"])


def _principal(exchange: Exchange, body: PrivilegesBody) -> Principal | None:
    """The principal in a body, whose type is an enum value."""
    if body.principal is None:
        return None
    kind_name = body.principal.type
    kind = lower_word(kind_name)
    if kind not in KINDS or not kind_name.isupper():
        raise bad(f"unknown principal type {quoted(kind_name)}; {_EXPECTED}")
    return _principal_of_text(exchange, kind, body.principal.name)


_EXPECTED: Final = "expected one of: USER, GROUP, ROLE"


def _principal_of_text(exchange: Exchange, kind: str, name: str) -> Principal:
    check_text(name, "the name of the principal")
    check_segment(name, "the name of the principal")
    return exchange.realm_state.system.spelled(Principal(kind, name))


def _body(exchange: Exchange) -> PrivilegesBody:
    """The requested change; raises `Failure` 400 if only `permissions` narrow it."""
    body = read(exchange, PrivilegesBody)
    if body.permissions and body.actions is None:
        raise bad("`permissions` are not supported; expected `actions`")
    return body


def _anchor(body: PrivilegesBody) -> Anchor:
    """The entity or pattern; raises `Failure` 400, `BadInput`, or `Unknown`."""
    anchors = [body_part for body_part in (body.authorizable, body.entity) if body_part is not None]
    if len(anchors) != 1:
        raise bad("expected one of `authorizable` and `entity`")
    return cdap.from_authorizable(anchors[0])


def _entity_asked(anchor: Anchor) -> Entity:
    """The entity to check: a pattern is checked as the name with the same text."""
    if isinstance(anchor, Matching):
        return Entity(anchor.type, ".".join(anchor.parts))
    return anchor


def _actions(state: RealmState, names: Sequence[str] | None) -> frozenset[str]:
    every = pattern_grants.grantable(state.system.model)
    unknown = [name for name in names or () if name not in every and name != ALL]
    if unknown:
        expected = ", ".join((*sorted(every), ALL))
        raise bad(f"unknown action {quoted(unknown[0])}; expected one of: {expected}")
    return every if names is None or ALL in names else frozenset(names)


def _details(principal: Principal | None, actions: frozenset[str]) -> Mapping[str, object]:
    """The audit details of a grant or revocation: every action, even if none was given."""
    return {
        "principal": "" if principal is None else _text(principal),
        "actions": sorted(actions),
    }


def _text(principal: Principal) -> str:
    return f"{principal.kind}:{principal.name}"


ROUTES: Final[Sequence[Route]] = (
    Route("POST", f"{BASE}/privileges/grant", "privilege.grant", grant),
    Route("POST", f"{BASE}/privileges/revoke", "privilege.revoke", revoke),
    Route(
        "GET",
        f"{BASE}/{{kind}}/{{name}}/privileges",
        "privilege.list",
        privileges,
        encoded_slash=True,
    ),
)
