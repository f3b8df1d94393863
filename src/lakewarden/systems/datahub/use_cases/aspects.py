"""The aspects of DataHub's entities: read and written together with the facts of the kernel.

An aspect is stored as it was written. It states facts of the kernel (owners, domains, tags, groups,
roles, a policy), and every write of an aspect changes these in the same transaction. A reader gets
the aspect with the stored facts, regardless of who changed them.

Authorization is checked before (`lakewarden.systems.datahub.use_cases.proposals`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    MembershipChanged,
    OwnerChanged,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import READS, AttributeRow, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Statement
from lakewarden.service import timeseries
from lakewarden.service.defaults import deletions
from lakewarden.service.effect import Document, DocumentChanged, Effect
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import keys, rendering, view_reads
from lakewarden.systems.datahub.aspects.column_labels import ASPECTS as LABELLING
from lakewarden.systems.datahub.aspects.column_labels import column_labels, stored_labels
from lakewarden.systems.datahub.aspects.facts import (
    SHARED,
    Fact,
    Placement,
    stated_facts,
    stored_facts,
)
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.aspects.meaning import READERS
from lakewarden.systems.datahub.aspects.record_names import is_timed

Value = dict[str, Any]

POLICY: Final = "dataHubPolicyInfo"

ASPECTS: Final = "aspects"
"""The member of an entity's document that contains its aspects."""


SECRETS: Final[Mapping[str, tuple[str, ...]]] = {
    "corpUserCredentials": ("salt", "hashedPassword", "passwordResetToken"),
    "dataHubConnectionDetails": ("json",),
    "dataHubSecretValue": ("value",),
    "inviteToken": ("token",),
}
"""Aspects that are never read, and their fields that are never stored."""

BLANKED: Final[Mapping[str, str]] = {"globalSettingsInfo": "clientSecret"}
"""Aspects that are read, and a member in them that is only stored as an empty string."""


class Aspect(NamedTuple):
    """An aspect for readers. `system` and `created` are metadata of the write."""

    value: Value
    system: Value
    created: Value


class Write(NamedTuple):
    """An aspect to write; `value` None: to delete."""

    entity: Entity
    aspect: str
    value: Value | None
    system: Mapping[str, object] = {}


def read(
    reading: Reading, state: RealmState, entities: Sequence[Entity]
) -> dict[Entity, dict[str, Aspect]]:
    """All aspects of the entities, by name, including the key; missing entities are left out.

    Aspects with secrets are never included, and neither are timeseries values.
    """
    documents = reading.documents(state.realm.name, entities)
    snapshot = state.matrix.snapshot
    return {
        entity: _aspects(entity, documents.get(entity), snapshot)
        for entity in entities
        if exists(entity, snapshot)
    }


def exists(entity: Entity, snapshot: Snapshot) -> bool:
    """Whether the entity is stored; a policy is stored where its statement is."""
    return snapshot.coded.is_known(entity) or bool(stored_facts(entity, POLICY, snapshot))


def _aspects(entity: Entity, document: Document | None, snapshot: Snapshot) -> dict[str, Aspect]:
    stored = stored_aspects(document)
    key = keys.key_of(entity)
    all_aspects = {} if key is None else {key[0]: Aspect(key[1], {}, {})}
    all_aspects |= {name: aspect for name, aspect in stored.items() if name not in SECRETS}
    for aspect in READERS:
        value = stored[aspect].value if aspect in stored else None
        agreed = _current_value(entity, aspect, stored, snapshot)
        if agreed is None:
            all_aspects.pop(aspect, None)
        elif agreed is not value:
            all_aspects[aspect] = Aspect(agreed, {}, {})
    return all_aspects


def stored_aspects(document: Document | None) -> dict[str, Aspect]:
    """The aspects in an entity's document, as they were written."""
    aspects: Any = {} if document is None else document.get(ASPECTS, {})
    return {
        name: Aspect(aspect["value"], aspect.get("system", {}), aspect.get("created", {}))
        for name, aspect in aspects.items()
    }


def _own_facts(
    entity: Entity, aspect: str, written_aspects: Mapping[str, Aspect], snapshot: Snapshot
) -> frozenset[Fact]:
    """The stored facts that this aspect states, without those of the other aspect of their kind."""
    facts = stored_facts(entity, aspect, snapshot)
    other = SHARED.get(aspect)
    if other is None or not facts:
        return facts
    own = _stated_facts(entity, aspect, written_aspects, snapshot)
    if aspect == _FIRST:
        return facts - (_stated_facts(entity, other, written_aspects, snapshot) - own)
    return facts & own


_FIRST: Final = "groupMembership"
"""The aspect for group memberships that were not written as an aspect."""


def _stated_facts(
    entity: Entity, aspect: str, stored: Mapping[str, Aspect], snapshot: Snapshot
) -> frozenset[Fact]:
    if aspect not in stored:
        return frozenset()
    return stated_facts(entity, aspect, stored[aspect].value, snapshot.model, datahub)


def native_groups(own: Mapping[str, Aspect]) -> frozenset[str]:
    """The natively managed groups, by the aspects of a user."""
    stated = own.get("nativeGroupMembership")
    members = None if stated is None else stated.value.get("nativeGroups")
    return frozenset(members) if isinstance(members, list) else frozenset()


def write(
    transaction: WriteTransaction,
    realm: str,
    writes: Iterable[Write],
    actor: str,
    *,
    values: int = timeseries.KEPT,
) -> None:
    """Writes aspects, in order, with the facts that they state. `actor` is the writer's URN.

    A missing entity is added; one that is only named as the parent of another is not. Of a
    timeseries aspect, at most `values` values are stored. Raises `BadInput` with the field, and
    `Conflict` and `LimitExceeded` as the kernel's changes do.
    """
    by_entity: dict[Entity, list[Write]] = {}
    for write in writes:
        by_entity.setdefault(write.entity, []).append(write)
    documents = transaction.store.documents(realm, list(by_entity))
    batch = _Batch(transaction, realm, actor)
    for entity, own in by_entity.items():
        batch.add(entity)
        plain = [written for written in own if not is_timed(written.aspect)]
        if plain:
            batch.write(entity, documents.get(entity), plain)
    batch.flush()
    in_time = [written for own in by_entity.values() for written in own if is_timed(written.aspect)]
    _write_in_time(transaction, realm, in_time, values)


def _write_in_time(
    transaction: WriteTransaction, realm: str, writes: list[Write], most_values: int
) -> None:
    for write in writes:
        if write.value is None:
            timeseries.dropped(transaction, realm, write.entity, write.aspect)
        else:
            timeseries.written(
                transaction, realm, write.entity, write.aspect, write.value, write.system
            )
    for entity, aspect in dict.fromkeys((write.entity, write.aspect) for write in writes):
        timeseries.trimmed(transaction, realm, entity, aspect, most_values)


class _Batch:
    """Changes of many entities, applied together if the result is the same.

    COST: every change makes a new state. An entity's aspects only state facts about that entity, so
    entities do not wait for each other, and an entity only waits for an aspect of its own that
    states facts of the same kind.
    """

    def __init__(self, transaction: WriteTransaction, realm: str, actor: str) -> None:
        self._desk = transaction
        self._realm = realm
        self._time = {"time": int(transaction.now * 1_000), "actor": actor}
        self._waiting: list[Effect] = []
        self._added: set[Entity] = set()

    def flush(self) -> None:
        """Applies the pending changes."""
        if self._waiting:
            _change(self._desk, self._realm, self._waiting)
        self._waiting.clear()
        self._added.clear()

    def add(self, entity: Entity) -> None:
        """Stores the entity."""
        is_known = self._desk.realm(self._realm).matrix.snapshot.coded.is_known
        if entity not in self._added and not is_known(entity):
            self._added.add(entity)
            self._waiting.append(EntityAdded(entity, datahub.parent(entity)))

    def write(self, entity: Entity, document: Document | None, writes: Iterable[Write]) -> None:
        """Writes aspects of an entity; `document` is its stored document."""
        stored = stored_aspects(document)
        names: set[str | None] = set()
        for write in writes:
            other = SHARED.get(write.aspect)
            if not names.isdisjoint((write.aspect, other)):
                self.flush()
                names.clear()
            names |= {write.aspect} if other is None else {write.aspect, other}
            before, after = self._fact_changes(write, stored)
            self._waiting += _effects(entity, before, after)
            snapshot = self._desk.realm(self._realm).matrix.snapshot
            self._label_columns(write, snapshot)
            self._note_reads(write, snapshot)
        body = {name: _aspect_body(aspect) for name, aspect in stored.items()}
        self._waiting.append(DocumentChanged(entity, {**(document or {}), ASPECTS: body}))

    def _label_columns(self, write: Write, snapshot: Snapshot) -> None:
        """Stores tags and terms of columns, with the columns that have any."""
        before = stored_labels(write.entity, write.aspect, snapshot)
        after = column_labels(write.entity, write.aspect, write.value, snapshot.model)
        for column in sorted({row.source for row in after - before}):
            self.add(column)
        self._waiting += [RelationChanged(row, False) for row in sorted(before - after)]
        self._waiting += [RelationChanged(row, True) for row in sorted(after - before)]

    def _note_reads(self, write: Write, snapshot: Snapshot) -> None:
        """Stores the names that a view reads beside it, for lint."""
        if write.aspect != view_reads.ASPECT:
            return
        id = snapshot.coded.tree.find(write.entity)
        before = () if id is None else snapshot.coded.attributes.get(id, {}).get(READS, ())
        after = view_reads.view_reads(write.entity, write.value)
        if set(before) != set(after):
            self._waiting.append(AttributeChanged(write.entity, READS, after))

    def _fact_changes(
        self, write: Write, written_aspects: dict[str, Aspect]
    ) -> tuple[frozenset[Fact], frozenset[Fact]]:
        """The facts before and after a write of an aspect, which is added to `written_aspects`."""
        entity, aspect = write.entity, write.aspect
        snapshot = self._desk.realm(self._realm).matrix.snapshot
        before = stored_facts(entity, aspect, snapshot)
        other = SHARED.get(aspect)
        after = frozenset[Fact]()
        if other is not None:
            after = _own_facts(entity, other, written_aspects, snapshot)
        if write.value is None:
            written_aspects.pop(aspect, None)
            return before, after
        if _current_value(entity, aspect, written_aspects, snapshot) == write.value:
            after |= before  # unchanged: also if facts say more than the aspect can
        else:
            after |= stated_facts(entity, aspect, write.value, snapshot.model, datahub)
        written_aspects[aspect] = Aspect(
            _without_secrets(aspect, write.value), dict(write.system), self._time
        )
        return before, after


def _current_value(
    entity: Entity, aspect: str, stored: Mapping[str, Aspect], snapshot: Snapshot
) -> Value | None:
    """The current value of an aspect that states facts; None if it is absent or states none."""
    if aspect not in READERS:
        return None
    value = stored[aspect].value if aspect in stored else None
    own = _own_facts(entity, aspect, stored, snapshot)
    return rendering.consistent_value(entity, aspect, value, own, snapshot.model)


def _without_secrets(aspect: str, value: Value) -> Value:
    """The value without its secrets."""
    secret = SECRETS.get(aspect)
    if secret:
        return {k: v for k, v in value.items() if k not in secret}
    blank = BLANKED.get(aspect)
    return value if blank is None else {k: _blank_member(v, blank) for k, v in value.items()}


def _blank_member(value: Any, member: str) -> Any:
    if isinstance(value, Mapping):
        return {k: "" if k == member else _blank_member(v, member) for k, v in value.items()}
    return [_blank_member(item, member) for item in value] if isinstance(value, list) else value


def secret_in(aspect: str, value: Value) -> str | None:
    """A member of the aspect's value that holds a secret, which cannot be stored; None: none."""
    for member in SECRETS.get(aspect, ()):
        if without_avro_type(value.get(member)):
            return member
    blank = BLANKED.get(aspect)
    return None if blank is None or not _has_member(value, blank) else blank


def _has_member(value: Any, member: str) -> bool:
    if isinstance(value, Mapping):
        return any(
            (k == member and bool(without_avro_type(v))) or _has_member(v, member)
            for k, v in value.items()
        )
    return isinstance(value, list) and any(_has_member(item, member) for item in value)


def _aspect_body(aspect: Aspect) -> Value:
    return {"value": aspect.value, "system": aspect.system, "created": aspect.created}


def _effects(entity: Entity, before: frozenset[Fact], after: frozenset[Fact]) -> Iterator[Effect]:
    """The changes from some facts about an entity to others."""
    yield from _attribute_effects(before, after)
    for fact in sorted(before - after, key=repr):
        match fact:
            case RelationRow():
                yield RelationChanged(fact, False)
            case OwnerRow():
                yield OwnerChanged(fact, False)
            case MembershipRow():
                yield MembershipChanged(fact, False)
            case Placement() if not any(isinstance(other, Placement) for other in after):
                yield EntityMoved(entity, datahub.parent(entity))
            case Statement() if not any(isinstance(other, Statement) for other in after):
                yield StatementRemoved(fact.id)
    for fact in sorted(after - before, key=repr):
        match fact:
            case RelationRow():
                yield RelationChanged(fact, True)
            case OwnerRow():
                yield OwnerChanged(fact, True)
            case MembershipRow():
                yield MembershipChanged(fact, True)
            case Placement(_, parent):
                yield EntityMoved(entity, parent)
            case Statement():
                yield StatementAdded(fact)


def _attribute_effects(before: frozenset[Fact], after: frozenset[Fact]) -> Iterator[Effect]:
    old, new = (
        {(f.entity, f.attribute): set[str]() for f in facts if isinstance(f, AttributeRow)}
        for facts in (before, after)
    )
    for facts, values in ((before, old), (after, new)):
        for fact in facts:
            if isinstance(fact, AttributeRow):
                values[fact.entity, fact.attribute].add(fact.value)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield AttributeChanged(*key, tuple(sorted(new.get(key, ()))))


def drop(transaction: WriteTransaction, realm: str, entity: Entity) -> bool:
    """Removes an entity with all its aspects; returns False if it did not exist."""
    snapshot = transaction.realm(realm).matrix.snapshot
    if not exists(entity, snapshot):
        return False
    governed = stored_facts(entity, POLICY, snapshot)
    effects: list[Effect] = [StatementRemoved(f.id) for f in governed if isinstance(f, Statement)]
    effects += _membership_effects(entity, snapshot)
    for aspect in LABELLING:
        labels = stored_labels(entity, aspect, snapshot)
        effects += [RelationChanged(row, False) for row in sorted(labels)]
    if snapshot.coded.is_known(entity):
        effects.append(EntityDropped(entity))
    _change(transaction, realm, effects)
    return True


def _change(transaction: WriteTransaction, realm: str, effects: Sequence[Effect]) -> None:
    """Applies the changes; a shipped policy that is removed stays removed."""
    state = transaction.realm(realm)
    transaction.change(realm, *effects, *deletions(state.realm, state.system, effects))


def _membership_effects(entity: Entity, snapshot: Snapshot) -> Iterator[Effect]:
    """The effects that end the memberships of a user, group or role."""
    for aspect in ("groupMembership", "roleMembership"):
        for fact in sorted(stored_facts(entity, aspect, snapshot), key=repr):
            if isinstance(fact, MembershipRow):
                yield MembershipChanged(fact, False)
