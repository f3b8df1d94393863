"""Row filters and column masks: what a read that is allowed has to keep to.

They are statements, and which of them bind a subject on an entity is worked out as decisions are:
by role set and entity class, so all columns of a table take as many look-ups as it has classes.
All of them bind together: one more statement never leaves less to keep to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import Grant, Grants
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Effect, Owners, Statement
from lakewarden.kernel.subject import Subject
from lakewarden.kernel.tree import Tree

_LIMIT = 10_000
"""How many role sets are remembered before all are dropped."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """The filters, or the masks, that may bind a role set; by entity class as far as asked."""

    grants: Grants
    by_class: dict[int, Grants] = field(default_factory=dict)


_BoundKey = tuple[Effect, frozenset[int], frozenset[int]]


def obligations(matrix: Matrix, request: Request, effect: Effect) -> tuple[Statement, ...]:
    """The filters, or the masks, that bind who asks on the target, by id.

    Whether the target may be read at all is another question (`Matrix.decide`), and so is what
    its columns are: a filter is asked about what has rows, a mask about one column, stored or not.
    Raises `StaleSnapshot` for a moment outside the snapshot's interval, `Unknown` for a type that
    the model does not declare, `LimitExceeded` where too many memberships follow on one another.
    """
    matrix.require(request.now)
    snapshot = matrix.snapshot
    snapshot.model.check_type(request.target.type)
    subject = matrix.subject(request)
    found = _bound(snapshot, subject, effect)
    if not found.grants:
        return ()
    place = snapshot.place(request.target)
    binding = (g for g in _lying(snapshot, found, place) if _binds(snapshot, subject, g, place))
    return tuple(sorted((grant.statement for grant in binding), key=lambda one: one.id))


def _bound(snapshot: Snapshot, subject: Subject, effect: Effect) -> _Bound:
    memo = snapshot.memos.derived.setdefault("obligations", {})
    assert isinstance(memo, dict)  # noqa: S101 — INVARIANT: only this module writes it
    bound: dict[_BoundKey, _Bound] = memo
    key = (effect, subject.allow, subject.deny)
    found = bound.get(key)
    if found is None:
        grants = (g for g in snapshot.table.obligations(effect) if _may_bind(subject, g))
        if len(bound) >= _LIMIT:
            bound.clear()
        found = bound[key] = _Bound(tuple(grants))
    return found


def _may_bind(subject: Subject, grant: Grant) -> bool:
    """Whether the grant binds the subject, if it is for what the subject owns."""
    # A role that was put aside still binds, and no longer exempts: never less to keep to.
    binds = grant.owners is not None or not grant.principals or grant.principals & subject.deny
    return bool(binds) and not grant.exceptions & subject.allow


def _lying(snapshot: Snapshot, bound: _Bound, place: int | NamedPlace) -> Grants:
    """Those whose scope contains the place."""
    if snapshot.classes is None or isinstance(place, NamedPlace):
        return tuple(grant for grant in bound.grants if snapshot.lies_in(place, grant))
    number = snapshot.classes.view[place]
    found = bound.by_class.get(number)
    if found is None:
        inside = snapshot.classes.inside[number]
        found = tuple(grant for grant in bound.grants if grant.scope in inside)
        bound.by_class[number] = found
    return found


def _binds(snapshot: Snapshot, subject: Subject, grant: Grant, place: int | NamedPlace) -> bool:
    statement = grant.statement
    if _owns(snapshot, subject, statement.except_owners, place):
        return False
    if statement.owners is None or grant.principals & subject.deny:
        return True
    return _owns(snapshot, subject, statement.owners, place)


def _owns(
    snapshot: Snapshot, subject: Subject, clause: Owners | None, place: int | NamedPlace
) -> bool:
    """Whether the subject owns the entity, or what has owners and lies nearest above it."""
    if clause is None:
        return False
    tree, types = snapshot.coded.tree, snapshot.model.types
    for entity in _upwards(tree, place):
        declared = types.get(entity.type)
        if declared is not None and declared.owned:
            id = tree.find(entity)
            return id is not None and snapshot.owns_as(subject, clause, id)
    return False


def _upwards(tree: Tree, place: int | NamedPlace) -> Iterator[Entity]:
    """The entity and what it lies in, nearest first."""
    if isinstance(place, NamedPlace):
        yield from (place.entity, *place.ancestors)
    else:
        yield from map(tree.entity, (place, *tree.ancestors(place)))
