"""A rule over many entities at once, for one subject: arrays of ids in, truths out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.algebra import Algebra
from lakewarden.kernel.cells import ALLOWED, DENIED, OWNERS, is_one_of
from lakewarden.kernel.expression import ANCESTORS, REQUEST, SELF, Compare, Node
from lakewarden.kernel.point_evaluator import PointEvaluator
from lakewarden.kernel.principal import SERVICE_ADMINS, USER
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.subject import Subject

Ids = NDArray[np.int32]
Truths = NDArray[np.bool_]


class BulkEvaluator(Algebra[Truths, Ids]):
    """The truth for every id of an array; -1 stands for no entity, where nothing is true."""

    def __init__(
        self, snapshot: Snapshot, subject: Subject, request: Request | None = None
    ) -> None:
        self._snapshot = snapshot
        self._subject = subject
        self._request = request
        self._point = PointEvaluator(snapshot, subject, request)

    def all_of(self, values: Iterator[Truths]) -> Truths:
        return reduce(and_, values)

    def any_of(self, values: Iterator[Truths]) -> Truths:
        return reduce(or_, values)

    def constant(self, truth: bool, place: Ids) -> Truths:
        return np.full(len(place), truth) & (place >= 0)

    def holds(self, privilege: str, place: Ids) -> Truths:
        flags = self._snapshot.cells(privilege, self._subject).flags_of(place)
        truths: Truths = flags & (ALLOWED | DENIED) == ALLOWED
        open_to_owners = flags & (ALLOWED | DENIED | OWNERS) == OWNERS
        if open_to_owners.any():
            open_to_owners &= is_one_of(place, self._subject.owned)
            truths[open_to_owners] = self._owned_as_granted(privilege, place[open_to_owners])
        if privilege in self._snapshot.model.self_privileges:
            truths |= is_one_of(place, self._self_entities())
        return truths

    def _self_entities(self) -> BitMap:
        principal = self._subject.principal
        return self._snapshot.entities_of([principal] if principal.kind == USER else [])

    def _owned_as_granted(self, privilege: str, ids: Ids) -> Truths:
        """Of ids that a statement opens to owners, those that the subject owns as required."""
        coded = self._snapshot.coded
        positions, owners, labels = coded.owners.flat(ids)
        mine = np.isin(owners, np.fromiter(self._subject.deny, np.int32))
        positions, labels = positions[mine], labels[mine]
        truths = np.zeros(len(ids), dtype=bool)
        for grant in self._snapshot.table.allows(privilege).to_owners:
            inside = is_one_of(ids[positions], self._snapshot.bitmaps[grant.scope])
            types = grant.owners.types if grant.owners is not None else None
            if types is not None:
                inside &= np.isin(labels, [coded.label(type) for type in types])
            truths[positions[inside]] = True
        return truths

    def not_denied(self, privilege: str, place: Ids) -> Truths:
        flags = self._snapshot.cells(privilege, self._subject).flags_of(place)
        free: Truths = (flags & DENIED == 0) & (place >= 0)
        return free

    def owner(self, levels: tuple[str, ...], place: Ids) -> Truths:
        truths = np.zeros(len(place), dtype=bool)
        for level in levels:
            at = place if level == SELF else self._snapshot.step(place, level)
            truths |= is_one_of(at, self._subject.owned)
        return truths

    def is_self(self, place: Ids) -> Truths:
        return is_one_of(place, self._snapshot.entities_of(self._subject.named))

    def service_admin(self, place: Ids) -> Truths:
        return self.constant(SERVICE_ADMINS in self._subject.named, place)

    def may(self, operation: str, place: Ids) -> Truths:
        tree = self._snapshot.coded.tree
        declared = self._snapshot.model.operation(operation)
        truths = np.zeros(len(place), dtype=bool)
        present = np.flatnonzero(place >= 0)
        codes = tree.types[place[present]]
        for code in np.unique(codes).tolist():
            rule = declared.rule_or_none(tree.kinds[code])
            if rule is not None:
                rows = present[codes == code]
                truths[rows] = self.evaluate(rule, place[rows])
        return truths

    def elsewhere(self, selector: str, inner: Node, place: Ids) -> Truths:
        if selector.startswith(REQUEST):
            at = self._point.selected(selector, 0)
            truth = at is not None and self._point.evaluate(inner, at)
            return self.constant(truth, place)
        at_ids = self._snapshot.step(place, selector)
        return (at_ids >= 0) & self.evaluate(inner, at_ids)

    def related(self, source: str, inner: Node, place: Ids, *, every: bool) -> Truths:
        if source.startswith(REQUEST):
            return self.constant(self._point.related(source, inner, 0, every=every), place)
        positions, targets = related_ids(self._snapshot, source, place)
        counts = np.bincount(positions, minlength=len(place))
        met = np.bincount(positions, weights=self.evaluate(inner, targets), minlength=len(place))
        return (counts > 0) & ((met == counts) if every else (met > 0))

    def compare(self, node: Compare, place: Ids) -> Truths:
        return np.array([id >= 0 and self._point.compare(node, id) for id in place.tolist()], bool)


def related_ids(snapshot: Snapshot, source: str, place: Ids) -> tuple[Ids, Ids]:
    """The ids that a relation, or `ancestors`, leads to, each with its position in `place`.

    The id is -1 where the related entity counts as no entity.
    """
    present = np.flatnonzero(place >= 0).astype(np.int32)
    if source == ANCESTORS:
        return _ancestors(snapshot, present, place[present])
    positions, targets, _ = snapshot.coded.relations[source].flat(place[present])
    tree = snapshot.coded.tree
    stands = targets.copy()
    for type, instead in snapshot.model.relations[source].within.items():
        inner = tree.types[targets] == tree.codes.get(type, -1)
        stands[inner] = snapshot.step(targets[inner], instead)
    stands[is_one_of(stands, tree.deep)] = -1
    return present[positions], stands


def _ancestors(snapshot: Snapshot, positions: Ids, ids: Ids) -> tuple[Ids, Ids]:
    tree = snapshot.coded.tree
    pairs = [
        (position, other)
        for position, id in zip(positions.tolist(), ids.tolist(), strict=True)
        for other in tree.ancestors(id)
    ]
    table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return table[:, 0], table[:, 1]
