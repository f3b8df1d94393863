"""Upgrades a realm to another version of its custom model.

Stored data stays, as far as the new edition supports it. Unsupported data is orphaned: a statement
that the new edition cannot parse, an entity whose type is gone or whose parent is no longer
allowed, a relation or owner that it does not declare. An upgrade that would orphan anything is
refused, unless told to drop it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lakewarden.analysis.access import Access
from lakewarden.analysis.model_change import access_under
from lakewarden.kernel.change import (
    EntityDropped,
    OwnerChanged,
    RelationChanged,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unknown, WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import Model
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import On, Statement
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.models.own import ModelText
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.defaults import default_statements
from lakewarden.service.effect import Effect, RealmChanged
from lakewarden.service.plan_access import access_table, read_access
from lakewarden.service.ports import Reading
from lakewarden.service.realm import Realm
from lakewarden.service.realms import default_statement_changes
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.system import load_system
from lakewarden.service.write_transaction import WriteTransaction

MAX_ORPHANS = 100
"""The most orphans that are named; all are counted."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A stored object that the new edition does not support: a statement, an entity and so on."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class TermChanges:
    """The names of one kind that the new version adds, removes or changes."""

    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The changes of another edition of a realm's model, at a revision.

    `was` and `now` are the digests of both texts. `terms` are by `types`, `privileges` and
    `operations`. `orphans` are the first orphans, `orphaned` counts all by kind.
    """

    realm: str
    revision: int
    was: str
    now: str
    terms: Mapping[str, TermChanges]
    orphans: tuple[Orphan, ...]
    orphaned: Mapping[str, int]
    access: Access = field(repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether the realm already has exactly this text."""
        return self.was == self.now

    def table(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "realm": self.realm,
            "revision": self.revision,
            "was": self.was,
            "now": self.now,
            "pending": not self.is_empty,
            "words": {kind: asdict(terms) for kind, terms in self.terms.items()},
            "orphans": [asdict(orphan) for orphan in self.orphans],
            "orphaned": dict(self.orphaned),
            "access": access_table(self.access),
        }


def read_upgrade(table: Mapping[str, Any]) -> Upgrade:
    """The plan from the table that `Upgrade.table` returned."""
    terms = table["words"].items()
    return Upgrade(
        realm=table["realm"],
        revision=table["revision"],
        was=table["was"],
        now=table["now"],
        terms={
            kind: TermChanges(**{k: tuple(v) for k, v in table_of_kind.items()})
            for kind, table_of_kind in terms
        },
        orphans=tuple(Orphan(**orphan) for orphan in table["orphans"]),
        orphaned=table["orphaned"],
        access=read_access(table["access"]),
    )


def plan_upgrade(
    service: DecisionService, actor: Actor, name: str, text: ModelText
) -> Upgrade | Denied:
    """What upgrading the realm to the text would change now.

    Raises `Unknown` for a realm that does not exist, `BadInput` for a text that is not an edition
    of its model, `Conflict` for a realm with a shipped model.
    """
    state = service.catch_up()
    now = service.clock()
    refused = control.denied_in(state, actor, "realm.plan", name, now)
    if refused is not None:
        return refused
    with service.reading() as reading:
        if reading.revision != state.revision:
            state = service.catch_up(reading.revision)
        return _Migration(state, name, text, reading).upgrade(now)


def apply_upgrade(
    service: DecisionService, actor: Actor, name: str, text: ModelText, *, drop: bool = False
) -> Upgrade | Denied:
    """Upgrades the realm, as one revision; with `drop`, drops orphaned rows.

    Without it, raises `Conflict` for orphans; also raises the errors of `plan_upgrade`.
    """

    def upgrade(transaction: WriteTransaction) -> Upgrade | Denied:
        details = {"digest": text.digest, "drop": drop}
        refused = control.authorize_in_realm(transaction, "realm.alter", name, **details)
        if refused is not None:
            return refused
        step = _Migration(transaction.state, name, text, transaction.store)
        upgrade = step.upgrade(transaction.now)
        if upgrade.is_empty:
            return upgrade
        if upgrade.orphans and not drop:
            raise Conflict(_refusal(upgrade))
        transaction.change(name, *step.dropping)
        transaction.change(name, RealmChanged(name, step.realm), *step.defaults())
        return replace(upgrade, revision=transaction.state.revision)

    return service.write(actor, upgrade, large=True)


def _refusal(upgrade: Upgrade) -> str:
    counted = ", ".join(f"{count:,} × {kind}" for kind, count in upgrade.orphaned.items())
    first = upgrade.orphans[0]
    return (
        f"the new model of `{upgrade.realm}` orphans {counted}, such as {first.kind}"
        f" `{first.name}`: {first.reason}; confirm that they are dropped"
    )


class _Migration:
    """A realm before and after: what no longer fits, and what remains."""

    def __init__(self, state: State, name: str, text: ModelText, reading: Reading) -> None:
        self.before = state.realm(name)
        self.realm = _upgraded(self.before, text)
        self.system = load_system(self.realm.model, self.realm.settings, text)
        self._people = state.people.get(self.realm.directory, People())
        self._revision = state.revision
        self._facts = reading.facts(name, self.before.system)
        self.orphans: list[Orphan] = []
        self.dropping: list[Effect] = []
        dropped: list[Entity] = []
        self._left = self._supported_facts(dropped)
        # Descendants are dropped first, and facts about entities before them.
        self.dropping += map(EntityDropped, reversed(dropped))

    def upgrade(self, now: float) -> Upgrade:
        """The changes."""
        counts: dict[str, int] = {}
        for orphan in self.orphans:
            counts[orphan.kind] = counts.get(orphan.kind, 0) + 1
        old = self.before.realm.text
        return Upgrade(
            realm=self.realm.name,
            revision=self._revision,
            was="" if old is None else old.digest,
            now="" if self.realm.text is None else self.realm.text.digest,
            terms=_term_changes(self.before.system.model, self.system.model),
            orphans=tuple(self.orphans[:MAX_ORPHANS]),
            orphaned=counts,
            access=access_under(self.before.matrix, self._matrix(now), now),
        )

    def _matrix(self, now: float) -> Matrix:
        own = People(frozenset(self._facts.principals), frozenset(self._facts.memberships))
        everyone = own | self._people.spelled(self.system)
        facts = replace(
            self._left,
            principals=tuple(everyone.principals),
            memberships=tuple(everyone.memberships),
        )
        model, spelling = self.system.model, self.system.spelling
        return Matrix(compile(facts, model, spelling, now=now, revision=self._revision + 1))

    def defaults(self) -> Iterable[Effect]:
        """The changes of default statements; edited ones stay unchanged."""
        old = {s.id: s for s in default_statements(self.before.system, self.before.realm.deleted)}
        new = {s.id: s for s in default_statements(self.system, self.realm.deleted)}
        return default_statement_changes(self.before, old, new)

    def _orphan(self, kind: str, name: str, reason: str, *effects: Effect) -> None:
        self.orphans.append(Orphan(kind, name, reason))
        self.dropping += effects

    def _supported_facts(self, dropped: list[Entity]) -> Facts:
        """The remaining facts; records the orphans, and the dropped entities in order."""
        facts, model = self._facts, self.system.model
        dropped += self._unsupported_entities()
        dropped_entities = set(dropped)
        relations = []
        for edge in facts.relations:
            declared = model.relations.get(edge.kind)
            if edge.source in dropped_entities or edge.target in dropped_entities:
                continue
            if (
                declared is None
                or not _allows_type(declared.sources, edge.source)
                or not _allows_type(declared.targets, edge.target)
            ):
                label = f"{edge.kind} of {_text(edge.source)}"
                reason = "the model does not declare such a relation"
                self._orphan("relation", label, reason, RelationChanged(edge, False))
            else:
                relations.append(edge)
        owners = []
        for row in facts.owners:
            if row.entity in dropped_entities:
                continue
            if not model.types[row.entity.type].owned:
                label = f"{row.owner.name} of {_text(row.entity)}"
                reason = f"a {row.entity.type} cannot have an owner"
                self._orphan("owner", label, reason, OwnerChanged(row, False))
            else:
                owners.append(row)
        statements = list(self._readable(dropped_entities))
        return Facts(
            entities=[row for row in facts.entities if row.entity not in dropped_entities],
            relations=relations,
            attributes=[row for row in facts.attributes if row.entity not in dropped_entities],
            owners=owners,
            statements=[
                *statements,
                *self._new_defaults({statement.id for statement in statements}),
            ],
        )

    def _unsupported_entities(self) -> Iterable[Entity]:
        """The entities that do not fit, containers before their contents."""
        dropped: dict[Entity, None] = {}
        for entity, parent in _downwards(self._facts):
            if parent in dropped:
                reason = f"{_text(parent)} is removed"
            elif entity.type not in self.system.model.types:
                reason = f"there is no type `{entity.type}`"
            elif parent is not None and not self._allows_parent(entity, parent):
                reason = f"a {entity.type} cannot be a child of a {parent.type}"
            else:
                continue
            dropped[entity] = None
            self._orphan("entity", _text(entity), reason)
        return dropped

    def _allows_parent(self, entity: Entity, parent: Entity) -> bool:
        """Whether the new edition also allows the entity's parent."""
        old, new = self.before.system.model.types, self.system.model.types
        could = parent.type in old[entity.type].parents
        return not could or parent.type in new[entity.type].parents

    def _readable(self, dropped: set[Entity]) -> Iterable[Statement]:
        defaults = {s.id: s for s in default_statements(self.before.system)}
        for statement in self._facts.statements:
            if defaults.get(statement.id) == statement:
                continue  # the new edition brings its own
            if isinstance(statement.scope, On) and statement.falls_with(dropped):
                reason = f"{_text(statement.scope.entity)} is removed"
                self._orphan("statement", statement.id, reason, StatementRemoved(statement.id))
                continue
            try:
                table = write_statement(statement)
                model, spelling = self.system.model, self.system.spelling
                yield from read_statements([table], model, spelling, "it", builtin=True)
            except (BadInput, Unknown) as error:
                removed = StatementRemoved(statement.id)
                self._orphan("statement", statement.id, _reason(error), removed)

    def _new_defaults(self, known_ids: set[str]) -> Iterable[Statement]:
        new = default_statements(self.system, self.realm.deleted)
        return (statement for statement in new if statement.id not in known_ids)


def _upgraded(before: RealmState, text: ModelText) -> Realm:
    """The realm's new declaration. Raises `BadInput`, and `Conflict` for a shipped model."""
    realm = before.realm
    if realm.text is None:
        message = f"realm `{realm.name}` has the shipped model `{realm.model}`"
        raise Conflict(f"{message}, which each release of lakewarden upgrades")
    system = load_system(realm.model, realm.settings, text)
    return replace(realm, text=text, deleted=realm.deleted & system.model.default_ids)


def _downwards(facts: Facts) -> Iterable[tuple[Entity, Entity | None]]:
    """The entities, containers before their contents."""
    parents = {row.entity: row.parent for row in facts.entities}
    depths: dict[Entity, int] = {}
    for entity in parents:
        chain = []
        at: Entity | None = entity
        while at is not None and at not in depths:
            chain.append(at)
            at = parents.get(at)
        depth = -1 if at is None else depths[at]
        for link in reversed(chain):
            depth += 1
            depths[link] = depth
    return ((entity, parents[entity]) for entity in sorted(parents, key=lambda e: depths[e]))


def _allows_type(types: frozenset[str], entity: Entity) -> bool:
    return not types or entity.type in types


def _text(entity: Entity | None) -> str:
    return "" if entity is None else str(entity)


def _reason(error: WardenError) -> str:
    return error.message if isinstance(error, BadInput) else str(error)


def _term_changes(old: Model, new: Model) -> dict[str, TermChanges]:
    kinds: dict[str, tuple[Mapping[str, object], Mapping[str, object]]] = {
        "types": (old.types, new.types),
        "privileges": (old.privileges, new.privileges),
        "operations": (old.operations, new.operations),
    }
    return {
        kind: TermChanges(
            new=tuple(name for name in after if name not in before),
            gone=tuple(name for name in before if name not in after),
            changed=tuple(n for n in before if n in after and before[n] != after[n]),
        )
        for kind, (before, after) in kinds.items()
    }
