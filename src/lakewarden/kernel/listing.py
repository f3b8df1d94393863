"""The entities on which a subject may do an operation: sets, pages, counts, filters over lists.

list(op) = {e : check(op, e)} over the stored entities of the operation's target types. The
classes that a row allows are taken whole; entities are evaluated only where the row is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.bulk_evaluator import BulkEvaluator, Ids, Truths
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Codes, Matrix, Plan
from lakewarden.kernel.model import ANY, NONE, Operation
from lakewarden.kernel.request import Request
from lakewarden.kernel.rows import Code
from lakewarden.kernel.subject import Subject

FEW = 8
"""Up to this many entities are faster to evaluate one by one than as an array."""


Each = Callable[[Iterable[int]], Iterator[int]]
"""Yields the items one by one; may raise to stop the iteration."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing in canonical order; `total` counts the whole listing.

    `after` is the cursor of the next page; None on the last one.
    """

    entities: tuple[Entity, ...]
    total: int
    after: Entity | None


def listing(
    matrix: Matrix,
    request: Request,
    within: Entity | None = None,
    type: str | None = None,
    *,
    each: Each = iter,
) -> BitMap:
    """The ids of the stored entities on which the request's operation is allowed.

    The request's own target is ignored. `within` keeps those below an entity, without the
    entity itself; one that is not stored contains nothing. `type` keeps those
    of one type. Where entities are evaluated one by one (a request with sub-resources), `each`
    yields their ids, and an error that it raises ends the listing. Errors as `Matrix.decide`.
    """
    matrix.require(request.now)
    operation = matrix.operation(request.operation)
    if _is_too_nested(matrix, request):
        return BitMap()
    subject = matrix.subject(request)
    if request.roles is not None and not request.roles <= subject.named:
        return BitMap()
    types = [kind for kind in _types(matrix, operation) if type in (None, kind)]
    by_type = [_of_type(matrix, operation, kind, subject, request, each) for kind in types]
    ids = BitMap.union(*by_type) if by_type else BitMap()
    return ids if within is None else ids & _below(matrix, within)


def _is_too_nested(matrix: Matrix, request: Request) -> bool:
    return matrix.snapshot.coded.memberships.is_too_nested(request.principal, request.groups)


def _types(matrix: Matrix, operation: Operation) -> list[str]:
    if ANY in operation.rules:
        return [kind for kind in matrix.snapshot.coded.tree.kinds if kind]
    return [type for type in operation.rules if type != NONE]


def _below(matrix: Matrix, within: Entity) -> BitMap:
    tree = matrix.snapshot.coded.tree
    id = tree.find(within)
    return BitMap() if id is None else tree.subtree(id) - BitMap([id])


def _of_type(
    matrix: Matrix, operation: Operation, type: str, subject: Subject, request: Request, each: Each
) -> BitMap:
    plan = matrix.plan(operation, type)
    if not request.is_plain:
        return _allowed(matrix, plan, subject, request, each)
    ids = matrix.listed(plan, subject)
    if ids is None:
        ids = _allowed(matrix, plan, subject, request, each)
        matrix.cache_listing(plan, subject, ids)
    return BitMap(ids)


def _allowed(matrix: Matrix, plan: Plan, subject: Subject, request: Request, each: Each) -> BitMap:
    if plan.columns is None or request.subresources:
        everything = matrix.snapshot.of_type(plan.type)
        return _evaluate(matrix, plan, subject, request, everything, each)
    codes = plan.codes(matrix.entry(plan, subject))
    members = matrix.members(plan)
    allowed = members.of(codes == Code.ALLOWED)
    if plan.shape.owner and subject.owned_subtree:
        near = _near(matrix, plan, subject, codes)
        allowed |= _evaluate(matrix, plan, subject, request, near)
    if plan.shape.other:
        left = members.of(codes == Code.OPEN)
        allowed |= _evaluate(matrix, plan, subject, request, left)
    return allowed


def _near(matrix: Matrix, plan: Plan, subject: Subject, codes: Codes) -> BitMap:
    """The entities of the plan's type that ownership by the subject may open."""
    ids = subject.owned_subtree & matrix.snapshot.of_type(plan.type)
    assert plan.columns is not None  # noqa: S101 — INVARIANT: rows exist, so classes do
    rows = np.asarray(ids.to_array())
    return BitMap(rows[codes[plan.columns.classes[rows]] == Code.OWNER])


def _evaluate(
    matrix: Matrix,
    plan: Plan,
    subject: Subject,
    request: Request,
    ids: BitMap,
    each: Each = iter,
) -> BitMap:
    """Of `ids`, those on which the rule holds, evaluated one by one or all at once."""
    if not ids:
        return ids
    if request.subresources or len(ids) <= FEW:
        walked = (id for id in each(ids) if matrix.evaluate(plan.operation, subject, request, id))
        return BitMap(list(walked))
    rows: Ids = np.asarray(ids.to_array(), dtype=np.int32)
    evaluator = BulkEvaluator(matrix.snapshot, subject, None if request.is_plain else request)
    truths = evaluator.evaluate(plan.operation.rule(plan.type), rows)
    return BitMap(rows[truths].astype(np.uint32))


def count(matrix: Matrix, request: Request, within: Entity | None = None) -> int:
    """The number of entities in `listing`; builds no set where rows decide alone."""
    matrix.require(request.now)
    operation = matrix.operation(request.operation)
    types = _types(matrix, operation)
    is_short = within is None and len(types) == 1 and request.is_plain
    if is_short and not _is_too_nested(matrix, request):
        plan = matrix.plan(operation, types[0])
        subject = matrix.subject(request)
        ids = matrix.listed(plan, subject)
        if ids is not None:
            return len(ids)
        if plan.columns is not None and not plan.shape.other:
            return _counted(matrix, plan, subject, request)
    return len(listing(matrix, request, within))


def _counted(matrix: Matrix, plan: Plan, subject: Subject, request: Request) -> int:
    codes = plan.codes(matrix.entry(plan, subject))
    members = matrix.members(plan)
    total = int(members.sizes[codes == Code.ALLOWED].sum())
    if subject.owned_subtree:
        near = _near(matrix, plan, subject, codes)
        total += len(_evaluate(matrix, plan, subject, request, near))
    return total


def page(  # noqa: PLR0913 — what is listed, and which part of it
    matrix: Matrix,
    request: Request,
    size: int,
    after: Entity | None = None,
    within: Entity | None = None,
    type: str | None = None,
    *,
    skip: int = 0,
    each: Each = iter,
) -> Page:
    """The next `size` entities of the listing in order, after `after` and `skip` further ones.

    `each` as in `listing`. Raises `BadInput` for a size below 1.
    """
    ids = listing(matrix, request, within, type, each=each)
    return page_of(matrix, ids, size, after, skip)


def page_of(
    matrix: Matrix, ids: BitMap, size: int, after: Entity | None = None, skip: int = 0
) -> Page:
    """The next `size` of the entities with these ids, after `after` and `skip` further ones.

    Errors as `page`.
    """
    if size < 1:
        raise BadInput("page size must be at least 1")
    chosen = _page_after(matrix, ids, after, size + 1, skip)
    tree = matrix.snapshot.coded.tree
    entities = tuple(tree.entity(id) for id in chosen[:size])
    return Page(entities, len(ids), entities[-1] if len(chosen) > size else None)


def _page_after(
    matrix: Matrix, ids: BitMap, after: Entity | None, count: int, skip: int
) -> list[int]:
    tree = matrix.snapshot.coded.tree
    start = None if after is None else tree.find(after)
    if ids & tree.displaced or (after is not None and (start is None or start in tree.displaced)):
        return _page_after_key(matrix, ids, after, count + skip)[skip:]
    rank = skip + (0 if start is None else ids.rank(start))
    return list(ids[rank : rank + count])


def _page_after_key(matrix: Matrix, ids: BitMap, after: Entity | None, count: int) -> list[int]:
    """As `_page_after`, for when ids alone no longer give the canonical order."""
    coded = matrix.snapshot.coded
    ordered = coded.tree.ordered(ids)
    if after is None:
        return ordered[:count]
    key = coded.key(after)
    return [id for id in ordered if coded.tree.key(id) > key][:count]


def filtered(matrix: Matrix, request: Request, entities: Sequence[Entity]) -> list[int]:
    """The indexes, in order, of those given entities on which the operation is allowed.

    Names that are not stored are judged as `decide` judges them; input that `decide` would reject
    (an unknown type) raises here too.
    """
    matrix.require(request.now)
    if not request.is_plain or _is_too_nested(matrix, request):
        return [i for i, e in enumerate(entities) if matrix.decide(_with_target(request, e)).allow]
    operation, subject = matrix.operation(request.operation), matrix.subject(request)
    snapshot = matrix.snapshot
    for type in {entity.type for entity in entities}:
        operation.rule(type)
    ids = [snapshot.coded.tree.find(entity) for entity in entities]
    known: Ids = np.array([-1 if id is None else id for id in ids], dtype=np.int32)
    tree = snapshot.coded.tree
    # One by one: the given list is short compared to the stored entities.
    members, deep = tree.stored, tree.deep
    stored = np.array(
        [id is not None and id in members and id not in deep for id in ids], dtype=bool
    )
    truths = bulk_decisions(matrix, operation, subject, np.where(stored, known, -1))
    for index in np.flatnonzero(~stored).tolist():
        truths[index] = matrix.decide(_with_target(request, entities[index])).allow
    return np.flatnonzero(truths).tolist()


def bulk_decisions(matrix: Matrix, operation: Operation, subject: Subject, ids: Ids) -> Truths:
    """The decisions on many ids of any of the operation's types (-1: no), for one subject."""
    tree = matrix.snapshot.coded.tree
    truths = np.zeros(len(ids), dtype=bool)
    present = np.flatnonzero(ids >= 0)
    kinds = tree.types[ids[present]]
    for code in np.unique(kinds).tolist():
        rows = present[kinds == code]
        plan = matrix.plan(operation, tree.kinds[code])
        truths[rows] = _truths(matrix, plan, subject, ids[rows])
    return truths


def _truths(matrix: Matrix, plan: Plan, subject: Subject, ids: Ids) -> Truths:
    rule, evaluator = plan.operation.rule(plan.type), BulkEvaluator(matrix.snapshot, subject)
    if plan.columns is None:
        return evaluator.evaluate(rule, ids)
    codes = plan.codes(matrix.entry(plan, subject))[plan.columns.classes[ids]]
    truths: Truths = codes == Code.ALLOWED
    left = np.flatnonzero(codes > Code.ALLOWED)
    if len(left):
        truths[left] = evaluator.evaluate(rule, ids[left])
    return truths


def _with_target(request: Request, entity: Entity) -> Request:
    return Request(
        request.principal,
        request.operation,
        entity,
        request.now,
        request.targets,
        request.lists,
        request.attributes,
        request.subresources,
        request.groups,
        request.roles,
    )


def named(matrix: Matrix, ids: Iterable[int]) -> frozenset[Entity]:
    """The entities with these ids."""
    tree = matrix.snapshot.coded.tree
    return frozenset(tree.entity(id) for id in ids)
