"""The one place where it is decided whether a handler may act.

A handler names its operation and its target, and nothing else about authorization:

    state = allow(exchange, "table.load", table)              # a read: goes on, or raises
    return write(exchange, "table.alter", table, task)        # a write: `task` in its transaction
    tables = listed(exchange, "table.list", schema)           # a list: asks, then filters
    tags = visible(exchange, "object.tags.list", found)       # a list of things found elsewhere

`parts` are the further parts of the question, by the names of `kernel.request.Request`:
`targets={"tag": tag}`, `lists={"tags": (…,)}`. The caller's active roles are added here.

Order of the checks (gravitino reference 2.1 and 4.4): membership of the metalake and the
operation's rule (403), then a disabled metalake or catalog (409), then existence (404). So
nobody learns from a 404 about what they could not have loaded: for a name that is not stored
the rule is asked as if an object without any grants of its own had that name, and only whoever
passes it is told that there is none.

`missing` makes the failure for a target that is not there (`no_such_entity` unless given);
with None the target need not exist, only what is above it must: for drops, which answer
`dropped: false`.

With `gravitino.authorization.enable=false` nothing is asked and lists are whole; with the
pass-through authorizer only membership is asked, in mode `next` not even that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.listing import filtered, listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Reason, Request
from lakewarden.service.audit import AuditEvent
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import refusals
from lakewarden.systems.gravitino.http.active_roles import active_roles
from lakewarden.systems.gravitino.http.errors import Failure, no_such_entity, not_in_use
from lakewarden.systems.gravitino.settings import GravitinoSettings

T = TypeVar("T")

Missing = Callable[[Entity], Failure]

_IN_SPITE = {
    "metalake.load": "metalake",
    "metalake.set": "metalake",
    "metalake.drop": "metalake",
    "user.load": "metalake",
    "catalog.load": "catalog",
    "catalog.set": "catalog",
    "catalog.drop": "catalog",
}
"""Operations that go on in spite of a disabled target, or metalake, of this type."""

# Who is authenticated, is: nothing of a metalake is shown.
_MEMBERSHIP = "metalake.load"


def allow(
    exchange: Exchange,
    operation: str,
    target: Entity = NO_RESOURCE,
    *,
    missing: Missing | None = no_such_entity,
    **parts: Any,
) -> RealmState:
    """The realm's state, if the caller may; raises `Failure` 403, 409 or 404."""
    state = exchange.realm_state
    request = asked(exchange, state, operation, target, exchange.now, **parts)
    refused = refusal(exchange, state, request)
    if refused is not None:
        exchange.denied(_event(exchange, request, "deny", refused.message, None))
        raise refused
    require(state, operation, target, missing)
    exchange.used(request)
    return state


def write(
    exchange: Exchange,
    operation: str,
    target: Entity,
    task: Callable[[WriteTransaction], T],
    *,
    missing: Missing | None = no_such_entity,
    told: Mapping[str, object] | None = None,
    **parts: Any,
) -> T:
    """What `task` returns, done in one transaction if the caller may.

    The act is audited with it, `told` as its details (never a secret); a refusal is audited
    too, and raises `Failure` 403. The task's
    own errors, and 409 and 404 as with `allow`, leave nothing behind.
    """

    def guarded(transaction: WriteTransaction) -> T | Failure:
        state = transaction.realm(exchange.realm)
        request = asked(exchange, state, operation, target, transaction.now, **parts)
        refused = refusal(exchange, state, request)
        if refused is not None:
            transaction.record(_event(exchange, request, "deny", refused.message, told))
            return refused
        require(state, operation, target, missing)
        transaction.record(_event(exchange, request, "allow", "", told))
        done[:] = [request]
        return task(transaction)

    done: list[Request] = []
    outcome = exchange.write(guarded)
    if isinstance(outcome, Failure):
        raise outcome
    exchange.used(done[-1])
    return outcome


def listed(exchange: Exchange, operation: str, container: Entity = NO_RESOURCE) -> list[Entity]:
    """What the caller is shown in a container, by type and name; raises as `allow` does."""
    state = allow(exchange, operation, container)
    tree = state.matrix.snapshot.coded.tree
    return sorted(tree.entity(id) for id in shown(exchange, state, operation, container))


def shown(
    exchange: Exchange, state: RealmState, operation: str, container: Entity = NO_RESOURCE
) -> BitMap:
    """The ids behind `listed`, where the operation itself has been asked already."""
    filter = _filter(state.matrix, operation)
    within = None if container == NO_RESOURCE else container
    if _unfiltered(exchange, state, filter):
        return _all(state.matrix, filter, within)
    request = asked(exchange, state, filter, NO_RESOURCE, exchange.now, about=within)
    return listing(state.matrix, request, within)


def visible(
    exchange: Exchange,
    operation: str,
    entities: Iterable[Entity],
    within: Entity | None = None,
    **parts: Any,
) -> list[Entity]:
    """Those of the entities that the operation's filter shows to the caller, in order.

    `operation` is the one that lists. `within` names the metalake whose roles may be active.
    """
    state = exchange.realm_state
    found: Sequence[Entity] = list(entities)
    filter = _filter(state.matrix, operation)
    if _unfiltered(exchange, state, filter) or not found:
        return list(found)
    about = found[0] if within is None else within
    request = asked(exchange, state, filter, NO_RESOURCE, exchange.now, about=about, **parts)
    return [found[index] for index in filtered(state.matrix, request, found)]


def asked(
    exchange: Exchange,
    state: RealmState,
    operation: str,
    target: Entity,
    now: float,
    *,
    about: Entity | None = None,
    **parts: Any,
) -> Request:
    """The question, with the roles that the caller has chosen to be active, if any.

    `about` is what tells the metalake where the target does not.
    """
    place = target if about is None else about
    metalake = "" if place == NO_RESOURCE else gravitino.metalake(place)
    plain = exchange.actor.request(state.realm, state.system, operation, target, now=now)
    roles = active_roles(exchange, metalake) if metalake else None
    return replace(plain, roles=roles, **parts) if parts or roles is not None else plain


def refusal(exchange: Exchange, state: RealmState, request: Request) -> Failure | None:
    """The 403 that the question is answered with; None: go on."""
    options = exchange.services.of(GravitinoSettings)
    if not options.enable:
        return None
    if options.pass_through:
        if request.target == NO_RESOURCE or is_next(state):
            return None
        metalake = Entity("metalake", gravitino.metalake(request.target))
        reason = reason_of(state.matrix, _about(request, _MEMBERSHIP, metalake))
    else:
        reason = reason_of(state.matrix, request)
    return None if reason is Reason.ALLOWED else _forbidden(state, request, reason)


def reason_of(matrix: Matrix, request: Request) -> Reason:
    """The decision's reason; `ALLOWED` also where only the target is missing."""
    reason = matrix.decide(request).reason
    if reason is not Reason.NOT_STORED:
        return reason
    subject, operation = matrix.subject(request), matrix.operation(request.operation)
    if request.roles is not None and not request.roles <= subject.named:
        return Reason.ROLE_NOT_HELD
    place = matrix.snapshot.place(request.target)
    as_if = matrix.walk(operation, subject, request, place)
    return Reason.ALLOWED if as_if else Reason.DENIED


def _about(request: Request, operation: str, target: Entity) -> Request:
    """The same caller's question about something else."""
    return Request(request.principal, operation, target, request.now, groups=request.groups)


def _forbidden(state: RealmState, request: Request, reason: Reason) -> Failure:
    if request.target == NO_RESOURCE:
        return refusals.denied(state, request, reason, is_member=True)
    metalake = Entity("metalake", gravitino.metalake(request.target))
    member = _about(request, _MEMBERSHIP, metalake)
    is_member = state.matrix.decide(member).allow
    return refusals.denied(state, request, reason, is_member=is_member)


def require(
    state: RealmState, operation: str, target: Entity, missing: Missing | None = no_such_entity
) -> None:
    """Raises `Failure` 409 where something above is disabled, 404 where something is missing."""
    if target == NO_RESOURCE:
        return
    coded = state.matrix.snapshot.coded
    chain: list[Entity] = [target]
    while (above := gravitino.parent(chain[-1])) is not None:
        chain.append(above)
    for entity in reversed(chain):
        if not coded.is_known(entity):
            if entity != target:
                raise no_such_entity(entity)
            if missing is not None:
                raise missing(entity)
        elif is_disabled(state, entity) and _IN_SPITE.get(operation) != entity.type:
            raise not_in_use(entity.type, gravitino.full_name(entity))


def is_disabled(state: RealmState, entity: Entity) -> bool:
    """Whether a metalake or catalog was disabled."""
    if entity.type not in ("metalake", "catalog"):
        return False
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(entity)
    return id is not None and coded.attributes.get(id, {}).get(gravitino.IN_USE) == ("false",)


def is_stored(state: RealmState, entity: Entity) -> bool:
    """Whether there is such an entity."""
    return state.matrix.snapshot.coded.is_known(entity)


def is_next(state: RealmState) -> bool:
    """Whether the realm follows the newest source (`gravitino.mode = "next"`)."""
    return state.system.model.settings.get("mode") == "next"


def entity(exchange: Exchange, type: str) -> Entity:
    """The entity that the parameters of the path name: `{metalake}`, `{catalog}`, …, `{type}`.

    Raises `BadInput` for what is not a name.
    """
    params = exchange.params
    if type == "metalake":
        return gravitino.entity(params["metalake"], type, params["metalake"])
    labels = _LEVELS.get(type, (type,))
    full = ".".join(params[label] for label in labels)
    return gravitino.entity(params["metalake"], type, full)


def metadata_object(exchange: Exchange) -> Entity:
    """The entity that `{type}` (in any case) and `{name}` of the path name."""
    params = exchange.params
    return gravitino.entity(params["metalake"], params["type"], params["name"])


_LEVELS = {
    "catalog": ("catalog",),
    "schema": ("catalog", "schema"),
    **{
        leaf: ("catalog", "schema", leaf)
        for leaf in ("table", "topic", "fileset", "model", "view", "function")
    },
}


def _filter(matrix: Matrix, operation: str) -> str:
    filter = matrix.operation(operation).filter
    if filter is None:
        raise BadInput(f"`{operation}` lists nothing")
    return filter


def _unfiltered(exchange: Exchange, state: RealmState, filter: str) -> bool:
    options = exchange.services.of(GravitinoSettings)
    if not options.enable:
        return True
    if not options.pass_through:
        return False
    return filter != _MEMBERSHIP or is_next(state)


def _all(matrix: Matrix, filter: str, within: Entity | None) -> BitMap:
    """All stored entities of the filter's types within the container."""
    snapshot = matrix.snapshot
    kinds = matrix.operation(filter).rules
    ids = BitMap.union(BitMap(), *(snapshot.of_type(kind) for kind in kinds))
    if within is None:
        return ids
    id = snapshot.coded.tree.find(within)
    return BitMap() if id is None else (ids & snapshot.coded.tree.subtree(id)) - BitMap([id])


def _event(
    exchange: Exchange,
    request: Request,
    outcome: str,
    reason: str,
    told: Mapping[str, object] | None,
) -> AuditEvent:
    target = request.target
    return AuditEvent(
        time=request.now,
        actor=exchange.actor.user,
        operation=request.operation,
        target="" if target == NO_RESOURCE else f"{target.type}:{target.name}",
        outcome=outcome,
        reason=reason or "allowed",
        realm=exchange.realm,
        wire=exchange.actor.wire,
        request_id=exchange.actor.request_id,
        details={"credential": exchange.actor.credential, **(told or {})},
    )
