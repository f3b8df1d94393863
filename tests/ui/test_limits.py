"""Row filters and column masks are edited in a form, with a preview of their effect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits
from tests.ui.test_policies import add
from tests.ui.test_trials import call_api, effect, pick

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

TABLE = "table:quillmere:lake.finance.invoices"


def test_a_filter_is_written_refused_mended_and_stored(
    own_visit: Visits, own_served: Served
) -> None:
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/r/gravitino/statements")
        page.get_by_role("link", name="New row filter").click()
        page.get_by_label("Id").fill("own-invoices")
        pick(found, "Table, or what holds tables", TABLE)
        text = page.get_by_label("Only rows where")
        text.fill("now() > 'x'")
        add(page, "Binds", "ana")
        page.get_by_text("expected one of the functions").first.wait_for()
        assert page.get_by_role("button", name="Save row filter").is_disabled()

        text.fill("vat_code = $user.region")
        page.get_by_text("see fewer rows of").wait_for()
        assert "ana" in effect(found)
        page.reload()
        page.get_by_text("see fewer rows of").wait_for()
        assert page.get_by_label("Only rows where").input_value() == "vat_code = $user.region"
        with found.expect_message("Row filter saved"):
            page.get_by_role("button", name="Save row filter").click()
        page.wait_for_url("**/statement?id=own-invoices")
        assert "FILTER" in found.text()
    stored = call_api(own_served, "GET", "/realms/gravitino/statements/own-invoices")
    assert (stored["on"], stored["to"]) == (TABLE, ["user:ana"])
    assert stored["expression"] == "vat_code = $user.region"


def test_a_mask_is_edited_and_nothing_typed_is_lost(own_visit: Visits, own_served: Served) -> None:
    body = {"on": TABLE, "expression": "hash", "except": ["owners"], "title": "Hashed"}
    call_api(own_served, "PUT", "/realms/gravitino/masks/hashed", body)
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/r/gravitino/statement", id="hashed")
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Shows").select_option("sql")
        page.get_by_label("Expression").fill("case when vat_code = 'x' then vat_code end")
        page.get_by_text("see other values of").wait_for()
        assert "Owners are told apart" in effect(found)
        # Another user was faster: the typed text stays.
        call_api(own_served, "PUT", "/realms/gravitino/masks/hashed", {**body, "title": "Theirs"})
        page.get_by_role("button", name="Save column mask").click()
        page.get_by_text("somebody else has changed this statement").first.wait_for()
        assert (
            page.get_by_label("Expression").input_value()
            == "case when vat_code = 'x' then vat_code end"
        )
        # After a reload, both versions are shown, and theirs is not overwritten unseen.
        page.reload()
        found.settle()
        versions = page.get_by_role("region", name="Two versions")
        assert "Theirs" in versions.get_by_role("row", name="Title").inner_text()
        assert page.get_by_role("button", name="Save column mask").is_disabled()
        with found.expect_message("Column mask saved"):
            page.get_by_role("button", name="Save mine over it").click()
    stored = call_api(own_served, "GET", "/realms/gravitino/statements/hashed")
    assert stored["expression"] == "sql 'case when vat_code = ''x'' then vat_code end'"
    assert (stored["except"], stored["title"]) == (["owners"], "Hashed")


def test_lookup_tables_are_declared_edited_and_removed(
    own_visit: Visits, own_served: Served
) -> None:
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/realm", name="gravitino", tab="lookups")
        page.get_by_text("This realm has no lookup tables.").wait_for()
        page.get_by_label("Name").fill("managers")
        page.get_by_label("Columns and types").fill("email, floor integer")
        page.get_by_label("Values").fill('"Ana, A." , 3\nbo,x')
        page.get_by_role("button", name="Save 2 rows").click()
        page.get_by_text("rows[1][1]: expected a value").wait_for()
        page.get_by_label("Values").fill('"Ana, A.",3\nbo,4')
        with found.expect_message("Lookup table managers saved"):
            page.get_by_role("button", name="Save 2 rows").click()
        row = page.get_by_role("row").filter(has_text="managers")
        row.get_by_text("by admin").wait_for()
        assert "email, floor integer" in row.inner_text()
        stored = call_api(own_served, "GET", "/realms/gravitino/lookups/managers")
        assert stored["rows"] == [["Ana, A.", 3], ["bo", 4]]

        body = {"on": TABLE, "expression": "(vat_code, 3) in lookup.managers"}
        call_api(own_served, "PUT", "/realms/gravitino/filters/managed", body)
        page.reload()
        row.get_by_role("link", name="managed").wait_for()
        row.get_by_role("button", name="Edit").click()
        page.get_by_text("Replace managers").wait_for()
        values = page.get_by_label("Values")
        assert values.input_value() == '"Ana, A.",3\nbo,4'
        values.fill("cid,5")
        with found.expect_message("Lookup table managers saved"):
            page.get_by_role("button", name="Save 1 row").click()
        row.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        page.get_by_text("change these first").first.wait_for()
        call_api(own_served, "DELETE", "/realms/gravitino/statements/managed")
        row.get_by_role("button", name="Remove").click()
        with found.expect_message("Lookup table managers removed"):
            page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        page.get_by_text("This realm has no lookup tables.").wait_for()


def test_a_denial_of_an_engine_is_found_and_explained(
    own_visit: Visits, own_served: Served
) -> None:
    call_api(own_served, "PATCH", "/realms/gravitino", {"settings": {"trino": "on"}})
    table = {"catalogName": "lake", "schemaName": "sales", "tableName": "forecasts"}
    action = {"operation": "DropTable", "resource": {"table": table}}
    question = {"input": {"context": {"identity": {"user": "hugo"}}, "action": action}}
    path = "/r/gravitino/opa/v1/allow"
    answer: Any = own_served.ask("POST", path, question, user="admin").json()
    assert answer["result"] is False
    with own_visit("admin") as found:
        page = found.page
        found.open("/ui/ask/denials", realm="gravitino", who="user:hugo")
        page.get_by_role("link", name=answer["decision_id"]).click()
        page.get_by_text("Explained as things are now.").wait_for()
        assert "No" in page.get_by_label("Verdict").inner_text()
        found.open("/ui/ask/denials", realm="gravitino")
        page.get_by_label("Id of the decision").fill(answer["decision_id"])
        page.get_by_role("button", name="Show").click()
        page.get_by_label("Verdict").wait_for()
        page.get_by_label("Id of the decision").fill("unknown")
        page.get_by_role("button", name="Show").click()
        page.get_by_text("unknown decision").wait_for()
