"""The targets of selectors, for many entities at once."""

from __future__ import annotations

import numpy as np
import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.selectors import step
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import matrix, world
from tests.kernel.test_matrix import LAKE_FACTS

SNAPSHOT = matrix(LAKE, LAKE_FACTS).snapshot
CODED = SNAPSHOT.coded
TREE = CODED.tree


def _id(name: str) -> int:
    id = TREE.find(LAKE.entity(name))
    assert id is not None
    return id


TABLE, SCHEMA = _id("table:m:c.s.t"), _id("schema:m:c.s")
CATALOG, METALAKE = _id("catalog:m:c"), _id("metalake:m")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("platform", [0, 0, 0]),
        ("parent", [SCHEMA, -1, -1]),
        ("schema", [SCHEMA, -1, -1]),
        ("metalake", [METALAKE, METALAKE, -1]),
        ("table", [TABLE, -1, -1]),
        ("a type of which there is none", [-1, -1, -1]),
    ],
)
def test_a_selector_leads_to_one_entity_or_none(selector: str, expected: list[int]) -> None:
    ids = np.array([TABLE, METALAKE, -1], dtype=np.int32)
    assert step(CODED, ids, selector).tolist() == expected


def test_where_nothing_is_stored_the_platform_lies_in_nothing() -> None:
    coded = matrix(LAKE, world(LAKE)).snapshot.coded
    assert step(coded, np.array([0], dtype=np.int32), "schema").tolist() == [-1]


def test_the_selector_type_leads_to_the_question_about_the_type() -> None:
    question = TREE.find(Entity("table", ""))
    ids = np.array([TABLE, -1], dtype=np.int32)
    assert step(CODED, ids, "type").tolist() == [-1 if question is None else question, -1]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ((), TABLE),
        (("parent",), SCHEMA),
        (("parent", "parent"), CATALOG),
        (("parent", "parent", "parent"), METALAKE),
        (("metalake", "parent"), -1),
        (("metalake", "parent", "platform"), -1),
        (("schema", "platform"), 0),
    ],
)
def test_selectors_are_followed_one_after_the_other(
    selectors: tuple[str, ...], expected: int
) -> None:
    assert SNAPSHOT.path(selectors)[TABLE] == expected
