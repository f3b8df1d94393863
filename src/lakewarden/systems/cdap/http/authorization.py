"""The one place where it is decided whether a handler may act.

A handler names its operation and its target, and nothing else about authorization:

    state = allow(exchange, "dataset.get", dataset)            # a read: goes on, or raises
    return write(exchange, "dataset.drop", dataset, task)      # a write: `task` in its transaction
    return write_all(exchange, asks, task)                     # one that asks several questions
    found = listed(exchange, "dataset.list", namespace)        # a list: asks, then filters
    found = visible(exchange, "namespace.search", hits)        # a list of things found elsewhere

`parts` are the further parts of the question, by the names of `kernel.request.Request`:
`targets={"artifact": artifact}`.

Order of the checks: the rule (403), then existence (404). A name that is not stored is judged by
what it says, so whoever is refused learns nothing from it. `missing` makes the failure for a
target that is not there (`not_found` unless given); with None the target need not exist, only
what is above it must, and `ahead` of it not even that. The namespaces `default` and `system` are
always there.

Where `security.enabled` or `security.authorization.enabled` is off nothing is asked and lists
are whole.
SOURCE: cdap reference 2 (K16), 3.3, 4.2; texts of refusals: `refusals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.listing import filtered, listing
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.service.audit import AuditEvent
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import refusals
from lakewarden.systems.cdap.http.errors import Failure, not_found
from lakewarden.systems.cdap.http.ids import DEFAULT, SYSTEM
from lakewarden.systems.cdap.settings import CdapSettings

T = TypeVar("T")

Missing = Callable[[Entity], Failure]


class Ask(NamedTuple):
    """A question of a write: an operation on a target, with further parts.

    `who`: whose question it is, where it is not the caller's own (an effective owner's).
    `otherwise`: what a no is answered with, where that is not 403.
    """

    operation: str
    target: Entity = NO_RESOURCE
    parts: Mapping[str, Any] = {}
    who: Principal | None = None
    otherwise: Failure | None = None


Asks = Sequence[Ask] | Callable[[WriteTransaction], Sequence[Ask]]
"""Questions, or what tells them once it is known what is stored."""


def allow(
    exchange: Exchange,
    operation: str,
    target: Entity = NO_RESOURCE,
    *,
    missing: Missing | None = not_found,
    **parts: Any,
) -> RealmState:
    """The realm's state, if the caller may; raises `Failure` 403 or 404."""
    state = exchange.realm_state
    request = asked(exchange, state, Ask(operation, target, parts), exchange.now)
    refused = refusal(exchange, state, request)
    if refused is not None:
        exchange.denied(event(exchange, request, "deny", refused.message))
        raise refused
    require(state, target, missing)
    exchange.used(request)
    return state


def may(exchange: Exchange, operation: str, target: Entity = NO_RESOURCE, **parts: Any) -> bool:
    """Whether the caller may, where the answer only says less to who may not."""
    state = exchange.realm_state
    request = asked(exchange, state, Ask(operation, target, parts), exchange.now)
    return not is_on(exchange) or state.matrix.decide(request).allow


def write(
    exchange: Exchange,
    operation: str,
    target: Entity,
    task: Callable[[WriteTransaction], T],
    *,
    missing: Missing | None = not_found,
    ahead: bool = False,
    told: Mapping[str, object] | None = None,
    **parts: Any,
) -> T:
    """What `task` returns, done in one transaction if the caller may.

    The act is audited with it, `told` as its details (never a secret); a refusal is audited
    too, and raises `Failure` 403. The task's own errors, and 404 as with `allow`, leave nothing
    behind.
    """
    ask = Ask(operation, target, parts)
    return write_all(exchange, [ask], task, missing=missing, ahead=ahead, told=told)


def write_all(
    exchange: Exchange,
    asks: Asks,
    task: Callable[[WriteTransaction], T],
    *,
    missing: Missing | None = not_found,
    ahead: bool = False,
    told: Mapping[str, object] | None = None,
) -> T:
    """As `write`, where all of several questions must be answered with yes.

    The first one is what is done; `missing` is about its target alone.
    """

    def guarded(transaction: WriteTransaction) -> T | Failure:
        questions = asks(transaction) if callable(asks) else asks
        state = transaction.realm(exchange.realm)
        requests = [asked(exchange, state, ask, transaction.now) for ask in questions]
        for ask, request in zip(questions, requests, strict=True):
            refused = refusal(exchange, state, request)
            if refused is not None:
                transaction.record(event(exchange, request, "deny", refused.message, told))
                return ask.otherwise or refused
        if not ahead:
            require(state, requests[0].target, missing)
        for request in requests:
            transaction.record(event(exchange, request, "allow", _reason(exchange), told))
        done[:] = requests
        return task(transaction)

    done: list[Request] = []
    outcome = exchange.write(guarded)
    if isinstance(outcome, Failure):
        raise outcome
    for request in done:
        exchange.used(request)
    return outcome


def listed(exchange: Exchange, operation: str, within: Entity) -> list[Entity]:
    """What the caller is shown in a namespace or application, by name; raises as `allow` does."""
    state = allow(exchange, operation, within)
    return shown(exchange, state, operation, within)


def shown(
    exchange: Exchange, state: RealmState, operation: str, within: Entity | None
) -> list[Entity]:
    """What the operation's filter shows, where the operation itself has been asked already."""
    filter = filter_of(state, operation)
    if is_on(exchange):
        question = asked(exchange, state, Ask(filter), exchange.now)
        ids = listing(state.matrix, question, within)
    else:
        ids = _all(state, filter, within)
    tree = state.matrix.snapshot.coded.tree
    return sorted(tree.entity(id) for id in ids)


def visible(exchange: Exchange, operation: str, entities: Iterable[Entity]) -> list[Entity]:
    """Those of the entities that the operation's filter shows to the caller, in order.

    `operation` is the one that lists.
    """
    return passing(exchange, filter_of(exchange.realm_state, operation), entities)


def passing(exchange: Exchange, operation: str, entities: Iterable[Entity]) -> list[Entity]:
    """Those of the entities on which the caller may do the operation, in order."""
    found = list(entities)
    if not is_on(exchange) or not found:
        return found
    state = exchange.realm_state
    question = asked(exchange, state, Ask(operation), exchange.now)
    return [found[index] for index in filtered(state.matrix, question, found)]


def asked(exchange: Exchange, state: RealmState, ask: Ask, now: float) -> Request:
    """The question."""
    plain = exchange.actor.request(state.realm, state.system, ask.operation, ask.target, now=now)
    if ask.who is not None:
        plain = Request(ask.who, ask.operation, ask.target, now)
    return replace(plain, **ask.parts) if ask.parts else plain


def refusal(exchange: Exchange, state: RealmState, request: Request) -> Failure | None:
    """The 403 that the question is answered with; None: go on."""
    if not is_on(exchange) or state.matrix.decide(request).allow:
        return None
    return refusals.denied(state.matrix, request)


def is_on(exchange: Exchange) -> bool:
    """Whether anything is asked at all."""
    options = exchange.services.of(CdapSettings)
    return options.is_guarded


def require(state: RealmState, target: Entity, missing: Missing | None = not_found) -> None:
    """Raises `Failure` 404 where the target, or something above it, is not there."""
    if target == NO_RESOURCE or target.type not in _STORED:
        return
    chain = [target]
    while (above := cdap.parent(chain[-1])) is not None:
        chain.append(above)
    for entity in reversed(chain):
        if not is_stored(state, entity):
            if entity != target:
                raise not_found(entity)
            if missing is not None:
                raise missing(entity)


_STORED = frozenset(cdap.TYPES) - {"instance", "kerberosprincipal", "system_service"}
"""The types whose entities are there only if they were created."""


def is_stored(state: RealmState, entity: Entity) -> bool:
    """Whether there is such an entity."""
    return entity in (DEFAULT, SYSTEM) or state.matrix.snapshot.coded.is_known(entity)


def contents(state: RealmState, within: Entity, types: Iterable[str] | None = None) -> list[Entity]:
    """All that is stored in a namespace or application, whoever asks, by type and name."""
    snapshot = state.matrix.snapshot
    tree = snapshot.coded.tree
    id = tree.find(within)
    if id is None:
        return []
    below = (tree.subtree(id) & tree.stored) - BitMap([id])
    if types is not None:
        below &= BitMap.union(BitMap(), *(snapshot.of_type(type) for type in types))
    return sorted(tree.entity(other) for other in below)


def filter_of(state: RealmState, operation: str) -> str:
    """The operation that each entity of a list, or of a deletion of several, must pass."""
    filter = state.matrix.operation(operation).filter
    if filter is None:
        raise BadInput(f"`{operation}` lists nothing")
    return filter


def _all(state: RealmState, filter: str, within: Entity | None) -> BitMap:
    """All stored entities of the filter's types within the container."""
    snapshot = state.matrix.snapshot
    kinds = state.matrix.operation(filter).rules
    ids = BitMap.union(BitMap(), *(snapshot.of_type(kind) for kind in kinds))
    if within is None:
        return ids
    id = snapshot.coded.tree.find(within)
    return BitMap() if id is None else (ids & snapshot.coded.tree.subtree(id)) - BitMap([id])


def _reason(exchange: Exchange) -> str:
    return "allowed" if is_on(exchange) else "authorization is off"


def event(
    exchange: Exchange,
    request: Request,
    outcome: str,
    reason: str,
    told: Mapping[str, object] | None = None,
) -> AuditEvent:
    """What the audit trail says of a question and its answer."""
    details: dict[str, object] = {"credential": exchange.actor.credential, **(told or {})}
    own = exchange.actor.principal(exchange.realm_state.realm, exchange.realm_state.system)
    if request.principal != own:
        details["as"] = request.principal.name
    target = request.target
    return AuditEvent(
        time=request.now,
        actor=exchange.actor.user,
        operation=request.operation,
        target="" if target == NO_RESOURCE else f"{target.type}:{target.name}",
        outcome=outcome,
        reason=reason,
        realm=exchange.realm,
        wire=exchange.actor.wire,
        request_id=exchange.actor.request_id,
        details=details,
    )
