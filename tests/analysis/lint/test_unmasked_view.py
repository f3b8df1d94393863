"""`unmasked-view`: a view shows what a mask hides in the table that it reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.lint.worlds import Seen, changed, fixes, found

RULE = "unmasked-view"
VIEW = "view:lake:c.sales.payments"
SAYS = (
    "view:lake:c.sales.payments exposes `iban` of lake:c.sales.orders to `ana`, `ben`, whom this"
    " mask binds"
)


def test_a_view_of_the_masked_column_is_found() -> None:
    assert found(RULE, "violating") == [Seen("statement:hide-iban", SAYS)]
    assert fixes(RULE) == ["revoke access to the view, bind its owner, or mask its schema"]


def test_a_view_of_other_columns_is_none() -> None:
    assert found(RULE, "clean") == []


def reading(*texts: str) -> dict[str, Any]:
    return changed(RULE, attributes={VIEW: {"reads": list(texts)}})


def test_a_view_that_names_no_column_takes_them_all() -> None:
    assert [one.says for one in found(RULE, reading("table:lake:c.sales.orders"))] == [SAYS]


@pytest.mark.parametrize("text", ["table:lake:c.sales.clients", "table:lake:", "", "column:lake:c"])
def test_other_tables_and_texts_that_cannot_be_read_say_nothing(text: str) -> None:
    assert found(RULE, reading(text)) == []


def test_names_count_in_lower_case() -> None:
    world = reading("column:lake:c.sales.orders.iban")
    world["entities"] = [text.replace("orders", "Orders") for text in world["entities"]]
    world["statement"][0]["on"] = "column:lake:c.sales.Orders.iban"
    assert [one.says for one in found(RULE, world)] == [SAYS.replace("orders", "Orders")]


def test_a_view_of_a_view_hands_it_on_too() -> None:
    world = reading("table:lake:c.sales.inner")
    world["entities"] += ["view:lake:c.sales.inner"]
    world["attributes"]["view:lake:c.sales.inner"] = {"reads": ["table:lake:c.sales.orders"]}
    assert [one.says.split(" exposes")[0] for one in found(RULE, world)] == [
        "view:lake:c.sales.inner",
        VIEW,
    ]


def test_a_mask_on_all_columns_of_the_table_counts() -> None:
    world = changed(RULE)
    world["statement"][0]["on"] = "table:lake:c.sales.orders"
    world["attributes"] = {VIEW: {"reads": ["table:lake:c.sales.orders"]}}
    assert [one.says for one in found(RULE, world)] == [SAYS.replace("`iban`", "`iban`, `id`")]


def test_a_mask_on_a_column_that_is_not_stored_counts() -> None:
    world = changed(RULE)
    world["entities"].remove("column:lake:c.sales.orders.iban")
    assert [one.says for one in found(RULE, world)] == [SAYS]


def test_a_mask_that_covers_the_view_hides_the_values_there() -> None:
    world = changed(RULE)
    world["statement"][0]["on"] = "schema:lake:c.sales"
    assert found(RULE, world) == []


def test_where_the_owner_is_bound_engines_mask_the_view() -> None:
    world = changed(RULE)
    world["members"]["role:lake:reader"] += ["user:dba"]
    assert found(RULE, world) == []
    assert found(RULE, {**world, "settings": {"spark": "on"}}) != []
    world["statement"][0]["except"] = ["owners"]
    assert found(RULE, world) != []


def test_without_an_owner_nobody_is_bound_for_it() -> None:
    assert found(RULE, changed(RULE, owners={})) != []


@pytest.mark.parametrize("privilege", ["USE_SCHEMA", "SELECT_VIEW"])
def test_whoever_may_not_read_the_view_is_shown_nothing(privilege: str) -> None:
    world = changed(RULE)
    world["statement"][1]["privileges"].remove(privilege)
    assert found(RULE, world) == []


def test_a_deny_on_the_view_counts() -> None:
    world = changed(RULE)
    deny = {"id": "d", "effect": "deny", "privileges": ["SELECT_VIEW"], "on": VIEW}
    world["statement"] += [{**deny, "to": ["user:ana"]}]
    assert [one.says for one in found(RULE, world)] == [SAYS.replace("`ana`, ", "")]


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:trino,lake.sales.{name},PROD)"


@pytest.fixture(name="hub")
def _hub() -> dict[str, Any]:
    """A view of DataHub that reads a masked column."""
    iban = f"schemaField:urn:li:schemaField:({dataset('orders')},iban)"
    view, ana = f"dataset:{dataset('payments')}", "user:urn:li:corpuser:ana"
    return {
        "model": "datahub",
        "entities": [f"dataset:{dataset('orders')}", view],
        "users": ["urn:li:corpuser:ana"],
        "attributes": {view: {"reads": [f"dataset:{dataset('orders')}", iban]}},
        "statement": [
            {"id": "hide", "effect": "mask", "on": iban, "to": [ana], "expression": "null"},
            {"id": "read", "privileges": ["DATA_READ_ONLY"], "on": view, "to": [ana]},
        ],
    }


def test_a_view_of_datahub_is_found(hub: dict[str, Any]) -> None:
    (one,) = found(RULE, hub)
    assert one.place == "statement:hide"
    assert dataset("payments") in one.says
    (view,) = hub["attributes"]
    hub["attributes"] = {view: {"reads": [f"dataset:{dataset('clients')}"]}}
    assert found(RULE, hub) == []


def test_a_mask_on_the_view_itself_hides_the_values_there(hub: dict[str, Any]) -> None:
    (view,) = hub["attributes"]
    hub["statement"] += [{**hub["statement"][0], "id": "there", "on": view}]
    assert [one for one in found(RULE, hub) if one.place == "statement:hide"] == []
