"""Loads an ingested directory into a realm: the differences become one revision, or none at all.

Stored rows that are not in the directory are counted, and dropped only on request. Always kept are
statements of other keepers (with a mark), shipped statements, and administrators from the
configuration. Documents of remaining entities are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.facts import code
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityColumns,
    EntityRow,
    Facts,
    MembershipRow,
)
from lakewarden.kernel.statement import Statement
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.defaults import deletions
from lakewarden.service.effect import Effect, canonical
from lakewarden.service.garbage_collection import collection_paused
from lakewarden.service.nesting import check_nesting
from lakewarden.service.policy import CONFIGURED
from lakewarden.service.realm import CONTROL, DIRECTORY, Realm, people_of
from lakewarden.service.state import People, RealmState
from lakewarden.service.statements import MARK, check_storable
from lakewarden.service.system import System
from lakewarden.service.write_health import Deadlocked
from lakewarden.service.write_transaction import WriteTransaction

Row = TypeVar("Row")


class Count(NamedTuple):
    """The numbers of rows of one table that are new, changed, and no longer in the directory."""

    new: int = 0
    changed: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class LoadDifference:
    """The difference between the stored and the loaded rows: effects in order, and counts.

    `left` are the ids of statements that differ but belong to other keepers.
    """

    effects: tuple[Effect, ...]
    counts: Mapping[str, Count]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a load; without any effect the revision is the previous one."""

    gap: LoadDifference
    pruned: bool
    revision: int


class QuarantinedRow(NamedTuple):
    """A row that the pipeline rejected: its table, the reason and details, and its place."""

    table: str
    reason: str
    detail: str
    place: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The rows that the pipeline rejected: their number, the first ones, and the directory."""

    total: int = 0
    first: Sequence[QuarantinedRow] = ()
    directory: str = ""

    def recorded(self) -> dict[str, object]:
        """The form in the audit trail: at most `MAX_QUARANTINED` rows, long cells cut."""
        rows = [
            dict(zip(row._fields, (_truncated(cell) for cell in row), strict=True))
            for row in self.first[:MAX_QUARANTINED]
        ]
        return {"total": self.total, "first": rows, "directory": _truncated(self.directory)}


MAX_QUARANTINED: Final = 20
"""The most rejected rows that are recorded of a load, for users; the directory has them all."""

_MAX_CELL: Final = 200


def _truncated(text: str) -> str:
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"


class _ConcurrentChange(Exception):
    """Another write changed the realm while the rows were compared."""


LOADING: Final = "realm.import"
"""The operation of a load."""


def load_rows(
    service: DecisionService,
    actor: Actor,
    realm: str,
    system: System,
    facts: Facts,
    *,
    prune: bool = False,
    quarantine: Quarantine | None = None,
) -> LoadResult | Denied:
    """Makes the realm contain the rows, as one revision; with `prune` nothing else.

    The audit trail records the rows that the pipeline rejected (`quarantine`; None: unknown). The
    load does not change how the realm is enforced, regardless of the directory. Raises `Unknown`
    for a realm that does not exist, `BadInput` if the rows are of another model or of other
    settings than the realm, or are inconsistent.
    """
    with collection_paused():
        _check_compiles(facts, system)
        details: dict[str, object] = {"prune": prune}
        if quarantine is not None:
            details["quarantine"] = quarantine.recorded()
        return _loaded(service, actor, realm, system, facts, details=details, prune=prune)


def _loaded(
    service: DecisionService,
    actor: Actor,
    realm: str,
    system: System,
    facts: Facts,
    *,
    details: Mapping[str, object],
    prune: bool,
) -> LoadResult | Denied:
    for first in (False, False, False, True):
        try:
            difference = service.write(
                actor,
                partial(
                    _load_once,
                    realm=realm,
                    system=system,
                    facts=facts,
                    details=details,
                    prune=prune,
                    lock_first=first,
                ),
                late=True,
            )
        except (_ConcurrentChange, Deadlocked):
            continue
        except Conflict:
            if first:
                raise
            continue  # the comparison did not include the concurrent changes
        if isinstance(difference, Denied):
            return difference
        return LoadResult(difference, prune, service.state.revision)
    raise Conflict(f"realm `{realm}` was changed concurrently too often")


def _load_once(
    transaction: WriteTransaction,
    realm: str,
    system: System,
    facts: Facts,
    *,
    details: Mapping[str, object],
    prune: bool,
    lock_first: bool,
) -> LoadDifference | Denied:
    refused = control.authorize_in_realm(transaction, LOADING, realm, **details)
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    _check_same_model(realm_state.realm, realm_state.system.model, system.model)
    if lock_first:
        transaction.store.lock()
    start = transaction.store.revision
    stored = transaction.store.facts(realm, realm_state.system)
    difference = load_difference(
        stored,
        facts,
        system.model,
        prune=prune,
        kept_by_others=_marked_statements(transaction, realm),
        administrators=_administrators(transaction, realm_state.system),
    )
    difference = replace(
        difference,
        effects=(*difference.effects, *deletions(realm_state.realm, system, difference.effects)),
    )
    if difference.effects:
        _check_statements(difference.effects)
        _check_together(transaction, realm_state, Facts() if prune else stored, facts)
        transaction.change(realm, *difference.effects)
        transaction.store.lock()
        _check_unchanged(transaction, realm_state.realm, start)
    return difference


def _check_statements(effects: Iterable[Effect]) -> None:
    """Refuses statements that must not be put into any realm."""
    for effect in effects:
        if isinstance(effect, StatementAdded):
            check_storable(effect.statement, f"statement `{effect.statement.id}`")


_RIGHTS: Final = frozenset({"membership", "statement"})
"""The kinds of effects that change rights."""


def _check_unchanged(transaction: WriteTransaction, realm: Realm, start: int) -> None:
    """Raises `_ConcurrentChange` if the data that was read or decided on has changed.

    The rows of the realm were read at the revision `start`. Known before that are the realm itself,
    the memberships in its directory, the rights of the loading caller, and the token.
    """
    actor, known = transaction.actor, transaction.state.revision
    if transaction.store.revision == known:
        return
    directories = {realm.directory, actor.directory, DIRECTORY}
    rights = {CONTROL, *map(people_of, directories)}
    token = canonical(actor.credential.partition(":")[2])
    for row in transaction.store.feed(known):
        is_read = row.scope == realm.name and (row.revision > start or row.kind == "realm")
        is_decided_on = row.scope in rights and row.kind in _RIGHTS
        is_withdrawn = (row.kind, row.key, row.row) == ("token", token, None)
        if is_read or is_decided_on or is_withdrawn:
            raise _ConcurrentChange


def _check_compiles(facts: Facts, system: System) -> None:
    """Refuses rows that cannot be compiled: once stored, they would block every start."""
    check_nesting(None, code(facts, system.model, system.spelling))


def _check_together(
    transaction: WriteTransaction, realm_state: RealmState, stored: Facts, facts: Facts
) -> None:
    """Refuses rows that form a circle or nest too deeply only together with the remaining rows."""
    places = {**dict(stored.entities), **dict(facts.entities)}
    shared = transaction.state.people.get(realm_state.realm.directory, People()).spelled(
        realm_state.system
    )
    others = {*stored.memberships, *shared.memberships}
    if len(places) == len(facts.entities) and others <= set(facts.memberships):
        return  # already checked
    together = Facts(
        entities=[EntityRow(entity, parent) for entity, parent in places.items()],
        memberships=[*others, *facts.memberships],
    )
    system = realm_state.system
    check_nesting(realm_state.matrix.snapshot.coded, code(together, system.model, system.spelling))


def _check_same_model(realm: Realm, stored: Model, loaded: Model) -> None:
    if realm.name == CONTROL:
        raise BadInput(f"the realm `{CONTROL}` cannot be loaded from a directory")
    if stored.name != loaded.name:
        raise BadInput(f"realm `{realm.name}` is of model `{stored.name}`, not `{loaded.name}`")
    for name in sorted({*stored.settings, *loaded.settings}):
        value, other = stored.settings.get(name, ""), loaded.settings.get(name, "")
        if value != other and name not in stored.enforcing:
            raise BadInput(
                f"realm `{realm.name}` has `{name} = {value}`, the directory `{name} = {other}`"
            )
    if stored.settings == loaded.settings and stored.digest != loaded.digest:
        raise BadInput(f"realm `{realm.name}` has another version of the model `{stored.name}`")


def _marked_statements(
    transaction: WriteTransaction, realm: str
) -> Callable[[Collection[str]], frozenset[str]]:
    """The statements, among the given ones, that other keepers maintain."""

    def with_mark(ids: Collection[str]) -> frozenset[str]:
        documents = transaction.store.documents(realm, sorted(ids))
        return frozenset(str(id) for id, body in documents.items() if body.get(MARK))

    return with_mark


def _administrators(transaction: WriteTransaction, system: System) -> frozenset[Principal]:
    """The administrators of lakewarden, in the spelling of the realm's system."""
    if CONTROL not in transaction.state.realms:
        return frozenset()
    return frozenset(
        map(system.spelled, control.administrators(transaction.state, transaction.now))
    )


def load_difference(
    stored: Facts,
    loaded: Facts,
    model: Model,
    *,
    prune: bool,
    kept_by_others: Callable[[Collection[str]], frozenset[str]] = lambda _: frozenset(),
    administrators: Collection[Principal] = (),
) -> LoadDifference:
    """The effects that lead from the stored rows to the loaded ones; exactly to them with `prune`.

    `kept_by_others` returns the statements of other keepers. `administrators` of lakewarden stay in
    shipped roles: no directory knows that they got these when the store was created. In their
    order, no effect refers to a row that a later one adds or removes.
    """
    return _DifferenceBuilder(
        stored, loaded, model, prune, kept_by_others, frozenset(administrators)
    ).build()


@dataclass(slots=True)
class _DifferenceBuilder:
    stored: Facts
    loaded: Facts
    model: Model
    prune: bool
    kept_by_others: Callable[[Collection[str]], frozenset[str]]
    administrators: frozenset[Principal]
    counts: dict[str, Count] = field(default_factory=dict)
    removed: list[Effect] = field(default_factory=list)
    added: list[Effect] = field(default_factory=list)
    dropped: set[Entity] = field(default_factory=set)

    def build(self) -> LoadDifference:
        places = self._entities()
        self._compare_table("principals", self._is_realm_principal, PrincipalChanged)
        self._compare_table("memberships", self._is_removable_membership, MembershipChanged)
        self._compare_table("relations", lambda _: True, RelationChanged)
        self._compare_table("owners", lambda _: True, OwnerChanged)
        self._attributes()
        left_alone = self._statements()
        self._restore_referenced()
        return LoadDifference((*self.removed, *places, *self.added), self.counts, left_alone)

    def _entities(self) -> list[Effect]:
        # COST: of a million rows nearly all are equal; objects are created only for the others.
        stored, loaded = map(EntityColumns.of, (self.stored.entities, self.loaded.entities))
        common = set(stored.cells()) & set(loaded.cells()) if stored else set()
        old, changed = dict(stored.beside(common)), dict(loaded.beside(common))
        removed = old.keys() - changed.keys()
        count = sum(entity not in old for entity in changed)
        self.counts["entities"] = Count(count, len(changed) - count, len(removed))
        effects: list[Effect] = []
        new = dict(loaded) if 0 < len(changed) < len(loaded) else changed
        for entity in _parents_first(list(changed), new):
            put = EntityMoved if entity in old else EntityAdded
            effects.append(put(entity, changed[entity]))
        if self.prune:
            self.dropped = set(removed)
            above = dict(stored) if removed else {}
            effects += map(EntityDropped, reversed(_parents_first(sorted(removed), above)))
        return effects

    def _compare_table(
        self,
        table: str,
        is_droppable: Callable[[Row], bool],
        change: Callable[[Row, bool], Effect],
    ) -> None:
        old: set[Row] = set(getattr(self.stored, table))
        new: dict[Row, None] = dict.fromkeys(getattr(self.loaded, table))
        come = [row for row in new if row not in old]
        # Rows of one table are tuples of one shape, which compare.
        removed = sorted(row for row in old - new.keys() if is_droppable(row))  # type: ignore[type-var]
        self.counts[table] = Count(len(come), 0, len(removed))
        self.added += (change(row, True) for row in come)
        if self.prune:
            self.removed += (change(row, False) for row in removed)

    def _is_removable_membership(self, row: MembershipRow) -> bool:
        is_given = row.member in self.administrators and not self._is_realm_principal(row.of)
        return row.of not in CONFIGURED and not is_given

    def _is_realm_principal(self, principal: Principal) -> bool:
        return principal.kind != ROLE or principal.name not in self.model.role_names

    def _attributes(self) -> None:
        old, new = (
            _values_by_attribute(self.stored.attributes),
            _values_by_attribute(self.loaded.attributes),
        )
        changed = [key for key, values in new.items() if old.get(key) != values]
        removed = sorted(old.keys() - new.keys())
        count = sum(key not in old for key in changed)
        self.counts["attributes"] = Count(count, len(changed) - count, len(removed))
        self.added += (AttributeChanged(*key, tuple(sorted(new[key]))) for key in changed)
        if self.prune:
            self.removed += (AttributeChanged(*key, ()) for key in removed)

    def _statements(self) -> tuple[str, ...]:
        old = {s.id: s for s in self.stored.statements}
        new = {s.id: s for s in self.loaded.statements}
        changed = [s for s in new.values() if old.get(s.id) != s]
        removed = old.keys() - new.keys()
        others = self.kept_by_others([*(s.id for s in changed if s.id in old), *removed])
        left_alone = {id for id in others if not self._is_dropped_with_scope(old[id])}
        changed = [s for s in changed if s.id not in left_alone]
        count = sum(s.id not in old for s in changed)
        leaving = sorted(removed - left_alone)
        self.counts["statements"] = Count(count, len(changed) - count, len(leaving))
        self.added += map(StatementAdded, changed)
        if self.prune:
            self.removed += map(StatementRemoved, leaving)
        return tuple(sorted(left_alone))

    def _is_dropped_with_scope(self, statement: Statement) -> bool:
        """Whether a statement is dropped together with the entity that is its scope."""
        return self.model.binds_identity and statement.falls_with(self.dropped)

    def _restore_referenced(self) -> None:
        """Restores rows that a drop removes, but the loaded rows still refer to by name."""
        if not self.dropped or not self.model.binds_identity:
            return
        old = {s.id: s for s in self.stored.statements}
        for statement in self.loaded.statements:
            if old.get(statement.id) == statement and self._is_dropped_with_scope(statement):
                self.removed.append(StatementRemoved(statement.id))
                self.added.append(StatementAdded(statement))
        stored = set(self.stored.relations)
        for row in self.loaded.relations:
            if row.target in self.dropped and row in stored:
                self.removed.append(RelationChanged(row, False))
                self.added.append(RelationChanged(row, True))


def _values_by_attribute(rows: Iterable[AttributeRow]) -> dict[tuple[Entity, str], set[str]]:
    values: dict[tuple[Entity, str], set[str]] = {}
    for entity, attribute, value in rows:
        values.setdefault((entity, attribute), set()).add(value)
    return values


def _parents_first(
    entities: Sequence[Entity], parents: Mapping[Entity, Entity | None]
) -> list[Entity]:
    """The entities, each after all its ancestors."""
    depths: dict[Entity, int] = {}
    for entity in entities:
        chain: list[Entity] = []
        at: Entity | None = entity
        while at is not None and at not in depths:
            depths[at] = -1  # ends a cycle; its rows are refused later
            chain.append(at)
            at = parents.get(at)
        depth = -1 if at is None else depths[at]
        for above in reversed(chain):
            depth += 1
            depths[above] = depth
    return sorted(entities, key=depths.__getitem__)
