"""The guard of lakewarden itself: who may use it for what, decided in the realm `_server`.

A caller's rights over lakewarden are those of the person, with the groups of the person's
directory. A credential that is good in one realm alone carries none of them: with it one may
ask about oneself in that realm, and nothing else.
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
    """A privilege that would have to be granted, and where."""

    privilege: str
    object: Entity


@dataclass(frozen=True, slots=True)
class Denied:
    """A no of the control realm, with what the caller may know about it.

    `missing` is one smallest set of grants that would turn it, `may_grant` some of those who
    could grant it. Both are alike for what is hidden and for what is not there.
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
    """The operation on a realm, and its target; for the control realm the ones on rights."""
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
    """The caller as the control realm's statements name the person."""
    if actor.realm is None:
        return Principal(USER, names.person_name(actor.directory, actor.user))
    # Nobody's name begins so: a credential of one realm is nobody here.
    return Principal(USER, f"/{actor.realm}/{actor.directory}/{actor.user}")


def request(state: State, actor: Actor, operation: str, target: Entity, now: float) -> Request:
    """The caller's question to the control realm."""
    return Request(
        principal(actor),
        operation,
        target,
        now,
        attributes={"credential.fits": _fits(state, actor, target)},
        groups=_groups(state, actor),
    )


def _fits(state: State, actor: Actor, target: Entity) -> bool:
    if target.type == "realm":
        stored_realm = state.declared(target.name)
        return stored_realm is not None and actor.is_good_in(stored_realm)
    if target.type == "directory":
        at_home = actor.realm is None and actor.directory == target.name
        return at_home and actor.credential != ANONYMOUS
    return False


def _groups(state: State, actor: Actor) -> tuple[Principal, ...]:
    """The groups that come with the request, and those of a directory that is not `_server`'s."""
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


def may(state: State, actor: Actor, operation: str, target: Entity, now: float) -> bool:
    """Whether the caller may; for reads, which leave no trace in the audit trail."""
    question_request = request(state, actor, operation, target, now)
    return state.realm(CONTROL).matrix.decide(question_request).allow


def denied(state: State, actor: Actor, operation: str, target: Entity, now: float) -> Denied | None:
    """None where the caller may, else the no; for reads."""
    if may(state, actor, operation, target, now):
        return None
    return _denied(state, request(state, actor, operation, target, now), actor)


def refused(
    transaction: WriteTransaction, operation: str, target: Entity, **details: object
) -> Denied | None:
    """None where the writer may, else the no; either is recorded in the write's audit trail."""
    question_request = request(
        transaction.state, transaction.actor, operation, target, transaction.now
    )
    if transaction.allowed(CONTROL, question_request, **details):
        return None
    return _denied(transaction.state, question_request, transaction.actor)


def refused_in(
    transaction: WriteTransaction, operation: str, realm_name: str, **details: object
) -> Denied | None:
    """As `refused`, about a realm; writing in the control realm itself is handing out rights."""
    scoped_operation, target = scoped(operation, realm_name)
    return refused(transaction, scoped_operation, target, **details)


def denied_in(
    state: State, actor: Actor, operation: str, realm_name: str, now: float
) -> Denied | None:
    """As `denied`, about a realm; what the control realm holds are rights."""
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


def is_powerful(state: State, directory_name: str, person: Principal) -> bool:
    """Whether the user or group of a directory has rights over lakewarden, or acts as one that has.

    Rights that everybody has do not count; those that begin only later do.
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
    """The stored users who may hand out rights over lakewarden."""
    return administrators_of(state.realm(CONTROL).matrix, now)


def administrators_of(matrix: Matrix, now: float) -> frozenset[Principal]:
    """As `administrators`, of a matrix of the control realm."""
    return who(matrix, Request(Principal(USER, ""), "grant.put", SERVER, now))


def keep_an_administrator(transaction: WriteTransaction, before: Collection[Principal]) -> None:
    """Raises `Conflict` if there were administrators `before` and now none is left."""
    if before and not administrators(transaction.state, transaction.now):
        raise Conflict("this would leave no user who may grant privileges on lakewarden")
