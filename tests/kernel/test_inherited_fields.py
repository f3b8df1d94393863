"""Filters and masks by tags of the entity itself or of any ancestor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    RelationChanged,
)
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import read_statements
from tests.kernel.small import LAKE, binding, matrix, system, user, world

_TAGGED = """
[fields.TAG]
origin = "tagged"
inherited = true
grants = false
"""
SYSTEM = binding(
    system(
        LAKE.replace("[types.tag]", '[types.column]\nparent = "table"\n[types.tag]', 1).replace(
            'from = ["table"]', 'from = ["catalog", "schema", "table", "column"]', 1
        )
        + _TAGGED
    ),
    rows="table",
    values="column",
)
ORDERS, IBAN = "table:m:c.s.orders", "column:m:c.s.orders.iban"
PEOPLE, NAME = "table:m:c.hr.people", "column:m:c.hr.people.name"
PII, OTHER = "tag:m:pii", "tag:m:other"
ENTITIES = [
    *("metalake:m", "catalog:m:c", "schema:m:c.s", "schema:m:c.hr"),
    *(ORDERS, IBAN, PEOPLE, NAME, PII, OTHER),
]


@pytest.fixture(params=[16_384, 0], ids=["classes", "bitmaps"], autouse=True)
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the matrix."""
    monkeypatch.setattr(snapshots, "CLASS_LIMIT", request.param)


def made(*tagged: tuple[str, str], condition: str = "EQUALS") -> Matrix:
    """A lake with tags, a filter and a mask on entities with the tag `pii`."""
    criteria = [{"field": "TAG", "condition": condition, "values": ["m:pii"]}]
    tables = [
        {"id": effect, "effect": effect, "where": criteria, "expression": "e"}
        for effect in ("filter", "mask")
    ]
    facts = world(SYSTEM, ENTITIES, relations=[("tagged", *one) for one in tagged])
    statements = read_statements(tables, SYSTEM.model, SYSTEM.spelling, "test")
    return matrix(SYSTEM, replace(facts, statements=statements))


def bound(m: Matrix, on: str) -> bool:
    entity = SYSTEM.entity(on)
    effect = Effect.MASK if entity.type == "column" else Effect.FILTER
    return bool(obligations(m, Request(user("ana"), "", entity), effect))


def after(m: Matrix, *changes: Change) -> Matrix:
    return apply(m, changes, now=0.0, revision=2)


def tag(source: str, target: str, *, present: bool = True) -> Change:
    row = RelationRow("tagged", SYSTEM.entity(source), SYSTEM.entity(target))
    return RelationChanged(row, present)


@pytest.mark.parametrize(
    ("tagged", "reached"),
    [
        ("catalog:m:c", {ORDERS, IBAN, PEOPLE, NAME}),
        ("schema:m:c.s", {ORDERS, IBAN}),
        (ORDERS, {ORDERS, IBAN}),
        (IBAN, {IBAN}),
    ],
)
def test_a_tag_counts_for_what_lies_below(tagged: str, reached: set[str]) -> None:
    m = made((tagged, PII))
    assert {one for one in (ORDERS, IBAN, PEOPLE, NAME) if bound(m, one)} == reached


@pytest.mark.parametrize(
    ("name", "tagged", "expected"),
    [
        ("column:m:c.s.orders.new", ORDERS, True),
        ("column:m:c.s.orders.new", "catalog:m:c", True),
        ("table:m:c.s.new", "schema:m:c.s", True),
        ("column:m:c.s.new.new", "schema:m:c.s", True),
        ("column:m:c.s.orders.new", IBAN, False),
        ("column:m:c.hr.people.new", ORDERS, False),
        ("column:n:c.s.orders.new", "catalog:m:c", False),
    ],
)
def test_what_is_not_stored_inherits_from_what_its_name_lies_in(
    name: str, tagged: str, expected: bool
) -> None:
    assert bound(made((tagged, PII)), name) is expected


def test_another_tag_does_not_count_and_several_do() -> None:
    m = made((ORDERS, OTHER), ("schema:m:c.s", PII), (IBAN, OTHER))
    assert bound(m, ORDERS)
    assert bound(m, IBAN)
    assert not bound(m, PEOPLE)
    assert bound(m, "column:m:c.s.orders.new")


def test_to_lack_a_tag_is_to_lack_it_above_too() -> None:
    m = made((ORDERS, PII), condition="NOT_EQUALS")
    assert [one for one in (ORDERS, IBAN, PEOPLE, NAME) if bound(m, one)] == [PEOPLE, NAME]


def test_a_beginning_of_a_tag_is_inherited() -> None:
    m = made((ORDERS, "tag:m:pii"), condition="STARTS_WITH")
    assert bound(m, IBAN)
    assert not bound(m, NAME)


def test_a_tag_that_comes_and_goes_is_followed_below() -> None:
    m = after(made(), tag("schema:m:c.s", PII))
    assert bound(m, IBAN)
    assert not bound(m, NAME)
    assert not bound(after(m, tag("schema:m:c.s", PII, present=False)), IBAN)


def test_a_tag_that_is_removed_or_renamed_is_followed_below() -> None:
    m = made(("schema:m:c.s", PII))
    assert not bound(after(m, EntityDropped(SYSTEM.entity(PII))), IBAN)
    assert not bound(after(m, EntityRenamed(SYSTEM.entity(PII), "m:gone")), IBAN)
    renamed = after(made(("schema:m:c.s", OTHER)), EntityDropped(SYSTEM.entity(PII)))
    assert bound(after(renamed, EntityRenamed(SYSTEM.entity(OTHER), "m:pii")), IBAN)


def test_what_comes_or_moves_below_a_tag_inherits_it() -> None:
    m = made(("schema:m:c.s", PII))
    new = SYSTEM.entity("column:m:c.s.orders.new")
    assert bound(after(m, EntityAdded(new, SYSTEM.entity(ORDERS))), "column:m:c.s.orders.new")
    moved = after(m, EntityMoved(SYSTEM.entity(PEOPLE), SYSTEM.entity("schema:m:c.s")))
    assert bound(moved, PEOPLE)
    assert bound(moved, NAME)


@pytest.mark.parametrize(
    "more",
    [
        {"where": [{"field": "TAG", "values": ["m:pii"]}]},
        {"on": ORDERS, "constraint": [{"field": "tag", "values": ["m:pii"]}]},
    ],
)
def test_no_grant_chooses_by_it(more: dict[str, Any]) -> None:
    table = {"id": "a", "privileges": ["READ"], "to": ["user:ana"], **more}
    place = next(key for key in more if key != "on")
    message = rf"statement\[0\].{place}\[0\].field: only filters and masks choose by `TAG`"
    with pytest.raises(BadInput, match=message):
        read_statements([table], SYSTEM.model, SYSTEM.spelling, "test")


def test_a_model_that_only_masks_choose_in_offers_no_criteria_to_grants() -> None:
    assert not SYSTEM.model.choosing
    assert SYSTEM.model.field_of("tag").inherited


def test_a_field_for_masks_only_is_not_part_of_the_digest() -> None:
    without = system(
        LAKE.replace("[types.tag]", '[types.column]\nparent = "table"\n[types.tag]', 1).replace(
            'from = ["table"]', 'from = ["catalog", "schema", "table", "column"]', 1
        )
    )
    assert SYSTEM.model.digest == without.model.digest
