"""DENYs inside a target: the columns that one closes below a table on which an act is allowed.

A decision about a table goes by what reaches the table. Asking about each of its columns would deny
more than anybody stated, as a right on a table is none on its columns in every model. So only
what a DENY in force reaches inside is judged: by the operation's rule for its type, or, where there
is none, by that for the target as if the DENY stood there. An owner whom no DENY touches on the
table is thus touched by none on a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.expression import Node
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import Operation, above
from lakewarden.kernel.point_evaluator import PointEvaluator, Spot
from lakewarden.kernel.reached_inside import namesakes, reached_inside
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Matching, On
from lakewarden.kernel.subject import Subject
from lakewarden.kernel.tree import Tree

_ANY_NAME: Final = "any_name"
"""The last part of a name that stands for all that a DENY reaches inside."""


def denied_inside(
    matrix: Matrix,
    request: Request,
    named: Iterable[Entity] | None = None,
    inside: str | None = None,
) -> frozenset[Entity]:
    """What a DENY closes inside the request's target, though it may be allowed on the target.

    `named` is what the request is about inside it; without that it is everything, stored or not. A
    DENY that could match names that are not stored stands for one of them, or for the target.
    Whether the target is allowed is another question (`Matrix.decide`), so that a DENY which its
    rule has judged does not count again. What lies inside is judged by the operation `inside`, or
    else by the request's. Raises as `Matrix.decide` does.

    COST: 1 µs where no DENY in force is of a privilege that the rules name, some µs where none
    concerns who asks.
    """
    matrix.require(request.now)
    if not may_be_denied_inside(matrix, request, inside):
        return frozenset()
    return _Question(matrix, request, inside or request.operation).closed(named)


def may_be_denied_inside(matrix: Matrix, request: Request, inside: str | None = None) -> bool:
    """Whether any DENY in force is of a privilege that counts, whoever asks, about what target.

    Raises as `denied_inside` does.
    """
    if not matrix.snapshot.table.deny:
        return False
    return bool(_bearing(matrix, request, inside or request.operation).denied)


def with_denied_inside(matrix: Matrix, request: Request, ids: BitMap) -> BitMap:
    """Of stored targets of one type, those in which a DENY closes the operation somewhere.

    The request's own target does not matter. Raises as `Matrix.decide` does.
    """
    matrix.require(request.now)
    if not ids:
        return BitMap()
    tree = matrix.snapshot.coded.tree
    asked = replace(request, target=tree.entity(ids.min()))
    if not may_be_denied_inside(matrix, asked):
        return BitMap()
    candidates = _Question(matrix, asked, request.operation).candidates(ids)
    return BitMap(
        [id for id in candidates if denied_inside(matrix, replace(request, target=tree.entity(id)))]
    )


@dataclass(frozen=True, slots=True)
class _Bearing:
    """What bears on an operation on targets of one type.

    `own` are the privileges that the rule for the target names, `denied` those that any rule does
    and of which there is a DENY in force. `inner` are the types of what lies inside for which
    there is a rule.
    """

    own: frozenset[str]
    denied: frozenset[str]
    inner: frozenset[str]


def _bearing(matrix: Matrix, request: Request, inside: str) -> _Bearing:
    """COST: worked out once for a snapshot."""
    type = request.target.type
    key = f"denied inside {request.operation} {inside} {type}"
    found = matrix.snapshot.memos.derived.get(key)
    if not isinstance(found, _Bearing):
        found = matrix.snapshot.memos.derived[key] = _fresh_bearing(matrix, request, inside)
    return found


def _fresh_bearing(matrix: Matrix, request: Request, inside: str) -> _Bearing:
    type, snapshot = request.target.type, matrix.snapshot
    types, containing = snapshot.model.types, {one.type for one in _around(snapshot, request)}
    within = matrix.operation(inside)
    declared = (one for one in within.rules if one in types and one not in containing)
    inner = frozenset(one for one in declared if not containing.isdisjoint(above(types, one)))
    own = matrix.shape(matrix.operation(request.operation), type).privileges
    named = own.union(*(matrix.shape(within, one).privileges for one in inner))
    denied = (one for one in named if one in snapshot.table.deny and snapshot.table.deny[one].every)
    return _Bearing(own, frozenset(denied), inner)


def _around(snapshot: Snapshot, request: Request) -> Set[Entity]:
    """The target, and what has its name: columns lie in any of these."""
    return {request.target, *namesakes(snapshot, request.target)}


@dataclass
class _Question:
    """One operation of one subject on one target."""

    matrix: Matrix
    request: Request
    within: str

    @cached_property
    def operation(self) -> Operation:
        return self.matrix.operation(self.request.operation)

    @cached_property
    def inside(self) -> Operation:
        return self.matrix.operation(self.within)

    @cached_property
    def subject(self) -> Subject:
        return self.matrix.subject(self.request)

    @property
    def snapshot(self) -> Snapshot:
        return self.matrix.snapshot

    @cached_property
    def target(self) -> Spot:
        return self.snapshot.place(self.request.target)

    @cached_property
    def around(self) -> Set[Entity]:
        return _around(self.snapshot, self.request)

    @cached_property
    def bearing(self) -> _Bearing:
        return _bearing(self.matrix, self.request, self.within)

    def closed(self, named: Iterable[Entity] | None) -> frozenset[Entity]:
        roots = [self.request.target] if named is None else list(named)
        found: dict[Spot, set[str]] = {}
        unsaid = False
        for privilege, grant, is_own in self.denying():
            if is_own and self.snapshot.lies_in(self.target, grant):
                continue
            for root in roots:
                for place in reached_inside(self.snapshot, grant, root):
                    at = self._standing_for(place, grant) if place == self.target else place
                    unsaid = unsaid or at is None
                    if at is not None:
                        found.setdefault(at, set()).add(privilege)
        closed = {self._entity(at) for at, which in found.items() if self._is_closed(at, which)}
        return frozenset(closed | ({self.request.target} if unsaid else set()))

    def denying(self) -> Iterator[tuple[str, Grant, bool]]:
        """The DENYs of the subject that bear on the operation, each with its privilege.

        And whether the rule for the target names this, too.
        """
        bearing, deny = self.bearing, self.snapshot.table.deny
        for privilege in bearing.denied:
            for grant in deny[privilege].of(self.subject.deny):
                yield privilege, grant, privilege in bearing.own

    def candidates(self, ids: BitMap) -> BitMap:
        """Of targets of one type, those inside which a DENY may reach that no rule has judged."""
        snapshot, found = self.snapshot, BitMap()
        tree = snapshot.coded.tree
        for _, grant, is_own in self.denying():
            scope, reached = grant.statement.scope, snapshot.bitmaps[grant.scope]
            left = ids - found - (reached if is_own else BitMap())
            if not left or isinstance(scope, Matching):
                found |= left
                continue
            some = reached | _upwards(tree, reached)
            if isinstance(scope, On):
                some |= self._above(scope.entity)
            found |= left & some
        return found

    def _above(self, anchor: Entity) -> BitMap:
        """What the anchor, stored or not, may lie in by its name."""
        ancestors = list(self.snapshot.coded.ancestors(anchor))
        alike = (other for one in ancestors for other in namesakes(self.snapshot, one))
        ids = map(self.snapshot.coded.tree.find, (*ancestors, *alike))
        return BitMap([id for id in ids if id is not None])

    def _standing_for(self, place: Spot, grant: Grant) -> Spot | None:
        """The place of what the DENY reaches inside the target without a name of its own.

        The target itself where only its own rule judges that; None where it has no name.
        """
        if not self.bearing.inner:
            return place
        scope, spelling = grant.statement.scope, self.snapshot.coded.spelling
        tail: tuple[str, ...] = (_ANY_NAME,)
        if isinstance(scope, Matching) and not self.snapshot.lies_in(place, grant):
            rest = scope.parts[len(spelling.parts(self.request.target)) :]
            tail = tuple(part.replace("*", "x").replace("?", "x") for part in rest)
        for type in self.bearing.inner:
            entity = Entity(type, ".".join((self.request.target.name, *tail)))
            if spelling.parent(entity) in self.around:
                return self.snapshot.place(entity)
        return None

    def _is_closed(self, at: Spot, privileges: Set[str]) -> bool:
        rule = None if at == self.target else self.inside.rule_or_none(self._entity(at).type)
        if rule is None:
            at, rule = self.target, self.operation.rule(self.request.target.type)
        return not self._is_true(rule, at, privileges)

    def _is_true(self, rule: Node, at: Spot, privileges: Set[str]) -> bool:
        point = _AsIfDenied(self.snapshot, self.subject, self.request, at, privileges)
        try:
            return point.evaluate(rule, at)
        except LimitExceeded:
            return False

    def _entity(self, at: Spot) -> Entity:
        return self.snapshot.coded.tree.entity(at) if isinstance(at, int) else at.entity


class _AsIfDenied(PointEvaluator):
    """Judges as if some privileges were denied at one place."""

    def __init__(
        self,
        snapshot: Snapshot,
        subject: Subject,
        request: Request,
        at: Spot,
        privileges: Set[str],
    ) -> None:
        super().__init__(snapshot, subject, request)
        self._at, self._closed = at, privileges

    def denied(self, privilege: str, place: Spot) -> bool:
        is_closed = privilege in self._closed and place == self._at
        return is_closed or super().denied(privilege, place)


def _upwards(tree: Tree, ids: BitMap) -> BitMap:
    """What the entities lie in, at any depth."""
    followed, found = tree.above, BitMap()
    level = np.asarray(ids.to_array(), dtype=np.int64)
    while len(level):
        level = np.unique(followed[level])
        level = level[level >= 0]
        found |= BitMap(level.astype(np.uint32))
    return found
