"""Authorization of Gravitino's API: the guard with Gravitino's refusals, and existence checks.

Order of the checks (gravitino reference 2.1 and 4.4): membership of the metalake and the
operation's rule (403), then a disabled metalake or catalog (409), then existence (404). So a 404
reveals nothing about objects that the caller could not have loaded: for a name that is not stored,
the rule is evaluated as for an object of that name without grants of its own, and only callers who
pass it get the 404. Drops answer `dropped: false` for an object that does not exist
(`missing=None`).

With `gravitino.authorization.enable=false` nothing is checked and lists are unfiltered. With the
pass-through authorizer only membership is checked; in mode `next` not even that. Every check
respects the roles that the caller chose to be active.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.http.guard import Guard, Missing
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Parts, Reason, Request
from lakewarden.service.state import RealmState
from lakewarden.service.switched_off import is_off
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import refusals
from lakewarden.systems.gravitino.http.active_roles import active_roles
from lakewarden.systems.gravitino.http.errors import Failure, no_such_entity, not_in_use
from lakewarden.systems.gravitino.settings import GravitinoSettings

_IN_SPITE = {
    "metalake.load": "metalake",
    "metalake.set": "metalake",
    "metalake.drop": "metalake",
    "user.load": "metalake",
    "catalog.load": "catalog",
    "catalog.set": "catalog",
    "catalog.drop": "catalog",
}
"""Operations that are allowed although the target, or its metalake, of this type is disabled."""

# The operation whose rule is membership of the metalake.
_MEMBERSHIP = "metalake.load"


class _GravitinoGuard(Guard):
    def missing(self, entity: Entity) -> Failure:
        return no_such_entity(entity)

    def is_on(self, exchange: Exchange) -> bool:
        return exchange.services.of(GravitinoSettings).enable

    def reason(self, exchange: Exchange) -> str:
        return "allowed"

    def unfiltered(self, exchange: Exchange, state: RealmState, filter: str) -> bool:
        options = exchange.services.of(GravitinoSettings)
        if not options.enable or not options.pass_through:
            return not options.enable
        return filter != _MEMBERSHIP or is_next(state)

    def parts_of(self, exchange: Exchange, about: Entity) -> Parts:
        metalake = "" if about == NO_RESOURCE else gravitino.metalake(about)
        roles = active_roles(exchange, metalake) if metalake else None
        return {} if roles is None else {"roles": roles}

    def refusal(self, exchange: Exchange, state: RealmState, request: Request) -> Failure | None:
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

    def require(
        self, state: RealmState, operation: str, target: Entity, missing: Missing | None
    ) -> None:
        require(state, operation, target, missing)


def reason_of(matrix: Matrix, request: Request) -> Reason:
    """The decision's reason; also `ALLOWED` if only the target is missing."""
    reason = matrix.decide(request).reason
    if reason is not Reason.NOT_STORED:
        return reason
    subject, operation = matrix.subject(request), matrix.operation(request.operation)
    if request.roles is not None and not request.roles <= subject.named:
        return Reason.ROLE_NOT_HELD
    place = matrix.snapshot.place(request.target)
    as_if = matrix.evaluate(operation, subject, request, place)
    return Reason.ALLOWED if as_if else Reason.DENIED


def _about(request: Request, operation: str, target: Entity) -> Request:
    """The same caller's request for another operation and target."""
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
    """Raises `Failure` 409 if a container is disabled, 404 if an entity is missing."""
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
        elif is_off(state, entity) and _IN_SPITE.get(operation) != entity.type:
            raise not_in_use(entity.type, gravitino.full_name(entity))


def is_stored(state: RealmState, entity: Entity) -> bool:
    """Whether the entity is stored."""
    return state.matrix.snapshot.coded.is_known(entity)


def is_next(state: RealmState) -> bool:
    """Whether the realm follows the newest source code (`gravitino.mode = "next"`)."""
    return state.system.model.settings.get("mode") == "next"


def entity(exchange: Exchange, type: str) -> Entity:
    """The entity named by the parameters of the path: `{metalake}`, `{catalog}`, …, `{type}`.

    Raises `BadInput` for an invalid name.
    """
    params = exchange.params
    if type == "metalake":
        return gravitino.entity(params["metalake"], type, params["metalake"])
    labels = _LEVELS.get(type, (type,))
    full = ".".join(params[label] for label in labels)
    return gravitino.entity(params["metalake"], type, full)


_LEVELS = {
    "catalog": ("catalog",),
    "schema": ("catalog", "schema"),
    **{
        leaf: ("catalog", "schema", leaf)
        for leaf in ("table", "topic", "fileset", "model", "view", "function")
    },
}


GUARD: Final = _GravitinoGuard()
allow, write, listed, visible = GUARD.allow, GUARD.write, GUARD.listed, GUARD.visible
shown_ids, refusal = GUARD.shown_ids, GUARD.refusal
