"""DENYs inside a target: columns that a DENY closes below a table on which an action is allowed.

A decision on a table depends on the statements that reach the table. Checking each of its columns
as well would deny more than any statement says, because in some models a right on a table is no
right on its columns. Therefore only what a DENY in force reaches inside is judged: by the
operation's rule for its type or, if there is none, by the rule for the target as if the DENY were
there. An owner whom no DENY affects on the table is thus affected by none on a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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
from lakewarden.kernel.who import StoredUsers, Users

_ANY_NAME: Final = "any_name"
"""The last part of a name that stands for everything a DENY reaches inside."""


def denied_inside(
    matrix: Matrix,
    request: Request,
    named: Iterable[Entity] | None = None,
    inside: str | None = None,
) -> frozenset[Entity]:
    """What a DENY closes inside the request's target, even if the target itself is allowed.

    `named` limits the check to these entities inside the target; without it everything counts,
    stored or not. A DENY that could match names that are not stored is represented by one such
    name, or by the target. Whether the target is allowed is a separate check (`Matrix.decide`); a
    DENY that its rule has judged does not count again. What lies inside is judged by the operation
    `inside`, or by the request's operation without it. Raises as `Matrix.decide` does.

    COST: 1 µs where no DENY in force is of a privilege that the rules name, some µs where none
    concerns the subject.
    """
    matrix.require(request.now)
    if not may_be_denied_inside(matrix, request, inside):
        return frozenset()
    return _Question(matrix, request, inside or request.operation).closed(named)


def may_be_denied_inside(matrix: Matrix, request: Request, inside: str | None = None) -> bool:
    """Whether any DENY in force is of a relevant privilege, for any subject and any target.

    Raises as `denied_inside` does.
    """
    if not matrix.snapshot.table.deny:
        return False
    return bool(_relevance(matrix, request, inside or request.operation).denied)


def with_denied_inside(matrix: Matrix, request: Request, ids: BitMap) -> BitMap:
    """Of stored targets of one type, those inside which a DENY closes the operation.

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


def users_denied_inside(
    matrix: Matrix,
    request: Request,
    among: Mapping[int, Sequence[int]],
    stored: StoredUsers,
    inside: str | None = None,
) -> dict[int, BitMap]:
    """The stored users for whom `denied_inside` closes something in stored targets of one type.

    `among` maps each target to the entities in question; the result omits an entity that is closed
    to nobody. The request's own principal and target do not matter, and it must have no further
    parts. Whether the targets are allowed is a separate check, as in `denied_inside`. Raises as
    `Matrix.decide` does.

    COST: as `denied_inside` where no DENY is relevant. Otherwise, everything that a DENY may reach
    takes one pass over the rule with sets of users, as in `who`.
    """
    matrix.require(request.now)
    if not among:
        return {}
    tree = matrix.snapshot.coded.tree
    asked = replace(request, target=tree.entity(min(among)))
    if not may_be_denied_inside(matrix, asked, inside):
        return {}
    within, found = inside or request.operation, dict[int, BitMap]()
    denials = _Question(matrix, asked, within).denials_by_id(
        BitMap.union(*map(BitMap, among.values()))
    )
    for target, ids in among.items():
        there = replace(asked, target=tree.entity(target))
        for id in ids:
            question = _QuestionOfAll(matrix, there, within, denials.get(id, ()))
            users = question.users(tree.entity(id), stored)
            if users:
                found[id] = users
    return found


@dataclass(frozen=True, slots=True)
class _Relevance:
    """The privileges and types relevant for an operation on targets of one type.

    `own` are the privileges that the rule for the target names, `denied` those that any rule names
    and of which a DENY is in force. `inner` are the types inside the target that have a rule.
    """

    own: frozenset[str]
    denied: frozenset[str]
    inner: frozenset[str]


def _relevance(matrix: Matrix, request: Request, inside: str) -> _Relevance:
    """COST: computed once for each snapshot."""
    type = request.target.type
    key = f"denied inside {request.operation} {inside} {type}"
    found = matrix.snapshot.memos.derived.get(key)
    if not isinstance(found, _Relevance):
        found = matrix.snapshot.memos.derived[key] = _compute_relevance(matrix, request, inside)
    return found


def _compute_relevance(matrix: Matrix, request: Request, inside: str) -> _Relevance:
    type, snapshot = request.target.type, matrix.snapshot
    types, containing = snapshot.model.types, {one.type for one in _around(snapshot, request)}
    within = matrix.operation(inside)
    declared = (one for one in within.rules if one in types and one not in containing)
    inner = frozenset(one for one in declared if not containing.isdisjoint(above(types, one)))
    own = matrix.shape(matrix.operation(request.operation), type).privileges
    named = own.union(*(matrix.shape(within, one).privileges for one in inner))
    denied = (one for one in named if one in snapshot.table.deny and snapshot.table.deny[one].every)
    return _Relevance(own, frozenset(denied), inner)


def _around(snapshot: Snapshot, request: Request) -> Set[Entity]:
    """The target and the entities of its name: columns can be in any of them."""
    return {request.target, *namesakes(snapshot, request.target)}


_Denial = tuple[str, Grant]
"""A DENY, and the privilege that makes it relevant."""


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
    def relevance(self) -> _Relevance:
        return _relevance(self.matrix, self.request, self.within)

    def closed(self, named: Iterable[Entity] | None) -> frozenset[Entity]:
        found, unsaid = self.denials_inside([self.request.target] if named is None else named)
        closed = {
            self._entity(at) for at, by in found.items() if self._is_closed(at, {p for p, _ in by})
        }
        return frozenset(closed | ({self.request.target} if unsaid else set()))

    def denials_inside(
        self, roots: Iterable[Entity]
    ) -> tuple[dict[Spot, list[_Denial]], list[Grant]]:
        """What DENYs reach at or inside the roots, by place, and the DENYs without a place."""
        roots = list(roots)
        found: dict[Spot, list[_Denial]] = {}
        unsaid: list[Grant] = []
        for privilege, grant, is_own in self.denying():
            if is_own and self.snapshot.lies_in(self.target, grant):
                continue
            for root in roots:
                for place in reached_inside(self.snapshot, grant, root):
                    at = self._representative(place, grant) if place == self.target else place
                    if at is None:
                        unsaid.append(grant)
                    else:
                        found.setdefault(at, []).append((privilege, grant))
        return found, unsaid

    def denying(self) -> Iterator[tuple[str, Grant, bool]]:
        """The DENYs of the subject that are relevant for the operation, each with its privilege.

        The third value says whether the rule for the target names the privilege, too.
        """
        relevance, deny = self.relevance, self.snapshot.table.deny
        for privilege in relevance.denied:
            for grant in deny[privilege].of(self.subject.deny):
                yield privilege, grant, privilege in relevance.own

    def denials_by_id(self, ids: BitMap) -> dict[int, list[tuple[str, Grant, bool]]]:
        """By target, the DENYs to any principal that may reach something there.

        The form is that of `denying`.
        """
        relevance, deny = self.relevance, self.snapshot.table.deny
        found: dict[int, list[tuple[str, Grant, bool]]] = {}
        for privilege in relevance.denied:
            for grant in deny[privilege].every:
                for id in self._may_reach(grant, ids):
                    found.setdefault(id, []).append((privilege, grant, privilege in relevance.own))
        return found

    def candidates(self, ids: BitMap) -> BitMap:
        """Of targets of one type, those inside which a DENY may reach that no rule judged yet."""
        snapshot, found = self.snapshot, BitMap()
        for _, grant, is_own in self.denying():
            left = ids - found - (snapshot.bitmaps[grant.scope] if is_own else BitMap())
            found |= self._may_reach(grant, left)
        return found

    def _may_reach(self, grant: Grant, ids: BitMap) -> BitMap:
        """Of some entities, those at or inside which the grant may reach something."""
        scope, reached = grant.statement.scope, self.snapshot.bitmaps[grant.scope]
        if not ids or isinstance(scope, Matching):
            return ids
        some = reached | _with_ancestors(self.snapshot.coded.tree, reached)
        if isinstance(scope, On):
            some |= self._above(scope.entity)
        return ids & some

    def _above(self, anchor: Entity) -> BitMap:
        """The stored entities that may contain the anchor, stored or not, by its name."""
        ancestors = list(self.snapshot.coded.ancestors(anchor))
        alike = (other for one in ancestors for other in namesakes(self.snapshot, one))
        ids = map(self.snapshot.coded.tree.find, (*ancestors, *alike))
        return BitMap([id for id in ids if id is not None])

    def _representative(self, place: Spot, grant: Grant) -> Spot | None:
        """The place that represents what the DENY reaches inside the target without naming it.

        The target itself if only its own rule judges that; None if there is no such name.
        """
        if not self.relevance.inner:
            return place
        scope, spelling = grant.statement.scope, self.snapshot.coded.spelling
        tail: tuple[str, ...] = (_ANY_NAME,)
        if isinstance(scope, Matching) and not self.snapshot.lies_in(place, grant):
            rest = scope.parts[len(spelling.parts(self.request.target)) :]
            tail = tuple(part.replace("*", "x").replace("?", "x") for part in rest)
        for type in self.relevance.inner:
            entity = Entity(type, ".".join((self.request.target.name, *tail)))
            if spelling.parent(entity) in self.around:
                return self.snapshot.place(entity)
        return None

    def _is_closed(self, at: Spot, privileges: Set[str]) -> bool:
        rule, place = self.deciding_rule(at)
        return not self._is_true(rule, place, privileges)

    def deciding_rule(self, at: Spot) -> tuple[Node, Spot]:
        """The rule that judges what a DENY reaches, and the place where it is evaluated."""
        rule = None if at == self.target else self.inside.rule_or_none(self._entity(at).type)
        if rule is None:
            return self.operation.rule(self.request.target.type), self.target
        return rule, at

    def _is_true(self, rule: Node, at: Spot, privileges: Set[str]) -> bool:
        point = _AsIfDenied(self.snapshot, self.subject, self.request, at, privileges)
        try:
            return point.evaluate(rule, at)
        except LimitExceeded:
            return False

    def _entity(self, at: Spot) -> Entity:
        return self.snapshot.coded.tree.entity(at) if isinstance(at, int) else at.entity


@dataclass
class _QuestionOfAll(_Question):
    """One operation on one target for all stored users at once: what some DENYs close to them."""

    denials: Sequence[tuple[str, Grant, bool]]

    def denying(self) -> Iterator[tuple[str, Grant, bool]]:
        return iter(self.denials)

    def users(self, root: Entity, stored: StoredUsers) -> BitMap:
        """The stored users to whom something is closed at or inside the root."""
        found, unsaid = self.denials_inside([root])
        closed = BitMap.union(BitMap(), *(stored.of(grant.principals) for grant in unsaid))
        for at, by in found.items():
            denied: dict[str, BitMap] = {}
            for privilege, grant in by:
                denied[privilege] = denied.get(privilege, BitMap()) | stored.of(grant.principals)
            rule, place = self.deciding_rule(at)
            allowed = _UsersAsIfDenied(self.snapshot, self.request, stored, place, denied)
            bound = BitMap.union(BitMap(), *denied.values())
            closed |= bound - allowed.evaluate(rule, place)
        return closed


class _AsIfDenied(PointEvaluator):
    """Evaluates as if some privileges were denied at one place."""

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


class _UsersAsIfDenied(Users):
    """The same for all stored users, each of whom is denied some of the privileges."""

    def __init__(
        self,
        snapshot: Snapshot,
        request: Request,
        stored: StoredUsers,
        at: Spot,
        closed: Mapping[str, BitMap],
    ) -> None:
        super().__init__(snapshot, request, stored)
        self._at, self._closed = at, closed

    def denied(self, privilege: str, place: Spot) -> BitMap:
        users = super().denied(privilege, place)
        return users | self._closed.get(privilege, BitMap()) if place == self._at else users


def _with_ancestors(tree: Tree, ids: BitMap) -> BitMap:
    """The containers of the entities, at any depth."""
    followed, found = tree.above, BitMap()
    level = np.asarray(ids.to_array(), dtype=np.int64)
    while len(level):
        level = np.unique(followed[level])
        level = level[level >= 0]
        found |= BitMap(level.astype(np.uint32))
    return found
