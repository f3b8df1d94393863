"""Targets of a realm: databases to which its permissions are pushed, and what was last pushed.

A target is a document in the scope of its realm, with its address and credentials as a sealed
secret. So it is removed with the realm, and included in backups.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

import msgspec

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Busy, Unavailable, Unknown
from lakewarden.service.effect import Document, DocumentChanged, SecretChanged
from lakewarden.service.ports import Reading
from lakewarden.service.realm import CONTROL
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.write_transaction import WriteTransaction

RANGER: Final = "ranger"
"""The kind of a Ranger admin. The engine of its service is known when the service is queried."""

ENGINES_OF_RANGER: Final = ("hdfs", "hive", "kafka", "trino")
"""The engines whose services can be pushed to a Ranger admin; each is a setting of a realm."""

_TYPE: Final = "push-target"
_ADDED: Final = "push-added"
"""The type of the documents with the revisions at which targets were added.

A separate document, since concurrent servers of the previous release read the target's document.
"""

_PUSHED: Final = "push-roles"
_AT: Final = "at"
"""The key of the store's revision in the document of what was pushed."""

_DRIFT: Final = "push-drift"
_EVENT: Final = "push-event"
OUTBOX: Final = "push-outbox"
"""The type of the documents with pending changes of targets."""

_STORE: Final = Entity("push-store", "id")
"""The subject of the document with the id of the store."""

_URL: Final = "url"
_WEBHOOK: Final = "webhook"
"""The names of the secrets of a target."""

NAME: Final = r"[a-z][a-z0-9]{0,15}"
"""The form of a target's name."""

MAX_ADDRESS: Final = 2_048
"""The most characters of an address."""

LEAST_SECRET: Final = 32
MOST_SECRET: Final = 256
"""The most characters of a secret that signs events."""

SIGNABLE: Final = "[!-~]"
"""The characters of such a secret: equal bytes in every encoding, so both sides sign alike."""


@dataclass(frozen=True, slots=True)
class PushTarget:
    """A database that represents one catalog of a metalake.

    `pushed` are the roles after the last push, at that `revision` of the realm and at `pushed_at`,
    in seconds since the epoch; 0 before the first one. `style` is how its roles are named and
    divided: the name of a system for its own way, "" for ours.

    A target with `follow` is pushed to after each change. `plugin` is set if a catalog declares the
    target by its own properties; `closing`: the catalog no longer does, and what was pushed is
    revoked. `journal` is the push that was begun and is not known to have finished, for a target
    that keeps each statement: the `digest` of its plan, and its result. `added` is the revision of
    the store at which it was added, which distinguishes it from an earlier target of the same name.
    """

    name: str
    realm: str
    kind: str
    metalake: str
    catalog: str
    revision: int = 0
    pushed: Mapping[str, Any] = field(default_factory=dict)
    pushed_at: float = 0.0
    style: str = ""
    follow: bool = False
    plugin: str = ""
    closing: bool = False
    journal: Mapping[str, Any] = field(default_factory=dict)
    added: int = 0

    @property
    def place(self) -> str:
        """What it represents of the realm: a catalog, or a whole metalake."""
        return f"{self.metalake}.{self.catalog}" if self.catalog else self.metalake

    @property
    def size(self) -> int:
        """The number of roles pushed to it; for Ranger, the number of policies."""
        return len(self.pushed.get("policies", ()) if self.kind == RANGER else self.pushed)


def store_id(reading: Reading) -> str:
    """The id in the marks of targets that identifies their owner; "" before one was created."""
    document = reading.documents(CONTROL, [_STORE]).get(_STORE, {})
    return str(document.get("id", ""))


def name_store(transaction: WriteTransaction) -> str:
    """Creates and stores the id of the store, once: a backup of the store has the same id."""
    found = store_id(transaction.store)
    if found:
        return found
    made = secrets.token_hex(8)
    transaction.change(CONTROL, DocumentChanged(_STORE, {"id": made}))
    return made


def targets(reading: Reading, realms: Iterable[str]) -> Iterator[PushTarget]:
    """The targets of these realms, ordered by realm and name."""
    for realm in sorted(realms):
        yield from _with_pushed(reading, briefly(reading, realm))


def guids_of_other_targets(reading: Reading, of: PushTarget) -> frozenset[str]:
    """The guids of policies that were pushed to other Ranger targets of the realm."""
    beside = (one for one in briefly(reading, of.realm) if one.name != of.name)
    others = _with_pushed(reading, [one for one in beside if one.kind == RANGER])
    return frozenset(str(guid) for one in others for guid in one.pushed.get("guids", {}).values())


def briefly(reading: Reading, realm: str) -> list[PushTarget]:
    """The targets of a realm without what was pushed to them, which may be large."""
    found = [_target(document) for _, document in reading.documents_of(realm, _TYPE)]
    if not found:
        return found
    added = {about.name: _revision(one) for about, one in reading.documents_of(realm, _ADDED)}
    return [replace(one, added=added.get(one.name, 0)) for one in found]


def with_pushed_roles(reading: Reading, of: PushTarget) -> PushTarget:
    """The stored target, with what was pushed; raises `Unknown`."""
    (found,) = _with_pushed(reading, [current(reading, of)])
    return found


def current(reading: Reading, of: PushTarget) -> PushTarget:
    """The stored target, without what was pushed; raises `Unknown`."""
    for found in stored(reading, of):
        return found
    raise Unknown("target", of.name, "it was removed meanwhile")


def _with_pushed(reading: Reading, brief: Sequence[PushTarget]) -> Iterator[PushTarget]:
    for one in brief:
        about = Entity(_PUSHED, one.name)
        document = reading.documents(one.realm, [about]).get(about)
        yield one if document is None else replace(one, pushed=document["roles"])  # type: ignore[arg-type]  # as `record_push` wrote it


def _target(document: Document) -> PushTarget:
    return PushTarget(**document)  # type: ignore[arg-type]  # as `put` wrote it


def _revision(document: Document) -> int:
    revision: int = document["revision"]  # type: ignore[assignment]  # as `add` wrote it
    return revision


@dataclass(frozen=True, slots=True)
class DriftNote:
    """The findings of the last look at a target: numbers by kind, and since when."""

    counts: Mapping[str, int]
    digest: str
    since: float


@dataclass(frozen=True, slots=True)
class SentEvent:
    """The last accepted event of a target: the findings in it, and its number.

    `tried` are the findings of a later event without a response: it may have arrived.
    """

    digest: str = ""
    number: int = 0
    tried: str = ""


def sent_event(reading: Reading, of: PushTarget) -> SentEvent:
    """The last event of a target."""
    about = Entity(_EVENT, of.name)
    document = reading.documents(of.realm, [about]).get(about, {})
    return SentEvent(**document)  # type: ignore[arg-type]  # as `asdict` wrote it


@dataclass(frozen=True, slots=True)
class PushMark:
    """What another push to a target changes: the recorded revision, and the journal.

    The journal is represented by a digest.
    """

    added: int
    revision: int
    journal: str

    def with_journal(self, target: PushTarget) -> PushMark:
        """The mark once a push with the journal of `target` has begun."""
        return replace(self, journal=_digest(target.journal))

    def recorded(self, revision: int) -> PushMark:
        """The mark after what was pushed is recorded, by the write of that revision."""
        return replace(self, revision=revision, journal=_digest({}))


def push_mark(reading: Reading, of: PushTarget) -> PushMark:
    """The mark of the last push to a target, even of one in progress that is kept stepwise."""
    about = Entity(_PUSHED, of.name)
    document = reading.documents(of.realm, [about]).get(about, {})
    revision: int = document.get(_AT, 0)  # type: ignore[assignment]  # as `record_push` wrote it
    return PushMark(of.added, revision, _digest(of.journal))


def _digest(journal: Mapping[str, Any]) -> str:
    """A digest that is the same before and after a journal is stored."""
    return sha256(msgspec.json.encode(journal, order="sorted")).hexdigest()


def require_mark(reading: Reading, of: PushTarget, mark: PushMark) -> None:
    """Raises `Busy` if another push to a target began or ended since its mark was read.

    Raises `Unknown` if it was removed.
    """
    if push_mark(reading, current(reading, of)) != mark:
        raise Busy(f"another push to the target `{of.name}` ran meanwhile; plan again")


def drift_notes(reading: Reading, realms: Iterable[str]) -> Mapping[str, DriftNote]:
    """The findings in targets that differ from what was pushed, by their names."""
    return {
        entity.name: DriftNote(**document)  # type: ignore[arg-type]  # as `asdict` wrote it
        for realm in sorted(realms)
        for entity, document in reading.documents_of(realm, _DRIFT)
    }


def target(reading: Reading, realms: Iterable[str], name: str) -> PushTarget:
    """The target with that name; raises `Unknown` if there is none."""
    found = [one for one in targets(reading, realms) if one.name == name]
    if not found:
        raise Unknown("target", name)
    return found[0]


def url(reading: Reading, sealing: Sealing, of: PushTarget) -> str:
    """The address with the credentials.

    Raises `Unavailable` if no key unseals it, and `Unknown` if the target was removed.
    """
    sealed = reading.secrets(of.realm, _entity(of.name)).get(_URL)
    if sealed is None:
        raise Unknown("target", of.name, "it has no address; add it again")
    return sealing.unseal(sealed)


def stored(reading: Reading, of: PushTarget) -> Iterator[PushTarget]:
    """The stored target, if it exists, without what was pushed.

    A target of the same name that was added after a removal is a different one.
    """
    about, beside = _entity(of.name), Entity(_ADDED, of.name)
    documents = reading.documents(of.realm, [about, beside])
    added = _revision(documents[beside]) if beside in documents else 0
    if about in documents and added == of.added:
        yield replace(_target(documents[about]), added=added)


def changed(reading: Reading, of: PushTarget, **fields: Any) -> PushTarget:
    """The currently stored target, with these fields; raises `Unknown` if it was removed.

    Between reading and writing a target a push may take minutes: changes of the target meanwhile,
    such as a new name of its catalog, stay.
    """
    return replace(current(reading, of), **fields)


def put(new: PushTarget) -> DocumentChanged:
    """Stores the target; what was pushed to it stays unchanged."""
    document = asdict(replace(new, pushed={}))
    del document["added"]
    return DocumentChanged(_entity(new.name), document)


def record_push(transaction: WriteTransaction, done: PushTarget) -> Iterator[DocumentChanged]:
    """Stores the target after a push, which ends the findings of a watch before it."""
    yield put(done)
    pushed = {"roles": done.pushed, _AT: transaction.store.revision + 1}
    yield DocumentChanged(Entity(_PUSHED, done.name), pushed)
    yield DocumentChanged(Entity(_DRIFT, done.name), None)


def put_url(of: PushTarget, address: str, sealing: Sealing) -> SecretChanged:
    """Stores the address of a target."""
    return SecretChanged(_entity(of.name), _URL, sealing.seal(address))


def put_added(new: PushTarget, revision: int) -> DocumentChanged:
    """Stores the revision at which a target is added."""
    return DocumentChanged(Entity(_ADDED, new.name), {"revision": revision})


def put_webhook(of: PushTarget, sealed: str | None) -> SecretChanged:
    """Stores the sealed secret that signs a target's events; None removes it."""
    return SecretChanged(_entity(of.name), _WEBHOOK, sealed)


def put_drift_note(of: PushTarget, note: DriftNote | None) -> DocumentChanged:
    """Stores the findings of a watch; None removes them."""
    return DocumentChanged(Entity(_DRIFT, of.name), None if note is None else asdict(note))


def put_sent_event(of: PushTarget, sent: SentEvent) -> DocumentChanged:
    """Stores the last event about a target."""
    return DocumentChanged(Entity(_EVENT, of.name), asdict(sent))


def dropped(old: PushTarget) -> Iterator[DocumentChanged | SecretChanged]:
    """Removes the target and its pending changes."""
    entity = _entity(old.name)
    yield DocumentChanged(entity, None)
    yield SecretChanged(entity, _URL, None)
    yield SecretChanged(entity, _WEBHOOK, None)
    for type in (_ADDED, _PUSHED, OUTBOX, _DRIFT, _EVENT):
        yield DocumentChanged(Entity(type, old.name), None)


def webhook_secret(reading: Reading, sealing: Sealing | None, of: PushTarget) -> str:
    """The secret that signs a target's events; "" if they are not signed.

    Raises `Unavailable` if no key unseals it.
    """
    sealed = reading.secrets(of.realm, _entity(of.name)).get(_WEBHOOK)
    if sealed is None:
        return ""
    if sealing is None:
        raise Unavailable("there is no key for secrets, such as those of webhooks")
    return sealing.unseal(sealed)


def _entity(name: str) -> Entity:
    return Entity(_TYPE, name)
