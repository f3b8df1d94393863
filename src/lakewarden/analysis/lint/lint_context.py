"""The input of rules: one compiled realm, with the lookups that they share.

Everything is in terms of the snapshot's numbers; a rule over a hundred thousand
statements and a million entities needs only a few unions of bitmaps. Nothing is kept after a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.analysis.lint.place import Place
from lakewarden.analysis.lint.privilege_meaning import meaning
from lakewarden.expressions.types import Type
from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.grants import Grant, Grouped
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import Condition, Criterion, Effect, Statement, Where

SHOWN = 3
"""The maximum number of names in one message."""


class SetAside(NamedTuple):
    """A row that was read but does not count, because it fits nowhere."""

    table: str
    row: str
    reason: str
    detail: str
    place: str


class Bearing(NamedTuple):
    """A statement in force, as it applies to one of the privileges that it names."""

    privilege: str
    grant: Grant


class Spans(NamedTuple):
    """The scopes of one privilege, the widest first, with their first and last entities."""

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    scopes: list[int]
    grants: dict[int, list[Grant]]


class LintContext:
    """One realm, as rules see it.

    `statements` are those that can be changed, in order of their ids; `in_force` are
    those of them in force now. `unknown` are the privileges that no model declares, by
    statement; `set_aside` are the rows that were read and do not count. `lookups` are the types of
    the columns of each lookup table, None if these are unknown. `shipped` are the ids of the
    statements that the system ships, `fixed` those of them that cannot be changed.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        set_aside: Sequence[SetAside] = (),
        unknown: Sequence[tuple[Statement, tuple[str, ...]]] = (),
        lookups: Mapping[str, Sequence[Type]] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.lookups = lookups
        self.set_aside = set_aside
        self.unknown = unknown
        self.model = snapshot.model
        self.shipped, self.fixed = self.model.default_ids, self.model.immutable_ids
        self.meaning = meaning(snapshot.model)
        self.coded = snapshot.coded
        self.tree = snapshot.coded.tree
        self.memberships = snapshot.coded.memberships
        self.table = snapshot.table
        self.now = snapshot.table.moment
        # Cached for each context, not for the class: the cached values go with it.
        self.acts_as = cache(self._acts_as)
        self.users_of = cache(self._users_of)
        self.reach = cache(self._reach)
        self._spans = cache(self._find_spans)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The grants that users maintain, without filters and masks."""
        stored = sorted(self.table.statements.items())
        kept = (s for id, s in stored if id not in self.fixed and not is_implied(s))
        return tuple(s for s in kept if not s.obliges)

    @cached_property
    def in_force(self) -> tuple[Statement, ...]:
        return tuple(s for s in self.statements if s.applies(self.now))

    @cached_property
    def policies(self) -> tuple[Statement, ...]:
        """The ALLOWs in force that use criteria."""
        return tuple(
            s for s in self.in_force if s.effect is Effect.ALLOW and isinstance(s.scope, Where)
        )

    @cached_property
    def bearings(self) -> dict[str, list[Bearing]]:
        """By statement in force: the privileges to which it applies, without the implied ones."""
        bearings: dict[str, list[Bearing]] = {}
        named: dict[str, frozenset[str]] = {}
        for side in (self.table.allow, self.table.deny):
            for privilege in sorted(side):
                for grant in side[privilege].every:
                    statement = grant.statement
                    privileges = named.get(statement.id)
                    if privileges is None:
                        privileges = named[statement.id] = self.privileges(statement)
                    if privilege in privileges:
                        bearings.setdefault(statement.id, []).append(Bearing(privilege, grant))
        return bearings

    def bears(self, effect: Effect) -> Iterator[tuple[Statement, Bearing]]:
        """Each statement in force of one effect that can be changed, privilege by privilege."""
        for statement in self.in_force:
            if statement.effect is effect:
                for bearing in self.bearings.get(statement.id, ()):
                    yield statement, bearing

    def privileges(self, statement: Statement) -> frozenset[str]:
        """The statement's privileges by their present names."""
        return frozenset(self.model.privilege(name).name for name in statement.privileges)

    def ids(self, grant: Grant) -> BitMap:
        """The numbers of all entities in a grant's scope, stored or not."""
        return self.snapshot.bitmaps[grant.scope]

    def stored(self, grant: Grant) -> BitMap:
        """The stored entities in a grant's scope."""
        return self.ids(grant) & self.tree.stored

    def side(self, effect: Effect, privilege: str) -> Grouped:
        """The grants in force of a privilege."""
        table = self.table
        return table.allows(privilege) if effect is Effect.ALLOW else table.denies(privilege)

    def _reach(self, effect: Effect, privilege: str, principals: frozenset[int]) -> BitMap:
        """Everything on which a role set has the privilege, or is denied it.

        Grants with a constraint are left out: they do not allow everything in their scope.
        """
        grants = self.side(effect, privilege).of(principals)
        scopes = {grant.scope for grant in grants if grant.constraint is None}
        return union(self.snapshot.bitmaps[scope] for scope in scopes)

    def overlapping(self, effect: Effect, privilege: str, ids: BitMap) -> Iterator[Grant]:
        """The grants in force of a privilege that cover any of the entities, the widest first."""
        if not ids:
            return
        spans = self._spans(effect, privilege)
        near = np.flatnonzero((spans.lasts >= ids.min()) & (spans.firsts <= ids.max()))
        for at in near.tolist():
            scope = spans.scopes[at]
            if self.snapshot.bitmaps[scope].intersect(ids):
                yield from spans.grants[scope]

    def _find_spans(self, effect: Effect, privilege: str) -> Spans:
        # COST: among tens of thousands of scopes, hardly any is close to a given one.
        grants: dict[int, list[Grant]] = {}
        for grant in self.side(effect, privilege).every:
            if self.ids(grant):
                grants.setdefault(grant.scope, []).append(grant)
        bitmaps = self.snapshot.bitmaps
        scopes = sorted(grants, key=lambda scope: -len(bitmaps[scope]))
        return Spans(
            np.array([bitmaps[scope].min() for scope in scopes], dtype=np.int64),
            np.array([bitmaps[scope].max() for scope in scopes], dtype=np.int64),
            scopes,
            grants,
        )

    # who

    def principal(self, id: int) -> Principal:
        """The principal of this number."""
        return self.memberships.principals[id]

    def _acts_as(self, id: int) -> frozenset[int]:
        """Everything that a principal acts as, itself included."""
        return self.memberships.acts_as(self.principal(id))

    def _users_of(self, id: int) -> BitMap:
        """The users who act as a principal, including implied sets such as all users."""
        members, ids = self.memberships.acting_as(id), self.memberships.ids
        users = BitMap(id for id in members if self.principal(id).kind == USER)
        if ids[ALL_USERS] in members:
            users |= self.users
        elif ids[ANY_GROUP] in members:
            users |= BitMap(user for user in self.users if ids[ANY_GROUP] in self.acts_as(user))
        return users

    @cached_property
    def users(self) -> BitMap:
        """The numbers of the stored users."""
        return BitMap(id for id in self.memberships.stored if self.principal(id).kind == USER)

    def share_a_user(self, first: int, second: int) -> bool:
        """Whether any user acts as both principals."""
        return second in self.acts_as(first) or self.users_of(first).intersect(
            self.users_of(second)
        )

    # names

    def entity(self, id: int) -> str:
        """An entity as text."""
        return str(self.tree.entity(id))

    def is_stored(self, entity: Entity) -> bool:
        """Whether the entity is stored."""
        return self.coded.is_known(entity)


def of_facts(
    facts: Facts,
    model: Model,
    spelling: Spelling,
    *,
    now: float,
    set_aside: Sequence[SetAside] = (),
    lookups: Mapping[str, Sequence[Type]] | None = None,
) -> LintContext:
    """The context of some rows. Unknown privileges are set aside, not rejected.

    Raises `BadInput` for inconsistent rows.
    """
    usable: list[Statement] = []
    unknown: list[tuple[Statement, tuple[str, ...]]] = []
    for statement in facts.statements:
        strange = tuple(sorted(name for name in statement.privileges if not _knows(model, name)))
        if strange:
            unknown.append((statement, strange))
        known = statement.privileges - set(strange)
        usable.append(replace(statement, privileges=known) if strange else statement)
    snapshot = compile(replace(facts, statements=usable), model, spelling, now=now)
    return LintContext(snapshot, set_aside=set_aside, unknown=unknown, lookups=lookups)


def _knows(model: Model, name: str) -> bool:
    try:
        model.privilege(name)
    except Unknown:
        return False
    return True


def union(bitmaps: Iterable[BitMap]) -> BitMap:
    """The union of the bitmaps."""
    return BitMap.union(BitMap(), *bitmaps)


def criteria_of(statement: Statement) -> tuple[Criterion, ...]:
    """The statement's criteria; empty if it has none."""
    return statement.scope.criteria if isinstance(statement.scope, Where) else ()


def values_of(statement: Statement, field: str) -> tuple[str, ...]:
    """The accepted values of a field of the resource; empty if the field is not restricted."""
    return tuple(
        value
        for criterion in criteria_of(statement)
        if criterion.field == field and criterion.condition is Condition.EQUALS
        for value in criterion.values
    )


def at(statement: Statement) -> Place:
    """The place of a finding about a statement."""
    return Place("statement", statement.id)


def principal_place(principal: Principal) -> Place:
    """The place of a finding about a principal."""
    return Place(principal.kind, principal.name)


def some(names: Iterable[str], count: int | None = None) -> str:
    """A few of the names, and how many more there are.

    `count` is the number of all names, if it is known: then only the names in the message are
    looked up.

    >>> some(["a", "b", "c", "d", "e"])
    '`a`, `b`, `c` and 2 more'
    """
    shown = list(names if count is None else islice(names, SHOWN))
    text = ", ".join(f"`{name}`" for name in shown[:SHOWN])
    more = (len(shown) if count is None else count) - SHOWN
    return text if more <= 0 else f"{text} and {more:,} more"


def joined(names: Iterable[str]) -> str:
    """The names, sorted and separated by commas."""
    return ", ".join(sorted(names))
