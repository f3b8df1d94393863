"""Access as a small matrix: one row for each role set, one column for each class of entities.

A class contains entities that no statement distinguishes. A cell is therefore exact for every user
in its row and every entity in its column, except for ownership. If two policies are compared, rows
and columns are those that neither policy distinguishes; the other policy is that of a draft, or of
the realm at an earlier revision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from lakewarden.service import control, questions
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import AuthorizedQuestion, Reasons, Rights
from lakewarden.service.role_sets import RoleSet, joint_role_sets, role_sets
from lakewarden.service.state import RealmState, State

MOST: Final = 400
"""The most rows, and the most columns, in a result."""

LETTERS: Final = {Code.DENIED: ".", Code.ALLOWED: "a", Code.OWNER: "o", Code.OPEN: "?"}
"""A cell as a letter: denied, allowed, allowed only to owners, different within the cell."""

_ALPHABET: Final = np.array([ord(LETTERS[code]) for code in sorted(Code)], dtype=np.uint8)

Codes = NDArray[np.uint8]

EXPLAINED: Final = 40
"""The most cells whose reason one answer contains."""

_UNDECIDED: Final = -1
_ABSENT: Final = -2


@dataclass(frozen=True, slots=True)
class Column:
    """A class of entities: their number, the first one, and its container."""

    entities: int
    sample: Entity
    within: Entity | None


@dataclass(frozen=True, slots=True)
class Remainder:
    """The rows and columns beyond those shown."""

    rows: int
    users: int
    columns: int
    entities: int


@dataclass(frozen=True, slots=True)
class CellReason:
    """The reason of a cell, for its first user and entity; `compared`: by the other policy."""

    row: int
    column: int
    current: Reasons
    compared: Reasons | None


@dataclass(frozen=True, slots=True)
class ComparedPolicy:
    """The policy to compare with: who may ask about it, and the realm under it."""

    operation: str
    realm: Callable[[RealmState], RealmState]


@dataclass(frozen=True, slots=True)
class AccessMatrix:
    """The matrix of one operation on entities of one type, at a revision.

    `cells` has a text per row with a letter (`LETTERS`) per column; `cells_then` is the same for
    the other policy, None if there is none. `reasons` are those of the requested cells.
    """

    operation: str
    type: str
    rows: tuple[RoleSet, ...]
    columns: tuple[Column, ...]
    cells: tuple[str, ...]
    cells_then: tuple[str, ...] | None
    rest: Remainder
    revision: int
    revision_then: int | None = None
    reasons: tuple[CellReason, ...] = ()


def access_matrix(  # noqa: PLR0913 — the question, and the limits of the answer
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
    against: ComparedPolicy | None = None,
    explained: Sequence[tuple[int, int]] = (),
) -> AccessMatrix | Denied:
    """Who may do an operation on which entities, as classes.

    `type` is required if the operation applies to several; `within` limits the result to an entity
    and its descendants. The policy `against` adds the same cells under it; entities that were not
    stored then are denied. `explained` are the cells to explain, by row and column. Raises
    `BadInput` and `Unknown` for invalid or unknown names.
    """
    needed = ["subject.search", *(["explain.ask"] if explained else [])]
    for right in (*needed, *([] if against is None else [against.operation])):
        refused = control.denied_in(state, actor, right, realm, now)
        if refused is not None:
            return refused
    for name, number in (("limit_rows", rows), ("limit_columns", columns)):
        if not 1 <= number <= MOST:
            raise BadInput(f"expected 1 to {MOST}, got {number}", where=f"body.{name}")
    if len(explained) > EXPLAINED:
        message = f"{len(explained)} cells to explain, at most {EXPLAINED} are allowed"
        raise BadInput(message, where="body.explain")
    realm_state = state.realm(realm)
    matrix = realm_state.matrix
    other = None if against is None else against.realm(realm_state)
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
    both = (matrix,) if other is None else (matrix, other.matrix)
    plans = [matrix.plan(matrix.operation(operation), entity_type) for matrix in both]
    sets = role_sets(matrix) if other is None else joint_role_sets(matrix, other.matrix)
    tree = matrix.snapshot.coded.tree
    classes = _classes([_numbers(*pair, tree, ids) for pair in zip(both, plans, strict=True)], ids)
    grids = tuple(
        _grid(matrix, plan, sets, [numbers[side] for numbers, _ in classes], now)
        for side, (matrix, plan) in enumerate(zip(both, plans, strict=True))
    )
    members = [entities for _, entities in classes]
    uncut = _FullMatrix(matrix, operation, entity_type, sets, members, grids)
    cells = _within_limits(uncut, rows, columns)
    explainer = _CellExplainer(state, actor, cells, realm_state, other, now)
    return replace(
        cells,
        revision_then=None if other is None else other.matrix.revision,
        reasons=tuple(map(explainer.reason, checked(explained, every=1))),
    )


@dataclass(frozen=True, slots=True)
class _FullMatrix:
    matrix: Matrix
    operation: str
    type: str
    sets: list[RoleSet]
    classes: list[BitMap]
    grids: tuple[Codes, ...]


def _numbers(matrix: Matrix, plan: Plan, tree: Tree, ids: BitMap) -> NDArray[np.int64]:
    """The class of each entity in a plan; the entities are given by their ids in `tree`.

    `_UNDECIDED` if rows do not decide, `_ABSENT` for entities that the matrix does not have.
    """
    rows = np.asarray(ids.to_array(), dtype=np.int64)
    if plan.columns is None:
        return np.full(len(rows), _UNDECIDED)
    own = matrix.snapshot.coded.tree
    if own is tree:
        return plan.columns.classes[rows].astype(np.int64)
    stored = matrix.snapshot.of_type(plan.type)
    places = (own.find(tree.entity(id)) for id in checked(rows.tolist()))
    numbers = [
        _ABSENT if place is None or place not in stored else int(plan.columns.classes[place])
        for place in places
    ]
    return np.array(numbers, dtype=np.int64)


def _classes(
    numbers: Sequence[NDArray[np.int64]], ids: BitMap
) -> list[tuple[tuple[int, ...], BitMap]]:
    """The non-empty classes among `ids`, with their entities; each by its number in every plan."""
    if not ids:
        return []
    rows, table = np.asarray(ids.to_array()), np.stack(numbers)
    order = np.lexsort(table[::-1])
    ordered = table[:, order]
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
    """A code for each role set and each chosen class; classes by their numbers in the plan."""
    grid = np.full((len(sets), len(chosen)), Code.OPEN, dtype=np.uint8)
    if plan.columns is None:
        return grid
    numbers = np.array(chosen, dtype=np.int64)
    present = numbers != _ABSENT
    for place, role_set in enumerate(checked(sets)):
        request = Request(role_set.users[0], plan.operation.name, NO_RESOURCE, now)
        grid[place] = Code.DENIED
        # Nested too deeply: every decision about them is a denial.
        with suppress(LimitExceeded):
            codes = plan.codes(matrix.entry(plan, matrix.subject(request)))
            grid[place, present] = codes[numbers[present]]
    return grid


def _within_limits(uncut: _FullMatrix, rows: int, columns: int) -> AccessMatrix:
    """The largest rows and columns, with similar ones next to each other."""
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
    cells = [_encoded_rows(grid, kept_rows, kept_columns) for grid in uncut.grids]
    kept_set = set(kept_columns)
    return AccessMatrix(
        operation=uncut.operation,
        type=uncut.type,
        rows=tuple(uncut.sets[row] for row in kept_rows),
        columns=tuple(_column(tree, uncut.classes[column]) for column in kept_columns),
        cells=cells[0],
        cells_then=cells[1] if len(cells) > 1 else None,
        rest=Remainder(
            rows=len(lost),
            users=sum(len(role_set.users) for role_set in lost),
            columns=len(uncut.classes) - len(kept_columns),
            entities=sum(int(s) for place, s in enumerate(sizes) if place not in kept_set),
        ),
        revision=uncut.matrix.revision,
    )


def _encoded_rows(grid: Codes, rows: list[int], columns: list[int]) -> tuple[str, ...]:
    letters = _ALPHABET[grid[np.ix_(rows, columns)]]
    return tuple(row.tobytes().decode() for row in letters)


def _column(tree: Tree, ids: BitMap) -> Column:
    first = ids.min()
    above = int(tree.above[first])
    return Column(len(ids), tree.entity(first), tree.entity(above) if above >= 0 else None)


@dataclass(frozen=True, slots=True)
class _CellExplainer:
    """Reasons of cells, as far as the caller may see them."""

    state: State
    actor: Actor
    matrix: AccessMatrix
    realm: RealmState
    other: RealmState | None
    now: float

    def reason(self, cell: tuple[int, int]) -> CellReason:
        """Raises `BadInput` for a cell that is not shown."""
        row, column = cell
        if not (0 <= row < len(self.matrix.rows) and 0 <= column < len(self.matrix.columns)):
            size = f"{len(self.matrix.rows)} rows and {len(self.matrix.columns)} columns"
            raise BadInput(f"no cell {row}, {column} among {size}", where="body.explain")
        user, entity = self.matrix.rows[row].users[0], self.matrix.columns[column].sample
        request = Request(user, self.matrix.operation, entity, self.now)
        other_reasons = None if self.other is None else self._reasons(self.other, request)
        return CellReason(row, column, self._reasons(self.realm, request), other_reasons)

    def _reasons(self, realm: RealmState, request: Request) -> Reasons:
        rights = Rights(self.state, self.actor, realm.realm.name, self.now)
        text = QuestionText(operation=request.operation)
        question = AuthorizedQuestion(realm, text, request, rights.sees_all)
        return questions.reasons(self.state, self.actor, question)
