"""The checks of `lakewarden.pipeline.check` for small inputs, in this process.

Each step does the same as its counterpart there; a test compares both on random rows. Checks that
follow chains of rows use the same functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lakewarden.kernel.model import Model
from lakewarden.pipeline.check_rules import (
    ABOUT,
    DANGLING_TARGET,
    DETAILS,
    INCOMPLETE,
    NESTING_KINDS,
    NOT_STORED,
    REPEATED,
    TWO_PARENTS,
    Bad,
    circular,
    dangling,
    denied_types,
    misplaced,
    nesting,
    universal_relations,
)
from lakewarden.service.source_row import PLACEMENTS, Row

RELATIONS: Final = "relations"
Cells = tuple[str, ...]


def check(rows: Iterable[Row], model: Model) -> list[Row]:
    """The same rows, with `reason` and `detail` where one does not pass."""
    checked = _with_unique_places(_repeated(sorted(rows, key=lambda row: row.place)))
    checked = _marked(
        checked, [*_off_tree(checked, model), *_circular(checked), *_dangling(checked, model)]
    )
    return _with_all_edges(_of_stored_entities(checked, model), model)


def _repeated(rows: Iterable[Row]) -> Iterator[Row]:
    met: set[tuple[str, Cells]] = set()
    for row in rows:
        key = row.table, tuple(row.cells)
        if row.reason:
            yield row
        elif key in met:
            yield row.rejected(REPEATED, DETAILS[REPEATED])
        else:
            met.add(key)
            yield row


def _with_unique_places(rows: Iterable[Row]) -> list[Row]:
    all_rows = list(rows)
    places = Counter(cells[:2] for cells in _without_rejected(all_rows, PLACEMENTS))
    return [
        row.rejected(TWO_PARENTS, f"one of {places[row.cells[:2]]}")
        if row.table == PLACEMENTS and not row.reason and places[row.cells[:2]] > 1
        else row
        for row in all_rows
    ]


def _without_rejected(rows: Iterable[Row], table: str) -> Iterator[Cells]:
    return (row.cells for row in rows if row.table == table and not row.reason)


def _off_tree(rows: Sequence[Row], model: Model) -> Iterator[Bad]:
    nested = set(nesting(model))
    yield from misplaced(c for c in _without_rejected(rows, PLACEMENTS) if {c[0], c[2]} <= nested)


def _circular(rows: Sequence[Row]) -> Iterator[Bad]:
    kinds = set(NESTING_KINDS)
    yield from circular(c for c in _without_rejected(rows, "memberships") if {c[0], c[2]} <= kinds)


def _dangling(rows: Sequence[Row], model: Model) -> Iterator[Bad]:
    denied = set(denied_types(model))
    if not denied:
        return
    stored = set(_without_rejected(rows, "entities"))
    below: dict[Cells, list[Cells]] = {}
    for placement in _without_rejected(rows, PLACEMENTS):
        below.setdefault(placement[2:], []).append(placement)
    missing = [parent for parent in below if parent[0] in denied and parent not in stored]
    reached: set[Cells] = set()
    while missing:
        placements = below.get(missing.pop(), ())
        for placement in placements:
            if placement not in reached:
                reached.add(placement)
                yield from dangling(placement)
                missing.append(placement[:2])


def _marked(rows: Iterable[Row], bad: Iterable[Bad]) -> list[Row]:
    known = {
        (rejected.table, rejected.cells): (rejected.reason, rejected.detail) for rejected in bad
    }
    return [
        row.rejected(*known[key])
        if not row.reason and (key := (row.table, row.cells)) in known
        else row
        for row in rows
    ]


def _of_stored_entities(rows: Sequence[Row], model: Model) -> Iterator[Row]:
    stored = set(_without_rejected(rows, "entities"))
    denied = set(denied_types(model)) if model.relations else set[str]()
    for row in rows:
        if row.reason or row.table not in ABOUT:
            yield row
            continue
        is_edge = row.table == RELATIONS
        about = row.cells[1:3] if is_edge else row.cells[:2]
        if about not in stored:
            yield row.rejected(NOT_STORED, _lost(about))
        elif is_edge and row.cells[3] in denied and row.cells[3:5] not in stored:
            yield row.rejected(DANGLING_TARGET, _lost(row.cells[3:5]))
        else:
            yield row


def _lost(entity: Cells) -> str:
    return f"`{entity[0]}:{entity[1]}` is not stored"


def _with_all_edges(rows: Iterable[Row], model: Model) -> list[Row]:
    all_rows, kinds = list(rows), set(universal_relations(model))
    if not kinds:
        return all_rows
    lost = {
        row.cells[:3]
        for row in all_rows
        if row.table == RELATIONS and row.cells[0] in kinds and row.reason not in ("", REPEATED)
    }
    return [
        row.rejected(INCOMPLETE, DETAILS[INCOMPLETE])
        if row.table == RELATIONS and not row.reason and row.cells[:3] in lost
        else row
        for row in all_rows
    ]
