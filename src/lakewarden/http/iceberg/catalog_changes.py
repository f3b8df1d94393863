"""The catalog's changes as the realm stores them: new entities with their owners, and dropped ones.

They are recorded after the catalog made them. If that fails, nobody may do more than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakewarden.engines.engine import Act
from lakewarden.http.catalog_effects import creation, drop, renaming
from lakewarden.http.engine_access import EngineAccess
from lakewarden.http.exchange import Exchange
from lakewarden.http.iceberg.errors import IcebergError
from lakewarden.http.iceberg.questions import Questions
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.errors import WardenError
from lakewarden.service.audit import AuditEvent
from lakewarden.service.effect import Effect
from lakewarden.service.write_transaction import WriteTransaction

TYPES: Final = {"namespace": "schema", "table": "table", "view": "view"}
"""The names in a mapping for the resources of the protocol."""


def record_changes(exchange: Exchange, access: EngineAccess, act: Act, done: Questions) -> None:
    """Records the effects of an act; raises `IcebergError` if that fails."""
    if not (done.created or done.dropped or done.renamed):
        return

    def write(transaction: WriteTransaction) -> None:
        transaction.change(exchange.realm, *_effects(exchange, access, done, transaction))
        transaction.record(_event(exchange, access, act, done))

    try:
        exchange.write(write)
    except WardenError:
        message = "the catalog has done it, but the realm could not record it"
        raise IcebergError(500, message, "CommitStateUnknownException") from None


def _effects(
    exchange: Exchange, access: EngineAccess, done: Questions, transaction: WriteTransaction
) -> Iterator[Effect]:
    state = transaction.realm(exchange.realm)
    for kind, names in done.created:
        entity = access.entity(TYPES[kind], names)
        if entity is not None:
            owner = exchange.actor.principal(state.realm, state.system)
            yield from creation(state, entity, owner)
    for kind, names in done.dropped:
        entity = access.entity(TYPES[kind], names)
        if entity is not None:
            yield from drop(state, entity)
    for kind, before, after in done.renamed:
        source, target = access.entity(TYPES[kind], before), access.entity(TYPES[kind], after)
        if source is not None and target is not None:
            yield from renaming(state, source, target)


def _event(exchange: Exchange, access: EngineAccess, act: Act, done: Questions) -> AuditEvent:
    entity = access.target(act, done.asked[0].names)
    return exchange.actor.event(
        access.mapping.operation(act.name),
        entity or NO_RESOURCE,
        "allow",
        "done by the catalog",
        now=exchange.now,
        realm=exchange.realm,
    )
