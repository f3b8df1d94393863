"""Authorization of CDAP's API: the guard with CDAP's refusals, and existence checks.

Order of the checks: the rule (403), then existence (404). A name that is not stored is judged by
the name alone, so a refused caller learns nothing from it. The namespaces `default` and `system`
always exist. If `security.enabled` or `security.authorization.enabled` is off, nothing is checked
and lists are unfiltered.
SOURCE: cdap reference 2 (K16), 3.3, 4.2; texts of refusals: `refusals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar, Unpack

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.http.guard import Guard, Missing, Requirement, dialect_missing, filter_of
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.request import Parts, Request
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import refusals
from lakewarden.systems.cdap.http.errors import Denied, Failure, not_found
from lakewarden.systems.cdap.http.ids import DEFAULT, SYSTEM, namespace_of
from lakewarden.systems.cdap.settings import CdapSettings

__all__ = ["Requirement", "filter_of"]

T = TypeVar("T")

_STORED = frozenset(cdap.TYPES) - {"instance", "kerberosprincipal", "system_service"}
"""The types whose entities only exist if they were created."""


def is_stored(state: RealmState, entity: Entity) -> bool:
    """Whether the entity is stored."""
    return entity in (DEFAULT, SYSTEM) or state.matrix.snapshot.coded.is_known(entity)


def exists(state: RealmState, entity: Entity) -> bool:
    """Whether the entity exists: it was created, or needs no creation."""
    return entity.type not in _STORED or is_stored(state, entity)


class _CdapGuard(Guard):
    def missing(self, entity: Entity) -> Failure:
        return not_found(entity)

    def is_on(self, exchange: Exchange) -> bool:
        return exchange.services.of(CdapSettings).is_guarded

    def refusal(self, exchange: Exchange, state: RealmState, request: Request) -> Failure | None:
        if not self.is_on(exchange) or state.matrix.decide(request).allow:
            return None
        return refusals.denied(state.matrix, request)

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
        """As in every guard; a list in a namespace that is hidden and missing is empty.

        If names of namespaces are hidden, but everybody may ask for their contents, a 404 would
        reveal which namespaces exist.
        """
        state = exchange.realm_state
        lists = target.type in _STORED and state.matrix.operation(operation).filter is not None
        if lists and not is_stored(state, space := namespace_of(target)):
            listed_name = Requirement("namespace.list.filter", space)
            ahead = ahead or not is_allowed(exchange, state, listed_name, exchange.now)
        return super().allow(exchange, operation, target, missing=missing, ahead=ahead, **parts)

    def committed(self, exchange: Exchange, job: Callable[[WriteTransaction], T]) -> T:
        try:
            return exchange.write(job)
        except Denied as denied:
            record_denied(exchange, denied)
            raise

    def require(
        self,
        state: RealmState,
        operation: str,
        target: Entity,
        missing: Missing | None,
    ) -> None:
        require(state, target, missing)


def record_denied(exchange: Exchange, denied: Denied) -> None:
    """Records a denied write in the audit trail, in a separate write."""

    def record(transaction: WriteTransaction) -> None:
        state = transaction.realm(exchange.realm)
        ask = Requirement(denied.operation, denied.entity)
        request = GUARD.question(exchange, state, ask, transaction.now)
        transaction.record(GUARD.event(exchange, request, "deny", denied.message))

    exchange.write(record)


def is_allowed(exchange: Exchange, state: RealmState, ask: Requirement, now: float) -> bool:
    """Whether a request is allowed, for a decision that depends on it."""
    request = GUARD.question(exchange, state, ask, now)
    return not GUARD.is_on(exchange) or state.matrix.decide(request).allow


def require(state: RealmState, target: Entity, missing: Missing | None = not_found) -> None:
    """Raises `Failure` 404 if the target, or one of its containers, does not exist."""
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


def contents(state: RealmState, within: Entity, types: Iterable[str] | None = None) -> list[Entity]:
    """All stored entities in a namespace or application, regardless of the caller, sorted."""
    snapshot = state.matrix.snapshot
    tree = snapshot.coded.tree
    id = tree.find(within)
    if id is None:
        return []
    below = (tree.subtree(id) & tree.stored) - BitMap([id])
    if types is not None:
        below &= BitMap.union(BitMap(), *(snapshot.of_type(type) for type in types))
    return sorted(tree.entity(other) for other in below)


GUARD: Final = _CdapGuard()
allow, may, write, write_all = GUARD.allow, GUARD.is_allowed, GUARD.write, GUARD.write_all
listed, shown, visible, allowed_entities = (
    GUARD.listed,
    GUARD.shown,
    GUARD.visible,
    GUARD.allowed_entities,
)
question, refusal, event, is_on = GUARD.question, GUARD.refusal, GUARD.event, GUARD.is_on
