"""Deletes all entities of a kind at once, in one of two ways.

The `filter` of an operation that deletes several entities names the operation that each must pass.
If its effects say `each`, every entity is checked separately: the allowed ones are deleted, the
others are reported. For a caller to whom neither the namespace nor any of the entities is visible,
the namespace does not exist. Without `each`, either all are deleted or none; the refusal names the
first denied entity, and if there are several, all of them after it.
SOURCE: cdap reference 2.11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.listing import filtered
from lakewarden.kernel.request import Request
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    contents,
    event,
    filter_of,
    is_allowed,
    is_on,
    question,
    refusal,
    require,
)
from lakewarden.systems.cdap.http.bodies import Json, empty_reply
from lakewarden.systems.cdap.http.errors import Failure, not_found
from lakewarden.systems.cdap.http.refusals import MOST_LISTED, denied_all, refusal_text

EACH: Final = "each"

DeleteEntities = Callable[[WriteTransaction, Sequence[Entity]], None]


class DeletionDecision(NamedTuple):
    """The entities that may be deleted, and the denied requests for the others."""

    allowed: list[Entity]
    denied: list[Request]


def delete_all(
    exchange: Exchange,
    operation: str,
    within: Entity,
    type: str,
    delete_each: DeleteEntities | None = None,
) -> Reply:
    """Deletes all entities of a type in a namespace: 200, 207 if some are left, 403 or 404.

    `delete_each` deletes them, by default `object_store.drop`; if it raises, nothing changes.
    """

    def plain(transaction: WriteTransaction, entities: Sequence[Entity]) -> None:
        each = filter_of(transaction.realm(exchange.realm), operation)
        object_store.drop(exchange, transaction, each, *entities)

    def write(transaction: WriteTransaction) -> DeletionDecision | Failure:
        state = transaction.realm(exchange.realm)
        refused = _begin(exchange, transaction, operation, within)
        if refused is not None:
            return refused
        entities = contents(state, within, [type])
        judged = decide_deletion(exchange, state, operation, entities, transaction.now)
        alone = EACH in state.matrix.operation(operation).effects
        if judged.denied and not alone:
            return refuse_all(exchange, transaction, state, judged)
        record(exchange, transaction, operation, judged)
        if alone and _is_hidden(exchange, state, within, f"{type}.list", entities, transaction.now):
            return not_found(within)
        (delete_each or plain)(transaction, judged.allowed)
        return judged

    outcome = exchange.write(write)
    if isinstance(outcome, Failure):
        raise outcome
    return _reply(exchange, outcome)


def _begin(
    exchange: Exchange, transaction: WriteTransaction, operation: str, within: Entity
) -> Failure | None:
    """Checks the operation itself; a refusal is recorded, and raises `Failure` 404."""
    state = transaction.realm(exchange.realm)
    request = question(exchange, state, Requirement(operation, within), transaction.now)
    refused = refusal(exchange, state, request)
    if refused is not None:
        transaction.record(event(exchange, request, "deny", refused.message))
        return refused
    require(state, within)
    transaction.record(event(exchange, request, "allow", "allowed"))
    return None


def _is_hidden(
    exchange: Exchange,
    state: RealmState,
    within: Entity,
    lists: str,
    entities: Sequence[Entity],
    now: float,
) -> bool:
    """Whether neither the namespace nor any of its entities is visible to the caller."""
    if is_allowed(exchange, state, Requirement("namespace.list.filter", within), now):
        return False
    request = question(exchange, state, Requirement(filter_of(state, lists)), now, within)
    return not filtered(state.matrix, request, entities)


def decide_deletion(
    exchange: Exchange, state: RealmState, operation: str, entities: Sequence[Entity], now: float
) -> DeletionDecision:
    """Decides which of the entities the operation's filter allows to delete."""
    if not is_on(exchange) or not entities:
        return DeletionDecision(list(entities), [])
    filter_request = question(exchange, state, Requirement(filter_of(state, operation)), now)
    passing = set(filtered(state.matrix, filter_request, entities))
    denied = [
        replace(filter_request, target=entity)
        for at, entity in enumerate(entities)
        if at not in passing
    ]
    return DeletionDecision([entities[at] for at in sorted(passing)], denied)


def refuse_all(
    exchange: Exchange, transaction: WriteTransaction, state: RealmState, judged: DeletionDecision
) -> Failure:
    """The refusal of the whole call; it is recorded."""
    ids = [cdap.format_id(request.target) for request in judged.denied]
    first = refusal_text(state.matrix, judged.denied[0])
    transaction.record(
        event(exchange, judged.denied[0], "deny", first, {"missing": ids[:MOST_LISTED]})
    )
    return denied_all(first, ids)


def record(
    exchange: Exchange, transaction: WriteTransaction, operation: str, judged: DeletionDecision
) -> None:
    """Records each deletion, and each refused one, in the audit trail.

    Of the refused ones, the first `MOST_LISTED` by name and the number of the others are recorded:
    otherwise a caller without privileges could write one row per entity with every call.
    """
    state = transaction.realm(exchange.realm)
    filter = filter_of(state, operation)
    for entity in judged.allowed:
        request = question(exchange, state, Requirement(filter, entity), transaction.now)
        transaction.record(event(exchange, request, "allow", f"by `{operation}`"))
    more = len(judged.denied) - MOST_LISTED
    for at, request in enumerate(judged.denied[:MOST_LISTED], 1):
        text = refusal_text(state.matrix, request)
        details = {"more": more} if at == MOST_LISTED and more else None
        transaction.record(event(exchange, request, "deny", text, details))


def _reply(exchange: Exchange, judged: DeletionDecision) -> Reply:
    if not judged.denied:
        return empty_reply()
    matrix = exchange.realm_state.matrix
    errors: list[Json] = [
        {"entity": cdap.format_id(request.target), "error": refusal_text(matrix, request)}
        for request in judged.denied
    ]
    deleted = [cdap.format_id(request) for request in judged.allowed]
    return Reply(207, msgspec.json.encode({"deleted": deleted, "errors": errors}))
