"""Of several ways, the one with the least privileges counts; anchors narrow level by level."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.pipeline.unused.formula import Cell, Cost, Formula, cells, cheapest, weights
from lakewarden.pipeline.unused.narrower_scopes import Narrower
from lakewarden.service.system import load_system

READ: Cell = ("s", "READ", 1)
WRITE: Cell = ("s", "WRITE", 1)
USE: Cell = ("t", "USE", 2)


def cost(cell: Cell) -> Cost:
    return {"READ": 1, "WRITE": 2, "USE": 3}[cell[1]], 0, 0


def test_the_weakest_privileges_count() -> None:
    either: Formula = {"any": [WRITE, READ]}
    assert cheapest(either, cost) == {READ}
    assert cheapest({"all": [either, USE]}, cost) == {READ, USE}
    assert cheapest({"any": [{"all": [READ, USE]}, WRITE]}, cost) == {WRITE}
    assert cheapest(None, cost) == frozenset()


def test_of_equally_weak_ones_always_the_same_counts() -> None:
    one, other = ("a", "READ", 1), ("b", "READ", 1)
    assert cheapest({"any": [one, other]}, cost) == cheapest({"any": [other, one]}, cost) == {one}


def test_a_formula_is_the_same_from_json() -> None:
    assert set(cells({"all": [["s", "READ", 1], {"any": [["t", "USE", 2]]}]})) == {READ, USE}  # type: ignore[list-item]  # as JSON has cells


def test_reading_is_weaker_than_changing() -> None:
    for system, reading, changing in (
        ("gravitino", "SELECT_TABLE", "MODIFY_TABLE"),
        ("datahub", "VIEW_ENTITY_PAGE", "EDIT_ENTITY"),
    ):
        known = weights(load_system(system).model)
        assert known[reading] <= known[changing], system


def tables(*names: str) -> list[tuple[Entity, ...]]:
    return [(Entity("schema", name[0]), Entity("table", name)) for name in names]


def narrowed(limit: int, *chains: tuple[Entity, ...]) -> Narrower:
    found = Narrower(limit)
    for chain in chains:
        found.add(chain)
    return found


def test_the_narrowest_level_with_few_enough_anchors_counts() -> None:
    few = narrowed(3, *tables("a1", "a2", "b1"))
    assert few.narrowest() == frozenset({Entity("table", name) for name in ("a1", "a2", "b1")})
    assert few.narrowest(2) == frozenset({Entity("schema", "a"), Entity("schema", "b")})
    assert few.narrowest(1) is None
    many = narrowed(2, *tables("a1", "a2", "a3"))
    assert many.narrowest() == frozenset({Entity("schema", "a")})


def test_one_place_that_needs_all_of_a_scope_keeps_it() -> None:
    found = narrowed(3, *tables("a1"), (), *tables("a2"))
    assert found.narrowest() is None


def test_places_at_different_levels_keep_what_they_need() -> None:
    found = narrowed(3, *tables("a1"), (Entity("schema", "b"),))
    assert found.narrowest() == frozenset({Entity("table", "a1"), Entity("schema", "b")})


def test_what_blocks_say_apart_is_what_one_says_of_all() -> None:
    chains = tables("a1", "a2", "b1", "c1")
    whole, parts = narrowed(3, *chains), Narrower(3)
    for at in range(0, len(chains), 2):
        parts.take(narrowed(3, *chains[at : at + 2]).text())
    assert parts.text() == whole.text()
    assert parts.narrowest() == whole.narrowest()
    parts.take(narrowed(3, ()).text())
    assert parts.narrowest() is None
