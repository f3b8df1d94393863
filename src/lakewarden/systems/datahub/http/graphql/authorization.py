"""The authorization of resolvers: every resolver uses this module.

A resolver names its operation and its target, and does nothing else about authorization:

    allow(call, "policy.list", POLICIES)                    # a read: continues, or raises
    if is_allowed(call, "privileges.explain", POLICIES): …  # a read that shows less otherwise
    found = visible(call, found)                            # entities shown inside another
    return write(call, "policy.create", POLICIES, action)   # a write: `action(transaction)` in it
    return write_all(call, asks, action)                    # a write with several requirements
    return edit(call, action)                               # an edit of pages: `action(edit)`

With policies switched off nothing is checked; even then shipped policies are immutable, and no
tokens are issued for root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.http.guard import Requirement
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.http.guard import DataHubGuard
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed, Switches
from lakewarden.systems.datahub.use_cases.page_edits import Edit

__all__ = ["Requirement"]

T = TypeVar("T")

POLICIES: Final = Entity("dataHubPolicy", "")
"""The type of policies, as the target of privileges on policies in general."""


class _PageGuard(DataHubGuard):
    off = "policies are off"

    def is_on(self, exchange: Exchange) -> bool:
        return exchange.services.of(DataHubSettings).policies

    def forbidden(self, message: str) -> WardenError:
        return Failure(403, message)


GUARD: Final = _PageGuard()


def is_allowed(call: Call, operation: str, target: Entity = NO_RESOURCE) -> bool:
    """Whether the caller may perform the operation, in the state of this request."""
    return GUARD.is_allowed(call.exchange, operation, target)


def is_allowed_if_declared(call: Call, operation: str, target: Entity) -> bool:
    """As `is_allowed`; always False if the operation is not declared for entities of this type."""
    rule = call.state.matrix.operation(operation).rule_or_none(target.type)
    return rule is not None and is_allowed(call, operation, target)


def allow(call: Call, operation: str, target: Entity = NO_RESOURCE) -> None:
    """Raises `Failure` 403 unless the caller may perform the operation."""
    GUARD.allow(call.exchange, operation, target)


def write(
    call: Call,
    operation: str,
    target: Entity,
    action: Callable[[WriteTransaction], T],
    details: Mapping[str, object] | None = None,
) -> T:
    """Runs `action` in one transaction if the caller may in the newest state; returns its result.

    The operation is audited in the same transaction, with `details` (never a secret). A refusal is
    audited too, and raises `Failure` 403. An error in the action rolls everything back.
    """
    return write_all(call, lambda _: (Requirement(operation, target),), action, details)


def write_all(
    call: Call,
    requirements_of: Callable[[WriteTransaction], Sequence[Requirement]],
    action: Callable[[WriteTransaction], T],
    details: Mapping[str, object] | None = None,
) -> T:
    """As `write`, with several requirements: the write is refused if any of them is.

    `requirements_of` returns the requirements, at least one, in order. It runs within the
    transaction and may read the store.
    """

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        required = requirements_of(transaction)
        if not required:
            raise bad("expected something to be changed")
        return required

    return GUARD.write_all(call.exchange, requirements, action, details=details)


def refuse_write(
    call: Call, transaction: WriteTransaction, operation: str, target: Entity, message: str
) -> NotAllowed:
    """Refuses a write that no policy allows: it is audited, and raises 403."""
    state = transaction.realm(call.exchange.realm)
    ask = Requirement(operation, target)
    return NotAllowed(GUARD.question(call.exchange, state, ask, transaction.now), message)


def allowed_entities(call: Call, operation: str, entities: Iterable[Entity]) -> frozenset[Entity]:
    """The entities on which the caller may, in one check; for each as `is_allowed_if_declared`."""
    declared = call.state.matrix.operation(operation)
    governed = [entity for entity in entities if declared.rule_or_none(entity.type) is not None]
    return frozenset(GUARD.allowed_entities(call.exchange, operation, governed))


def edit(call: Call, action: Callable[[Edit], T]) -> T:
    """Runs `action`, and writes its edit in one transaction if all of it is allowed.

    The operations and the changes of the edit are audited with it. A single refusal rejects the
    whole edit, is audited too, and raises `Failure` 403.
    """

    def guarded(transaction: WriteTransaction) -> tuple[T, list[Request]]:
        exchange = call.exchange
        # The other switches apply to REST and to proposals: page edits are always fully guarded.
        page_edit = Edit(
            transaction, exchange.realm, call.actor, Switches(rest=GUARD.is_on(exchange))
        )
        outcome = action(page_edit)
        page_edit.finish()
        reason = GUARD.reason(exchange)
        for request in page_edit.requests:
            own = page_edit.changes(request.target)
            details = (
                {"aspects": own} if own else {"entities": [each.name for each in page_edit.changed]}
            )
            transaction.record(GUARD.event(exchange, request, "allow", reason, details))
        return outcome, page_edit.requests

    outcome, done = GUARD.committed(call.exchange, guarded)
    for request in done:
        call.exchange.count_use(request)
    return outcome


def visible(call: Call, entities: Iterable[Entity]) -> list[Entity]:
    """The entities that are visible to the caller, in order; all without view authorization."""
    return view_authorization.visible(call.exchange, list(entities))


def visible_ids(call: Call, ids: BitMap) -> BitMap:
    """As `visible`, for stored entities by their ids."""
    if not ids or not view_authorization.is_guarded(call.exchange):
        return ids
    everything = call.state.matrix.snapshot.coded.tree.stored
    return ids & call.cached(
        view_authorization.PAGE, lambda: view_authorization.visible_ids(call.exchange, everything)
    )


def granted_privileges(
    state: RealmState, actor: Principal, target: Entity, now: float
) -> list[str]:
    """The privileges of an actor on the target, by name."""
    decide = state.matrix.decide
    return sorted(
        name
        for name, privilege in state.system.model.privileges.items()
        if privilege.grantable and decide(Request(actor, name, target, now)).allow
    )
