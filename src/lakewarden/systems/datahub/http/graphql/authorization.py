"""The one place where it is decided whether a resolver may go on.

A resolver names its operation and its target, and nothing else about authorization:

    allow(call, "policy.list", POLICIES)                    # a read: goes on, or raises
    if may(call, "privileges.explain", POLICIES): …         # a read that shows less otherwise
    found = visible(call, found)                            # what is shown inside something else
    return write(call, "policy.create", POLICIES, task)     # a write: `task(transaction)` inside it
    return write_all(call, asks, task)                      # one that asks about several entities
    return edit(call, task)                                 # an edit of pages: `task(edit)`

With policies switched off nothing is asked; what the system ships stays immutable, and no
tokens are made of root, all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.listing import filtered
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.service.audit import AuditEvent
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.http import viewing
from lakewarden.systems.datahub.http.authorization import denied
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad, forbidden
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed, Switches
from lakewarden.systems.datahub.use_cases.page_edits import Edit

T = TypeVar("T")

POLICIES: Final = Entity("dataHubPolicy", "")
"""The type of policies: what rights over policies in general are asked about."""

_OFF: Final = "policies are off"


def may(call: Call, operation: str, target: Entity = NO_RESOURCE) -> bool:
    """Whether the caller may, as far as this request knows."""
    if not call.exchange.services.of(DataHubSettings).policies:
        return True
    return call.state.matrix.decide(_asked(call, call.state, operation, target)).allow


def may_at_all(call: Call, operation: str, target: Entity) -> bool:
    """As `may`; always False where there is no such act for entities of this type."""
    rule = call.state.matrix.operation(operation).rule_or_none(target.type)
    return rule is not None and may(call, operation, target)


def allow(call: Call, operation: str, target: Entity = NO_RESOURCE) -> None:
    """Goes on if the caller may; raises `Failure` 403."""
    if not may(call, operation, target):
        denied(call.exchange, operation, target)
        raise forbidden(operation)
    call.exchange.used(_asked(call, call.state, operation, target))


class Ask(NamedTuple):
    """An operation that a write asks, on a target, with further parts of the request."""

    operation: str
    target: Entity = NO_RESOURCE
    parts: Mapping[str, Any] = {}


def write(
    call: Call,
    operation: str,
    target: Entity,
    task: Callable[[WriteTransaction], T],
    told: Mapping[str, object] | None = None,
) -> T:
    """What `task` returns, done in one transaction if the caller may on the newest state.

    The act is audited with it, `told` as its details (never a secret); a refusal is audited
    too, and raises `Failure` 403. The task's own errors leave nothing behind.
    """
    return write_all(call, lambda _: (Ask(operation, target),), task, told)


def write_all(
    call: Call,
    asks: Callable[[WriteTransaction], Sequence[Ask]],
    task: Callable[[WriteTransaction], T],
    told: Mapping[str, object] | None = None,
) -> T:
    """As `write`, of a write that asks about several entities: one that is refused refuses all.

    `asks` says what is asked, in order, and may read what is stored: it runs within the
    transaction. It names one thing at least.
    """

    def guarded(transaction: WriteTransaction) -> T | Failure:
        done.clear()
        wanted = asks(transaction)
        if not wanted:
            raise bad("expected something to be changed")
        realm, is_on = call.exchange.realm, call.exchange.services.of(DataHubSettings).policies
        done.extend(_request(call, transaction, ask) for ask in wanted)
        # A refusal is recorded alone: what was allowed beside it is not done.
        refused = [one for one in done if is_on and not transaction.decide(realm, one).allow]
        for request in refused[:1] or done:
            if not is_on:
                transaction.record(_unasked(call, request, told or {}))
            elif not transaction.allowed(realm, request, **(told or {})):
                return forbidden(request.operation)
        return task(transaction)

    done: list[Request] = []
    outcome = _written(call, guarded)
    if isinstance(outcome, Failure):
        raise outcome
    for request in done:
        call.exchange.used(request)
    return outcome


def _request(call: Call, transaction: WriteTransaction, ask: Ask) -> Request:
    found = transaction.realm(call.exchange.realm)
    plain = call.exchange.actor.request(
        found.realm, found.system, ask.operation, ask.target, now=transaction.now
    )
    return replace(plain, **ask.parts) if ask.parts else plain


def may_among(call: Call, operation: str, entities: Iterable[Entity]) -> frozenset[Entity]:
    """Those of the entities on which the caller may, asked in one go; as `may_at_all` of each."""
    declared = call.state.matrix.operation(operation)
    found = [one for one in entities if declared.rule_or_none(one.type) is not None]
    if not call.exchange.services.of(DataHubSettings).policies:
        return frozenset(found)
    request = _asked(call, call.state, operation, NO_RESOURCE)
    return frozenset(found[index] for index in filtered(call.state.matrix, request, found))


def edit(call: Call, task: Callable[[Edit], T]) -> T:
    """What `task` returns, its edit written in one transaction if the caller may all of it.

    What the edit asks is audited with it, and what it changed; a refusal refuses all, is
    audited too, and raises `Failure` 403.
    """

    def guarded(transaction: WriteTransaction) -> tuple[T, list[Request]]:
        options = call.exchange.services.of(DataHubSettings)
        # The other switches are those of REST and of proposals: a page is always guarded whole.
        one = Edit(transaction, call.exchange.realm, call.actor, Switches(rest=options.policies))
        outcome = task(one)
        one.finish()
        reason = "allowed" if options.policies else _OFF
        for request in one.asked:
            own = one.changes(request.target)
            told = {"aspects": own} if own else {"entities": [each.name for each in one.changed]}
            transaction.record(_event(call, request, "allow", reason, told))
        return outcome, one.asked

    outcome, done = _written(call, guarded)
    for request in done:
        call.exchange.used(request)
    return outcome


def _written(call: Call, task: Callable[[WriteTransaction], T]) -> T:
    """What `task` returns, done in one write; a refusal undoes it, and is audited by itself."""
    try:
        return call.exchange.write(task)
    except NotAllowed as error:
        refused = error
    event = _event(call, refused.request, "deny", str(refused), {})
    call.exchange.write(lambda transaction: transaction.record(event))
    raise Failure(403, str(refused))


def visible(call: Call, entities: Iterable[Entity]) -> list[Entity]:
    """Those of the entities that the caller is shown, in order: all without view authorization."""
    return viewing.visible(call.exchange, list(entities))


def visible_ids(call: Call, ids: BitMap) -> BitMap:
    """As `visible`, of stored entities by their ids."""
    if not ids or not viewing.is_guarded(call.exchange):
        return ids
    everything = call.state.matrix.snapshot.coded.tree.stored
    return ids & call.kept(viewing.PAGE, lambda: viewing.visible_ids(call.exchange, everything))


def granted(state: RealmState, actor: Principal, target: Entity, now: float) -> list[str]:
    """The privileges that an actor has been granted on the target, by name."""
    decide = state.matrix.decide
    return sorted(
        name
        for name, privilege in state.system.model.privileges.items()
        if privilege.grantable and decide(Request(actor, name, target, now)).allow
    )


def _asked(call: Call, state: RealmState, operation: str, target: Entity) -> Request:
    exchange = call.exchange
    return exchange.actor.request(state.realm, state.system, operation, target, now=exchange.now)


def _unasked(call: Call, request: Request, told: Mapping[str, object]) -> AuditEvent:
    """The record of an act for which nobody was asked."""
    return _event(call, request, "allow", _OFF, told)


def _event(
    call: Call, request: Request, outcome: str, reason: str, told: Mapping[str, object]
) -> AuditEvent:
    actor, target = call.exchange.actor, request.target
    return AuditEvent(
        time=request.now,
        actor=actor.user,
        operation=request.operation,
        target=f"{target.type}:{target.name}".strip(":"),
        outcome=outcome,
        reason=reason,
        realm=call.exchange.realm,
        wire=actor.wire,
        request_id=actor.request_id,
        details={"credential": actor.credential, **told},
    )
