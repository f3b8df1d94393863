"""Edits of DataHub's pages: each checks its own operations, and is then written as aspects.

An edit collects checks, writes and deletions. All checks use the state before the edit, so no part
of a batch enables another. All writes happen together when the edit finishes, or not at all.
Privileges that an aspect grants are checked as for every other write of the aspect
(`lakewarden.systems.datahub.use_cases.aspect_guard`).

SOURCE: datahub reference 5.1, 6.4, 6.9.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Final, Unpack

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.request import Parts, Request
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.use_cases import aspects, logical_parent, references
from lakewarden.systems.datahub.use_cases.aspect_guard import Guard, Switches
from lakewarden.systems.datahub.use_cases.aspects import Value, Write

OWNER: Final = "owner"
"""The effect of an operation that makes the caller the owner of the new entity."""

_TECHNICAL: Final = "urn:li:ownershipType:__system__technical_owner"


class Edit:
    """An edit in progress. `actor` is the caller as an entity."""

    def __init__(
        self, transaction: WriteTransaction, realm: str, actor: Entity, switches: Switches
    ) -> None:
        self.actor = actor
        self.requests: list[Request] = []
        self._decided: set[tuple[str, Entity]] = set()
        self._desk = transaction
        self._realm = realm
        self._switches = switches
        self._read: dict[Entity, dict[str, Value]] = {}
        self._put: dict[Entity, dict[str, Value]] = {}
        self._dropped: list[Entity] = []

    @property
    def state(self) -> RealmState:
        """The realm before the edit."""
        return self._desk.realm(self._realm)

    @property
    def stamp(self) -> Value:
        """The editor and the time."""
        return {"time": int(self._desk.now * 1_000), "actor": self.actor.name}

    def ask(self, operation: str, target: Entity = NO_RESOURCE, **parts: Unpack[Parts]) -> None:
        """Raises `NotAllowed` unless the caller may; the edit must then be abandoned."""
        if not parts and (operation, target) in self._decided:
            return
        guard = Guard(self._desk, self._realm, target, self._switches)
        request = guard.ask(operation, target, **parts)
        if (operation, target) not in self._decided:
            self.requests.append(request)
        if not parts:
            self._decided.add((operation, target))

    def read(self, entities: Iterable[Entity]) -> None:
        """Reads the aspects of many entities at once, for `value` to find."""
        unread = [entity for entity in dict.fromkeys(entities) if entity not in self._read]
        aspects_by_entity = aspects.read(self._desk.store, self.state, unread) if unread else {}
        for entity in unread:
            stored = aspects_by_entity.get(entity, {})
            self._read[entity] = {name: aspect.value for name, aspect in stored.items()}

    def value(self, entity: Entity, aspect: str) -> Value:
        """An aspect after the edit so far, a copy to be changed and put; empty if there is none."""
        put = self._put.get(entity, {})
        # COST: a put value belongs to the edit; only a value that was read must not be modified.
        return put[aspect] if aspect in put else copy.deepcopy(self.seen(entity, aspect))

    def seen(self, entity: Entity, aspect: str) -> Value:
        """An aspect before the edit, not to be changed; empty if there is none."""
        self.read([entity])
        return self._read[entity].get(aspect, {})

    def has(self, entity: Entity, aspect: str) -> bool:
        """Whether the aspect exists after the edit so far."""
        self.read([entity])
        return aspect in self._put.get(entity, {}) or aspect in self._read[entity]

    def written(
        self, entities: Iterable[Entity], aspect: str, field: str
    ) -> Iterator[tuple[Entity, object]]:
        """A field of an aspect for many entities, as last written.

        COST: only for fields that state no facts; otherwise use `value`, which reads the facts.
        """
        edited = list(entities)
        documents = self._desk.store.documents(self._realm, edited)
        for entity in edited:
            stored = aspects.stored_aspects(documents.get(entity)).get(aspect)
            if stored is not None:
                yield entity, stored.value.get(field)

    def put(self, entity: Entity, aspect: str, value: Value) -> None:
        """Sets the aspect."""
        self._put.setdefault(entity, {})[aspect] = value

    def drop(self, entity: Entity) -> None:
        """Deletes the entity, and the references to it."""
        self._dropped.append(entity)

    def make_caller_owner(self, entity: Entity, operation: str) -> None:
        """Makes the caller the owner of a new entity, if the operation says so."""
        if OWNER in self.state.system.model.operations[operation].effects:
            owner = {
                "owner": self.actor.name,
                "type": "TECHNICAL_OWNER",
                "typeUrn": _TECHNICAL,
                "source": {"type": "MANUAL"},
            }
            self.put(entity, "ownership", {"owners": [owner], "lastModified": self.stamp})

    def changes(self, entity: Entity) -> list[str]:
        """The aspects of an entity that will change."""
        return sorted(self._put.get(entity, {}))

    @property
    def changed(self) -> list[Entity]:
        """The entities that will be changed or deleted."""
        return [*self._put, *self._dropped]

    def finish(self) -> None:
        """Writes everything; raises `NotAllowed` if an aspect grants more than the caller may.

        Raises `BadInput` for an invalid logical parent.

        INVARIANT: an edit without any check writes nothing.
        """
        if not self.requests:
            raise AssertionError("an edit asks before it writes")
        for entity, put in self._put.items():
            self._check(entity, put)
        for entity in self._dropped:
            guard = Guard(self._desk, self._realm, entity, self._switches)
            guard.check_credential()
            guard.check_mutable()
        writes = [
            Write(entity, aspect, value)
            for entity, put in self._put.items()
            for aspect, value in put.items()
            if value != self._read[entity].get(aspect)
        ]
        logical_parent.check(self._desk, self._realm, writes)
        aspects.write(self._desk, self._realm, writes, self.actor.name)
        for entity in self._dropped:
            references.remove_references(self._desk, self._realm, entity, self.actor)
            aspects.drop(self._desk, self._realm, entity)

    def _check(self, entity: Entity, put: dict[str, Value]) -> None:
        guard = Guard(self._desk, self._realm, entity, self._switches)
        guard.check_credential()
        self.read([entity])
        before = self._read[entity]
        is_there = aspects.exists(entity, self.state.matrix.snapshot)
        domains = put.get("domains")
        for aspect, value in put.items():
            old = before.get(aspect)
            guard.check(aspect, old, value, is_there=is_there, domains=domains)
