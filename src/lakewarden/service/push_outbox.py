"""Pending changes of followed targets: at most one entry per target.

The entry is written in the same transaction as the change, so none is lost. It says only that the
target is behind: a push brings it up to date regardless of the changes. The delivering process
holds the entry for a while; an entry that changes meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Protocol

from lakewarden.engines import engine as engines
from lakewarden.engines.mapping import ON
from lakewarden.kernel.change import Change, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.service import push_target, push_target_check
from lakewarden.service.effect import Document, DocumentChanged, Effect, RealmChanged
from lakewarden.service.ports import Reading
from lakewarden.service.push_target import OUTBOX, PushTarget
from lakewarden.service.realm import people_of
from lakewarden.service.state import RealmState, State
from lakewarden.service.state_builder import Scoped

_OWN: Final = "push-"
"""The prefix of the types of documents that pushes themselves write."""

_METALAKE, _CATALOG = _PLACES = "metalake", "catalog"
"""The types that a target can represent of the realm."""

LEASE_SECONDS: Final = 30.0
"""How long a delivering process holds an entry, unless it is renewed or released before."""

FIRST_SECONDS, MOST_SECONDS = 1.0, 300.0
"""The pause after a first failure, which doubles with each further one, up to the second value."""

MAX_ERROR: Final = 500


@dataclass(frozen=True, slots=True)
class Pending:
    """A target that is behind since a time; `revision` is the newest one not yet pushed.

    After `attempts` failures it is retried when it is `due`; `error` is the last error. `holder`
    delivers it until the time `until`. Times are in seconds since the epoch.
    """

    revision: int
    since: float
    attempts: int = 0
    due: float = 0.0
    error: str = ""
    holder: str = ""
    until: float = 0.0

    def is_due(self, now: float) -> bool:
        """Whether a process may deliver it."""
        return self.due <= now and self.until <= now


class Changing(Protocol):
    """The parts of the write in progress that are needed here."""

    state: State
    effects: list[Scoped]
    now: float

    @property
    def store(self) -> Reading: ...

    def change(self, scope: str, *effects: Effect) -> None: ...


@dataclass(frozen=True, slots=True)
class Followed:
    """A followed target before a write, and its pending entry."""

    target: PushTarget
    pending: Pending | None

    @property
    def has_failed(self) -> bool:
        """Whether the last delivery to it failed."""
        return self.pending is not None and self.pending.attempts > 0


def entity(target: PushTarget) -> Entity:
    """The subject of a target's entry."""
    return Entity(OUTBOX, target.name)


def has_enabled_targets(realm: RealmState) -> bool:
    """Whether the settings of the realm enable any kind of target."""
    settings = realm.system.model.settings
    kinds = (*engines.pushed_engines().values(), *push_target.ENGINES_OF_RANGER)
    return any(settings.get(kind) == ON for kind in kinds)


def followed(reading: Reading, state: State) -> list[Followed]:
    """The followed targets of all realms, with their entries."""
    found: list[Followed] = []
    for name, realm in state.realms.items():
        if has_enabled_targets(realm):
            targets = [one for one in push_target.briefly(reading, name) if one.follow]
            entries = pending(reading, targets)
            found += (Followed(one, entries.get(one.name)) for one in targets)
    return found


def pending(reading: Reading, targets: Sequence[PushTarget]) -> Mapping[str, Pending]:
    """The entries of targets, by their names."""
    found: dict[str, Pending] = {}
    for realm in sorted({one.realm for one in targets}):
        own = [entity(one) for one in targets if one.realm == realm]
        for about, document in reading.documents(realm, own).items():
            if isinstance(about, Entity):
                found[about.name] = _entry(document)
    return found


def enqueue_changes(transaction: Changing, before: Iterable[Followed]) -> None:
    """Creates or updates the entries of the targets that the write leaves behind.

    Targets follow renamed catalogs; targets of plug-ins are closed with their catalog. A target
    whose setting is off is behind too: nothing is pushed to it until the setting is on again.
    """
    _follow_renames(transaction)
    before = list(before)
    before += _switched(transaction, {one.target.name for one in before})
    if not before or not transaction.effects:
        return
    changed = {scope for scope, effect in transaction.effects if _counts(effect)}
    revision = transaction.store.revision + 1
    written = dict(_entries(transaction.effects))
    for one in before:
        realm = transaction.state.realms.get(one.target.realm)
        if realm is None or changed.isdisjoint(
            {realm.realm.name, people_of(realm.realm.directory)}
        ):
            continue
        # The write itself may have created the entry, as after a change of the address.
        own = written.get(one.target.name)
        entry = own or one.pending or Pending(0, transaction.now)
        why = own.error if own else push_target_check.switched_off(one.target, realm)
        entry = replace(entry, revision=revision, error=why or entry.error)
        transaction.change(one.target.realm, put(one.target, entry))


def _switched(transaction: Changing, known: Container[str]) -> Iterator[Followed]:
    """The other followed targets of realms whose new settings may enable them again."""
    scopes = {scope for scope, effect in transaction.effects if isinstance(effect, RealmChanged)}
    for scope in sorted(scopes & transaction.state.realms.keys()):
        targets = [one for one in push_target.briefly(transaction.store, scope) if one.follow]
        entries = pending(transaction.store, targets)
        yield from (
            Followed(one, entries.get(one.name)) for one in targets if one.name not in known
        )


def _entries(effects: Iterable[Scoped]) -> Iterator[tuple[str, Pending]]:
    """The entries that a write contains, by the names of their targets."""
    for _, effect in effects:
        if not isinstance(effect, DocumentChanged) or effect.body is None:
            continue
        if isinstance(effect.about, Entity) and effect.about.type == OUTBOX:
            yield effect.about.name, _entry(effect.body)


def _entry(document: Document) -> Pending:
    return Pending(**document)  # type: ignore[arg-type]  # as `asdict` wrote it


def _counts(effect: Effect) -> bool:
    """Whether it may change what a target should contain."""
    if isinstance(effect, DocumentChanged):
        return isinstance(effect.about, Entity) and not effect.about.type.startswith(_OWN)
    return isinstance(effect, (Change, RealmChanged))


def _follow_renames(transaction: Changing) -> None:
    """Makes targets follow renamed catalogs, including those that are pushed to manually.

    Those of plug-ins close with their catalog: another one may take its name before the next push.
    """
    moved: dict[str, list[EntityRenamed | EntityDropped]] = {}
    for scope, effect in transaction.effects:
        # A tag or a role may have the same name as a catalog.
        if isinstance(effect, (EntityRenamed, EntityDropped)) and effect.entity.type in _PLACES:
            moved.setdefault(scope, []).append(effect)
    for scope in sorted(moved.keys() & transaction.state.realms.keys()):
        for target in push_target.briefly(transaction.store, scope):
            _follow_rename(transaction, transaction.state.realms[scope], target, moved[scope])


def _follow_rename(
    transaction: Changing,
    realm: RealmState,
    target: PushTarget,
    moved: Iterable[EntityRenamed | EntityDropped],
) -> None:
    type = _CATALOG if target.catalog else _METALAKE
    before: tuple[str, ...] = (target.metalake, target.catalog)[: 2 if target.catalog else 1]
    place, closing = before, target.closing
    parts = realm.system.spelling.parts
    for effect in moved:
        at = tuple(parts(effect.entity))
        if isinstance(effect, EntityDropped):
            if target.plugin and place[: len(at)] == at:
                closing = True
                break
        elif effect.entity.type == type and at == place:
            place = tuple(parts(Entity(type, effect.name)))
    if (place, closing) != (before, target.closing):
        metalake, catalog = (*place, "")[:2]
        for current in push_target.stored(transaction.store, target):
            after = replace(current, metalake=metalake, catalog=catalog, closing=closing)
            transaction.change(target.realm, push_target.put(after))


def put(target: PushTarget, entry: Pending | None) -> DocumentChanged:
    """The new entry of a target; None: it is up to date."""
    return DocumentChanged(entity(target), None if entry is None else asdict(entry))


def failed(entry: Pending, error: str, now: float) -> Pending:
    """The entry after a delivery that failed.

    >>> failed(Pending(7, 0.0, attempts=3), "away", 100.0).due
    108.0
    """
    pause = min(FIRST_SECONDS * 2**entry.attempts, MOST_SECONDS) if entry.attempts < 20 else 300.0
    return replace(
        entry,
        attempts=entry.attempts + 1,
        due=now + pause,
        error=error[:MAX_ERROR],
        holder="",
        until=0.0,
    )


def lag_seconds(entry: Pending | None, now: float) -> int:
    """How long a target has been behind."""
    return 0 if entry is None else max(0, round(now - entry.since))


def state_of(target: PushTarget, entry: Pending | None) -> str:
    """The state for display: `by hand`, `current`, `behind` or `failing`."""
    if not target.follow:
        return "by hand"
    if entry is None:
        return "current"
    return "failing" if entry.error else "behind"
