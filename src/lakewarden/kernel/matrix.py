"""The access matrix: role sets × classes for each operation; each row is built on first use.

`check` is the hot path: three lookups and a byte. Where the byte leaves the answer open,
and for everything that a byte cannot hold, the rule is walked (`point_evaluator`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, StaleSnapshot, Unknown
from lakewarden.kernel.expression import Holds
from lakewarden.kernel.memos import MEMO_BYTES
from lakewarden.kernel.model import ANY, NONE, Operation
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.point_evaluator import PointEvaluator
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Decision, Reason, Request
from lakewarden.kernel.rows import Code, Columns, Shape, codes, columns, shape
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.subject import RoleSets, Subject, resolve
from lakewarden.kernel.tree import Index

Codes = NDArray[np.uint8]

_ALLOWED, _OWNER = int(Code.ALLOWED), int(Code.OWNER)


ENTRY_BYTES: Final = 128
"""Bytes of an entry without its row, which may be shared, and with its slot in the table."""

SMALL: Final = 16
"""Up to this average class size, entities are examined one by one, not class by class."""


@dataclass(frozen=True, slots=True)
class Members:
    """The stored entities of one type in each joint class, and their number.

    For large classes, `bitmaps` has the entities; for small ones, `rows` has all entities, sorted,
    and `classes` the class of each.
    """

    sizes: NDArray[np.int64]
    bitmaps: tuple[BitMap, ...]
    rows: NDArray[np.uint32]
    classes: NDArray[np.uint32]

    def of(self, chosen: NDArray[np.bool_]) -> BitMap:
        """The entities of the classes for which `chosen` holds.

        COST: with 10,000 classes of one table each 0.1 ms, a tenth of what bitmaps take.
        """
        if not self.bitmaps:
            return BitMap(self.rows[chosen[self.classes]])
        numbers = np.flatnonzero(chosen).tolist()
        return BitMap.union(BitMap(), *[self.bitmaps[number] for number in numbers])


_NONE: Final = np.zeros(0, dtype=np.uint32)


def _members(columns: Columns, ids: BitMap) -> Members:
    rows = np.asarray(ids.to_array(), dtype=np.uint32)
    classes = columns.classes[rows]
    sizes = np.bincount(classes, minlength=columns.count)
    if len(rows) <= SMALL * columns.count:
        return Members(sizes, (), rows, classes)
    order = np.argsort(classes, kind="stable")
    groups = np.split(rows[order], np.cumsum(sizes)[:-1])
    return Members(sizes, tuple(_compact(group) for group in groups), _NONE, _NONE)


def _compact(rows: NDArray[np.uint32]) -> BitMap:
    bitmap = BitMap(rows)
    bitmap.run_optimize()
    return bitmap


StillHolds = Callable[[Subject], bool]
"""Whether a subject's row is still true."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One subject's row of one operation: a code for each joint class. `key` is the row's key."""

    codes: bytes
    owned_subtree: BitMap
    subject: Subject
    key: RoleSets


class Plan:
    """One operation on one target type, over one snapshot: its columns and its rows so far.

    `index` maps names of the type to ids; `view` ids to joint classes. `entries` are keyed
    by a user's bare name or by a `Principal`, and so are `listings`: the entities on which
    a plain request is allowed.
    """

    __slots__ = (
        "columns",
        "entries",
        "index",
        "listings",
        "members",
        "operation",
        "rows",
        "shape",
        "type",
        "view",
    )

    def __init__(
        self,
        operation: Operation,
        type: str,
        shape: Shape,
        columns: Columns | None,
        index: Index,
    ) -> None:
        self.operation = operation
        self.type = type
        self.shape = shape
        self.columns = columns
        self.view = None if columns is None else columns.view
        self.index = index
        self.entries: dict[Hashable, Entry] = {}
        self.rows: dict[RoleSets, bytes] = {}
        self.members: Members | None = None
        self.listings: dict[Hashable, BitMap] = {}

    def codes(self, entry: Entry) -> Codes:
        """The row as an array, one code for each joint class."""
        return np.frombuffer(entry.codes, dtype=np.uint8)


class Matrix:
    """The decisions of a snapshot. Safe for any number of threads.

    `errors` counts by kind of failure how often deciding failed, here and in the matrices before;
    each such answer was a denial.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.errors: Counter[str] = Counter()
        self._start = snapshot.table.start
        self._end = snapshot.table.end
        self._allowed = snapshot.decisions[Reason.ALLOWED]
        self._denied = snapshot.decisions[Reason.DENIED]
        self._quick: dict[str | tuple[str, str], Plan] = {}
        self._plans: dict[tuple[str, str], Plan] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._bytes = 0
        self._listed = 0
        """How many of the bytes are of listings; an upper bound after some were dropped."""

    @property
    def revision(self) -> int:
        """The revision of the facts that every decision is taken from."""
        return self.snapshot.revision

    def check(
        self,
        user: str | Principal,
        operation: str | tuple[str, str],
        name: str,
        now: float,
        request: Request | None = None,
    ) -> Decision:
        """May the user do the operation on the entity of that name?

        `operation` comes with the target's type, unless it applies to one type alone. `request`
        is the whole request, where it has more parts: `decide` calls this too. Raises as `decide`.
        """
        plan = self._quick.get(operation)
        if plan is not None and self._start <= now < self._end:
            entry = plan.entries.get(user)
            id = plan.index.get(name)
            if entry is not None and id is not None and plan.view is not None:
                code = entry.codes[plan.view[id]]
                if code == _ALLOWED:
                    return self._allowed
                if code == 0 or (code == _OWNER and id not in entry.owned_subtree):
                    return self._denied
        return self._decide(
            self._request(user, operation, name, now) if request is None else request
        )

    def _request(
        self, user: str | Principal, operation: str | tuple[str, str], name: str, now: float
    ) -> Request:
        principal = Principal(USER, user) if isinstance(user, str) else user
        if isinstance(operation, tuple):
            target = Entity(operation[1], name) if operation[1] else NO_RESOURCE
            return Request(principal, operation[0], target, now)
        declared = self.operation(operation)
        if declared.type is None:
            raise BadInput(f"`{operation}` is asked about several types; name the entity's type")
        target = NO_RESOURCE if declared.type == NONE else Entity(declared.type, name)
        return Request(principal, operation, target, now)

    def operation(self, name: str) -> Operation:
        """The declared operation, or the operation that checks one privilege; raises `Unknown`."""
        model = self.snapshot.model
        declared = model.operations.get(name)
        if declared is not None:
            return declared
        try:
            privilege = model.privilege(name)
        except Unknown:
            raise Unknown(
                "operation or privilege", name, f"`lakewarden operations` lists {model.title}'s"
            ) from None
        rule = Holds(privilege.name)
        return Operation(privilege.name, privilege.title, {ANY: rule, NONE: rule})

    def decide(self, request: Request) -> Decision:
        """The decision on one question.

        Raises `Unknown` for an operation, privilege or type that the model does not
        declare, `StaleSnapshot` for a moment outside this snapshot's interval. Any other
        failure to evaluate is a denial with the reason `error`, which is counted and not cached.
        """
        if request.groups or request.roles is not None or request.subresources:
            return self._decide(request)
        operation = request.operation, request.target.type
        return self.check(
            _key(request.principal), operation, request.target.name, request.now, request
        )

    def _decide(self, request: Request) -> Decision:
        """The decision, from the row or by walking the rule."""
        self.require(request.now)
        operation = self.operation(request.operation)
        if request.target != NO_RESOURCE:
            self.snapshot.model.check_type(request.target.type)
        operation.rule(request.target.type)
        decisions = self.snapshot.decisions
        try:
            return decisions[self._decide_reason(request, operation)]
        except Exception as error:  # noqa: BLE001 — after any failure the answer is a denial
            self.errors[type(error).__name__] += 1
            return decisions[Reason.ERROR]

    def require(self, now: float) -> None:
        """Raises `StaleSnapshot` unless the snapshot holds at `now`."""
        if not self._start <= now < self._end:
            raise StaleSnapshot(f"compiled for {self._start} ≤ now < {self._end}, asked at {now}")

    def _decide_reason(self, request: Request, operation: Operation) -> Reason:
        target = request.target
        place = self.snapshot.place(target)
        if target != NO_RESOURCE and not self.snapshot.is_judged(target, place):
            return Reason.NOT_STORED
        subject = self.subject(request)
        if request.roles is not None and not request.roles <= subject.named:
            return Reason.ROLE_NOT_HELD
        code = Code.OPEN
        if isinstance(place, int) and not request.subresources:
            code = self._code(operation, target.type, subject, place)
        if code is Code.OWNER and isinstance(place, int) and place in subject.owned_subtree:
            code = Code.OPEN
        if code is Code.OPEN:
            return _reason(self.evaluate(operation, subject, request, place))
        return _reason(code is Code.ALLOWED)

    def evaluate(
        self,
        operation: Operation,
        subject: Subject,
        request: Request | None,
        place: int | NamedPlace,
    ) -> bool:
        """The rule's truth at a place, by walking it."""
        type = place.entity.type if isinstance(place, NamedPlace) else self._type(place)
        point = PointEvaluator(self.snapshot, subject, request)
        return point.evaluate(operation.rule(type), place)

    def _type(self, id: int) -> str:
        return self.snapshot.coded.tree.entity(id).type

    def subject(self, request: Request) -> Subject:
        """The subject, with the groups and roles of the request.

        Raises `LimitExceeded` where the chain of memberships is too long.
        """
        if not request.groups and request.roles is None:
            return self.snapshot.subject(request.principal)
        coded = self.snapshot.coded
        return resolve(
            request.principal,
            coded.memberships,
            coded.tree,
            self.snapshot.owned_by,
            self.snapshot.table.named,
            request.groups,
            request.roles,
        )

    def _code(self, operation: Operation, type: str, subject: Subject, id: int) -> Code:
        plan = self.plan(operation, type)
        if plan.view is None:
            return Code.OPEN
        return Code(self.entry(plan, subject).codes[plan.view[id]])

    def plan(self, operation: Operation, type: str) -> Plan:
        """The operation's plan for targets of `type` (empty: no resource)."""
        plan = self._plans.get((operation.name, type))
        if plan is None:
            plan = self._plan(operation, type)
            self._plans[operation.name, type] = plan
            if not self.snapshot.coded.tree.deep:
                self._quick[operation.name, type] = plan
                if operation.type == type:
                    self._quick[operation.name] = plan
        return plan

    def shape(self, operation: Operation, type: str) -> Shape:
        """What the operation's rule for targets of `type` depends on; cached."""
        looked_at = self._shapes.get((operation.name, type))
        if looked_at is None:
            looked_at = shape(self.snapshot.model, operation, type)
            self._shapes[operation.name, type] = looked_at
        return looked_at

    def _plan(self, operation: Operation, type: str) -> Plan:
        snapshot, looked_at = self.snapshot, self.shape(operation, type)
        index = snapshot.coded.tree.named.get(type, {})
        return Plan(operation, type, looked_at, columns(snapshot, looked_at), index)

    def entry(self, plan: Plan, subject: Subject) -> Entry:
        """The subject's row; computed on first use, shared by subjects with equal role sets."""
        remembered = self._is_cached_by_name(subject)
        key = _key(subject.principal)
        entry = plan.entries.get(key) if remembered else None
        if entry is None or len(entry.codes) < self._count(plan):
            row_key = self.row_key(plan, subject)
            entry = Entry(
                self._row(plan, subject, row_key), subject.owned_subtree, subject, row_key
            )
            if remembered:
                self._spend(ENTRY_BYTES)
                plan.entries[key] = entry
        return entry

    def members(self, plan: Plan) -> Members:
        """The stored entities of the plan's type by joint class; computed on first use."""
        if plan.members is None:
            assert plan.columns is not None  # noqa: S101 — INVARIANT: rows exist, so classes do
            plan.members = _members(plan.columns, self.snapshot.of_type(plan.type))
        return plan.members

    def _count(self, plan: Plan) -> int:
        return 0 if plan.columns is None else plan.columns.count

    def row_key(self, plan: Plan, subject: Subject) -> RoleSets:
        """What the subject's row depends on: it is shared by all whom no statement concerns."""
        if plan.shape.administrator:
            return subject.key
        return self.snapshot.role_sets(plan.shape.privileges, subject)

    def _row(self, plan: Plan, subject: Subject, key: RoleSets) -> bytes:
        row = plan.rows.get(key)
        if row is None or len(row) < self._count(plan):
            row = self._fresh_row(plan, subject)
            kept = self.snapshot.has_in_memory(key, subject)
            self._spend(len(row) + (0 if kept else subject.key_bytes))
            plan.rows[key] = row
        return row

    def _fresh_row(self, plan: Plan, subject: Subject) -> bytes:
        assert plan.columns is not None  # noqa: S101 — INVARIANT: only called where there are classes
        return codes(
            self.snapshot, plan.operation, plan.type, plan.shape, plan.columns, subject
        ).tobytes()

    def listed(self, plan: Plan, subject: Subject) -> BitMap | None:
        """The subject's listing, if it is cached; must not be modified."""
        return (
            plan.listings.get(_key(subject.principal)) if self._is_cached_by_name(subject) else None
        )

    def cache_listing(self, plan: Plan, subject: Subject, ids: BitMap) -> None:
        """Caches the listing of a subject's plain request."""
        if self._is_cached_by_name(subject):
            size = len(ids.serialize())
            self._listed += size
            self._spend(size)
            plan.listings[_key(subject.principal)] = ids

    def _is_cached_by_name(self, subject: Subject) -> bool:
        """Whether rows and listings of the subject are cached by its name."""
        return self.snapshot.caches(subject)

    def _spend(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MEMO_BYTES:
            self._clear_rows()
            self._bytes = size

    def _clear_rows(self) -> None:
        self._listed = 0
        for plan in list(self._plans.values()):
            plan.entries.clear()
            plan.rows.clear()
            plan.listings.clear()

    def replaced(self, snapshot: Snapshot) -> Matrix:
        """A matrix over a later snapshot, without any row of this one."""
        later = Matrix(snapshot)
        later.errors = self.errors
        later._shapes = self._shapes
        return later

    def with_valid_rows(
        self, snapshot: Snapshot, keep: Callable[[Plan], StillHolds | None], *, moved: bool
    ) -> Matrix:
        """A matrix over a later snapshot, with the rows that are still valid.

        `keep` returns for a plan a function that says whether a subject's row is still valid; None:
        every row of it is. Listings are kept as well, unless entities have `moved` between classes.
        Rows are numbered by class, and are kept only where the classes of the plan were at most
        split; a split class has its origin's code until its row is built. If there are now too many
        classes over all privileges, plans have other classes. A plan without kept rows is made on
        first use. Kept rows count for the memory budget like new ones.
        """
        later = self.replaced(snapshot)
        if (self.snapshot.classes is None) != (snapshot.classes is None):
            return later
        # Other threads use this matrix meanwhile and fill or drop these entries.
        for (_, type), plan in list(self._plans.items()):
            entries = plan.entries.copy() if plan.shape.paths == ((),) else {}
            holds = keep(plan)
            if holds is not None:
                entries = {key: entry for key, entry in entries.items() if holds(entry.subject)}
            if not entries:
                continue
            fresh = later.plan(plan.operation, type)
            origin = None if fresh.columns is None else fresh.columns.origin
            if origin is None:
                continue
            fresh.entries = _extended_entries(entries, origin)
            fresh.rows = {entry.key: entry.codes for entry in fresh.entries.values()}
            later._bytes += sum(map(len, fresh.rows.values())) + ENTRY_BYTES * len(fresh.entries)
            if not moved:
                listings = plan.listings.copy()
                fresh.listings = {k: ids for k, ids in listings.items() if k in fresh.entries}
        later._listed = 0 if moved else self._listed
        later._spend(later._listed)
        return later


def _extended_entries(
    entries: dict[Hashable, Entry], origin: tuple[int, ...]
) -> dict[Hashable, Entry]:
    """The entries with extended rows, without those that cannot be extended.

    COST: 0.1 µs an entry where no class was split, 1 µs otherwise. A shared row is extended
    once.
    """
    rows = {entry.codes for entry in entries.values()}
    if all(len(row) == len(origin) for row in rows):
        return entries
    longer = {row: _extended(row, origin) for row in rows}
    found: dict[Hashable, Entry] = {}
    for key, entry in entries.items():
        row = longer[entry.codes]
        if row is not None:
            found[key] = Entry(row, entry.owned_subtree, entry.subject, entry.key)
    return found


def _extended(row: bytes, origin: tuple[int, ...]) -> bytes | None:
    """The row with a code for each class split off since; None if a class has no origin."""
    if len(row) == len(origin):
        return row
    longer = bytearray(row)
    for came_from in origin[len(row) :]:
        if came_from < 0:
            return None
        longer.append(longer[came_from])
    return bytes(longer)


def _key(principal: Principal) -> str | Principal:
    return principal.name if principal.kind == USER else principal


def _reason(truth: bool) -> Reason:
    return Reason.ALLOWED if truth else Reason.DENIED
