"""Many requests at once: triples of user, operation and entity, decided with array lookups.

The rows of the users are stacked into one table per operation; a request is
then one element of it. Only what the element leaves open is evaluated, grouped by user.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.listing import bulk_decisions
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.rows import Code
from lakewarden.kernel.sole_owners import SEVERAL

Ids = NDArray[np.int32]
Truths = NDArray[np.bool_]


class Batch:
    """One operation on one target type, prepared for a set of principals.

    `numbers` maps each principal to the row that identifies it in requests.
    """

    def __init__(
        self, matrix: Matrix, operation: str, type: str, principals: Sequence[Principal]
    ) -> None:
        self._matrix = matrix
        self._plan = matrix.plan(matrix.operation(operation), type)
        self._subjects = [matrix.snapshot.subject(principal) for principal in principals]
        self.numbers = {principal: number for number, principal in enumerate(principals)}
        self._codes = self._stacked()
        self._owners = matrix.snapshot.sole_owners()
        self._acts = self._acting()

    def _stacked(self) -> NDArray[np.uint8] | None:
        if self._plan.columns is None or not self._subjects:
            return None
        rows = [self._plan.codes(self._matrix.entry(self._plan, s)) for s in self._subjects]
        return np.stack(rows)

    def decide(self, principals: Ids, entities: Ids, now: float) -> Truths:
        """For each pair of a principal's number and an entity's id (-1: none), the decision.

        Raises `StaleSnapshot` as `Matrix.decide` does.
        """
        self._matrix.require(now)
        columns = self._plan.columns
        if columns is None or self._codes is None:
            return self._evaluate(principals, entities)
        flat = principals.astype(np.int64) * columns.count + columns.classes[entities]
        codes = self._codes.take(flat)
        codes[entities < 0] = Code.DENIED
        truths: Truths = codes == Code.ALLOWED
        unclear = codes == Code.OPEN
        if self._plan.shape.owner:
            of_owners = np.flatnonzero(codes == Code.OWNER)
            near = self._near(principals[of_owners], entities[of_owners])
            unclear[of_owners[near]] = True
        left = np.flatnonzero(unclear)
        if len(left):
            truths[left] = self._evaluate(principals[left], entities[left])
        return truths

    def _acting(self) -> Truths:
        """The table that says whether the subject with a number acts as the owner with an index."""
        places = {owner: place for place, owner in enumerate(self._owners.principals)}
        acts = np.zeros((len(self._subjects), len(places) + 2), dtype=bool)
        for number, subject in enumerate(self._subjects):
            acts[number, [places[each] for each in subject.deny if each in places]] = True
        acts[:, SEVERAL] = True
        return acts

    def _near(self, principals: Ids, entities: Ids) -> Truths:
        """Whether the principal may own the entity or something above it."""
        tree = self._matrix.snapshot.coded.tree
        near = np.zeros(len(entities), dtype=bool)
        live = np.arange(len(entities))
        at, above = entities, tree.above
        while len(live):  # nothing lies above itself
            near[live] |= self._acts[principals[live], self._owners.index[at]]
            at = above[at]
            going = (at >= 0) & ~near[live]
            live, at = live[going], at[going]
        return near

    def _evaluate(self, principals: Ids, entities: Ids) -> Truths:
        truths = np.zeros(len(entities), dtype=bool)
        for number in np.unique(principals).tolist():
            rows = np.flatnonzero(principals == number)
            truths[rows] = bulk_decisions(
                self._matrix, self._plan.operation, self._subjects[number], entities[rows]
            )
        return truths


def decide_many(matrix: Matrix, requests: Sequence[Request]) -> list[bool]:
    """The decisions on many requests, in order; the same as deciding them one by one.

    Raises as `Matrix.decide` for the first request that it would reject.
    """
    verdicts = [False] * len(requests)
    groups: dict[tuple[str, str], list[int]] = {}
    for index, request in enumerate(requests):
        if _is_groupable(matrix, request):
            groups.setdefault((request.operation, request.target.type), []).append(index)
        else:
            verdicts[index] = matrix.decide(request).allow
    for (operation, type), indexes in groups.items():
        chosen = [requests[index] for index in indexes]
        for index, truth in zip(
            indexes, _decide_requests(matrix, operation, type, chosen), strict=True
        ):
            verdicts[index] = truth
    return verdicts


def _is_groupable(matrix: Matrix, request: Request) -> bool:
    coded = matrix.snapshot.coded
    id = coded.tree.find(request.target)
    matrix.require(request.now)
    if not request.is_plain or coded.memberships.is_too_nested(request.principal):
        return False
    return id is not None and id in coded.tree.stored and id not in coded.tree.deep


def _decide_requests(
    matrix: Matrix, operation: str, type: str, requests: list[Request]
) -> list[bool]:
    matrix.operation(operation).rule(type)
    find = matrix.snapshot.coded.tree.find
    principals = list(dict.fromkeys(request.principal for request in requests))
    batch = Batch(matrix, operation, type, principals)
    numbers: Ids = np.array([batch.numbers[r.principal] for r in requests], dtype=np.int32)
    ids: Ids = np.array([_id(find(r.target)) for r in requests], dtype=np.int32)
    return [bool(truth) for truth in batch.decide(numbers, ids, requests[0].now)]


def _id(id: int | None) -> int:
    return -1 if id is None else id
