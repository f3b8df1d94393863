"""What the catalog did, as the realm keeps it: new entities with their owners, and what is gone.

It is written down after the catalog has done it. Where that fails, nobody may do more than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lakewarden.engines.engine import Act
from lakewarden.http.engine_access import EngineAccess
from lakewarden.http.exchange import Exchange
from lakewarden.http.iceberg.errors import IcebergError
from lakewarden.http.iceberg.questions import Questions
from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    OwnerChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.facts import IMPLIED_ID
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.statement import On
from lakewarden.service.audit import AuditEvent
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction

TYPES: Final = {"namespace": "schema", "table": "table", "view": "view"}
"""What a resource of the protocol is in the names of a mapping."""


def keep_books(exchange: Exchange, access: EngineAccess, act: Act, done: Questions) -> None:
    """Writes down what an act did; raises `IcebergError` where it cannot be."""
    if not (done.made or done.gone or done.moved):
        return

    def write(transaction: WriteTransaction) -> None:
        transaction.change(exchange.realm, *_effects(exchange, access, done, transaction))
        transaction.record(_event(exchange, access, act, done))

    try:
        exchange.write(write)
    except WardenError:
        message = "the catalog has done it, but the realm could not write it down"
        raise IcebergError(500, message, "CommitStateUnknownException") from None


def _effects(
    exchange: Exchange, access: EngineAccess, done: Questions, transaction: WriteTransaction
) -> Iterator[Effect]:
    state = transaction.realm(exchange.realm)
    for kind, names in done.made:
        entity = access.entity(TYPES[kind], names)
        parent = None if entity is None else state.system.spelling.parent(entity)
        if entity is not None and not _is_stored(state, entity) and _is_stored(state, parent):
            yield EntityAdded(entity, parent)
            owner = exchange.actor.principal(state.realm, state.system)
            yield OwnerChanged(OwnerRow(entity, owner), True)
    for kind, names in done.gone:
        entity = access.entity(TYPES[kind], names)
        if entity is not None and _is_stored(state, entity):
            yield EntityDropped(entity)
    for kind, before, after in done.moved:
        source, target = access.entity(TYPES[kind], before), access.entity(TYPES[kind], after)
        if source is not None and target is not None:
            yield from _moved(state, source, target)


def _is_stored(state: RealmState, entity: Entity | None) -> bool:
    tree = state.matrix.snapshot.coded.tree
    id = None if entity is None else tree.find(entity)
    return id is not None and id in tree.stored


def _moved(state: RealmState, source: Entity, target: Entity) -> Iterator[Effect]:
    """The entity and all below it by their new names, with the statements on what is not stored."""
    snapshot = state.matrix.snapshot
    coded = snapshot.coded

    def renamed(name: str) -> str:
        return target.name + name[len(source.name) :]

    for id, statement in snapshot.table.statements.items():
        scope = statement.scope
        if not isinstance(scope, On) or id.startswith(IMPLIED_ID):
            continue
        on = scope.entity
        is_inside = on == source or source in coded.ancestors(on)
        if is_inside and not _is_stored(state, on):
            moved = On(Entity(on.type, renamed(on.name)))
            yield StatementAdded(replace(statement, scope=moved))
    id_of_source = coded.tree.find(source)
    if id_of_source is None or not _is_stored(state, source):
        return
    for number in coded.tree.subtree(id_of_source) & coded.tree.stored:
        below = coded.tree.entity(number)
        yield EntityRenamed(below, renamed(below.name))
    parent = state.system.spelling.parent(target)
    if parent != state.system.spelling.parent(source):
        yield EntityMoved(target, parent)


def _event(exchange: Exchange, access: EngineAccess, act: Act, done: Questions) -> AuditEvent:
    entity = access.target(act, done.asked[0].names)
    return AuditEvent(
        exchange.now,
        exchange.actor.recorded,
        access.mapping.operation(act.name),
        "" if entity is None else f"{entity.type}:{entity.name}",
        "allow",
        "done by the catalog",
        realm=exchange.realm,
        wire="iceberg",
        request_id=exchange.actor.request_id,
        details=exchange.actor.proof,
    )
