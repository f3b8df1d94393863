"""Maps the names of a question to the bytes of its answer in a few lookups.

An `OperationCache` is one operation on one type of one realm, `SubjectAnswers` one subject in it.
If the row of the matrix decides alone, the whole answer depends only on the subject and the class
of the entity, so its bytes are cached by class. Other questions have no answer here; the evaluator
decides them, with the same result.

A cache belongs to one state; everything in it is computed from the state, and dropped with it.

INVARIANT: there are no reference cycles here. In a cycle, the caches of a former state, and with
them its matrices, would stay until the garbage collector visits all objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from threading import Lock
from typing import Final, NamedTuple

from pyroaring import BitMap

from lakewarden.http.authzen import answer
from lakewarden.http.authzen.caller import Disclosure
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import deciding_statements
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
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Decision, Reason, Request
from lakewarden.kernel.rows import Code
from lakewarden.service.state import RealmState

_OPEN: Final = int(Code.OPEN)

_FEW: Final = 256

_MOST_TEXTS: Final = 2**16 - 1
"""Answers with higher numbers are not cached by class."""

_CLASSES_PER_ANSWER: Final = 50
"""The number of classes that take as much memory as one answer."""

_ANSWERS_PER_SUBJECT: Final = 20
"""The memory of a subject's answers, while there are none, as a number of answers."""

_FLAT = (And, Or, Holds, NotDenied, Owner, ServiceAdmin, Anyone, Nobody, May)


class Moment(NamedTuple):
    """A revision, and a time for which the state is compiled."""

    revision: int
    now: float


class CacheBudget:
    """The number of answers cached for a state."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers = 0


class OperationCaches:
    """The caches of a state's operations, for all callers."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.budget = CacheBudget()
        self._operations: dict[tuple[str, str, str], OperationCache] = {}

    def operation(
        self, realm: RealmState, action: str, type: str, now: float
    ) -> OperationCache | None:
        """The cache of an action on a type in a realm, if there is one."""
        key = (realm.realm.name, action, type)
        operation = self._operations.get(key)  # another thread may forget it meanwhile
        if operation is None:
            operation = operation_cache(
                realm, action, type, Moment(self.revision, now), self.budget
            )
            # Words that no model has are not cached.
            if operation is not None:
                self._operations[key] = operation
        return operation

    def forget(self) -> None:
        """Drops all caches."""
        self._operations.clear()
        self.budget = CacheBudget()


class OperationCache:
    """One operation on one type of one realm. Make it with `operation_cache`.

    `view` maps ids to classes; `texts` are the answers so far, each once, `short_texts` the same
    without reasons. `is_flat`: the rule looks at the target and its ancestors only, so the
    deciding statements are those whose scopes contain it; `follows`: it looks at related
    entities, and these differ within a class.

    INVARIANT: if names that are not stored are denied, every id of the type is stored; the
    kernel refuses facts in which it is not.
    """

    def __init__(
        self, realm: RealmState, plan: Plan, view: memoryview, moment: Moment, budget: CacheBudget
    ) -> None:
        snapshot = realm.matrix.snapshot
        nodes = list(_nodes(snapshot.model, plan.operation, plan.type))
        self.realm = realm
        self.matrix: Matrix = realm.matrix
        self.plan = plan
        self.index = plan.index
        self.view = view
        self.moment = moment
        self.budget = budget
        self.is_flat = all(isinstance(node, _FLAT) for node in nodes)
        self.follows = any(isinstance(node, (Every, Some)) for node in nodes)
        self.privileges = {node.privilege for node in nodes if isinstance(node, Holds)}
        self.denials = {node.privilege for node in nodes if isinstance(node, NotDenied)}
        self.texts: list[bytes | None] = [None]
        self.short_texts: list[bytes | None] = [None]
        self._subjects: dict[tuple[Principal, Disclosure], SubjectAnswers] = {}
        self._numbers: dict[tuple[Reason, tuple[str, ...]], int] = {}
        self._numbering = Lock()

    def rendered(self, reason: Reason, statements: tuple[str, ...]) -> int:
        """The number of an answer among the `texts`; equal answers have the same number."""
        key = (reason, statements)
        number = self._numbers.get(key)
        if number is not None:
            return number
        allow = reason is Reason.ALLOWED
        text = answer.evaluated(allow, reason.value, statements, self.moment.revision)
        # Several threads answer batches concurrently.
        with self._numbering:
            number = self._numbers.get(key)
            if number is None:
                number = len(self.texts)
                self.short_texts.append(answer.shortened(text))
                self.texts.append(text)
                # INVARIANT: a number is known only once its texts are stored; they never change.
                self._numbers[key] = number
        return number

    def subject(self, principal: Principal, *, disclosure: Disclosure) -> SubjectAnswers:
        """The principal's answers, with the statements that the `disclosure` allows."""
        answers = self._subjects.get((principal, disclosure))
        if answers is None:
            answers = SubjectAnswers(self, principal, disclosure)
            self._subjects[principal, disclosure] = answers
        return answers


class SubjectAnswers:
    """The answers of one subject, as numbers of the `texts` of the operation, which is an argument.

    `known` answers hold for every entity of their class; 0: not known yet. A class that contains
    entities that the subject owns, or their descendants (`_near`), has none: its answers are
    `_shared` by the entities that are not near, as those of all classes are at first, and `_walked`
    for an entity that is near.

    COST: every structure in a lookup costs an access to main memory. So `known` is small and
    flat, and needs no check of what is near.
    """

    __slots__ = (
        "_disclosure",
        "_entry",
        "_grants",
        "_near",
        "_near_classes",
        "_shared",
        "_walked",
        "known",
    )  # fmt: skip

    def __init__(
        self, operation: OperationCache, principal: Principal, disclosure: Disclosure
    ) -> None:
        matrix = operation.matrix
        entry = matrix.entry(operation.plan, matrix.snapshot.subject(principal))
        touched = entry.owned_subtree
        classes = len(entry.codes)
        self.known = array("H", bytes(2 * classes))
        operation.budget.answers += _ANSWERS_PER_SUBJECT + classes // _CLASSES_PER_ANSWER
        # A small set is faster in the processor's caches than a bitmap.
        self._near: frozenset[int] | BitMap = (
            frozenset(touched) if len(touched) <= _FEW else touched
        )
        self._near_classes: frozenset[int] | None = None
        self._shared: dict[int, int] = {}
        self._walked: dict[int, int] = {}
        self._entry = entry
        self._disclosure = disclosure
        self._grants: list[tuple[BitMap, str]] | None = None

    def answer(self, operation: OperationCache, id: int, number: int) -> bytes | None:
        """The answer about the entity `id` of the class `number`; None: it is not cached."""
        return operation.texts[self.known[number] or self._answer(operation, id, number)]

    def _answer(self, operation: OperationCache, id: int, number: int) -> int:
        if self._entry.codes[number] == _OPEN or id in self._near:
            return self._walked.get(id) or self._evaluate(operation, id)
        answer = self._shared.get(number)
        if answer is not None:
            self._share(operation, number, answer)
            return answer
        answer = self._rendered(operation, id, self._decided(operation, id).allow)
        if not (self._disclosure and operation.follows):
            operation.budget.answers += 1
            self._shared[number] = answer
        return answer

    def _share(self, operation: OperationCache, number: int, answer: int) -> None:
        """Adds an answer that was needed again to the known ones, if possible."""
        if self._near_classes is None:
            self._near_classes = frozenset(map(operation.view.__getitem__, self._near))
        if number not in self._near_classes and answer <= _MOST_TEXTS:
            self.known[number] = answer

    def _evaluate(self, operation: OperationCache, id: int) -> int:
        decision = self._decided(operation, id)
        if decision.reason not in (Reason.ALLOWED, Reason.DENIED):
            return 0
        answer = self._rendered(operation, id, decision.allow, near=True)
        operation.budget.answers += 1
        self._walked[id] = answer
        return answer

    def _decided(self, operation: OperationCache, id: int) -> Decision:
        principal = self._entry.subject.principal
        return operation.matrix.check(
            principal.name if principal.kind == USER else principal,
            (operation.plan.operation.name, operation.plan.type),
            operation.matrix.snapshot.coded.tree.names[id],
            operation.moment.now,
        )

    def _request(self, operation: OperationCache, id: int) -> Request:
        target = Entity(operation.plan.type, operation.matrix.snapshot.coded.tree.names[id])
        return Request(
            self._entry.subject.principal,
            operation.plan.operation.name,
            target,
            operation.moment.now,
        )

    def _rendered(
        self, operation: OperationCache, id: int, allow: bool, *, near: bool = False
    ) -> int:
        reason = Reason.ALLOWED if allow else Reason.DENIED
        if not self._disclosure.covers(allow):
            return operation.rendered(reason, ())
        if near or not operation.is_flat:
            request = self._request(operation, id)
            statements = visible_statements(operation.matrix, request, self._disclosure)
        else:
            statements = self._statements(operation, id)
        return operation.rendered(reason, statements)

    def _statements(self, operation: OperationCache, id: int) -> tuple[str, ...]:
        if self._grants is None:
            self._grants = list(self._reaching(operation))
        return tuple(sorted({name for scope, name in self._grants if id in scope}))

    def _reaching(self, operation: OperationCache) -> Iterator[tuple[BitMap, str]]:
        """The scopes of the statements on the privileges of the rule, with the statements' ids."""
        subject = self._entry.subject
        snapshot = operation.matrix.snapshot
        for privilege in operation.privileges:
            for grant in snapshot.table.allows(privilege).of(subject.allow):
                yield snapshot.bitmaps[grant.scope], grant.statement.id
        for privilege in operation.privileges | operation.denials:
            for grant in snapshot.table.denies(privilege).of(subject.deny):
                yield snapshot.bitmaps[grant.scope], grant.statement.id


def visible_statements(matrix: Matrix, request: Request, disclosure: Disclosure) -> tuple[str, ...]:
    """The ids of the statements that decide a request, limited to the disclosed ones."""
    if disclosure is Disclosure.ALL:
        return deciding_statements(matrix, request)
    coded, target = matrix.snapshot.coded, request.target
    above = coded.ancestors(target) if target != NO_RESOURCE else ()
    return deciding_statements(matrix, request, {target, NO_RESOURCE, *above})


def operation_cache(
    realm: RealmState, action: str, type: str, moment: Moment, budget: CacheBudget
) -> OperationCache | None:
    """The cache of an action on a type; None if no row of the matrix decides it."""
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
    return OperationCache(realm, plan, plan.view, moment, budget)


def _nodes(model: Model, operation: Operation, type: str) -> Iterator[Node]:
    """All nodes of the rule for a type, including those of rules that it refers to.

    After a selector the type may differ; there every possible rule counts.
    """
    todo = [(operation.rule(type), True)]
    visited: set[tuple[str, bool]] = set()
    while todo:
        node, is_here = todo.pop()
        yield node
        below = is_here and isinstance(node, (And, Or))
        todo += [(child, below) for child in children(node)]
        if isinstance(node, May) and (node.operation, is_here) not in visited:
            visited.add((node.operation, is_here))
            declared = model.operation(node.operation)
            rules = [declared.rule_or_none(type)] if is_here else declared.rules.values()
            todo += [(rule, is_here) for rule in rules if rule is not None]
