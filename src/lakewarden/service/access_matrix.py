"""Access as a small matrix: one row for each role set, one column for each class of entities.

A class is what no statement tells apart, so that a cell is exact for everybody in its row and
everything in its column, but for what somebody owns. Of two policies that are compared, rows and
columns are those that neither of them tells apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.matrix import Matrix, Plan
from lakewarden.kernel.request import Request
from lakewarden.kernel.rows import Code
from lakewarden.kernel.tree import Tree
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.role_sets import RoleSet, joint_role_sets, role_sets
from lakewarden.service.state import RealmState, State

MOST: Final = 400
"""Rows, and columns, that are shown at most."""

LETTERS: Final = {Code.DENIED: ".", Code.ALLOWED: "a", Code.OWNER: "o", Code.OPEN: "?"}
"""A cell as a letter: denied, allowed, allowed to owners alone, different within the cell."""

_ALPHABET: Final = np.array([ord(LETTERS[code]) for code in sorted(Code)], dtype=np.uint8)

Codes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Column:
    """A class of entities: how many lie in it, the first of them, and what that lies in."""

    entities: int
    sample: Entity
    within: Entity | None


@dataclass(frozen=True, slots=True)
class Rest:
    """What is beyond the rows and columns that are shown."""

    rows: int
    users: int
    columns: int
    entities: int


@dataclass(frozen=True, slots=True)
class AccessMatrix:
    """The matrix of one operation on entities of one type, at a revision.

    `cells` has a text for each row with a letter (`LETTERS`) for each column; `cells_then` the
    same of the other policy, None where there is none.
    """

    operation: str
    type: str
    rows: tuple[RoleSet, ...]
    columns: tuple[Column, ...]
    cells: tuple[str, ...]
    cells_then: tuple[str, ...] | None
    rest: Rest
    revision: int


def access_matrix(  # noqa: PLR0913 — what is asked, and how much of it is shown
    state: State,
    actor: Actor,
    realm: str,
    operation: str,
    now: float,
    *,
    type: str | None = None,
    within: str | None = None,
    rows: int = MOST,
    columns: int = MOST,
    against: Callable[[RealmState], Matrix] | None = None,
) -> AccessMatrix | Denied:
    """Who may do an operation on what, as classes.

    `type` is needed where the operation is about several; `within` keeps what lies below an
    entity, itself included. `against` gives the matrix of another policy over the same entities,
    for whoever may plan changes. Raises `BadInput` and `Unknown` for what is named.
    """
    refused = control.denied_in(state, actor, "subject.search", realm, now)
    if refused is not None:
        return refused
    for name, number in (("limit_rows", rows), ("limit_columns", columns)):
        if not 1 <= number <= MOST:
            raise BadInput(f"expected 1 to {MOST}, got {number}", where=f"body.{name}")
    realm_state = state.realm(realm)
    matrix = realm_state.matrix
    then = None
    if against is not None:
        refused = control.denied_in(state, actor, "realm.plan", realm, now)
        if refused is not None:
            return refused
        then = against(realm_state)
    declared = matrix.operation(operation)
    entity_type = type or declared.type
    if entity_type is None:
        expected = ", ".join(sorted(declared.rules))
        raise BadInput(f"expected one of: {expected}", where="body.type")
    realm_state.system.model.check_type(entity_type)
    declared.rule(entity_type)
    ids = matrix.snapshot.of_type(entity_type)
    if within is not None:
        tree = matrix.snapshot.coded.tree
        id = tree.find(parse_entity(realm_state, within))
        ids = ids & (tree.below(BitMap([id])) if id is not None else BitMap())
    both = (matrix,) if then is None else (matrix, then)
    plans = [matrix.plan(declared, entity_type) for matrix in both]
    sets = role_sets(matrix) if then is None else joint_role_sets(matrix, then)
    classes = _classes(plans, ids)
    grids = tuple(
        _grid(matrix, plan, sets, [numbers[side] for numbers, _ in classes], now)
        for side, (matrix, plan) in enumerate(zip(both, plans, strict=True))
    )
    members = [entities for _, entities in classes]
    return _within_limits(
        _Whole(matrix, operation, entity_type, sets, members, grids), rows, columns
    )


@dataclass(frozen=True, slots=True)
class _Whole:
    matrix: Matrix
    operation: str
    type: str
    sets: list[RoleSet]
    classes: list[BitMap]
    grids: tuple[Codes, ...]


def _classes(plans: Sequence[Plan], ids: BitMap) -> list[tuple[tuple[int, ...], BitMap]]:
    """The classes that have entities among `ids`, with these.

    Each goes by its number in every plan; -1 where rows do not decide.
    """
    if not ids:
        return []
    rows = np.asarray(ids.to_array())
    numbers = np.stack(
        [
            np.full(len(rows), -1) if plan.columns is None else plan.columns.classes[rows]
            for plan in plans
        ]
    )
    order = np.lexsort(numbers[::-1])
    ordered = numbers[:, order]
    starts = np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1
    firsts = ordered[:, np.concatenate(([0], starts))].T
    parts = np.split(rows[order], starts)
    return [
        (tuple(map(int, number)), BitMap(part)) for number, part in zip(firsts, parts, strict=True)
    ]


def _grid(
    matrix: Matrix,
    plan: Plan,
    sets: list[RoleSet],
    chosen: list[int],
    now: float,
) -> Codes:
    """A code for each role set and each of the chosen classes, by their numbers in the plan."""
    grid = np.full((len(sets), len(chosen)), Code.OPEN, dtype=np.uint8)
    if plan.columns is None:
        return grid
    for place, role_set in enumerate(checked(sets)):
        request = Request(role_set.users[0], plan.operation.name, NO_RESOURCE, now)
        try:
            codes = plan.codes(matrix.entry(plan, matrix.subject(request)))
        except LimitExceeded:  # nested too deep: every decision about them is a denial
            grid[place] = Code.DENIED
        else:
            grid[place] = codes[chosen]
    return grid


def _within_limits(uncut: _Whole, rows: int, columns: int) -> AccessMatrix:
    """The largest rows and columns, alike ones beside each other."""
    grid = uncut.grids[0]
    sizes = np.array([len(ids) for ids in uncut.classes], dtype=np.int64)
    kept_rows = list(range(min(rows, len(uncut.sets))))
    kept_columns = sorted(np.argsort(-sizes, kind="stable")[:columns].tolist())
    kept_rows.sort(key=lambda row: (-int((grid[row] == Code.ALLOWED) @ sizes), grid[row].tobytes()))
    kept_columns.sort(
        key=lambda column: (
            -int((grid[kept_rows, column] == Code.ALLOWED).sum()),
            grid[kept_rows, column].tobytes(),
            -int(sizes[column]),
        )
    )
    tree = uncut.matrix.snapshot.coded.tree
    lost = uncut.sets[len(kept_rows) :]
    cells = [_letters(grid, kept_rows, kept_columns) for grid in uncut.grids]
    kept = set(kept_columns)
    return AccessMatrix(
        operation=uncut.operation,
        type=uncut.type,
        rows=tuple(uncut.sets[row] for row in kept_rows),
        columns=tuple(_column(tree, uncut.classes[column]) for column in kept_columns),
        cells=cells[0],
        cells_then=cells[1] if len(cells) > 1 else None,
        rest=Rest(
            rows=len(lost),
            users=sum(len(role_set.users) for role_set in lost),
            columns=len(uncut.classes) - len(kept_columns),
            entities=sum(int(s) for place, s in enumerate(sizes) if place not in kept),
        ),
        revision=uncut.matrix.revision,
    )


def _letters(grid: Codes, rows: list[int], columns: list[int]) -> tuple[str, ...]:
    letters = _ALPHABET[grid[np.ix_(rows, columns)]]
    return tuple(row.tobytes().decode() for row in letters)


def _column(tree: Tree, ids: BitMap) -> Column:
    first = ids.min()
    above = int(tree.above[first])
    return Column(len(ids), tree.entity(first), tree.entity(above) if above >= 0 else None)
