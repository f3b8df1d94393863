"""What a mutation reads and writes once it is allowed: aspects of entities, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.service import aspects
from lakewarden.service.aspect_guard import Guard, Switches
from lakewarden.service.aspects import Value, Write
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.wire.datahub.graphql import authorization
from lakewarden.wire.datahub.graphql import call as calls
from lakewarden.wire.datahub.graphql.authorization import Ask
from lakewarden.wire.datahub.graphql.call import Call
from lakewarden.wire.datahub.graphql.errors import Failure, bad, missing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draft:
    """One write under way, as its call sees it."""

    call: Call
    transaction: WriteTransaction

    @property
    def now_ms(self) -> int:
        """The moment of the write, in milliseconds since the epoch."""
        return int(self.transaction.now * 1_000)

    @property
    def realm(self) -> str:
        """The realm that is written to."""
        return self.call.exchange.realm

    def stamp(self) -> Value:
        """Who writes, and when."""
        return {"time": self.now_ms, "actor": self.call.actor.name}

    def is_there(self, entity: Entity) -> bool:
        """Whether the entity is stored."""
        return aspects.is_there(entity, self.transaction.realm(self.realm).matrix.snapshot)

    def check_there(self, *entities: Entity) -> None:
        """Raises `Failure` 404 for the first entity that is not stored."""
        for entity in entities:
            if not self.is_there(entity):
                raise missing(entity.name)

    def check_new(self, entity: Entity) -> None:
        """Raises `Failure` 409 where the entity is stored already."""
        if self.is_there(entity):
            raise Failure(409, f"`{entity.name}` exists already")

    def value(self, entity: Entity, aspect: str) -> Value:
        """An aspect as it is stored, to be changed and put back; empty where there is none."""
        found = aspects.read(self.transaction.store, self.transaction.realm(self.realm), [entity])
        kept = found.get(entity, {}).get(aspect)
        return {} if kept is None else dict(kept.value)

    def put(self, entity: Entity, aspect: str, value: Value | None) -> None:
        """Writes an aspect; None: it is gone. Raises `NotAllowed` for what it gives beside."""
        switches = Switches(rest=self.call.exchange.services.datahub.policies)
        guard = Guard(self.transaction, self.realm, entity, switches)
        guard.check_credential()
        is_there = self.is_there(entity)
        guard.check(aspect, self.value(entity, aspect) or None, value, is_there=is_there)
        write = Write(entity, aspect, value)
        aspects.write(self.transaction, self.realm, [write], self.call.actor.name)

    def drop(self, entity: Entity) -> None:
        """Takes an entity away; raises `Failure` 404 where there is none."""
        if not aspects.drop(self.transaction, self.realm, entity):
            raise missing(entity.name)


def write(
    call: Call,
    operation: str,
    target: Entity,
    task: Callable[[Draft], T],
    told: Mapping[str, object] | None = None,
) -> T:
    """`authorization.write`, with a draft."""
    return authorization.write(
        call, operation, target, lambda transaction: task(Draft(call, transaction)), told
    )


def write_all(
    call: Call,
    asks: Callable[[Draft], Sequence[Ask]],
    task: Callable[[Draft], T],
    told: Mapping[str, object] | None = None,
) -> T:
    """`authorization.write_all`, with drafts."""
    return authorization.write_all(
        call,
        lambda transaction: asks(Draft(call, transaction)),
        lambda transaction: task(Draft(call, transaction)),
        told,
    )


def named(type: str, id: str | None) -> Entity:
    """The entity of a type with this id, or with a new random one; raises `Failure` 400."""
    return calls.entity(f"urn:li:{type}:{id or uuid4()}", type)


def limited(call: Call, items: list[T], argument: str) -> list[T]:
    """The items, if they are no more than one write may touch; raises `Failure` 400."""
    most = call.exchange.services.batch_rows
    if len(items) > most:
        raise bad(f"`{argument}`: expected {most} at most, got {len(items)}")
    return items


def given(input: Mapping[str, Any], *names: str) -> Value:
    """The members of an input that say something."""
    return {name: input[name] for name in names if input.get(name) is not None}
