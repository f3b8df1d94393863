"""The authorization of the REST interface: every handler uses this module.

Reads name their operation and its target; writes are proposals, guarded by the service. With
policies or REST authorization switched off nothing is checked, as in the original; even then
shipped policies are immutable, and secrets unreadable.

SOURCE: datahub reference 5.3, 5.4 and 6.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange
from lakewarden.http.guard import Requirement
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.listing import listing
from lakewarden.kernel.request import Request
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.bodies import check_count
from lakewarden.systems.datahub.http.errors import forbidden
from lakewarden.systems.datahub.http.guard import DataHubGuard
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_guard import Switches
from lakewarden.systems.datahub.use_cases.aspects import SECRETS
from lakewarden.systems.datahub.use_cases.proposals import Proposal, propose, remove

READING = "entity.read"
"""The operation that reads an entity over the REST interface."""

_POLICY = "dataHubPolicy"
_POLICIES = f"urn:li:{_POLICY}:"


class _RestGuard(DataHubGuard):
    off = "REST authorization is off"

    def is_on(self, exchange: Exchange) -> bool:
        options = exchange.services.of(DataHubSettings)
        return options.policies and options.rest

    def forbidden(self, message: str) -> WardenError:
        return forbidden(message)

    def message(self, request: Request) -> str:
        target = request.target
        on = "" if target == NO_RESOURCE else f" on `{target.name or target.type}`"
        return f"{super().message(request)}{on}"


GUARD: Final = _RestGuard()
allow, may, write, is_on = GUARD.allow, GUARD.is_allowed, GUARD.write, GUARD.is_on
related, committed = GUARD.allowed_entities, GUARD.committed


def readable(exchange: Exchange, entities: Sequence[Entity]) -> list[Entity]:
    """The entities that the caller may read, in order."""
    return GUARD.allowed_entities(exchange, READING, entities)


def check_readable(exchange: Exchange, entities: Sequence[Entity]) -> None:
    """Raises `Failure` 403 unless the caller may read all of them."""
    for entity in entities:
        allow(exchange, READING, entity)


def check_open(names: Iterable[str]) -> None:
    """Raises `Failure` 403 for an aspect that no caller may read."""
    for name in sorted(set(names) & SECRETS.keys()):
        raise forbidden(f"`{name}` is not disclosed to anyone")


def caller_request(exchange: Exchange, operation: str, target: Entity) -> Request:
    """The authorization request of the caller."""
    return GUARD.question(
        exchange, exchange.realm_state, Requirement(operation, target), exchange.now
    )


def switches(exchange: Exchange) -> Switches:
    """The checks that the guard of proposals leaves out."""
    options = exchange.services.of(DataHubSettings)
    return Switches(
        rest=is_on(exchange),
        constraints=options.constraints,
        domains=options.domain_write,
        values=options.timeseries_values,
        unknown_aspects=options.unknown_aspects == "keep",
        entity_aspects=options.entity_aspects,
        patch_operations=options.patch_operations,
        needed_columns=options.needed_columns == "drop",
    )


def caller(exchange: Exchange) -> Entity:
    """The caller as an entity."""
    state = exchange.realm_state
    principal = exchange.actor.principal(state.realm, state.system)
    return Entity(datahub.urn_type(principal.name), principal.name)


def put_proposals(exchange: Exchange, proposals: Sequence[Proposal]) -> list[Entity]:
    """Writes all proposals or none; raises `Failure` 403 for the first that is refused."""
    check_count(exchange, len(proposals), "changes together")
    actor = caller(exchange)
    aspects_of: dict[Entity, list[str]] = {}
    for proposal in proposals:
        aspects_of.setdefault(proposal.entity, []).append(proposal.aspect)

    done: list[Request] = []

    def write_proposals(transaction: WriteTransaction) -> list[Entity]:
        done.clear()
        before = _stored(exchange, transaction, aspects_of)
        written = propose(transaction, exchange.realm, proposals, actor, switches(exchange))
        after = _stored(exchange, transaction, written)
        for entity in written:
            writes = "entity.update" if entity in before else "entity.create"
            operation = writes if entity in after else "entity.delete"
            record_allowed(exchange, transaction, operation, entity, aspects=aspects_of[entity])
            done.append(caller_request(exchange, operation, entity))
        return written

    written = committed(exchange, write_proposals)
    for request in done:
        exchange.count_use(request)
    return written


def delete(exchange: Exchange, entity: Entity) -> bool:
    """Deletes an entity; returns False if it was not stored. Raises `Failure` 403."""

    def delete_entity(transaction: WriteTransaction) -> bool:
        was_stored = remove(transaction, exchange.realm, entity, switches(exchange))
        record_allowed(exchange, transaction, "entity.delete", entity, found=was_stored)
        return was_stored

    was_stored = committed(exchange, delete_entity)
    exchange.count_use(caller_request(exchange, "entity.delete", entity))
    return was_stored


def _stored(
    exchange: Exchange, transaction: WriteTransaction, entities: Iterable[Entity]
) -> set[Entity]:
    snapshot = transaction.realm(exchange.realm).matrix.snapshot
    return {entity for entity in entities if aspects.exists(entity, snapshot)}


def record_allowed(
    exchange: Exchange,
    transaction: WriteTransaction,
    operation: str,
    target: Entity,
    **details: object,
) -> None:
    """Records an allowed operation in the audit trail."""
    state = transaction.realm(exchange.realm)
    request = GUARD.question(exchange, state, Requirement(operation, target), transaction.now)
    reason = GUARD.reason(exchange)
    transaction.record(GUARD.event(exchange, request, "allow", reason, details))


class Page(NamedTuple):
    """A page of the entities of a type, and their total."""

    entities: list[Entity]
    total: int


def readable_page(
    exchange: Exchange, type: str, start: int, count: int, *, removed: bool = True
) -> Page:
    """A page, in canonical order, of the stored entities of a type that the caller may read.

    `removed` includes softly deleted entities. COST: it does not sort all entities, which a caller
    who reads all pages would pay for every page.
    """
    state = exchange.realm_state
    index = Index.of(state.matrix.snapshot)
    ids = state.matrix.snapshot.of_type(type)
    if is_on(exchange) and ids:
        ids = listing(state.matrix, caller_request(exchange, READING, NO_RESOURCE), type=type)
    if not removed:
        ids = ids - index.removed
    more = readable(exchange, _policies_of_statements(exchange, type))
    page = [index.tree.entity(id) for id in index.ranks.page(ids, start, count)]
    page += more[max(start - len(ids), 0) :][: count - len(page)]
    return Page(page, len(ids) + len(more))


def stored_count(exchange: Exchange, type: str) -> int:
    """The number of stored entities of a type, regardless of the caller."""
    stored_ones = exchange.realm_state.matrix.snapshot.of_type(type)
    return len(stored_ones) + len(_policies_of_statements(exchange, type))


def stored_entities(exchange: Exchange, types: Iterable[str]) -> Iterator[Entity]:
    """All stored entities of the types, regardless of the caller."""
    snapshot = exchange.realm_state.matrix.snapshot
    tree = snapshot.coded.tree
    for kind in types:
        yield from (tree.entity(id) for id in tree.ordered(snapshot.of_type(kind)))
        yield from _policies_of_statements(exchange, kind)


def _policies_of_statements(exchange: Exchange, type: str) -> list[Entity]:
    """The policies that exist only as statements, such as shipped ones."""
    if type != _POLICY:
        return []
    snapshot = exchange.realm_state.matrix.snapshot
    candidates = (
        Entity(type, id)
        for id, statement in snapshot.table.statements.items()
        if id.startswith(_POLICIES) and not statement.obliges
    )
    return sorted(entity for entity in candidates if not snapshot.coded.is_known(entity))
