"""Logical parents: each side alone, and everything that permits them."""

from __future__ import annotations

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    BAD,
    CHART,
    FORBIDDEN,
    GONE,
    MISSING,
    MODEL,
    ORDERS,
    STOCK,
    World,
    column,
)

EDIT = "EDIT_ENTITY"
LINK = {"resourceUrn": ORDERS, "parentUrn": MODEL}
LINK_COLUMN = {"resourceUrn": column(ORDERS), "parentUrn": column(MODEL)}


def parent(world: World, urn: str = ORDERS) -> object:
    return world.read(urn, "logicalParent").get("parent", {}).get("destinationUrn")


def test_each_side_may_pass_by_another_grant(world: World) -> None:
    world.may(EDIT, on=MODEL)
    assert world.refused("setLogicalParent", LINK) == FORBIDDEN
    world.wire.grant("hive", EDIT, to="ana", URN=[ORDERS])
    world.mutate("setLogicalParent", LINK)
    assert parent(world) == MODEL


@pytest.mark.parametrize("sides", [(ORDERS, MODEL), (column(ORDERS), MODEL)])
def test_a_column_passes_by_itself_or_by_its_dataset(world: World, sides: tuple[str, str]) -> None:
    world.may(EDIT, on=sides[0])
    assert world.refused("setLogicalParent", LINK_COLUMN) == FORBIDDEN
    world.may(EDIT, on=sides[1])
    world.mutate("setLogicalParent", LINK_COLUMN)
    assert parent(world, column(ORDERS)) == column(MODEL)


@pytest.mark.parametrize("sides", [(ORDERS, column(MODEL)), (column(ORDERS), MODEL)])
def test_a_dataset_and_a_column_are_a_pair_too(world: World, sides: tuple[str, str]) -> None:
    link = {"resourceUrn": sides[0], "parentUrn": sides[1]}
    world.may(EDIT, on=sides[0])
    assert world.refused("setLogicalParent", link) == FORBIDDEN
    world.may(EDIT, on=sides[1])
    world.mutate("setLogicalParent", link)
    assert parent(world, sides[0]) == sides[1]


@pytest.mark.parametrize("above", [STOCK, column(STOCK), column(MODEL, "none"), column(GONE)])
def test_who_may_not_learns_nothing_of_what_could_be_a_parent(world: World, above: str) -> None:
    world.may(EDIT, on=ORDERS)
    assert world.refused("setLogicalParent", {"resourceUrn": ORDERS, "parentUrn": above}) == (
        FORBIDDEN
    )


def test_to_clear_it_the_child_is_enough(world: World) -> None:
    world.mutate("setLogicalParent", LINK, "admin")
    clear = {"resourceUrn": ORDERS}
    world.may(EDIT, on=MODEL)
    assert world.refused("setLogicalParent", clear) == FORBIDDEN
    world.may(EDIT, on=ORDERS)
    world.mutate("setLogicalParent", clear)
    assert parent(world) is None


def test_to_clear_what_is_not_there_changes_nothing(world: World) -> None:
    world.mutate("setLogicalParent", {"resourceUrn": column(ORDERS)}, "admin")
    assert not world.exists(column(ORDERS))


@pytest.mark.parametrize(
    ("input", "code"),
    [
        ({"resourceUrn": ORDERS, "parentUrn": STOCK}, BAD),
        ({"resourceUrn": ORDERS, "parentUrn": ORDERS}, BAD),
        ({"resourceUrn": ORDERS, "parentUrn": column(MODEL, "none")}, BAD),
        ({"resourceUrn": ORDERS, "parentUrn": column(STOCK)}, BAD),
        ({"resourceUrn": column(ORDERS), "parentUrn": STOCK}, BAD),
        ({"resourceUrn": column(ORDERS, "none"), "parentUrn": MODEL}, MISSING),
        ({"resourceUrn": ORDERS, "parentUrn": GONE}, BAD),
        ({"resourceUrn": column(ORDERS), "parentUrn": column(STOCK)}, BAD),
        ({"resourceUrn": column(ORDERS), "parentUrn": column(MODEL, "none")}, BAD),
        ({"resourceUrn": CHART, "parentUrn": MODEL}, BAD),
        ({"resourceUrn": GONE, "parentUrn": MODEL}, MISSING),
        ({"resourceUrn": column(ORDERS, "none"), "parentUrn": column(MODEL)}, MISSING),
    ],
)
def test_what_is_missing_or_makes_no_sense(world: World, input: dict[str, str], code: int) -> None:
    assert world.refused("setLogicalParent", input, "admin") == code
