"""Targets of a realm: databases to which its permissions are pushed, and what was last pushed.

A target is a document in the scope of its realm, with its address and credentials as a sealed
secret. So it is removed with the realm, and included in backups.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

import msgspec

from lakewarden.engines import engine as engines
from lakewarden.engines.mapping import ON, of_model
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Busy, Conflict, Unavailable, Unknown
from lakewarden.registry import registry
from lakewarden.service import control
from lakewarden.service.actor import SYSTEM
from lakewarden.service.control import Denied
from lakewarden.service.effect import Document, DocumentChanged, SecretChanged
from lakewarden.service.ports import Reading
from lakewarden.service.realm import CONTROL
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.state import RealmState
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

_EXPECTED: Final = (
    "expected `KIND://USER:PASSWORD@HOST:PORT/DATABASE`, with other characters percent-encoded"
)
_ADDRESS: Final = re.compile(
    r"[a-z]+(\+[a-z0-9]+)?://"
    r"([\w.~!$&'()*+,;=%-]*(:[\w.~!$&'()*+,;=%-]*)?@)?"
    r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
    r"(/[\w.~%-]*)?(\?(?P<options>[\w.~%=&-]*))?",
    re.ASCII,
)
"""Stricter than database clients, so that these find the same host in the address."""

_OPTIONS: Final = frozenset({"application_name", "file_system", "rate", "sslmode", "tags", "zone"})
"""Options of an address that name neither a file of the server nor a host to connect to."""


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


def put_webhook_secret(
    transaction: WriteTransaction, of: PushTarget, secret: str, sealing: Sealing
) -> Denied | None:
    """Signs events of a target with this secret from now on; without one, they are not signed.

    Raises `BadInput` for an invalid secret, and `Unknown` if the target was removed meanwhile.
    """
    if secret and not re.fullmatch(f"{SIGNABLE}{{{LEAST_SECRET},{MOST_SECRET}}}", secret):
        expected = f"expected {LEAST_SECRET} to {MOST_SECRET} ASCII letters, digits and symbols"
        raise BadInput(expected, where="secret")
    refused = _refused(transaction, "push_target.put", of, signed=bool(secret))
    if refused is None:
        current(transaction.store, of)
        sealed = sealing.seal(secret) if secret else None
        transaction.change(of.realm, SecretChanged(_entity(of.name), _WEBHOOK, sealed))
    return refused


def declared(
    name: str, realm: str, catalog: str, address: str, style: str = "", *, follow: bool = False
) -> PushTarget:
    """The target at an address, for a catalog `METALAKE.CATALOG`; raises `BadInput`.

    For Ranger it may be all catalogs of a `METALAKE`.
    """
    metalake, dot, own = catalog.partition(".")
    is_whole = not dot and re.match(rf"{RANGER}(\+https?)?://", address) is not None
    if not (metalake and (own or is_whole)):
        raise BadInput(f"expected `METALAKE.CATALOG`, got `{catalog}`", where="catalog")
    scheme, is_url, _ = address.partition("://")
    if not is_url:
        raise BadInput(_EXPECTED, where="url")
    scheme = scheme.partition("+")[0]
    kind = engines.pushed_engines().get(scheme, scheme)
    return PushTarget(name, realm, kind, metalake, own, style=style, follow=follow)


def style_names(model: str) -> Sequence[str]:
    """The styles of a model."""
    system = registry().shipper_of(model)
    return (system.name,) if system is not None and system.push_styles else ()


def styles(model: str, style: str) -> Mapping[str, Any]:
    """What implements a style of a model, by kinds of targets; empty for an unknown style."""
    system = registry().shipper_of(model)
    if system is None or system.name != style or not system.push_styles:
        return {}
    found: Mapping[str, Any] = system.load(system.push_styles)
    return found


def check_address(address: str, hosts: Collection[str]) -> None:
    """Raises `BadInput` for an address to which the server must not connect.

    It must name one of the hosts, and must not make a client read files of the server, or use the
    account that the server runs as.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise BadInput(_EXPECTED, where="url")
    host = found["host"].lower().strip("[]")
    if host not in hosts:
        message = f"`{host}` is not an allowed host of targets; see `push.hosts`"
        raise BadInput(message, where="url")
    for option in filter(None, (found["options"] or "").split("&")):
        if option.partition("=")[0] not in _OPTIONS:
            expected = ", ".join(sorted(_OPTIONS))
            raise BadInput(f"an address accepts only the options {expected}", where="url")


def add(
    transaction: WriteTransaction, new: PushTarget, address: str, sealing: Sealing
) -> Denied | None:
    """Stores a target. Raises `BadInput` for an invalid one, `Conflict` for a name in use.

    Names are unique across all realms.
    """
    refused = _refused(transaction, "push_target.put", new)
    if refused is not None:
        return refused
    _check(new, transaction.realm(new.realm))
    store = transaction.store
    known = {one.name for realm in transaction.state.realms for one in briefly(store, realm)}
    if new.name in known:
        raise Conflict(f"a target `{new.name}` already exists")
    name_store(transaction)
    added = DocumentChanged(Entity(_ADDED, new.name), {"revision": store.revision + 1})
    transaction.change(new.realm, put(new), added, put_url(new, address, sealing))
    return None


def remove(transaction: WriteTransaction, old: PushTarget) -> Denied | None:
    """Removes a target; what was pushed to it stays there. Raises `Unknown` if it is gone."""
    refused = _refused(transaction, "push_target.remove", old)
    if refused is None:
        transaction.change(old.realm, *dropped(current(transaction.store, old)))
    return refused


def record(
    transaction: WriteTransaction, done: PushTarget, mark: PushMark, **details: object
) -> Denied | None:
    """Records what was pushed to a target, as of its `pushed_at`, by the push with that mark.

    Raises `Unknown` if the target was removed meanwhile, `Busy` if another push came.
    """
    refused = _refused(transaction, "push.apply", done, **details)
    if refused is None:
        require_mark(transaction.store, done, mark)
        now = changed(
            transaction.store, done,
            pushed=done.pushed, revision=done.revision, pushed_at=done.pushed_at, journal={},
        )  # fmt: skip
        transaction.change(done.realm, *record_push(transaction, now))
    return refused


def begin(
    transaction: WriteTransaction, begun: PushTarget, mark: PushMark, **details: object
) -> Denied | None:
    """Records that a push has begun, before any change that the target keeps.

    Raises `Unknown` if the target was removed meanwhile, `Busy` if another push came.
    """
    refused = _refused(transaction, "push.apply", begun, **details)
    if refused is None:
        require_mark(transaction.store, begun, mark)
        transaction.change(
            begun.realm, put(changed(transaction.store, begun, journal=begun.journal))
        )
    return refused


def note_drift(
    transaction: WriteTransaction, of: PushTarget, counts: Mapping[str, int], digest: str
) -> Denied | None:
    """Records the findings of a watch, with an audit row; without a `digest`, that there are none.

    Records nothing if the target was removed or pushed to since it was read.
    """
    if not any(one.pushed_at == of.pushed_at for one in stored(transaction.store, of)):
        return None
    refused = _unseen(transaction, of, **counts)
    if refused is None:
        note = asdict(DriftNote(dict(counts), digest, transaction.now)) if digest else None
        transaction.change(of.realm, DocumentChanged(Entity(_DRIFT, of.name), note))
    return refused


def note_event(transaction: WriteTransaction, of: PushTarget, sent: SentEvent) -> Denied | None:
    """Records that an event was accepted or tried, unless its target was removed meanwhile."""
    if not any(stored(transaction.store, of)):
        return None
    refused = _unseen(transaction, of, event=sent.number)
    if refused is None:
        transaction.change(of.realm, DocumentChanged(Entity(_EVENT, of.name), asdict(sent)))
    return refused


def _unseen(transaction: WriteTransaction, of: PushTarget, **details: object) -> Denied | None:
    """None if the writer may see drift; the server's own watch needs no right."""
    if transaction.actor is not SYSTEM:
        return _refused(transaction, "push.drift", of, **details)
    audit(transaction, of, "push.drift", "watched", **details)
    return None


def audit(
    transaction: WriteTransaction, of: PushTarget, operation: str, reason: str, **details: object
) -> None:
    """Audits an action of the server itself on a target, with its reason and without a caller."""
    transaction.audit(
        operation,
        f"realm:{of.realm}",
        "allow",
        reason,
        CONTROL,
        {"push_target": of.name, **details},
    )


def _refused(
    transaction: WriteTransaction, operation: str, about: PushTarget, **details: object
) -> Denied | None:
    return control.authorize_in_realm(
        transaction, operation, about.realm, push_target=about.name, **details
    )


def _entity(name: str) -> Entity:
    return Entity(_TYPE, name)


def _check(new: PushTarget, realm: RealmState) -> None:
    if re.fullmatch(NAME, new.name) is None:
        message = (
            f"expected at most 16 lower-case letters and digits, first a letter, got `{new.name}`"
        )
        raise BadInput(message, where="name")
    if new.kind == RANGER:
        _check_ranger(new, realm)
        return
    if new.kind not in engines.pushed_engines().values():
        expected = ", ".join(sorted({*engines.pushed_engines(), RANGER}))
        raise BadInput(f"cannot push to `{new.kind}`; expected one of: {expected}", where="url")
    if new.kind not in of_model(realm.realm.model):
        message = f"the model `{realm.realm.model}` has no mapping for `{new.kind}`"
        raise BadInput(message, where="realm")
    _check_style(new, realm)
    _check_setting(new, realm)


def _check_setting(new: PushTarget, realm: RealmState) -> None:
    why = switched_off(new, realm)
    if why:
        raise BadInput(why, where="realm")


def switched_off(target: PushTarget, realm: RealmState) -> str:
    """The setting of the realm that must be on for the target; "" if it is on, or not needed."""
    if target.kind not in (RANGER, *engines.pushed_engines().values()):
        return ""
    kinds = [target.kind]
    if target.kind == RANGER:
        kinds = [one for one in ENGINES_OF_RANGER if one in of_model(realm.realm.model)]
    if any(realm.system.model.settings.get(one) == ON for one in kinds):
        return ""
    message = f"set `{'`, `'.join(kinds)}` to `on` for the realm `{realm.realm.name}`"
    return f"{message}: each one with a Ranger service" if target.kind == RANGER else message


def _check_style(new: PushTarget, realm: RealmState) -> None:
    if new.style and new.kind not in styles(realm.realm.model, new.style):
        message = f"there is no style `{new.style}` for `{new.kind}` in the model"
        raise BadInput(f"{message} `{realm.realm.model}`", where="style")


def _check_ranger(new: PushTarget, realm: RealmState) -> None:
    if of_model(realm.realm.model).keys().isdisjoint(ENGINES_OF_RANGER):
        message = f"the model `{realm.realm.model}` has no mapping for engines of Ranger"
        raise BadInput(message, where="realm")
    _check_style(new, realm)
    _check_setting(new, realm)
