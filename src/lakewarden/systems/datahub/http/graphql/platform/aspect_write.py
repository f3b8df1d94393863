"""Mutations of the platform as rows of a table: the entities, requirements and writes of each.

Every row runs in the same order. Its arguments are read (400); its requirements are checked on the
newest state (403); the entities must exist, or not yet (404, 409); then aspects are written, all in
one transaction. The schema defines the result of the mutation.

    "createTest": creation(TEST, "test.manage")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from graphql import GraphQLBoolean, GraphQLString, get_named_type

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad, missing
from lakewarden.systems.datahub.http.graphql.records import (
    Input,
    Member,
    new_record,
    provided_members,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_guard import Guard, Switches
from lakewarden.systems.datahub.use_cases.aspects import Value, Write

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AspectChanges:
    """The aspects of entities, read and written in one transaction."""

    call: Call
    transaction: WriteTransaction

    @property
    def now_ms(self) -> int:
        """The time of the write, in milliseconds since the epoch."""
        return int(self.transaction.now * 1_000)

    @property
    def realm(self) -> str:
        """The realm that is being written."""
        return self.call.exchange.realm

    @property
    def stamp(self) -> Value:
        """The audit stamp: the writer and the time."""
        return {"time": self.now_ms, "actor": self.call.actor.name}

    def is_stored(self, entity: Entity) -> bool:
        """Whether the entity is stored."""
        return aspects.exists(entity, self.transaction.realm(self.realm).matrix.snapshot)

    def check_exists(self, *entities: Entity) -> None:
        """Raises `Failure` 404 for the first entity that is not stored."""
        for entity in entities:
            if not self.is_stored(entity):
                raise missing(entity.name)

    def check_new(self, entity: Entity) -> None:
        """Raises `Failure` 409 if the entity is already stored."""
        if self.is_stored(entity):
            raise Failure(409, f"`{entity.name}` exists already")

    def value(self, entity: Entity, aspect: str) -> Value:
        """An aspect as it is stored, a copy that may be changed and put; empty if there is none."""
        read = aspects.read(self.transaction.store, self.transaction.realm(self.realm), [entity])
        stored = read.get(entity, {}).get(aspect)
        return {} if stored is None else dict(stored.value)

    def put(self, entity: Entity, aspect: str, value: Value | None) -> None:
        """Writes an aspect, or deletes it with None; raises `NotAllowed` if it grants too much.

        The privilege for the mutation was checked before; this checks the aspect's
        content.
        """
        switches = Switches(rest=self.call.exchange.services.of(DataHubSettings).policies)
        guard = Guard(self.transaction, self.realm, entity, switches)
        guard.check_credential()
        is_there = self.is_stored(entity)
        guard.check(aspect, self.value(entity, aspect) or None, value, is_there=is_there)
        self.write(Write(entity, aspect, value))

    def merge(self, entity: Entity, aspect: str, /, **members: Any) -> None:
        """Writes these members of an aspect; the others stay."""
        self.put(entity, aspect, {**self.value(entity, aspect), **members})

    def write(self, *writes: Write) -> None:
        """Writes aspects without checking their own privileges: the mutation's cover them."""
        aspects.write(self.transaction, self.realm, writes, self.call.actor.name)

    def drop(self, entity: Entity) -> None:
        """Deletes an entity; raises `Failure` 404 if it does not exist."""
        if not aspects.drop(self.transaction, self.realm, entity):
            raise missing(entity.name)


Read = Callable[[Call, str, Input], Any]
"""Reads a given argument, before any check of rights; raises `Failure` 400."""

Entities = Callable[[Call, Input], Sequence[Entity]]
"""Reads the entities of a mutation; the first is its result. Raises `Failure` 400."""

Required = Callable[[AspectChanges, Entity, Input], Sequence[Requirement]]
"""The requirements of a mutation, if they depend on the stored state."""

Change = Callable[[AspectChanges, Entity, Input], None]
"""Writes aspects; `input` has the mutation's arguments and the members of its `input`."""

Extend = Callable[[AspectChanges, Entity, Value, Input], None]
"""Makes checks that the record alone does not allow, and completes the value to write."""


@dataclass(frozen=True, slots=True)
class AspectWrite:
    """A row, which is the resolver of its mutation.

    `reads`: how its arguments are read, by name, if they are more than plain values. `audited_as`:
    the name of the first entity in the audit trail's details; empty if it is the target. `answer`:
    the result, if the schema's type does not determine it.
    """

    entities: Entities
    requirements_of: Callable[[AspectChanges, Sequence[Entity], Input], Sequence[Requirement]]
    write: Callable[[AspectChanges, Sequence[Entity], Input], None]
    reads: Mapping[str, Read] = field(default_factory=dict)
    audited_as: str = ""
    answer: Callable[[Entity, Info], object] | None = None

    def __call__(self, _: object, info: Info, **arguments: Any) -> object:
        """Resolves the mutation."""
        call: Call = info.context
        input: dict[str, Any] = {**(arguments.get("input") or {}), **arguments}
        entities = self.entities(call, input)
        for argument, read in self.reads.items():
            if input.get(argument) is not None:
                input[argument] = read(call, argument, input)
        authorization.write_all(
            call,
            lambda transaction: self.requirements_of(
                AspectChanges(call, transaction), entities, input
            ),
            lambda transaction: self.write(AspectChanges(call, transaction), entities, input),
            {self.audited_as: entities[0].name} if self.audited_as else None,
        )
        return (self.answer or _answer)(entities[0], info)


def _answer(entity: Entity, info: Info) -> object:
    type = get_named_type(info.return_type)
    if type == GraphQLBoolean:
        return True
    return entity.name if type == GraphQLString else entity


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity: its type, its aspect, and how its record is read from an input.

    `stamps`: members with the writer and the time; `created` is only set once. The operations are
    checked for `about`; with None, for the entity itself.
    """

    type: str
    aspect: str
    record: Sequence[Member] = ()
    stamps: Sequence[str] = ()
    audited_as: str = ""
    about: Entity | None = NO_RESOURCE


def mutation(
    entities: Entities,
    required: str | Required,
    write: Change,
    *,
    about: Entity | None = None,
    reads: Mapping[str, Read] | None = None,
    audited_as: str = "",
    answer: Callable[[Entity, Info], object] | None = None,
) -> AspectWrite:
    """A mutation of one entity; its operation is checked for `about`, by default for the entity."""

    def requirements(
        changes: AspectChanges, entities: Sequence[Entity], input: Input
    ) -> Sequence[Requirement]:
        if isinstance(required, str):
            return [Requirement(required, entities[0] if about is None else about)]
        return required(changes, entities[0], input)

    return AspectWrite(
        entities,
        requirements,
        lambda changes, entities, input: write(changes, entities[0], input),
        reads or {},
        audited_as,
        answer,
    )


def creation(
    kind: Kind,
    required: str | Required,
    extend: Extend | None = None,
    *,
    then: Change | None = None,
    id: Callable[[Input], str | None] = lambda input: input.get("id"),
    reads: Mapping[str, Read] | None = None,
    audited_as: str = "",
) -> AspectWrite:
    """Creates an entity; `id` gives the last part of its URN, with None it is random.

    `then` writes additional data.
    """

    def create(changes: AspectChanges, entity: Entity, input: Input) -> None:
        changes.check_new(entity)
        value = {**new_record(kind.record, input), **dict.fromkeys(kind.stamps, changes.stamp)}
        if extend is not None:
            extend(changes, entity, value, input)
        changes.put(entity, kind.aspect, value)
        if then is not None:
            then(changes, entity, input)

    return mutation(
        lambda _, input: [new_entity(kind.type, id(input))],
        required,
        create,
        about=kind.about,
        reads=reads,
        audited_as=audited_as or kind.audited_as,
    )


def change(
    kind: Kind,
    required: str | Required,
    extend: Extend | None = None,
    *,
    then: Change | None = None,
    of: str = "urn",
    reads: Mapping[str, Read] | None = None,
) -> AspectWrite:
    """Changes members of an entity's record; the others stay. `then` as in `creation`."""

    def write(changes: AspectChanges, entity: Entity, input: Input) -> None:
        changes.check_exists(entity)
        stamps = {name: changes.stamp for name in kind.stamps if name != "created"}
        value = {
            **changes.value(entity, kind.aspect),
            **provided_members(kind.record, input),
            **stamps,
        }
        if extend is not None:
            extend(changes, entity, value, input)
        changes.put(entity, kind.aspect, value)
        if then is not None:
            then(changes, entity, input)

    return mutation(
        by_urn(kind.type, of=of),
        required,
        write,
        about=kind.about,
        reads=reads,
        audited_as=kind.audited_as,
    )


def deletion(kind: Kind, required: str | Required, then: Change | None = None) -> AspectWrite:
    """Deletes an entity; `then` deletes dependent data."""

    def drop(changes: AspectChanges, entity: Entity, input: Input) -> None:
        changes.drop(entity)
        if then is not None:
            then(changes, entity, input)

    return mutation(by_urn(kind.type), required, drop, about=kind.about, audited_as=kind.audited_as)


def by_urn(*types: str, of: str = "urn") -> Entities:
    """The entity with the URN in an argument, of one of the types if any are given."""
    return lambda _, input: [calls.entity(input[of], *types)]


def reference(*types: str) -> Read:
    """Reads the URN of an entity, of one of the types if any are given."""
    return lambda _, argument, input: calls.entity(input[argument], *types)


def new_entity(type: str, id: str | None) -> Entity:
    """The entity of a type with this id, or with a random one; raises `Failure` 400."""
    return calls.entity(f"urn:li:{type}:{id or uuid4()}", type)


def check_limit(call: Call, items: list[T], argument: str) -> list[T]:
    """The items, if no more than one write may change; raises `Failure` 400."""
    most = call.exchange.services.batch_rows
    if len(items) > most:
        raise bad(f"`{argument}`: expected {most} at most, got {len(items)}")
    return items


def urn(*types: str) -> Callable[[str], str]:
    """Reads the URN of an entity of one of the types, for a record."""
    return lambda text: calls.entity(text, *types).name


def urns(*types: str) -> Callable[[Sequence[str]], list[str]]:
    """As `urn`, for a list."""
    return lambda texts: [calls.entity(text, *types).name for text in texts]
