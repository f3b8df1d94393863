"""Access as a small matrix: one row for each role set, one column for each class of entities.

A class is what no statement tells apart, so that a cell is exact for everybody in its row and
everything in its column, but for what somebody owns.
"""

from __future__ import annotations

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
from lakewarden.service.entities import named
from lakewarden.service.role_sets import RoleSet, role_sets
from lakewarden.service.state import State

MOST: Final = 400
"""Rows, and columns, that are shown at most."""

LETTERS: Final = {Code.DENIED: ".", Code.ALLOWED: "a", Code.OWNER: "o", Code.OPEN: "?"}
"""A cell as a letter: denied, allowed, allowed to owners alone, different within the cell."""

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

    `cells` has a text for each row with a letter (`LETTERS`) for each column.
    """

    operation: str
    type: str
    rows: tuple[RoleSet, ...]
    columns: tuple[Column, ...]
    cells: tuple[str, ...]
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
) -> AccessMatrix | Denied:
    """Who may do an operation on what, as classes.

    `type` is needed where the operation is about several; `within` keeps what lies below an
    entity, itself included. Raises `BadInput` and `Unknown` for what is named.
    """
    refused = control.denied_in(state, actor, "subject.search", realm, now)
    if refused is not None:
        return refused
    for name, number in (("limit_rows", rows), ("limit_columns", columns)):
        if not 1 <= number <= MOST:
            raise BadInput(f"expected 1 to {MOST}, got {number}", where=f"body.{name}")
    found = state.realm(realm)
    matrix = found.matrix
    declared = matrix.operation(operation)
    wanted = type or declared.type
    if wanted is None:
        expected = ", ".join(sorted(declared.rules))
        raise BadInput(f"expected one of: {expected}", where="body.type")
    found.system.model.check_type(wanted)
    declared.rule(wanted)
    plan = matrix.plan(declared, wanted)
    ids = matrix.snapshot.of_type(wanted)
    if within is not None:
        tree = matrix.snapshot.coded.tree
        id = tree.find(named(found, within))
        ids = ids & (tree.below(BitMap([id])) if id is not None else BitMap())
    sets = role_sets(matrix)
    classes = _classes(plan, ids)
    grid = _grid(matrix, plan, sets, classes, now)
    return _shown(_Whole(matrix, operation, wanted, sets, classes, grid), rows, columns)


@dataclass(frozen=True, slots=True)
class _Whole:
    matrix: Matrix
    operation: str
    type: str
    sets: list[RoleSet]
    classes: list[tuple[int, BitMap]]
    grid: Codes


def _classes(plan: Plan, ids: BitMap) -> list[tuple[int, BitMap]]:
    """The classes that have entities among `ids`, with these; -1 where rows do not decide."""
    if not ids:
        return []
    if plan.columns is None:
        return [(-1, ids)]
    rows = np.asarray(ids.to_array())
    codes = plan.columns.classes[rows]
    order = np.argsort(codes, kind="stable")
    numbers, starts = np.unique(codes[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return [(int(number), BitMap(part)) for number, part in zip(numbers, parts, strict=True)]


def _grid(
    matrix: Matrix,
    plan: Plan,
    sets: list[RoleSet],
    classes: list[tuple[int, BitMap]],
    now: float,
) -> Codes:
    """A code for each role set and class."""
    grid = np.full((len(sets), len(classes)), Code.OPEN, dtype=np.uint8)
    if plan.columns is None:
        return grid
    chosen = [number for number, _ in classes]
    for place, one in enumerate(checked(sets)):
        request = Request(one.users[0], plan.operation.name, NO_RESOURCE, now)
        try:
            codes = plan.codes(matrix.entry(plan, matrix.subject(request)))
        except LimitExceeded:  # nested too deep: every decision about them is a denial
            grid[place] = Code.DENIED
        else:
            grid[place] = codes[chosen]
    return grid


def _shown(whole: _Whole, rows: int, columns: int) -> AccessMatrix:
    """The largest rows and columns, alike ones beside each other."""
    grid = whole.grid
    sizes = np.array([len(ids) for _, ids in whole.classes], dtype=np.int64)
    kept_rows = list(range(min(rows, len(whole.sets))))
    kept_columns = sorted(np.argsort(-sizes, kind="stable")[:columns].tolist())
    kept_rows.sort(key=lambda row: (-int((grid[row] == Code.ALLOWED) @ sizes), grid[row].tobytes()))
    kept_columns.sort(
        key=lambda column: (
            -int((grid[kept_rows, column] == Code.ALLOWED).sum()),
            grid[kept_rows, column].tobytes(),
            -int(sizes[column]),
        )
    )
    tree = whole.matrix.snapshot.coded.tree
    lost = whole.sets[len(kept_rows) :]
    shown = set(kept_columns)
    return AccessMatrix(
        operation=whole.operation,
        type=whole.type,
        rows=tuple(whole.sets[row] for row in kept_rows),
        columns=tuple(_column(tree, whole.classes[column][1]) for column in kept_columns),
        cells=tuple(
            "".join(LETTERS[Code(int(code))] for code in grid[row, kept_columns])
            for row in kept_rows
        ),
        rest=Rest(
            rows=len(lost),
            users=sum(len(one.users) for one in lost),
            columns=len(whole.classes) - len(kept_columns),
            entities=sum(int(s) for place, s in enumerate(sizes) if place not in shown),
        ),
        revision=whole.matrix.revision,
    )


def _column(tree: Tree, ids: BitMap) -> Column:
    first = ids.min()
    above = int(tree.above[first])
    return Column(len(ids), tree.entity(first), tree.entity(above) if above >= 0 else None)
