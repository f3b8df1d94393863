"""Why, and why not: the rule as a tree of truths, and the changes that would turn a denial.

Computed from the snapshot by walking the rule, never from the compiled rows; if the two
disagree, the answer is a denial with the reason `error`, and it is counted.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from lakewarden.kernel.advice import Change, Need, Way, advice
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.expression import (
    REQUEST,
    And,
    Anyone,
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    May,
    Node,
    NotDenied,
    Or,
    Owner,
    ServiceAdmin,
    Some,
)
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import ANY, Reach
from lakewarden.kernel.point_evaluator import PointEvaluator, Spot
from lakewarden.kernel.request import Decision, Reason, Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Statement

_CONSIDERED = 48
"""How many ways are followed through one node; the smallest ones are kept."""


@dataclass(frozen=True, slots=True)
class Step:
    """One node of the rule and its truth at one entity (None: there is no entity).

    `allowed_by` and `denied_by` are the ids of the statements that decided a privilege.
    """

    says: str
    holds: bool
    entity: Entity | None
    allowed_by: tuple[str, ...] = ()
    denied_by: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its reasons, true where it allows.

    `rule` is None if no rule was reached. `statements` are the ids of all deciding statements;
    `ways` are at most five, empty if no ALLOW would help (the entity is not stored, only an owner
    may).
    """

    decision: Decision
    rule: Step | None
    statements: tuple[str, ...]
    ways: tuple[Way, ...]

    def __bool__(self) -> bool:
        return self.decision.allow


def explain(matrix: Matrix, request: Request) -> Explanation:
    """The decision on the request, and why. Raises as `Matrix.decide`."""
    decision = matrix.decide(request)
    if decision.reason in (Reason.NOT_STORED, Reason.ROLE_NOT_HELD, Reason.ERROR):
        return Explanation(decision, None, (), ())
    snapshot = matrix.snapshot
    subject = matrix.subject(request)
    place = snapshot.place(request.target)
    rule = matrix.operation(request.operation).rule(request.target.type)
    explainer = _RuleExplainer(snapshot, PointEvaluator(snapshot, subject, request))
    step = explainer.step(rule, place)
    if step.holds != decision.allow:
        matrix.errors["Disagreement"] += 1
        return Explanation(snapshot.decisions[Reason.ERROR], step, (), ())
    decisive = tuple(sorted(set(_statements(step))))
    ways = () if decision.allow else _ways(matrix, request, explainer, rule, place)
    return Explanation(decision, step, decisive, ways)


def deciding_statements(
    matrix: Matrix, request: Request, known: Container[Entity] | None = None
) -> tuple[str, ...]:
    """The ids of the statements of the request's explanation, without the rest of it.

    For a request that was decided by its rule: allowed, or denied. `known` limits the result to
    these entities. Raises as `Matrix.decide`.
    """
    snapshot = matrix.snapshot
    rule = matrix.operation(request.operation).rule(request.target.type)
    explainer = _RuleExplainer(snapshot, PointEvaluator(snapshot, matrix.subject(request), request))
    ids = explainer.deciding_statements(rule, snapshot.place(request.target), known)
    return tuple(sorted(set(ids)))


def missing_needs(matrix: Matrix, request: Request) -> tuple[frozenset[Need], ...]:
    """What a request denied by its rule lacks: all of one of these sets, the smallest first.

    Privileges are named as in the rule, including derived ones, each at the entity where it is
    required. Empty if no ALLOW would help. Raises as `Matrix.decide`.
    """
    ways = reversing_changes(matrix, request, derived=True)
    needs = (frozenset(c for c in way if isinstance(c, Need)) for way in ways)
    return tuple(way for way in needs if way)


def reversing_changes(
    matrix: Matrix, request: Request, *, derived: bool = False
) -> tuple[frozenset[Change], ...]:
    """The changes that would turn a denial by its rule: one of these sets, the smallest first.

    They are ALLOWs to add and DENYs to lift, as in `Way`, but are not tried: a set may be larger
    than needed. An entity that is not stored is judged as if it were, without grants of its own: an
    empty set means that only the entity is missing. `derived`: privileges are named as in the rule.
    Raises as `Matrix.decide`.
    """
    snapshot = matrix.snapshot
    point = _AsIf(snapshot, matrix.subject(request), request)
    rule = matrix.operation(request.operation).rule(request.target.type)
    ways = _RuleExplainer(snapshot, point, derived=derived).ways(
        rule, snapshot.place(request.target)
    )
    return tuple(_by_size(ways))


class _AsIf(PointEvaluator):
    """A point evaluator that treats every entity sent with the request as stored."""

    def spot(self, entity: Entity) -> Spot:
        """The place where the entity is evaluated."""
        return self._snapshot.place(entity)


def _statements(step: Step) -> Iterator[str]:
    yield from step.allowed_by
    yield from step.denied_by
    for inner in step.steps:
        yield from _statements(inner)


Ways = frozenset[frozenset[Change]]
_DONE: Ways = frozenset({frozenset()})
_NONE: Ways = frozenset()


class _RuleExplainer:
    """The rule's tree for one request, and the ways to make its nodes true.

    `derived`: a derived privilege is needed as such, not as one of those that imply it.
    """

    def __init__(self, snapshot: Snapshot, point: PointEvaluator, *, derived: bool = False) -> None:
        self._snapshot = snapshot
        self._point = point
        self._derived = derived

    def step(self, node: Node, place: Spot | None) -> Step:
        """The node and all below it, with their truths."""
        entity = None if place is None else self._point.entity(place)
        if place is None:
            return Step(_says(node), False, entity)
        inner = tuple(self._inner(node, place))
        allowed, denied = self._deciding(node, place)
        return Step(
            _says(node),
            self._point.evaluate(node, place),
            entity,
            tuple(statement.id for statement in allowed),
            tuple(statement.id for statement in denied),
            inner,
        )

    def _inner(self, node: Node, place: Spot) -> Iterator[Step]:
        for part, at in self._parts(node, place):
            yield self.step(part, at)

    def _parts(self, node: Node, place: Spot) -> Iterator[tuple[Node, Spot | None]]:
        match node:
            case And(parts) | Or(parts):
                yield from ((part, place) for part in parts)
            case At(selector, inner):
                yield inner, self._point.selected(selector, place)
            case Every(source, inner) | Some(source, inner):
                for at in self._point.related_spots(source, place):
                    yield inner, at
            case May(name):
                rule = self._rule(name, place)
                if rule is not None:
                    yield rule, place
            case _:
                return

    def deciding_statements(
        self, node: Node, place: Spot | None, known: Container[Entity] | None
    ) -> Iterator[str]:
        """The ids of the statements that decide the privileges of the node and of all below it."""
        if place is None or (known is not None and self._point.entity(place) not in known):
            return
        for statements in self._deciding(node, place):
            yield from (statement.id for statement in statements)
        for part, at in self._parts(node, place):
            yield from self.deciding_statements(part, at, known)

    def _rule(self, operation: str, place: Spot) -> Node | None:
        declared = self._snapshot.model.operation(operation)
        return declared.rule_or_none(self._point.entity(place).type)

    def _deciding(self, node: Node, place: Spot) -> tuple[list[Statement], list[Statement]]:
        match node:
            case Holds(privilege):
                return self._unique(self._point.allowing(privilege, place)), self.denying(
                    privilege, place
                )
            case NotDenied(privilege):
                return [], self.denying(privilege, place)
            case _:
                return [], []

    @staticmethod
    def _unique(grants: Iterable[Grant]) -> list[Statement]:
        statements = {grant.statement.id: grant.statement for grant in grants}
        return [statements[id] for id in sorted(statements)]

    def denying(self, privilege: str, place: Spot) -> list[Statement]:
        """The DENYs in force that apply to the subject here."""
        return self._unique(self._point.denying(privilege, place))

    def ways(self, node: Node, place: Spot | None) -> Ways:
        """The smallest sets of changes that make the node true; some may not be minimal."""
        if place is None:
            return _NONE
        if self._point.evaluate(node, place):
            return _DONE
        match node:
            case Holds(privilege):
                return self._ways_to_hold(privilege, place)
            case NotDenied(privilege):
                return frozenset({frozenset(s.id for s in self.denying(privilege, place))})
            case And(parts):
                return _all_of(self.ways(part, place) for part in parts)
            case Or(parts):
                return _any_of(self.ways(part, place) for part in parts)
            case At(selector, inner):
                return self.ways(inner, self._point.selected(selector, place))
            case Every(source, inner):
                spots = list(self._point.related_spots(source, place))
                return _all_of(self.ways(inner, at) for at in spots) if spots else _NONE
            case Some(source, inner):
                spots = list(self._point.related_spots(source, place))
                return _any_of(self.ways(inner, at) for at in spots)
            case May(name):
                rule = self._rule(name, place)
                return _NONE if rule is None else self.ways(rule, place)
            case _:
                return _NONE

    def _ways_to_hold(self, privilege: str, place: Spot) -> Ways:
        lifted = frozenset(statement.id for statement in self.denying(privilege, place))
        if self._point.is_granted(privilege, place):
            return frozenset({lifted})
        needs = self._needs(privilege, place)
        return frozenset(lifted | {need} for need in needs)

    def _needs(self, privilege: str, place: Spot) -> Iterator[Need]:
        model = self._snapshot.model
        declared = model.privileges[privilege]
        entity = self._anchor(privilege, place)
        implied_by = () if self._derived else declared.implied_by
        for name in implied_by or (privilege,):
            yield Need(name, entity)

    def _anchor(self, privilege: str, place: Spot) -> Entity:
        """The nearest entity on which the privilege may be granted to reach the place."""
        declared, entity = self._snapshot.model.privileges[privilege], self._point.entity(place)
        if declared.reach is not Reach.BELOW or {entity.type, ANY} & declared.on:
            return entity
        chain = self._snapshot.coded.ancestors(entity)
        return next((other for other in chain if other.type in declared.on), entity)


def _says(node: Node) -> str:
    match node:
        case Holds(privilege):
            return privilege
        case NotDenied(privilege):
            return f"not denied {privilege}"
        case Owner(levels):
            return f"owner of {' or '.join(levels)}"
        case And():
            return "all of"
        case Or():
            return "any of"
        case At(selector, _):
            return f"at {selector.removeprefix(REQUEST)}"
        case Every(source, _):
            return f"on every one of {source.removeprefix(REQUEST)}"
        case Some(source, _):
            return f"on some one of {source.removeprefix(REQUEST)}"
        case May(operation):
            return f"may {operation}"
        case Compare(attribute, operator, value):
            return f"{attribute} {operator} {value!r}"
        case IsSelf():
            return "is the subject"
        case ServiceAdmin():
            return "service administrator"
        case Anyone():
            return "anyone"
        case _:
            return "nobody"


def _smallest(ways: Iterable[frozenset[Change]]) -> Ways:
    """The sets that contain no other set, the smallest first, up to the limit."""
    smallest: list[frozenset[Change]] = []
    for way in _by_size(set(ways)):
        if len(smallest) < _CONSIDERED and not any(other <= way for other in smallest):
            smallest.append(way)
    return frozenset(smallest)


def _by_size(ways: Iterable[frozenset[Change]]) -> list[frozenset[Change]]:
    listed = list(ways)
    if len(listed) < 2:
        return listed  # a way of a thousand needs passes here a thousand times
    return sorted(listed, key=lambda way: (len(way), sorted(map(str, way))))


def _all_of(parts: Iterable[Ways]) -> Ways:
    combined = _DONE
    for ways in parts:
        combined = _smallest(left | right for left, right in product(combined, ways))
    return combined


def _any_of(parts: Iterable[Ways]) -> Ways:
    return _smallest(way for ways in parts for way in ways)


def _ways(
    matrix: Matrix, request: Request, explainer: _RuleExplainer, rule: Node, place: Spot
) -> tuple[Way, ...]:
    return advice(matrix, request, rule, place, _by_size(_smallest(explainer.ways(rule, place))))
