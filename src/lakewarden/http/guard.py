"""The one guard: it decides for every dialect whether a handler may act.

A handler names its operation and its target, and nothing else about authorization:

    state = guard.allow(exchange, "dataset.get", dataset)           # a read: goes on, or raises
    with guard.reading(exchange, "key.read", key) as reading: …      # a read of something secret
    return guard.write(exchange, "dataset.drop", dataset, job)      # a write, in its transaction
    return guard.write_all(exchange, requirements, job)              # with several questions
    found = guard.listed(exchange, "dataset.list", namespace)       # a list: checked, then filtered
    found = guard.visible(exchange, "namespace.search", hits)       # entities found elsewhere

`parts` are the further parts of the question, by the names of `kernel.request.Request`:
`targets={"artifact": artifact}`.

Order of the checks: the rule first, then the dialect's check for a missing target. So a 404
reveals nothing that the caller could not have seen. A refused write is audited, and so is a
completed one, with its effects; denied reads are audited with one row for many of a kind.
Allowed and completed operations count as used.

A dialect gives a guard four things: whether anything is checked (`is_on`, `unfiltered`), the parts
of a question (`parts_of`), its refusals (`refusal`), and its responses to a missing target
(`require`, `missing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar, Unpack

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.listing import filtered, listing
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Parts, Request
from lakewarden.service.audit import AuditEvent
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState
from lakewarden.service.steps import step
from lakewarden.service.write_transaction import WriteTransaction

T = TypeVar("T")

Missing = Callable[[Entity], WardenError]
"""Creates the failure for a missing target."""


def dialect_missing(entity: Entity) -> WardenError:
    """A placeholder for the dialect's own failure for a missing target."""
    raise NotImplementedError(entity)


Details = Mapping[str, object] | Callable[[T], Mapping[str, object]]
"""Details of an operation for the audit trail, or a function of its outcome that returns them."""


NOTHING: Final = Parts()


class Requirement(NamedTuple):
    """A question of a write: an operation on a target, with further parts.

    `who`: the principal of the question, if that is not the caller (an effective owner's).
    `otherwise`: the response to a denial, if that is not the guard's refusal.
    """

    operation: str
    target: Entity = NO_RESOURCE
    parts: Parts = NOTHING
    who: Principal | None = None
    otherwise: WardenError | None = None


Requirements = Sequence[Requirement] | Callable[[WriteTransaction], Sequence[Requirement]]
"""Questions, or a function that returns them from the stored state."""


class Guard:
    """Decides for one dialect, which overrides what differs.

    A handler may pass the function that creates the failure for a missing target; with None the
    target need not exist, only its ancestors must.
    """

    off: str = "authorization is off"
    """The reason in the audit trail for an operation that was not checked."""

    # overridden by dialects

    def is_on(self, exchange: Exchange) -> bool:
        """Whether authorization is on."""
        return True

    def unfiltered(self, exchange: Exchange, state: RealmState, filter: str) -> bool:
        """Whether lists are not filtered; `filter` is the operation that filters them."""
        return not self.is_on(exchange)

    def parts_of(self, exchange: Exchange, about: Entity) -> Parts:
        """Further parts of every question that is about an entity, such as active roles."""
        return {}

    def refusal(
        self, exchange: Exchange, state: RealmState, request: Request
    ) -> WardenError | None:
        """The refusal of the question; None if it is allowed."""
        raise NotImplementedError

    def require(
        self, state: RealmState, operation: str, target: Entity, missing: Missing | None
    ) -> None:
        """Raises if the target or an ancestor does not exist or is disabled."""

    def missing(self, entity: Entity) -> WardenError:
        """The failure for a missing target, unless a handler gives another one."""
        raise NotImplementedError

    def committed(self, exchange: Exchange, job: Callable[[WriteTransaction], T]) -> T:
        """Runs the job in one write, and returns its result."""
        return exchange.write(job)

    # called by handlers

    def allow(
        self,
        exchange: Exchange,
        operation: str,
        target: Entity = NO_RESOURCE,
        *,
        missing: Missing | None = dialect_missing,
        ahead: bool = False,
        **parts: Unpack[Parts],
    ) -> RealmState:
        """The realm's state if the caller may; raises the refusal, or what `require` raises.

        With `ahead`, neither the target nor its ancestors need exist.
        """
        state = exchange.realm_state
        request = self.question(
            exchange, state, Requirement(operation, target, parts), exchange.now
        )
        with step("decide"):
            refused = self.refusal(exchange, state, request)
        if refused is not None:
            exchange.denied(self.event(exchange, request, "deny", str(refused)))
            raise refused
        if not ahead:
            self.require(state, operation, target, self._missing(missing))
        exchange.count_use(request)
        return state

    @contextmanager
    def reading(
        self,
        exchange: Exchange,
        operation: str,
        target: Entity = NO_RESOURCE,
        *,
        missing: Missing | None = dialect_missing,
        **parts: Unpack[Parts],
    ) -> Iterator[Reading]:
        """A view of the store in which the caller may read the target; raises as `allow` does.

        For secret data. A request may have waited since its state was taken: data stored after a
        revocation must not be shown by a decision from before it. So the view is never newer than
        the decision.
        """
        self.allow(exchange, operation, target, missing=missing, **parts)
        with exchange.service.reading() as reading:
            if reading.revision > exchange.state.revision:
                exchange.state = exchange.service.catch_up(reading.revision)
                exchange.now = exchange.service.clock()
                self.allow(exchange, operation, target, missing=missing, **parts)
            yield reading

    def is_allowed(
        self,
        exchange: Exchange,
        operation: str,
        target: Entity = NO_RESOURCE,
        **parts: Unpack[Parts],
    ) -> bool:
        """Whether the caller may, for responses that only omit parts otherwise."""
        state = exchange.realm_state
        request = self.question(
            exchange, state, Requirement(operation, target, parts), exchange.now
        )
        with step("decide"):
            return not self.is_on(exchange) or state.matrix.decide(request).allow

    def write(
        self,
        exchange: Exchange,
        operation: str,
        target: Entity,
        job: Callable[[WriteTransaction], T],
        *,
        missing: Missing | None = dialect_missing,
        ahead: bool = False,
        details: Details[T] | None = None,
        **parts: Unpack[Parts],
    ) -> T:
        """Runs `job` in one transaction if the caller may, and returns its result.

        The operation is audited in the same transaction, with `details` (never a secret), or with
        what it returns for the outcome; a refusal is audited too, and raised. Errors of the job
        and of `require` leave no changes.
        With `ahead`, neither the target nor its ancestors need exist.
        """
        requirements = [Requirement(operation, target, parts)]
        return self.write_all(
            exchange, requirements, job, missing=missing, ahead=ahead, details=details
        )

    def write_all(
        self,
        exchange: Exchange,
        requirements: Requirements,
        job: Callable[[WriteTransaction], T],
        *,
        missing: Missing | None = dialect_missing,
        ahead: bool = False,
        details: Details[T] | None = None,
    ) -> T:
        """Like `write`, for several questions that must all be allowed.

        The first one is the operation; `missing` is about its target alone.
        """

        def guarded(transaction: WriteTransaction) -> T | WardenError:
            questions = requirements(transaction) if callable(requirements) else requirements
            state = transaction.realm(exchange.realm)
            requests = [self.question(exchange, state, ask, transaction.now) for ask in questions]
            for ask, request in zip(questions, requests, strict=True):
                with step("decide"):
                    refused = self.refusal(exchange, state, request)
                if refused is not None:
                    audited = None if callable(details) else details
                    event = self.event(exchange, request, "deny", str(refused), audited)
                    transaction.record(event)
                    return ask.otherwise or refused
            if not ahead:
                first = requests[0]
                self.require(state, first.operation, first.target, self._missing(missing))
            done[:] = requests
            outcome, reason = job(transaction), self.reason(exchange)
            audited = details(outcome) if callable(details) else details
            for request in requests:
                transaction.record(self.event(exchange, request, "allow", reason, audited))
            return outcome

        done: list[Request] = []
        outcome = self.committed(exchange, guarded)
        if isinstance(outcome, WardenError):
            raise outcome
        for request in done:
            exchange.count_use(request)
        return outcome

    def listed(
        self, exchange: Exchange, operation: str, container: Entity = NO_RESOURCE
    ) -> list[Entity]:
        """A container's entities shown to the caller, by type and name; raises like `allow`."""
        state = self.allow(exchange, operation, container)
        return self.shown(exchange, state, operation, container)

    def shown(
        self, exchange: Exchange, state: RealmState, operation: str, container: Entity | None
    ) -> list[Entity]:
        """Like `listed`, without the check of the operation itself."""
        tree = state.matrix.snapshot.coded.tree
        return sorted(
            tree.entity(id) for id in self.shown_ids(exchange, state, operation, container)
        )

    def shown_ids(
        self, exchange: Exchange, state: RealmState, operation: str, container: Entity | None
    ) -> BitMap:
        """The ids of the entities of `shown`."""
        filter = filter_of(state, operation)
        within = None if container == NO_RESOURCE else container
        if self.unfiltered(exchange, state, filter):
            return _all(state, filter, within)
        request = self.question(exchange, state, Requirement(filter), exchange.now, within)
        with step("decide"):
            return listing(state.matrix, request, within)

    def visible(
        self,
        exchange: Exchange,
        operation: str,
        entities: Iterable[Entity],
        within: Entity | None = None,
        **parts: Unpack[Parts],
    ) -> list[Entity]:
        """The entities that the operation's filter shows to the caller, in order.

        `operation` is the one that lists; `within` is the subject of the question, if that is not
        the first of the entities.
        """
        filter = filter_of(exchange.realm_state, operation)
        return self.allowed_entities(exchange, filter, entities, within, **parts)

    def allowed_entities(
        self,
        exchange: Exchange,
        operation: str,
        entities: Iterable[Entity],
        within: Entity | None = None,
        **parts: Unpack[Parts],
    ) -> list[Entity]:
        """The entities on which the caller may do the operation, in order."""
        candidates, state = list(entities), exchange.realm_state
        if not candidates or self.unfiltered(exchange, state, operation):
            return candidates
        ask, about = Requirement(operation, parts=parts), within or candidates[0]
        request = self.question(exchange, state, ask, exchange.now, about)
        with step("decide"):
            return [candidates[index] for index in filtered(state.matrix, request, candidates)]

    # shared

    def question(
        self,
        exchange: Exchange,
        state: RealmState,
        ask: Requirement,
        now: float,
        about: Entity | None = None,
    ) -> Request:
        """The request of a question; `about` is its subject if it has no target."""
        request = exchange.actor.request(
            state.realm, state.system, ask.operation, ask.target, now=now
        )
        if ask.who is not None:
            request = Request(ask.who, ask.operation, ask.target, now)
        parts: Parts = {**self.parts_of(exchange, about or ask.target), **ask.parts}
        return replace(request, **parts) if parts else request

    def reason(self, exchange: Exchange) -> str:
        """The reason in the audit row of an allowed operation."""
        return "allowed" if self.is_on(exchange) else self.off

    def event(
        self,
        exchange: Exchange,
        request: Request,
        outcome: str,
        reason: str,
        details: Mapping[str, object] | None = None,
    ) -> AuditEvent:
        """The audit event of a question and its answer."""
        actor, state = exchange.actor, exchange.realm_state
        if request.principal != actor.principal(state.realm, state.system):
            details = {**(details or {}), "as": request.principal.name}
        return actor.event(
            request.operation,
            request.target,
            outcome,
            reason,
            now=request.now,
            realm=exchange.realm,
            details=details,
        )

    def _missing(self, missing: Missing | None) -> Missing | None:
        return self.missing if missing is dialect_missing else missing


def filter_of(state: RealmState, operation: str) -> str:
    """The operation that filters each entity of a list, or of a deletion of several."""
    filter = state.matrix.operation(operation).filter
    if filter is None:
        raise BadInput(f"`{operation}` does not list entities")
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
