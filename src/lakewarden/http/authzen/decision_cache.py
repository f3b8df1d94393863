"""The short way of a question: from its names to the bytes of its answer in a few look-ups.

A `Column` is one operation on one type of one realm, a `Row` a subject in it. Where the row
of the matrix decides alone, the whole answer depends only on the subject and the class of the
entity, so its bytes are kept by class. Whatever is not that simple has no row, or no answer
here, and goes the long way (`judging`), which tells the same.

A column belongs to one state; everything in it is worked out from that, and lost with it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from pyroaring import BitMap

from lakewarden.http.authzen import answer
from lakewarden.http.authzen.asker import Sight
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import deciding
from lakewarden.kernel.expression import (
    And,
    Anyone,
    Every,
    Holds,
    May,
    Nobody,
    Node,
    NotDenied,
    Or,
    Owner,
    ServiceAdmin,
    Some,
    children,
)
from lakewarden.kernel.matrix import Matrix, Plan
from lakewarden.kernel.model import Model, Operation
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Decision, Reason, Request
from lakewarden.kernel.rows import Code
from lakewarden.service.state import RealmState

_OPEN: Final = int(Code.OPEN)

_FEW: Final = 256

_MOST_TEXTS: Final = 2**16 - 1
"""Answers of higher numbers have no place in a row."""

_PLACES: Final = 50
"""So many places of a row take as much memory as an answer that is kept."""

_ROW: Final = 20
"""A row without its answers takes as much memory as so many of them."""

_FLAT = (And, Or, Holds, NotDenied, Owner, ServiceAdmin, Anyone, Nobody, May)


class Moment(NamedTuple):
    """A revision, and a moment for which the state is compiled."""

    revision: int
    now: float


class CacheBudget:
    """How many answers are kept, over all columns of a state."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers = 0


class OperationCache:
    """One operation on one type of one realm. Make it with `column`.

    `view` maps ids to classes; `texts` are the answers that were given, each once. `is_flat`:
    the rule looks at the target and its ancestors only, so that the statements that decide are
    found by the scopes that they reach; `follows`: it looks at related entities, and these
    differ within a class.

    INVARIANT: where names that are not stored are denied, every id of the type is stored; the
    kernel refuses facts in which it is not.
    """

    def __init__(
        self, realm: RealmState, plan: Plan, view: memoryview, moment: Moment, kept: CacheBudget
    ) -> None:
        snapshot = realm.matrix.snapshot
        nodes = list(_nodes(snapshot.model, plan.operation, plan.type))
        self.realm = realm
        self.matrix: Matrix = realm.matrix
        self.plan = plan
        self.index = plan.index
        self.view = view
        self.moment = moment
        self.kept = kept
        self.is_flat = all(isinstance(node, _FLAT) for node in nodes)
        self.follows = any(isinstance(node, (Every, Some)) for node in nodes)
        self.privileges = {node.privilege for node in nodes if isinstance(node, Holds)}
        self.denials = {node.privilege for node in nodes if isinstance(node, NotDenied)}
        self.texts: list[bytes | None] = [None]
        self._rows: dict[tuple[Principal, Sight], SubjectAnswers] = {}
        self._numbers: dict[tuple[Reason, tuple[str, ...]], int] = {}

    def rendered(self, reason: Reason, statements: tuple[str, ...]) -> int:
        """The number of an answer's bytes among the `texts`; equal answers have one number."""
        key = (reason, statements)
        found = self._numbers.get(key)
        if found is None:
            allow = reason is Reason.ALLOWED
            text = answer.evaluated(allow, reason.value, statements, self.moment.revision)
            found = self._numbers[key] = len(self.texts)
            self.texts.append(text)
        return found

    def row(self, principal: Principal, *, sight: Sight) -> SubjectAnswers:
        """The principal's row, with the statements that the `sight` allows for."""
        row = self._rows.get((principal, sight))
        if row is None:
            row = self._rows[principal, sight] = SubjectAnswers(self, principal, sight)
        return row


class SubjectAnswers:
    """One subject in a column: its answers, as numbers of the column's `texts`.

    `known` are good for every entity of their class; 0 where an answer has to be asked for. A
    class in which something is near (what the subject owns, and what lies below that) never
    gets there: its answers are `_shared` by the entities that are not near, as those of all
    classes are at first, and `_walked` for one that is.

    COST: whatever an answer is looked up in costs a trip to main memory. So `known` is small
    and flat, and needs no look at what is near.
    """

    __slots__ = (
        "_column", "_entry", "_grants", "_near", "_near_classes", "_shared", "_sight", "_walked",
        "known",
    )  # fmt: skip

    def __init__(self, column: OperationCache, principal: Principal, sight: Sight) -> None:
        matrix = column.matrix
        entry = matrix.entry(column.plan, matrix.snapshot.subject(principal))
        touched = entry.touched
        classes = len(entry.codes)
        self.known = array("H", bytes(2 * classes))
        column.kept.answers += _ROW + classes // _PLACES
        # A small set is nearer to the processor than a bitmap.
        self._near: frozenset[int] | BitMap = (
            frozenset(touched) if len(touched) <= _FEW else touched
        )
        self._near_classes: frozenset[int] | None = None
        self._shared: dict[int, int] = {}
        self._walked: dict[int, int] = {}
        self._column = column
        self._entry = entry
        self._sight = sight
        self._grants: list[tuple[BitMap, str]] | None = None

    def answer(self, id: int, number: int) -> bytes | None:
        """The answer about the entity `id` of the class `number`; None: go the long way."""
        return self._column.texts[self.known[number] or self._answer(id, number)]

    def _answer(self, id: int, number: int) -> int:
        if self._entry.codes[number] == _OPEN or id in self._near:
            return self._walked.get(id) or self._walk(id)
        found = self._shared.get(number)
        if found is not None:
            self._bring_near(number, found)
            return found
        found = self._rendered(id, self._decided(id).allow)
        if not (self._sight and self._column.follows):
            self._column.kept.answers += 1
            self._shared[number] = found
        return found

    def _bring_near(self, number: int, found: int) -> None:
        """Puts an answer that was asked for again among the known, if it may be there."""
        if self._near_classes is None:
            self._near_classes = frozenset(map(self._column.view.__getitem__, self._near))
        if number not in self._near_classes and found <= _MOST_TEXTS:
            self.known[number] = found

    def _walk(self, id: int) -> int:
        decision = self._decided(id)
        if decision.reason not in (Reason.ALLOWED, Reason.DENIED):
            return 0
        found = self._rendered(id, decision.allow, near=True)
        self._column.kept.answers += 1
        self._walked[id] = found
        return found

    def _decided(self, id: int) -> Decision:
        return self._column.matrix.decide(self._request(id))

    def _request(self, id: int) -> Request:
        column = self._column
        target = Entity(column.plan.type, column.matrix.snapshot.coded.tree.names[id])
        return Request(
            self._entry.subject.principal, column.plan.operation.name, target, column.moment.now
        )

    def _rendered(self, id: int, allow: bool, *, near: bool = False) -> int:
        reason = Reason.ALLOWED if allow else Reason.DENIED
        told = self._sight is Sight.ALL or (self._sight is Sight.ALLOWING and allow)
        if not told:
            return self._column.rendered(reason, ())
        if near or not self._column.is_flat:
            statements = seen(self._column.matrix, self._request(id), self._sight)
        else:
            statements = self._statements(id)
        return self._column.rendered(reason, statements)

    def _statements(self, id: int) -> tuple[str, ...]:
        if self._grants is None:
            self._grants = list(self._reaching())
        return tuple(sorted({name for scope, name in self._grants if id in scope}))

    def _reaching(self) -> Iterator[tuple[BitMap, str]]:
        """The scopes of the statements that give or take what the rule asks, with their ids."""
        column, subject = self._column, self._entry.subject
        snapshot = column.matrix.snapshot
        for privilege in column.privileges:
            for grant in snapshot.table.allows(privilege).of(subject.allow):
                yield snapshot.bitmaps[grant.scope], grant.statement.id
        for privilege in column.privileges | column.denials:
            for grant in snapshot.table.denies(privilege).of(subject.deny):
                yield snapshot.bitmaps[grant.scope], grant.statement.id


def seen(matrix: Matrix, request: Request, sight: Sight) -> tuple[str, ...]:
    """The statements that decide a request, of those that may be seen."""
    if sight is Sight.ALL:
        return deciding(matrix, request)
    coded, target = matrix.snapshot.coded, request.target
    above = coded.ancestors(target) if target != NO_RESOURCE else ()
    return deciding(matrix, request, {target, NO_RESOURCE, *above})


def column(
    realm: RealmState, action: str, type: str, moment: Moment, kept: CacheBudget
) -> OperationCache | None:
    """The column of an action on a type; None where there is no short way."""
    matrix = realm.matrix
    model = matrix.snapshot.model
    if action not in model.operations and model.spelled.get(action, action) not in model.privileges:
        return None
    operation = matrix.operation(action)
    if operation.rule_or_none(type) is None or type not in matrix.snapshot.coded.tree.named:
        return None
    plan = matrix.plan(operation, type)
    if plan.view is None:
        return None
    return OperationCache(realm, plan, plan.view, moment, kept)


def _nodes(model: Model, operation: Operation, type: str) -> Iterator[Node]:
    """All nodes of the rule for a type, those of the rules that it refers to included.

    Behind a selector the type may be another; there every rule that could be meant counts.
    """
    todo = [(operation.rule(type), True)]
    seen: set[tuple[str, bool]] = set()
    while todo:
        node, here = todo.pop()
        yield node
        below = here and isinstance(node, (And, Or))
        todo += [(child, below) for child in children(node)]
        if isinstance(node, May) and (node.operation, here) not in seen:
            seen.add((node.operation, here))
            meant = model.operation(node.operation)
            rules = [meant.rule_or_none(type)] if here else meant.rules.values()
            todo += [(rule, here) for rule in rules if rule is not None]
