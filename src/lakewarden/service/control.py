"""The access control of lakewarden itself, decided in the realm `_server`.

A caller's rights over lakewarden are those of the person, with the groups of the person's
directory. A credential that is valid in only one realm carries none of them: it only allows
questions about oneself in that realm.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.kernel.explain import explain
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.who import who
from lakewarden.names import control as names
from lakewarden.service.actor import ANONYMOUS, Actor
from lakewarden.service.realm import CONTROL
from lakewarden.service.state import People, State
from lakewarden.service.write_transaction import WriteTransaction

SERVER = names.SERVER
"""The server as an entity of the control realm."""

_EVERYBODY = frozenset({ALL_USERS, ANY_GROUP})
_GRANTORS = 5
_WRITES = frozenset(
    {
        "entity.drop",
        "entity.put",
        "link.put",
        "link.remove",
        "lookup.put",
        "lookup.remove",
        "membership.add",
        "membership.remove",
        "person.add",
        "person.remove",
        "push.apply",
        "push_target.put",
        "push_target.remove",
        "realm.alter",
        "realm.apply",
        "realm.drop",
        "realm.import",
        "statement.put",
    }
)
_READS = frozenset(
    {
        "entity.list",
        "entity.load",
        "link.list",
        "lookup.list",
        "membership.list",
        "person.list",
        "push.drift",
        "push.plan",
        "push_target.list",
        "realm.export",
        "realm.lint",
        "realm.plan",
        "statement.list",
        "usage.read",
    }
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing privilege, and the entity on which it is required."""

    privilege: str
    object: Entity


@dataclass(frozen=True, slots=True)
class Denied:
    """A denial by the control realm, with what the caller may know about it.

    `missing` is a smallest set of grants that would allow it, `may_grant` some of the principals
    who could grant it. Both are the same for hidden and for missing entities.
    """

    operation: str
    object: Entity
    missing: tuple[Missing, ...] = ()
    may_grant: tuple[str, ...] = ()


def directory(name: str) -> Entity:
    """The directory as an entity of the control realm; raises `BadInput`."""
    return names.parse("directory", name)


def realm(name: str) -> Entity:
    """The realm as an entity of the control realm; raises `BadInput`."""
    return names.parse("realm", name)


def scoped(operation: str, realm_name: str) -> tuple[str, Entity]:
    """The operation on a realm, and its target; for the control realm the operation on rights."""
    if realm_name != CONTROL:
        return operation, realm(realm_name)
    if operation in _WRITES:
        return "grant.put", SERVER
    if operation == "statement.remove":
        return "grant.remove", SERVER
    if operation in _READS:
        return "grant.list", SERVER
    return operation, realm(realm_name)


def principal(actor: Actor) -> Principal:
    """The caller in the spelling of the control realm's statements."""
    if actor.realm is None:
        return Principal(USER, names.person_name(actor.directory, actor.user))
    # No user's name begins like this: a credential of one realm has no identity here.
    return Principal(USER, f"/{actor.realm}/{actor.directory}/{actor.user}")


def request(state: State, actor: Actor, operation: str, target: Entity, now: float) -> Request:
    """The caller's own request to the control realm."""
    return Request(
        principal(actor),
        operation,
        target,
        now,
        attributes={"credential.fits": _has_credential_for(state, actor, target)},
        groups=_groups(state, actor),
    )


def _has_credential_for(state: State, actor: Actor, target: Entity) -> bool:
    if target.type == "realm":
        stored_realm = state.declared(target.name)
        return stored_realm is not None and actor.is_valid_in(stored_realm)
    if target.type == "directory":
        at_home = actor.realm is None and actor.directory == target.name
        return at_home and actor.credential != ANONYMOUS
    return False


def _groups(state: State, actor: Actor) -> tuple[Principal, ...]:
    """The groups in the request, and those of a directory other than that of `_server`."""
    if actor.realm is not None:
        return ()
    groups = set(actor.groups)
    control = state.realms.get(CONTROL)
    if control is None or control.realm.directory != actor.directory:
        groups |= _stored_groups(state, actor.directory, Principal(USER, actor.user))
    called = (names.person_name(actor.directory, name) for name in sorted(groups))
    return tuple(Principal(GROUP, name) for name in called)


def _stored_groups(state: State, directory_name: str, start: Principal) -> set[str]:
    of: dict[Principal, list[Principal]] = {}
    for row in state.people.get(directory_name, People()).memberships:
        of.setdefault(row.member, []).append(row.of)
    reached, todo = {start}, [start]
    while todo:
        new = set(of.get(todo.pop(), ())) - reached
        reached |= new
        todo += new
    return {principal.name for principal in reached if principal.kind == GROUP}


def is_allowed(state: State, actor: Actor, operation: str, target: Entity, now: float) -> bool:
    """Whether the caller is allowed; for reads, which leave no trace in the audit trail."""
    question_request = request(state, actor, operation, target, now)
    return state.realm(CONTROL).matrix.decide(question_request).allow


def denied(state: State, actor: Actor, operation: str, target: Entity, now: float) -> Denied | None:
    """None if the caller is allowed, else the denial; for reads."""
    if is_allowed(state, actor, operation, target, now):
        return None
    return _denied(state, request(state, actor, operation, target, now), actor)


def authorize(
    transaction: WriteTransaction, operation: str, target: Entity, **details: object
) -> Denied | None:
    """None if the writer is allowed, else the denial; the write's audit trail records both."""
    question_request = request(
        transaction.state, transaction.actor, operation, target, transaction.now
    )
    if transaction.allowed(CONTROL, question_request, **details):
        return None
    return _denied(transaction.state, question_request, transaction.actor)


def authorize_in_realm(
    transaction: WriteTransaction, operation: str, realm_name: str, **details: object
) -> Denied | None:
    """Like `authorize`, for a realm; writes to the control realm count as granting rights."""
    scoped_operation, target = scoped(operation, realm_name)
    return authorize(transaction, scoped_operation, target, **details)


def denied_in(
    state: State, actor: Actor, operation: str, realm_name: str, now: float
) -> Denied | None:
    """Like `denied`, for a realm; the contents of the control realm are rights."""
    scoped_operation, target = scoped(operation, realm_name)
    return denied(state, actor, scoped_operation, target, now)


def _denied(state: State, question_request: Request, actor: Actor) -> Denied:
    ways = explain(state.realm(CONTROL).matrix, question_request).ways
    if not ways:
        return Denied(question_request.operation, question_request.target)
    missing = tuple(Missing(need.privilege, need.entity) for need in ways[0].needs)
    grantors = [names_of_grantors for names_of_grantors in ways[0].grantors if names_of_grantors]
    is_of_directory = (
        state.realm(CONTROL).realm.directory == actor.directory and actor.realm is None
    )
    names_shown = grantors[0][:_GRANTORS] if grantors and is_of_directory else ()
    if actor.credential == ANONYMOUS:
        names_shown = ()
    return Denied(
        question_request.operation,
        question_request.target,
        missing,
        tuple(p.name for p in names_shown),
    )


def has_control_rights(state: State, directory_name: str, person: Principal) -> bool:
    """Whether the user or group of a directory has rights over lakewarden, directly or indirectly.

    Rights of all users do not count; rights whose validity has not begun do.
    """
    control = state.realm(CONTROL)
    memberships = control.matrix.snapshot.coded.memberships
    groups = _stored_groups(state, directory_name, person)
    own = Principal(person.kind, names.person_name(directory_name, person.name))
    extra = [Principal(GROUP, names.person_name(directory_name, name)) for name in groups]
    acts_as = {memberships.principals[id] for id in memberships.acts_as(own, extra)} | {own, *extra}
    return any(
        statement.effect is Effect.ALLOW and statement.principals & (acts_as - _EVERYBODY)
        for statement in control.matrix.snapshot.table.statements.values()
    )


def administrators(state: State, now: float) -> frozenset[Principal]:
    """The stored users who may grant rights over lakewarden."""
    return administrators_of(state.realm(CONTROL).matrix, now)


def administrators_of(matrix: Matrix, now: float) -> frozenset[Principal]:
    """Like `administrators`, for a matrix of the control realm."""
    return who(matrix, Request(Principal(USER, ""), "grant.put", SERVER, now))


def require_administrator(transaction: WriteTransaction, before: Collection[Principal]) -> None:
    """Raises `Conflict` if there were administrators `before`, and none remains."""
    if before and not administrators(transaction.state, transaction.now):
        raise Conflict("this would leave no user who may grant privileges on lakewarden")
