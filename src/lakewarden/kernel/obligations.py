"""Row filters and column masks: what an allowed read has to apply.

They are statements. Which of them bind a subject on an entity is computed like decisions: by role
set and entity class, so all columns of a table take as many lookups as the table has classes.
All of them bind together: an additional statement never removes an obligation.

For an engine, a name with rows is one object, whether it is a table or a view. Therefore a
statement on one of them also binds reads of the other: a view that takes the name of a table
applies the table's filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.grants import Grant, Grants
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.reached_inside import namesakes, reached_inside
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import OBLIGING, Effect, On, Owners, Statement
from lakewarden.kernel.subject import Subject
from lakewarden.kernel.tree import Tree

_NAMING: Final = "filters and masks by what they name"


def obligations(matrix: Matrix, request: Request, effect: Effect) -> tuple[Statement, ...]:
    """The filters, or the masks, that bind the subject on the target, by id.

    Whether the target may be read at all is a separate check (`Matrix.decide`), and its columns are
    separate targets: a filter is looked up for an entity with rows, a mask for one column, stored
    or not. Raises `StaleSnapshot` for a moment outside the snapshot's interval, `Unknown` for a
    type that the model does not declare, `LimitExceeded` where the chain of memberships is too
    long.
    """
    matrix.require(request.now)
    snapshot = matrix.snapshot
    snapshot.model.check_type(request.target.type)
    subject = matrix.subject(request)
    place = snapshot.place(request.target)
    binding = {
        grant.statement.id: grant.statement
        for grant in _candidate_grants(snapshot, subject, effect, place)
        if _binds(snapshot, subject, grant, place)
    }
    return tuple(binding[id] for id in sorted(binding))


def obligations_anywhere(matrix: Matrix, request: Request, effect: Effect) -> tuple[Statement, ...]:
    """The filters, or the masks, that bind the subject wherever their scopes reach, by id.

    The target does not matter; statements that depend on its owner are left out. Raises as
    `obligations` does.
    """
    matrix.require(request.now)
    binding = (
        grant.statement
        for grant in _of_role_set(matrix.snapshot, matrix.subject(request), effect)
        if grant.statement.owners is None and grant.statement.except_owners is None
    )
    return tuple(sorted(binding, key=lambda statement: statement.id))


def is_limited(matrix: Matrix, request: Request) -> bool:
    """Whether any filter or mask binds the subject on the target or on anything inside it.

    If so, the subject must not get all rows and values of the target, such as its files. A mask on
    a column that is not stored counts by its name. Raises as `obligations` does.
    """
    return any(True for effect in OBLIGING for _ in _inside(matrix, request, effect))


def binding_inside(matrix: Matrix, request: Request, effect: Effect) -> tuple[Statement, ...]:
    """The filters, or the masks, that bind the subject on the target or inside it, by id.

    A mask on a column that is not stored counts by its name. Raises as `obligations` does.
    """
    found = {statement.id: statement for statement in _inside(matrix, request, effect)}
    return tuple(found[id] for id in sorted(found))


def _inside(matrix: Matrix, request: Request, effect: Effect) -> Iterator[Statement]:
    """Yields each of them once for every place where it binds."""
    matrix.require(request.now)
    snapshot = matrix.snapshot
    snapshot.model.check_type(request.target.type)
    subject = matrix.subject(request)
    for grant in _of_role_set(snapshot, subject, effect):
        for place in _reached_inside(snapshot, grant, request.target):
            if _binds(snapshot, subject, grant, place):
                yield grant.statement


def carries_limits(snapshot: Snapshot, target: Entity) -> bool:
    """Whether any filter or mask in force lies on the target or on anything inside it.

    The principals it binds do not matter: a service that reads for others must not pass on what one
    of them may not see. A mask on a column that is not stored counts by its name.
    """
    return any(
        True
        for effect in OBLIGING
        for grant in snapshot.table.obligations(effect)
        for _ in _reached_inside(snapshot, grant, target)
    )


def _reached_inside(snapshot: Snapshot, grant: Grant, target: Entity) -> Iterator[int | NamedPlace]:
    """As `reached_inside`, and the target for its namesakes with rows (`_namesakes_with_rows`)."""
    yield from reached_inside(snapshot, grant, target)
    place = snapshot.place(target)
    if any(_applies_to(snapshot, grant, other) for other in _namesakes_with_rows(snapshot, place)):
        yield place


def _applies_to(snapshot: Snapshot, grant: Grant, other: Entity) -> bool:
    """Whether the grant reaches the entity; if that is not stored, the grant must name it."""
    id = _stored(snapshot, other)
    return grant.statement.scope == On(other) if id is None else snapshot.lies_in(id, grant)


def _candidate_grants(
    snapshot: Snapshot, subject: Subject, effect: Effect, place: int | NamedPlace
) -> Iterator[Grant]:
    """The grants that may bind the role set there, some of them twice.

    They reach the place, or a namesake with rows (see `_namesakes_with_rows`); a namesake that is
    not stored must be named by the grant.
    """
    yield from _reaching_grants(snapshot, subject, effect, place)
    if not _of_role_set(snapshot, subject, effect):
        return
    for other in _namesakes_with_rows(snapshot, place):
        id = _stored(snapshot, other)
        if id is not None:
            yield from _reaching_grants(snapshot, subject, effect, id)
        else:
            naming = _naming(snapshot)[other]
            found = (grant for grant in naming if grant.statement.effect is effect)
            yield from (grant for grant in found if _may_bind(subject, grant))


def _namesakes_with_rows(snapshot: Snapshot, place: int | NamedPlace) -> Sequence[Entity]:
    """The namesakes with rows of the entity that has the rows, at the place or above it.

    A namesake counts if it is stored and the entity is not, or if it is not stored and a filter or
    a mask names it: two stored entities are independent. Cached by the entity with the rows.
    """
    holder = _row_entity(snapshot, place)
    found = snapshot.memos.namesakes.get(holder)
    if found is None:
        entity = snapshot.coded.tree.entity(holder) if isinstance(holder, int) else holder
        found = snapshot.memos.add_namesakes(holder, _compute_namesakes(snapshot, entity))
    return found


def _row_entity(snapshot: Snapshot, place: int | NamedPlace) -> int | Entity:
    """The entity with rows, at the place or above it; its id, if the place is stored."""
    tree, types = snapshot.coded.tree, snapshot.model.types
    if isinstance(place, NamedPlace):
        for entity in (place.entity, *place.ancestors):
            declared = types.get(entity.type)
            if declared is not None and declared.filtered:
                return entity
        return NO_RESOURCE
    id = place
    while id >= 0:
        declared = types.get(tree.kinds[tree.types[id]])
        if declared is not None and declared.filtered:
            return id
        id = -1 if id in tree.looped else int(tree.parents[id])
    return NO_RESOURCE


def _compute_namesakes(snapshot: Snapshot, rows: Entity) -> tuple[Entity, ...]:
    naming, is_stored = _naming(snapshot), _stored(snapshot, rows) is not None
    return tuple(
        other
        for other in namesakes(snapshot, rows)
        if (other in naming if _stored(snapshot, other) is None else not is_stored)
    )


def _stored(snapshot: Snapshot, entity: Entity) -> int | None:
    id = snapshot.coded.tree.find(entity)
    return id if id is not None and id in snapshot.coded.tree.stored else None


def _naming(snapshot: Snapshot) -> Mapping[Entity, Grants]:
    """The filters and masks in force by the entities that they name; cached."""
    found = snapshot.memos.derived.get(_NAMING)
    if found is None:
        naming: dict[Entity, Grants] = {}
        for effect in OBLIGING:
            for grant in snapshot.table.obligations(effect):
                scope = grant.statement.scope
                if isinstance(scope, On):
                    naming[scope.entity] = (*naming.get(scope.entity, ()), grant)
        found = snapshot.memos.derived[_NAMING] = naming
    return cast("Mapping[Entity, Grants]", found)


def _reaching_grants(
    snapshot: Snapshot, subject: Subject, effect: Effect, place: int | NamedPlace
) -> Grants:
    """The grants that may bind the role set and reach the place; cached by entity class."""
    if snapshot.classes is None or isinstance(place, NamedPlace):
        grants = _of_role_set(snapshot, subject, effect)
        return tuple(grant for grant in grants if snapshot.lies_in(place, grant))
    number = snapshot.classes.view[place]
    key = (effect, subject.allow, subject.deny, number)
    found = snapshot.memos.obligations.get(key)
    if found is None:
        inside = snapshot.classes.inside[number]
        grants = _of_role_set(snapshot, subject, effect)
        reaching = tuple(grant for grant in grants if grant.scope in inside)
        found = snapshot.memos.add_obligations(key, reaching)
    return found


def _of_role_set(snapshot: Snapshot, subject: Subject, effect: Effect) -> Grants:
    """The grants that may bind the role set anywhere; cached."""
    key = (effect, subject.allow, subject.deny, None)
    found = snapshot.memos.obligations.get(key)
    if found is None:
        grants = snapshot.table.obligations(effect)
        may_bind = tuple(grant for grant in grants if _may_bind(subject, grant))
        found = snapshot.memos.add_obligations(key, may_bind)
    return found


def _may_bind(subject: Subject, grant: Grant) -> bool:
    """Whether the grant binds the subject, assuming that the subject owns the entity if needed."""
    # A deactivated role still binds, and no longer exempts: this never removes an obligation.
    binds = grant.owners is not None or not grant.principals or grant.principals & subject.deny
    return bool(binds) and not grant.exceptions & subject.allow


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
    """Whether the subject owns the entity, or the nearest entity above it that has owners."""
    if clause is None:
        return False
    tree, types = snapshot.coded.tree, snapshot.model.types
    for entity in _with_ancestors(tree, place):
        declared = types.get(entity.type)
        if declared is not None and declared.owned:
            id = tree.find(entity)
            return id is not None and snapshot.owns_as(subject, clause, id)
    return False


def _with_ancestors(tree: Tree, place: int | NamedPlace) -> Iterator[Entity]:
    """The entity and its containers, nearest first."""
    if isinstance(place, NamedPlace):
        yield from (place.entity, *place.ancestors)
    else:
        yield from map(tree.entity, (place, *tree.ancestors(place)))
