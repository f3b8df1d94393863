"""A rule over all classes at once, for one role set: what the bits decide and what they leave open.

The row of an operation holds one code for each class. Ownership, relations and what a request
sends are not in the bits; where the result depends on them, the code says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.algebra import Algebra
from lakewarden.kernel.cells import ALLOWED, DENIED, OWNERS, ByClass
from lakewarden.kernel.classes import joint
from lakewarden.kernel.expression import (
    PARENT,
    PLATFORM,
    REQUEST,
    TYPE,
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    May,
    Node,
    NotDenied,
    Owner,
    ServiceAdmin,
    Some,
    children,
)
from lakewarden.kernel.model import NONE, Model, Operation
from lakewarden.kernel.principal import SERVICE_ADMINS, USER
from lakewarden.kernel.snapshot import SUBJECT, Snapshot
from lakewarden.kernel.subject import Subject

Truths = NDArray[np.bool_]
Path = tuple[str, ...]


class Code(IntEnum):
    """The code of one class in a row."""

    DENIED = 0
    ALLOWED = 1
    OWNER = 2
    """Denied, unless the subject owns the entity or something above it."""
    OPEN = 3
    """Undecided: the rule must be walked."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the rule, over classes: the selectors that lead there, and its type.

    `type` is None where it may vary. A place that differs between entities of one class (a
    relation, a target sent with the request) is no `Where`.
    """

    path: Path
    type: str | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What a rule depends on, before any role set is known.

    `paths` are the places whose classes matter; `privileges` are all privileges it names; `owner`:
    ownership may make it true; `other`: something else may; `personal`: it depends on the identity
    of the subject, and users with equal role sets may differ; `administrator`: it depends on
    whether the subject is a service administrator.
    """

    paths: tuple[Path, ...]
    privileges: frozenset[str]
    owner: bool
    other: bool
    personal: bool
    administrator: bool


def shape(model: Model, operation: Operation, type: str) -> Shape:
    """The shape of the operation's rule for targets of `type`."""
    leaves = list(_leaves(model, operation.rule(type), Where((), type)))
    paths = {where.path for where, _ in leaves if where is not None} | {()}
    privileges = {leaf.privilege for _, leaf in leaves if isinstance(leaf, (Holds, NotDenied))}
    return Shape(
        paths=tuple(sorted(paths)),
        privileges=frozenset(privileges),
        owner=any(isinstance(leaf, (Owner, Holds)) for _, leaf in leaves),
        other=any(
            where is None or isinstance(leaf, (IsSelf, Compare, Every, Some))
            for where, leaf in leaves
        )
        or bool(privileges & model.self_privileges),
        personal=any(_is_personal(model, leaf, where) for where, leaf in leaves),
        administrator=any(isinstance(leaf, ServiceAdmin) for _, leaf in leaves),
    )


def _is_personal(model: Model, leaf: Node, where: Where | None) -> bool:
    match leaf:
        case IsSelf() | Holds():
            own = isinstance(leaf, IsSelf) or leaf.privilege in model.self_privileges
            declared = model.types.get(where.type or "") if where is not None else None
            return own and (declared is None or declared.principal is not None)
        case Compare(attribute):
            return attribute.startswith(SUBJECT)
        case _:
            return False


def _leaves(model: Model, node: Node, where: Where | None) -> Iterator[tuple[Where | None, Node]]:
    yield where, node
    match node:
        case At(selector, inner):
            at = None if where is None else selected_place(model, selector, where)
            yield from _leaves(model, inner, at)
        case Every(_, inner) | Some(_, inner):
            yield from _leaves(model, inner, None)
        case May(name):
            at = where if where is not None and where.type is not None else None
            for rule in _rules(model.operation(name), at):
                yield from _leaves(model, rule, at)
        case _:
            for child in children(node):
                yield from _leaves(model, child, where)


def _rules(operation: Operation, at: Where | None) -> Iterator[Node]:
    """The rules that `may` can refer to there: the one for the type, or any of them."""
    if at is None or at.type is None:
        yield from operation.rules.values()
        return
    rule = operation.rule_or_none("" if at.type == NONE else at.type)
    yield from () if rule is None else (rule,)


def selected_place(model: Model, selector: str, where: Where) -> Where | None:
    """The place that a selector leads to; None where classes do not determine it."""
    if selector.startswith(REQUEST):
        return None
    if selector == PLATFORM:
        return Where((PLATFORM,), NONE)
    path = (*where.path, selector)
    if selector == TYPE:
        return Where(path, where.type)
    if selector == PARENT:
        declared = model.types.get(where.type or "")
        parents = declared.parents if declared is not None else ()
        return Where(path, parents[0] if len(parents) == 1 else None)
    return Where(path, selector)


@dataclass(frozen=True, slots=True)
class Columns:
    """The joint classes that a rule's paths need.

    `classes` has a class for each entity id, `view` is the same for single lookups;
    `bases[path]` has for each joint class the base class at the path (-1: no such entity).
    """

    view: memoryview
    classes: NDArray[np.uint32]
    bases: dict[Path, NDArray[np.int64]]
    count: int
    origin: tuple[int, ...] | None


def columns(snapshot: Snapshot, shape: Shape) -> Columns | None:
    """The joint classes that the shape needs; None if there are too many classes."""
    base = snapshot.partition(shape.privileges)
    if base is None:
        return None
    if shape.paths == ((),):
        numbers = np.arange(base.count, dtype=np.int64)
        return Columns(base.view, base.classes, {(): numbers}, base.count, base.origin)
    parts = []
    for path in shape.paths:
        ids = snapshot.path(path)
        parts.append(np.where(ids >= 0, base.classes[ids].astype(np.int64), np.int64(-1)))
    classes, combos = joint(parts)
    classes.flags.writeable = False
    bases = {path: combos[:, i] for i, path in enumerate(shape.paths)}
    return Columns(classes.data, classes, bases, len(combos), None)


class Row(Algebra[Truths, Where]):
    """The truth for every joint class, with one assumed value for what the bits do not know."""

    def __init__(
        self,
        snapshot: Snapshot,
        subject: Subject,
        columns: Columns,
        privileges: frozenset[str],
        *,
        owners: bool,
        others: bool,
        bits: dict[tuple[str, Path], NDArray[np.uint8]],
    ) -> None:
        self._bits_found = bits
        self._snapshot = snapshot
        self._subject = subject
        self._columns = columns
        self._privileges = privileges
        self._owners = owners
        self._others = others

    def all_of(self, values: Iterator[Truths]) -> Truths:
        return reduce(and_, values)

    def any_of(self, values: Iterator[Truths]) -> Truths:
        return reduce(or_, values)

    def constant(self, truth: bool, place: Where) -> Truths:
        return np.full(self._columns.count, truth)

    def _unknown(self, place: Where) -> Truths:
        return self.constant(self._others, place)

    def _bits(self, privilege: str, path: Path) -> NDArray[np.uint8]:
        found = self._bits_found.get((privilege, path))
        if found is None:
            cells = self._snapshot.cells(privilege, self._subject, self._privileges)
            assert isinstance(cells, ByClass)  # noqa: S101 — INVARIANT: there are columns, so classes
            found = self._bits_found[privilege, path] = cells.row[self._columns.bases[path]]
        return found

    def holds(self, privilege: str, place: Where) -> Truths:
        bits = self._bits(privilege, place.path)
        opening = ALLOWED | OWNERS if self._owners else ALLOWED
        truths: Truths = (bits & opening != 0) & (bits & DENIED == 0)
        if self._may_be_own(privilege, place):
            truths |= self._others
        return truths

    def _may_be_own(self, privilege: str, place: Where) -> bool:
        model = self._snapshot.model
        if privilege not in model.self_privileges:
            return False
        declared = model.types.get(place.type or "")
        return place.type is None or (declared is not None and declared.principal == USER)

    def not_denied(self, privilege: str, place: Where) -> Truths:
        bits = self._bits(privilege, place.path)
        free: Truths = bits & DENIED == 0
        return free

    def owner(self, levels: tuple[str, ...], place: Where) -> Truths:
        return self.constant(self._owners, place)

    def is_self(self, place: Where) -> Truths:
        declared = self._snapshot.model.types.get(place.type or "")
        never = declared is not None and declared.principal is None
        return self.constant(False, place) if never else self._unknown(place)

    def service_admin(self, place: Where) -> Truths:
        return self.constant(SERVICE_ADMINS in self._subject.named, place)

    def may(self, operation: str, place: Where) -> Truths:
        if place.type is None:
            return self._unknown(place)
        rules = list(_rules(self._snapshot.model.operation(operation), place))
        return self.evaluate(rules[0], place) if rules else self.constant(False, place)

    def elsewhere(self, selector: str, inner: Node, place: Where) -> Truths:
        at = selected_place(self._snapshot.model, selector, place)
        if at is None:
            return self._unknown(place)
        present = self._columns.bases[at.path] >= 0
        return present & self.evaluate(inner, at)

    def related(self, source: str, inner: Node, place: Where, *, every: bool) -> Truths:
        return self._unknown(place)

    def compare(self, node: Compare, place: Where) -> Truths:
        return self._unknown(place)


def codes(
    snapshot: Snapshot,
    operation: Operation,
    type: str,
    shape: Shape,
    columns: Columns,
    subject: Subject,
) -> NDArray[np.uint8]:
    """The code of every joint class for this subject's role sets."""
    rule, where = operation.rule(type), Where((), type)
    bits: dict[tuple[str, Path], NDArray[np.uint8]] = {}

    def judged(*, owners: bool, others: bool) -> Truths:
        known = shape.privileges
        row = Row(snapshot, subject, columns, known, owners=owners, others=others, bits=bits)
        return row.evaluate(rule, where)

    sure = judged(owners=False, others=False)
    if not shape.owner and not shape.other:
        return sure.astype(np.uint8)
    possible = judged(owners=True, others=True)
    unowned = judged(owners=False, others=True) if shape.other else sure
    open_codes = np.where(unowned, np.uint8(Code.OPEN), np.uint8(Code.OWNER))
    return np.where(sure, np.uint8(Code.ALLOWED), np.where(possible, open_codes, np.uint8(0)))
