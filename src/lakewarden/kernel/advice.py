"""What would turn a denial into an allow: the ways that open the least come first.

A way is an existing role to join, or ALLOWs to add and DENYs to lift. Each way also states what
else it would open. Ways are evaluated by the same rules over the same snapshot, as if the change
were made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from pyroaring import BitMap

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.expression import Node
from lakewarden.kernel.implied import IMPLIED_ID
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.point_evaluator import PointEvaluator, Spot
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.rows import shape
from lakewarden.kernel.scopes import Block, match, normal
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Anything, Effect, On, Statement
from lakewarden.kernel.subject import Subject
from lakewarden.kernel.who import who

WAYS = 5
"""How many ways out of a denial are returned."""

COUNTED = 50_000
"""With more stored entities than this, the other entities that a way allows are not counted."""

_COMPARED = 12
"""How many ways of ALLOWs are compared by what they open; the smallest sets are taken."""

_ROLES_TRIED = 200
_ROLES_NAMED = 2


@dataclass(frozen=True, slots=True)
class Need:
    """A missing ALLOW: the privilege, anchored at the entity, given to the subject."""

    privilege: str
    entity: Entity


Change = Need | str
"""One change of a way: an ALLOW to add, or the id of a DENY to lift."""


@dataclass(frozen=True, slots=True)
class Way:
    """A smallest change that would turn the denial.

    The request is allowed once the subject has joined all of `joins`, all of `needs` are added and
    all of `lifted` (ids of DENYs in the way) are removed; without any one of them it stays denied.
    `grantors` are the stored users who may grant each need, in its order; None where granting is no
    operation of the model. `opens` are the other operations that it allows on the target, and
    `others` counts the other entities on which it allows the same operation; None: not counted.
    """

    needs: tuple[Need, ...]
    lifted: tuple[str, ...]
    grantors: tuple[tuple[Principal, ...] | None, ...]
    joins: tuple[Principal, ...] = ()
    opens: tuple[str, ...] = ()
    others: int | None = None


def advice(
    matrix: Matrix, request: Request, rule: Node, place: Spot, turning: Iterable[frozenset[Change]]
) -> tuple[Way, ...]:
    """The ways out of a denial, those that open the least first; at most `WAYS`.

    `turning` are sets of changes that turn it, the smallest first; a set may be larger than needed.
    Among ways that open as much on the target, an existing role comes before a grant, and a way
    on fewer entities before one on more.
    """
    denied = _DeniedRequest(matrix, request, rule, place)
    ways = [*denied.joins(), *denied.changes(turning)]
    best = sorted(ways, key=_order)[:WAYS]
    return tuple(sorted((denied.counted(way) for way in best), key=_order))


def _order(way: Way) -> tuple[object, ...]:
    size = len(way.needs) + len(way.lifted)
    others = -1 if way.others is None else way.others
    return len(way.opens), size, others, str(way)


class _DeniedRequest:
    """A denied request, and its result after hypothetical changes."""

    def __init__(self, matrix: Matrix, request: Request, rule: Node, place: Spot) -> None:
        self._matrix = matrix
        self._snapshot = matrix.snapshot
        self._request = request
        self._rule = rule
        self._place = place
        point = PointEvaluator(self._snapshot, matrix.subject(request), request)
        others = {own: names for own, names in self._operations_by_rule().items() if own != rule}
        self._closed = {r: n for r, n in others.items() if not _holds(point, r, place)}

    def _operations_by_rule(self) -> dict[Node, list[str]]:
        """The names of the operations on targets of this type, by their rules."""
        names: dict[Node, list[str]] = {}
        for operation in self._snapshot.model.operations.values():
            rule = operation.rule_or_none(self._request.target.type)
            if rule is not None:
                names.setdefault(rule, []).append(operation.name)
        return names

    def _opened(self, point: PointEvaluator) -> tuple[str, ...]:
        """The operations that the supposed changes open on the target; access levels first."""
        opened = (n for r, n in self._closed.items() if _holds(point, r, self._place))
        ways = {name for names in self._snapshot.model.access.values() for name in names}
        return tuple(
            sorted((name for n in opened for name in n), key=lambda name: name not in ways)
        )

    def joins(self) -> Iterator[Way]:
        """Ways by a stored role, where membership in the role alone is enough."""
        helping = (r for r in self._roles() if _holds(self._joined(r), self._rule, self._place))
        for role in islice(helping, _ROLES_NAMED):
            yield Way((), (), (), joins=(role,), opens=self._opened(self._joined(role)))

    def _joined(self, role: Principal) -> PointEvaluator:
        request = self._as_member(role)
        return PointEvaluator(self._snapshot, self._matrix.subject(request), request)

    def _as_member(self, role: Principal) -> Request:
        return replace(self._request, groups=(*self._request.groups, role))

    def _roles(self) -> Iterator[Principal]:
        """Stored roles that have any of the rule's privileges; roles with few grants first.

        Only for users with all roles active: other members might close a cycle.
        """
        if self._request.roles is not None or self._request.principal.kind != USER:
            return
        model, table = self._snapshot.model, self._snapshot.table
        memberships = self._snapshot.coded.memberships
        operation = self._matrix.operation(self._request.operation)
        privileges = shape(model, operation, self._request.target.type).privileges
        named = {id for name in privileges for id in table.allows(name).by_principal}
        reaching = {id for one in named for id in memberships.acting_as(one)} & memberships.stored
        active = self._matrix.subject(self._request).named
        roles = (memberships.principals[id] for id in reaching)
        candidates = [role for role in roles if role.kind == ROLE and role not in active]
        grant_counts: Counter[int] = Counter()
        for grouped in table.allow.values():
            grant_counts.update({id: len(grants) for id, grants in grouped.by_principal.items()})
        candidates.sort(
            key=lambda role: (sum(grant_counts[id] for id in memberships.acts_as(role)), role)
        )
        yield from candidates[:_ROLES_TRIED]

    def changes(self, turning: Iterable[frozenset[Change]]) -> Iterator[Way]:
        """A way for each set of changes, without its unneeded changes."""
        for least in dict.fromkeys(
            self._minimal(changes) for changes in islice(turning, _COMPARED)
        ):
            yield self._way(least)

    def _supposing(self, changes: frozenset[Change]) -> _Supposing:
        subject = self._matrix.subject(self._request)
        return _Supposing(self._snapshot, subject, self._request, changes)

    def _minimal(self, changes: frozenset[Change]) -> frozenset[Change]:
        """`changes` without the unneeded ones.

        One change may replace another: an ALLOW on a schema reaches its tables too.
        """
        for change in sorted(changes, key=str):
            if self._supposing(changes - {change}).evaluate(self._rule, self._place):
                changes -= {change}
        return changes

    def _way(self, changes: frozenset[Change]) -> Way:
        needs = sorted((c for c in changes if isinstance(c, Need)), key=str)
        lifted = sorted(c for c in changes if isinstance(c, str))
        grantors = tuple(_grantors(self._matrix, self._request, n) for n in needs)
        opens = self._opened(self._supposing(changes))
        return Way(tuple(needs), tuple(lifted), grantors, opens=opens)

    def counted(self, way: Way) -> Way:
        """The way with the number of other entities on which it allows the operation."""
        if len(self._snapshot.coded.tree.stored) > COUNTED or self._request.subresources:
            return way
        type = self._request.target.type
        before = listing(self._matrix, self._request, type=type)
        if way.joins:
            after = listing(self._matrix, self._as_member(way.joins[0]), type=type)
        else:
            after = listing(self._changed(way), self._request, type=type)
        new = after - before
        return replace(
            way, others=len(new - BitMap([self._place] if isinstance(self._place, int) else []))
        )

    def _changed(self, way: Way) -> Matrix:
        """The matrix after the changes of the way."""
        added = [
            StatementAdded(
                Statement(
                    id=f"{IMPLIED_ID}supposed:{number}",
                    effect=Effect.ALLOW,
                    privileges=frozenset({need.privilege}),
                    scope=Anything() if need.entity == NO_RESOURCE else On(need.entity),
                    principals=frozenset({self._request.principal}),
                )
            )
            for number, need in enumerate(way.needs)
        ]
        removed = [StatementRemoved(id) for id in way.lifted]
        revision = self._matrix.revision + 1
        # A matrix without rows: carrying over all rows of the subject costs more than one listing.
        bare = Matrix(self._snapshot)
        return apply(bare, [*added, *removed], now=self._request.now, revision=revision)


def _holds(point: PointEvaluator, rule: Node, place: Spot) -> bool:
    """Whether the rule holds; False if evaluating it takes too much work."""
    try:
        return point.evaluate(rule, place)
    except LimitExceeded:
        return False


def _grantors(matrix: Matrix, request: Request, need: Need) -> tuple[Principal, ...] | None:
    model = matrix.snapshot.model
    if model.granting is None or not model.privileges[need.privilege].grantable:
        return None
    if model.operation(model.granting).rule_or_none(need.entity.type) is None:
        return None
    question = Request(request.principal, model.granting, need.entity, request.now)
    return tuple(sorted(who(matrix, question)))


class _Supposing(PointEvaluator):
    """Evaluates as if some ALLOWs were given to the subject and some DENYs removed."""

    def __init__(
        self,
        snapshot: Snapshot,
        subject: Subject,
        request: Request,
        changes: frozenset[Change],
    ) -> None:
        super().__init__(snapshot, subject, request)
        self._model = snapshot.model
        self._needs = [change for change in changes if isinstance(change, Need)]
        self._lifted = {change for change in changes if isinstance(change, str)}

    def denied(self, privilege: str, place: Spot) -> bool:
        denying = self.denying(privilege, place)
        return any(grant.statement.id not in self._lifted for grant in denying)

    def is_granted(self, privilege: str, place: Spot) -> bool:
        supposed = (need for need in self._needs if self._grants(need.privilege, privilege))
        return any(
            self._scope_contains(need, privilege, place) for need in supposed
        ) or super().is_granted(privilege, place)

    def _grants(self, named: str, privilege: str) -> bool:
        return named == privilege or named in self._model.privileges[privilege].implied_by

    def _scope_contains(self, need: Need, privilege: str, place: Spot) -> bool:
        anchor = Anything() if need.entity == NO_RESOURCE else On(need.entity)
        scope = normal(anchor, self._model.privileges[privilege].reach)
        block: Block
        if isinstance(place, NamedPlace):
            block = place.block
        else:
            block = Stored(self._snapshot.coded, BitMap([place]))
        return bool(match(block, [scope])[0])
