"""What a change of policy lets users do, or no longer do: access levels and operations.

Compares the kernel's listings before and after; one listing serves all users whom no statement and
no ownership distinguishes. It also reports the privileges gained or lost by name, each with the
users for whom it has no effect, because a gate, or another privilege, is still missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pyroaring import BitMap

from lakewarden.analysis.tally import SOMEBODY
from lakewarden.analysis.universe import Side
from lakewarden.analysis.whatif import Acting, Comparison, Difference, RoleSet, Row, comparison
from lakewarden.kernel.advice import Need
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import missing_needs
from lakewarden.kernel.expression import Node
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import ANY, NONE, WAYS, Model, Operation
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.rows import Shape, shape

LISTINGS: Final = 20_000
"""The maximum number of listings: access levels first, and those shared by most users."""

OWNED: Final = 64
"""Up to this many owned entities of a type are checked one by one; the rest as for non-owners."""

SETS: Final = 200
"""With more sets of entities than this for one operation and type, they form one line."""

JUDGED: Final = 10_000
"""The budget of decision pairs for finding privileges without effect; beyond it, none are found."""

_FEW_OPERATIONS: Final = 4
"""How many of the operations that require a privilege are checked for what is lacking."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What users can do now, or no longer, on entities of one type: `ways`, and `operations`.

    `pairs` counts (user, entity); it is `len(users) * entities` unless ownership distinguishes the
    users. `others`: users who are not stored are affected, too. `type` is empty for no resource;
    `sample` is the first of the entities.
    """

    ways: tuple[str, ...]
    operations: tuple[str, ...]
    gained: bool
    users: tuple[Principal, ...]
    others: bool
    type: str
    entities: int
    pairs: int
    sample: Entity


@dataclass(frozen=True, slots=True)
class Idle:
    """Users for whom a gained or lost privilege changes nothing on the sample.

    `lacks`: one of the smallest sets of ALLOWs that are still missing; empty if the users can do
    everything that it is for, or nothing of it, before and after.
    """

    users: tuple[Principal, ...]
    others: bool
    lacks: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class HeldChange:
    """Privileges that users hold by name, or no longer hold, all for one reason.

    As `whatif.Row`, with privileges that are equal in all other respects together. `technical`: the
    privilege is not meant for operations on entities of that type.
    """

    privileges: tuple[str, ...]
    gained: bool
    through: tuple[Principal, ...]
    users: tuple[Principal, ...]
    others: bool
    type: str
    entities: int
    pairs: int
    sample: Entity
    technical: bool
    idle: tuple[Idle, ...]


@dataclass(frozen=True, slots=True)
class WayCount:
    """How many users gain, or lose, one access level on how many assets."""

    way: str
    gained: bool
    users: int
    entities: int


@dataclass(frozen=True, slots=True)
class Access:
    """The changes in effective access, and in privileges.

    `users` and `entities` are all that any effective change affects, each counted once. Without
    `is_whole`, a limit stopped the comparison: the result is correct but incomplete.
    """

    reached: tuple[Reached, ...]
    held: tuple[HeldChange, ...]
    ways: tuple[WayCount, ...]
    users: int
    entities: int
    is_whole: bool

    @property
    def gained(self) -> int:
        """The number of (user, entity, operation) that are allowed only afterwards."""
        return sum(one.pairs * len(one.operations) for one in self.reached if one.gained)

    @property
    def lost(self) -> int:
        """The number of (user, entity, operation) that are allowed only before."""
        return sum(one.pairs * len(one.operations) for one in self.reached if not one.gained)


def access(before: Matrix, after: Matrix, now: float) -> Access:
    """What users gain and lose from `before` to `after`, evaluated at `now`.

    The snapshots have the same relations and attributes, except those of added and removed
    entities. Raises `BadInput` when they are of different models or settings.
    """
    compared = comparison(before.snapshot, after.snapshot)
    listings = _Listings(compared, (before, after), now)
    listings.compare()
    held_changes = tuple(_BarePrivileges(compared, listings).changes(compared.difference()))
    return listings.summary(held_changes)


@dataclass(frozen=True, slots=True)
class _Unit:
    """Users with the same result for most operations; `changed` privileges affect them.

    `changed_on_both` are those of `changed` that affect them on entities of both sides.
    `memberships` is what they act as; None for a user whom more than that distinguishes. An owner
    is a unit alone, and differs from users with the same memberships on owned entities and below.
    """

    users: tuple[Principal, ...]
    memberships: Acting | None
    is_owner: bool
    changed: frozenset[str]
    changed_on_both: frozenset[str]
    is_moved: bool
    owns_otherwise: bool


@dataclass(frozen=True, slots=True)
class _Question:
    """Operations on entities of one type with the same requirement, and their access levels."""

    operations: tuple[str, ...]
    type: str
    ways: tuple[str, ...]
    shape: Shape

    @property
    def operation(self) -> str:
        """The first of the operations; its result holds for all of them."""
        return self.operations[0]


Ids = bytes
"""A set of entities, as a key."""

Users = tuple[Principal, ...]
Units = tuple[Users, ...]


class _Line(NamedTuple):
    """The common properties of operations that are reported together."""

    gained: bool
    type: str
    key: Ids
    units: Units
    pairs: int


class _Listings:
    """The listings of all users on both sides, and the differences between them."""

    def __init__(self, comparison: Comparison, sides: tuple[Matrix, Matrix], now: float) -> None:
        self._comparison = comparison
        self._universe = comparison.universe
        self._sides = sides
        self._now = now
        self._left = LISTINGS
        self.is_whole = True
        self.questions = tuple(_questions(comparison, sides))
        # For each (gained, question): the entities, and who gains or loses them.
        self._changes: dict[tuple[bool, _Question], dict[Ids, list[Users]]] = {}
        self._ids: dict[Ids, BitMap] = {}
        self._known: dict[tuple[int, RoleSet, _Question], BitMap] = {}

    def compare(self) -> None:
        """Compares all listings that may differ; access levels first."""
        units = sorted(_units(self._comparison), key=lambda unit: -len(unit.users))
        moved = self._moved_types()
        for is_way in (True, False):
            for unit in units:
                for question in self.questions:
                    if bool(question.ways) is is_way and _may_differ(unit, question, moved):
                        self._compare(unit, question)

    def _moved_types(self) -> frozenset[str]:
        sides = self._universe.before, self._universe.after
        ids = sides[0].domain ^ sides[1].domain
        return frozenset(self._universe.entity(id).type for id in ids)

    def _compare(self, unit: _Unit, question: _Question) -> None:
        personal = question.shape.personal
        for users in [(user,) for user in unit.users] if personal else [unit.users]:
            if self._left <= 0:
                self.is_whole = False
                return
            had, has = (self._listed(side, users[0], unit, question) for side in (0, 1))
            for gained, ids in ((True, has - had), (False, had - has)):
                if ids:
                    key = self._key(ids)
                    sets = self._changes.setdefault((gained, question), {})
                    sets.setdefault(key, []).append(users)

    def _key(self, ids: BitMap) -> Ids:
        ids.run_optimize()
        key: Ids = ids.serialize()
        self._ids[key] = ids
        return key

    def _listed(self, side: int, user: Principal, unit: _Unit, question: _Question) -> BitMap:
        """The entities of the user; one listing for all with equal memberships who own nothing."""
        if unit.memberships is None or question.shape.personal:
            return self._fresh(side, user, question)
        key = (side, unit.memberships[side], question)
        ids = self._known.get(key)
        if unit.is_owner:
            return self._owned(side, user, ids, question)
        if ids is None:
            ids = self._known[key] = self._fresh(side, user, question)
        return ids

    def _owned(
        self, side: int, user: Principal, others: BitMap | None, question: _Question
    ) -> BitMap:
        """An owner's listing, from that of `others` with equal memberships who own nothing."""
        matrix, request = self._sides[side], self._request(user, question)
        mine = matrix.subject(request).owned_subtree & matrix.snapshot.of_type(question.type)
        if others is None or len(mine) > OWNED or not question.type:
            return self._fresh(side, user, question)
        operation, subject = matrix.operation(question.operation), matrix.subject(request)
        left = BitMap([id for id in mine if matrix.evaluate(operation, subject, request, id)])
        return (others - self._universe_side(side).placed(mine)) | self._universe_side(side).placed(
            left
        )

    def _universe_side(self, side: int) -> Side:
        return self._universe.before if side == 0 else self._universe.after

    def _request(self, user: Principal, question: _Question) -> Request:
        return Request(user, question.operation, NO_RESOURCE, self._now)

    def _fresh(self, side: int, user: Principal, question: _Question) -> BitMap:
        self._left -= 1
        matrix, request = self._sides[side], self._request(user, question)
        if not question.type:
            return BitMap([ROOT] if matrix.decide(request).allow else [])
        return self._universe_side(side).placed(listing(matrix, request, type=question.type))

    def allows(self, side: int, user: Principal, operation: str, entity: Entity) -> bool:
        """Whether one side allows the user the operation on the entity."""
        return self._sides[side].decide(Request(user, operation, entity, self._now)).allow

    def lacks(self, user: Principal, operation: str, entity: Entity) -> tuple[Need, ...] | None:
        """What the user still needs for the operation afterwards; None: no ALLOW would help."""
        request = Request(user, operation, entity, self._now)
        if self._sides[1].decide(request).reason is not Reason.DENIED:
            return None
        ways = missing_needs(self._sides[1], request)
        return tuple(sorted(ways[0], key=str)) if ways else None

    def summary(self, held_changes: tuple[HeldChange, ...]) -> Access:
        """All differences."""
        reached = tuple(sorted(self._reached(), key=_order))
        users = {user for change in reached for user in change.users}
        ids = BitMap.union(BitMap(), *(self._ids[key] for s in self._changes.values() for key in s))
        return Access(
            reached=reached,
            held=held_changes,
            ways=tuple(self._ways()),
            users=len(users),
            entities=len(ids),
            is_whole=self.is_whole,
        )

    def _ways(self) -> Iterator[WayCount]:
        for way in WAYS:
            for gained in (True, False):
                sets = [
                    (self._ids[key], users)
                    for (is_gain, question), sets_of_question in self._changes.items()
                    if is_gain is gained and way in question.ways
                    for key, users in sets_of_question.items()
                ]
                people = {user for _, units in sets for users in units for user in users}
                ids = BitMap.union(BitMap(), *(ids for ids, _ in sets))
                yield WayCount(way, gained, len(people - {SOMEBODY}), len(ids))

    def _reached(self) -> Iterator[Reached]:
        lines: dict[_Line, list[_Question]] = {}
        for (gained, question), sets in self._changes.items():
            for key, units, pairs in self._sets(sets):
                line = _Line(gained, question.type, key, units, pairs)
                lines.setdefault(line, []).append(question)
        for line, questions in lines.items():
            users = {user for unit in line.units for user in unit}
            ids = self._ids[line.key]
            ways = {way for question in questions for way in question.ways}
            yield Reached(
                ways=tuple(way for way in WAYS if way in ways),
                operations=tuple(name for question in questions for name in question.operations),
                gained=line.gained,
                users=tuple(sorted(users - {SOMEBODY})),
                others=SOMEBODY in users,
                type=line.type,
                entities=len(ids),
                pairs=line.pairs,
                sample=self._universe.entity(ids.min()),
            )

    def _sets(self, sets: Mapping[Ids, Sequence[Users]]) -> Iterator[tuple[Ids, Units, int]]:
        """The sets of entities with their users, and how many pairs; merged if there are many."""
        counted = {key: len(self._ids[key]) * _count(units) for key, units in sets.items()}
        if len(sets) <= SETS:
            yield from ((key, tuple(units), counted[key]) for key, units in sets.items())
            return
        key = self._key(BitMap.union(BitMap(), *(self._ids[key] for key in sets)))
        yield key, tuple(unit for units in sets.values() for unit in units), sum(counted.values())


def _count(units: Iterable[Sequence[Principal]]) -> int:
    return sum(len(users) - (SOMEBODY in users) for users in units)


def _order(change: Reached) -> tuple[object, ...]:
    first = WAYS.index(change.ways[-1]) if change.ways else -1
    return (
        not change.gained,
        -first,
        -change.pairs,
        change.type,
        change.sample,
        change.users,
        change.operations,
    )


def _questions(comparison: Comparison, sides: Sequence[Matrix]) -> Iterator[_Question]:
    model = comparison.universe.model
    trees = [side.snapshot.coded.tree for side in sides]
    kinds = {kind for tree in trees for kind in tree.kinds if kind and tree.of_type(kind)}
    by_rule: dict[tuple[str, Node], list[Operation]] = {}
    for operation in model.operations.values():
        types = {"" if type == NONE else type for type in operation.rules if type != ANY}
        if ANY in operation.rules:
            types |= kinds
        for type in sorted(types & (kinds | {""})):
            by_rule.setdefault((type, operation.rule(type)), []).append(operation)
    for (type, _), operations in by_rule.items():
        names = tuple(operation.name for operation in operations)
        yield _Question(
            operations=names,
            type=type,
            ways=tuple(way for way in WAYS if model.reaching(way, type) in names),
            shape=shape(model, operations[0], type),
        )


def _units(comparison: Comparison) -> Iterator[_Unit]:
    """The users whom any change may affect, grouped if nothing distinguishes them."""
    sides = comparison.universe.before, comparison.universe.after
    changed, on_both = _changed(comparison), _changed(comparison, stayed=True)
    for memberships, users in comparison.groups.items():
        alike: dict[tuple[frozenset[str], frozenset[str], bool], list[Principal]] = {}
        for user in users:
            privileges, on_both_sides = (
                frozenset(privileges_by_user.get(user, ()))
                for privileges_by_user in (changed, on_both)
            )
            is_too_nested = any(side.is_too_nested(user) for side in sides)
            if is_too_nested or comparison.owns(user):
                yield _Unit(
                    users=(user,),
                    memberships=None if is_too_nested else memberships,
                    is_owner=True,
                    changed=privileges,
                    changed_on_both=on_both_sides,
                    is_moved=user in comparison.moved,
                    owns_otherwise=comparison.owns_otherwise(user),
                )
            else:
                alike.setdefault((privileges, on_both_sides, user in comparison.moved), []).append(
                    user
                )
        for (privileges, on_both_sides, is_moved), together in alike.items():
            yield _Unit(
                users=tuple(together),
                memberships=memberships,
                is_owner=False,
                changed=privileges,
                changed_on_both=on_both_sides,
                is_moved=is_moved,
                owns_otherwise=False,
            )


def _changed(comparison: Comparison, *, stayed: bool = False) -> dict[Principal, set[str]]:
    """By user, the privileges whose statements changed for that user, see `concerned`."""
    changed: dict[Principal, set[str]] = {}
    for privilege in comparison.universe.model.privileges:
        for users in comparison.concerned(privilege, stayed=stayed).values():
            for user in users:
                changed.setdefault(user, set()).add(privilege)
    return changed


def _may_differ(unit: _Unit, question: _Question, moved: frozenset[str]) -> bool:
    shape = question.shape
    # An added or removed entity is compared on its own; it affects others only through relations.
    changed = unit.changed if shape.other else unit.changed_on_both
    return (
        not changed.isdisjoint(shape.privileges)
        or (unit.is_moved and (shape.personal or shape.administrator))
        or (unit.owns_otherwise and shape.owner)
        or question.type in moved
    )


class _BarePrivileges:
    """The privileges by name, and the users for whom they have no effect."""

    def __init__(self, comparison: Comparison, listings: _Listings) -> None:
        self._comparison = comparison
        self._model: Model = comparison.universe.model
        self._listings = listings
        self._left = JUDGED
        # Each unit of users is evaluated once.
        self._unit = {
            user: number
            for number, users in enumerate(comparison.groups.values())
            for user in users
        }
        self._questions: dict[tuple[str, str], list[_Question]] = {}
        for question in listings.questions:
            for privilege in question.shape.privileges:
                self._questions.setdefault((privilege, question.type), []).append(question)
        for questions in self._questions.values():
            questions.sort(key=lambda q: not q.ways)

    def changes(self, difference: Difference) -> Iterator[HeldChange]:
        """The rows of a difference, merged if they differ only in the privilege."""
        lines: dict[HeldChange, list[str]] = {}
        for row in difference.rows:
            technical = self._is_technical(row)
            idle = () if technical else tuple(self._ineffective(row))
            line = HeldChange(
                privileges=(),
                gained=row.gained,
                through=row.role_set,
                users=row.users,
                others=row.others,
                type=row.type,
                entities=row.entities,
                pairs=row.pairs,
                sample=row.sample,
                technical=technical,
                idle=idle,
            )
            lines.setdefault(line, []).append(row.privilege)
        for line, names in lines.items():
            yield replace(line, privileges=tuple(names))

    def _is_technical(self, row: Row) -> bool:
        """Whether the privilege only reaches entities of that type without being for them."""
        declared = self._model.privileges[row.privilege]
        is_offered = not declared.on or bool({ANY, row.type or NONE} & declared.on)
        return not is_offered or (row.privilege, row.type) not in self._questions

    def _ineffective(self, row: Row) -> Iterator[Idle]:
        users_by_need: dict[tuple[Need, ...], list[Principal]] = {}
        known: dict[object, tuple[Need, ...] | None] = {}
        for user in (*row.users, *([SOMEBODY] * row.others)):
            unit = user if self._comparison.owns(user) else self._unit[user]
            if unit not in known:
                known[unit] = self._lacks(row, user)
            lacks = known[unit]
            if lacks is not None:
                users_by_need.setdefault(lacks, []).append(user)
        for lacks, users in sorted(users_by_need.items(), key=str):
            named = tuple(user for user in users if user != SOMEBODY)
            yield Idle(named, SOMEBODY in users, lacks)

    def _lacks(self, row: Row, user: Principal) -> tuple[Need, ...] | None:
        """What is lacking for any effect on the sample; None if there is an effect."""
        questions = self._questions[row.privilege, row.type]
        can = False
        for question in questions:
            if self._left <= 0:
                return None
            self._left -= 1
            could, can_now = (
                self._listings.allows(side, user, question.operation, row.sample) for side in (0, 1)
            )
            if could is not can_now:
                return None
            can |= can_now
        if row.gained and not can:
            for question in questions[:_FEW_OPERATIONS]:
                lacks = self._listings.lacks(user, question.operation, row.sample)
                if lacks:
                    return lacks
        return ()
