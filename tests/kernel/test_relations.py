"""Rows of entities as columns: the same rows in every form."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import EntityColumns, EntityRow

LAKE, SCHEMA = Entity("metalake", "lk"), Entity("schema", "lk:c.s")
TABLE, VIEW = Entity("table", "lk:c.s.t"), Entity("view", "lk:c.s.v")
ROWS = [EntityRow(LAKE), EntityRow(TABLE, SCHEMA), EntityRow(VIEW, SCHEMA), EntityRow(SCHEMA, LAKE)]
COLUMNS = EntityColumns.of(ROWS)


def test_columns_are_read_back_as_the_rows_they_came_from() -> None:
    assert list(COLUMNS) == ROWS
    assert len(COLUMNS) == 4
    assert EntityColumns.of(COLUMNS) is COLUMNS


def test_one_row_and_a_part_of_them_are_taken_by_place() -> None:
    assert [COLUMNS[0], COLUMNS[1], COLUMNS[-1]] == [ROWS[0], ROWS[1], ROWS[-1]]
    assert list(COLUMNS[1:]) == ROWS[1:]


def test_columns_equal_the_same_rows_and_nothing_else() -> None:
    assert COLUMNS == ROWS
    assert EntityColumns.of(tuple(ROWS)) == COLUMNS
    assert ROWS[:2] != COLUMNS
    assert EntityColumns.of([]) == []
    assert COLUMNS != "rows"
    assert COLUMNS != 3


def test_the_rows_beside_known_ones_are_left() -> None:
    known = set(EntityColumns.of(ROWS[1:]).cells())
    assert list(COLUMNS.beside(known)) == ROWS[:1]
    assert COLUMNS.beside(set()) is COLUMNS
    first = set(EntityColumns.of(ROWS[:1]).cells())
    assert list(COLUMNS.beside(first)) == ROWS[1:]


def test_a_parent_of_which_half_is_missing_is_none() -> None:
    columns = EntityColumns(["a", "b"], ["x", "y"], ["folder", None], [None, "z"])
    assert [row.parent for row in columns] == [None, None]
