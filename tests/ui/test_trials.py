"""Users' tasks on the pages, step by step: the effect is previewed, and then occurs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.app.serving import Served, server
from tests.ui.browser import Tab, Visits, tab
from tests.ui.test_policies import add

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.browser

MART = "table:quillmere:lake.sales_mart.baskets_daily"
EFFECT = "If you save this"


def call_api(served: Served, method: str, path: str, body: object = None) -> Any:
    answer = served.ask(method, f"/api/v1{path}", body, user="admin")
    assert answer.status < 300, (answer.status, answer.body)
    return answer.json() if answer.body else None


def who(served: Served, realm: str, operation: str, entity: str) -> set[str]:
    body = {"operation": operation, "entity": entity, "page": {"limit": 1000}}
    return set(call_api(served, "POST", f"/realms/{realm}/who", body)["users"])


@pytest.fixture(scope="module")
def steward(served: Served) -> str:
    """A user who manages grants in Gravitino, and may read the realm."""
    body = {"privileges": ["READ_REALM"], "to": ["user:kai"], "on": "realm:gravitino"}
    call_api(served, "PUT", "/realms/_server/statements/kai-reads", body)
    return "kai"


def effect(found: Tab) -> str:
    """The text of the effect card, once it is computed."""
    card: Locator = found.page.get_by_label(EFFECT).last
    card.wait_for()
    found.page.wait_for_function(
        "() => { const all = document.querySelectorAll('[aria-label=\"If you save this\"]');"
        " const one = all[all.length - 1];"
        " return one && one.querySelector('[aria-busy=\"false\"]'); }"
    )
    return card.inner_text()


def pick(found: Tab, label: str, value: str) -> None:
    field = found.page.get_by_role("combobox", name=label, exact=True)
    field.fill(value)
    field.press("Escape")


def test_a_draft_of_a_policy_shows_what_it_gives(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy/new")
        page = found.page
        # Nobody has written anything yet, so there is no fault to find.
        page.get_by_text("Who gains and loses access is shown here as you write.").wait_for()
        assert page.get_by_role("heading", name="New findings").count() == 0
        page.get_by_label("Name", exact=True).fill("Ben edits every tag")
        add(page, "Who", "ben")
        add(page, "Privileges", "Edit Tags")
        told = effect(found)
        assert told.startswith("Once it is active")
        assert "ben can" in told
        page.get_by_role("button", name="Save inactive").click()
        page.wait_for_url("**/ui/r/datahub/policy?urn=**")
        found.settle()
        made = page.evaluate("new URLSearchParams(location.search).get('urn')")
        page.get_by_role("button", name="Activate", exact=True).click()
        told = effect(found)
        assert "ben can" in told
        page.get_by_role("button", name="Activate policy").click()
        page.get_by_role("button", name="Deactivate", exact=True).wait_for()
        page.get_by_role("button", name="Deactivate", exact=True).click()
        assert "ben can no longer" in effect(found)
        page.get_by_role("button", name="Deactivate policy").click()
        page.get_by_role("button", name="Activate", exact=True).wait_for()
    stored = call_api(served, "GET", f"/realms/datahub/statements/{quote(made, safe='')}")
    assert stored["active"] is False


@pytest.mark.nightly
def test_a_filter_of_not_equals_alone_is_found_before_it_is_saved(
    visit: Visits, served: Served
) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy/new")
        page = found.page
        page.get_by_label("Name", exact=True).fill("All but one")
        page.get_by_label("All users", exact=True).check()
        add(page, "Privileges", "Edit Tags")
        page.get_by_role("button", name="Add a condition").click()
        page.get_by_label("Condition", exact=True).select_option("NOT_EQUALS")
        page.get_by_label("Field", exact=True).select_option("TAG")
        add(page, "Tag values", "restricted")
        assert "not-equals-only" in effect(found)


@pytest.mark.nightly  # it starts two servers
def test_a_shipped_policy_that_was_removed_stays_away(
    browser: Browser, estate: Path, tmp_path: Path
) -> None:
    """Trial 13: even after a restart, which loads the default policies of the system."""
    urn = "urn:li:dataHubPolicy:editor-metadata-policy-entities"
    for file in estate.glob("lakewarden.db*"):
        shutil.copy(file, tmp_path / file.name.replace("lakewarden.db", "store.db"))
    with server(tmp_path) as first, tab(browser, first.address) as found:
        found.sign_in("admin")
        found.open("/ui/r/datahub/policy", urn=urn)
        found.page.get_by_role("button", name="Remove", exact=True).click()
        effect(found)
        found.page.get_by_role("button", name="Remove policy").click()
        found.page.wait_for_url("**/ui/r/datahub/policies")
        found.settle()
    with server(tmp_path) as second, tab(browser, second.address) as found:
        found.sign_in("admin", to="/ui/r/datahub/policies")
        found.page.get_by_text("Editor: all metadata").first.wait_for()
        assert "Editor: anything about the assets" not in found.text()
        found.open("/ui/r/datahub/policy", urn=urn)
        found.page.get_by_text("unknown statement").first.wait_for()


def test_a_deny_in_the_grid_says_from_whom_it_takes(
    visit: Visits, served: Served, steward: str
) -> None:
    had = who(served, "gravitino", "table.load", MART)
    assert "hugo" in had
    with visit(steward) as found:
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        page = found.page
        mart = page.get_by_label("quillmere:lake.sales_mart", exact=True)
        cell = mart.get_by_role("button", name="SELECT_TABLE")
        cell.focus()
        cell.press("d")
        assert "can no longer" in effect(found)
        assert "hugo" in effect(found)
        with found.expect_message("Role saved"):
            page.get_by_role("button", name="Save role").click()
        assert "hugo" not in who(served, "gravitino", "table.load", MART)
        cell.focus()
        cell.press("a")
        assert "hugo" in effect(found)
        with found.expect_message("Role saved"):
            page.get_by_role("button", name="Save role").click()
    assert who(served, "gravitino", "table.load", MART) == had


def test_a_role_that_somebody_else_changed_shows_both_versions(
    visit: Visits, served: Served, steward: str
) -> None:
    role = "/r/gravitino/api/metalakes/quillmere/permissions/roles/marts_only/SCHEMA/lake.sales"
    theirs = {"privileges": [{"name": "USE_SCHEMA", "condition": "DENY"}]}
    with visit(steward) as found:
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        page = found.page
        mart = page.get_by_label("quillmere:lake.sales_mart", exact=True)
        mart.get_by_role("button", name="SELECT_TABLE").press("d")
        effect(found)
        assert served.ask("PUT", f"{role}/revoke", theirs, user=steward).status == 200
        page.get_by_role("button", name="Save role").click()
        both = page.get_by_role("region", name="Two versions")
        both.wait_for()
        told = both.inner_text()
        assert "DENY SELECT_TABLE" in told
        assert "quillmere:lake.sales" in told
        assert mart.get_by_role("button", name="DENY SELECT_TABLE").count() == 1
        assert found.barriers("[aria-label='Two versions']") == []
        both.get_by_role("button", name="Take theirs").click()
        both.wait_for(state="detached")
        assert mart.get_by_role("button", name="ALLOW SELECT_TABLE").count() == 1
    assert served.ask("PUT", f"{role}/grant", theirs, user=steward).status == 200


@pytest.mark.nightly
def test_a_role_is_assigned_and_taken_back(visit: Visits, served: Served, steward: str) -> None:
    with visit(steward) as found:
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        page = found.page
        pick(found, "Assign to", "user:ana")
        page.get_by_role("button", name="Assign…").click()
        assert "ana" in effect(found)
        page.get_by_role("button", name="Assign role").click()
        back = page.get_by_role("button", name="Take back from ana")
        back.wait_for()
        back.click()
        effect(found)
        page.get_by_role("button", name="Take it back", exact=True).click()
        back.wait_for(state="detached")


@pytest.mark.nightly
def test_an_asset_gets_another_owner(visit: Visits, served: Served, steward: str) -> None:
    table = "table:quillmere:lake.finance.invoices"
    path = f"/realms/gravitino/entity?entity={quote(table)}"
    was = call_api(served, "GET", path)["owners"]
    other = {"entity": table, "owners": [{"principal": "user:ben"}]}
    with visit(steward) as found:
        found.open("/ui/r/gravitino/owners", e=table)
        pick(found, "New owner", "user:ana")
        told = effect(found)
        assert "ana" in told
        call_api(served, "PUT", "/realms/gravitino/entity", other)
        found.page.get_by_role("button", name="Set owner").click()
        both = found.page.get_by_role("region", name="Two versions")
        both.wait_for()
        assert "user:ben" in both.inner_text()
        with found.expect_message("ana owns it now"):
            both.get_by_role("button", name="Save mine over it").click()
    assert [one["principal"] for one in call_api(served, "GET", path)["owners"]] == ["user:ana"]
    body = {"entity": table, "owners": was}
    call_api(served, "PUT", "/realms/gravitino/entity", body)


@pytest.mark.nightly
def test_a_privilege_of_cdap_is_granted_and_revoked(visit: Visits, served: Served) -> None:
    def held() -> set[str]:
        path = "/realms/cdap/statements?to=user%3Aana&on=namespace%3Asales"
        rows = call_api(served, "GET", path)["statements"]
        return {privilege for row in rows for privilege in row["privileges"]}

    assert held() == set()
    with visit("admin") as found:
        found.open("/ui/r/cdap/privileges", on="namespace:sales", to="user:ana")
        page = found.page
        page.get_by_role("button", name="New grant").click()
        page.get_by_role("dialog").get_by_label("READ", exact=True).check()
        effect(found)
        with found.expect_message("Privileges saved"):
            page.get_by_role("button", name="Save grant").click()
        assert held() == {"READ"}
        found.settle()
        page.get_by_role("button", name="Change…").click()
        page.get_by_role("dialog").get_by_label("READ", exact=True).uncheck()
        effect(found)
        with found.expect_message("Privileges saved"):
            page.get_by_role("button", name="Revoke", exact=True).click()
    assert held() == set()


@pytest.mark.nightly
def test_a_file_with_an_error_shows_its_line_and_is_kept(visit: Visits, served: Served) -> None:
    text = "\n" * 6 + "statement = [\n"
    with visit("admin") as found:
        found.open("/ui/r/gravitino/plan")
        page = found.page
        page.get_by_label("Policy file").fill(text)
        page.get_by_role("button", name="Plan", exact=True).click()
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "policy.toml" in alert.inner_text()
        page.reload()
        found.settle()
        assert page.get_by_label("Policy file").input_value() == text


def test_a_plan_is_made_applied_and_then_empty(visit: Visits, served: Served) -> None:
    text = f"""
[[statement]]
id = "from-the-page"
privileges = ["SELECT_TABLE"]
to = ["user:ana"]
on = "{MART}"
"""
    with visit("admin") as found:
        found.open("/ui/r/gravitino/plan")
        page = found.page
        page.get_by_label("Policy file").fill(text)
        page.get_by_label("Kept by").fill("the pages")
        page.get_by_role("button", name="Plan", exact=True).click()
        page.get_by_text("What it changes").wait_for()
        assert "from-the-page" in found.text()
        page.get_by_role("button", name="Apply", exact=True).click()
        with found.expect_message("Applied at revision"):
            page.get_by_role("button", name="Apply plan").click()
        page.get_by_role("button", name="Plan", exact=True).click()
        page.get_by_text("nothing is pending").wait_for()
        page.get_by_label("Policy file").fill("roles = []\n")
        page.get_by_role("button", name="Plan", exact=True).click()
        page.get_by_text("What it changes").wait_for()
        call_api(served, "PUT", "/directories/main/users/somebody-new")
        page.get_by_role("button", name="Apply", exact=True).click()
        page.get_by_role("button", name="Apply plan").click()
        assert "plan again" in page.get_by_role("alert").inner_text()
        page.get_by_role("button", name="Plan", exact=True).click()
        page.get_by_role("button", name="Apply", exact=True).click()
        page.get_by_role("button", name="Apply plan").click()
        page.get_by_text("What it changes").wait_for(state="detached")
        found.settle()
    answer = served.ask("GET", "/api/v1/realms/gravitino/statements/from-the-page", user="admin")
    assert answer.status == 404


@pytest.mark.nightly
def test_a_finding_leads_to_the_effect_of_its_fix(visit: Visits, served: Served) -> None:
    body = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": MART}
    for name in ("twin-a", "twin-b"):
        call_api(served, "PUT", f"/realms/gravitino/statements/{name}", body)
    with visit("admin") as found:
        found.open("/ui/findings", realm="gravitino", rule="duplicate-statement")
        page = found.page
        row = page.get_by_role("row").filter(has_text="twin-b")
        row.get_by_role("button").first.click()
        page.get_by_role("button", name="Preview the fix").click()
        assert "Nobody gains or loses access" in effect(found)
        there = call_api(served, "GET", "/realms/gravitino/statements/twin-b")
        assert there["id"] == "twin-b", "nothing is applied yet"
        with found.expect_message("Statement removed"):
            page.get_by_role("button", name="Remove the statement").click()
    call_api(served, "DELETE", "/realms/gravitino/statements/twin-a")
    assert (
        served.ask("GET", "/api/v1/realms/gravitino/statements/twin-b", user="admin").status == 404
    )


@pytest.mark.nightly
def test_findings_that_are_new_are_told_apart(visit: Visits, served: Served) -> None:
    trail = call_api(served, "GET", "/audit?last=1")
    before = trail["rows"][-1]["revision"]
    body = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": MART}
    call_api(served, "PUT", "/realms/gravitino/statements/new-finding", body)
    with visit("admin") as found:
        found.open("/ui/findings", realm="gravitino", since=str(before))
        page = found.page
        assert "new-finding" in found.text()
        assert page.get_by_label("New in").evaluate("one => one.selectedOptions[0].text") == (
            f"After revision {before}"
        )
        page.locator("tbody tr").first.get_by_role("button").click()
        page.get_by_text(f"Since revision {before + 1}").wait_for()
        page.keyboard.press("Escape")
        new = page.locator("tbody tr").count()
        page.get_by_label("New in").select_option("")
        page.get_by_role("row").nth(new + 1).wait_for()
        assert "since=" not in page.url
    call_api(served, "DELETE", "/realms/gravitino/statements/new-finding")


@pytest.mark.nightly
def test_a_finding_is_dismissed_with_a_reason(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/findings", realm="gravitino")
        page = found.page
        page.locator("tbody tr").first.get_by_role("button").click()
        page.get_by_label("Why", exact=True).fill("known until the move")
        with found.expect_message("Finding dismissed"):
            page.get_by_role("button", name="Dismiss", exact=True).click()
        page.get_by_label("Show", exact=True).select_option("yes")
        found.settle()
        page.locator("tbody tr").first.get_by_role("button").click()
        assert page.get_by_text("known until the move").count() == 1
        with found.expect_message("The finding is open again"):
            page.get_by_role("button", name="Open it again").click()


def test_the_matrix_is_walked_with_the_keyboard(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/gravitino/matrix")
        page = found.page
        page.get_by_role("application").focus()
        chosen = page.get_by_label("The chosen cell")
        cell = chosen.locator("dl").first  # the reason below it appears after a delay
        first = cell.inner_text()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert cell.inner_text() != first
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
        assert cell.inner_text() == first
        chosen.get_by_text("may").first.wait_for()
        page.get_by_role("button", name="Table").click()
        assert page.get_by_role("region", name="Matrix as a table").count() == 1


@pytest.mark.nightly
def test_the_matrix_marks_what_was_gained_since_a_revision(visit: Visits, served: Served) -> None:
    before = call_api(served, "GET", "/audit?last=1")["rows"][-1]["revision"]
    body = {
        "privileges": ["USE_SCHEMA", "SELECT_TABLE"],
        "to": ["group:sales"],
        "on": "catalog:quillmere:lake",
    }
    call_api(served, "PUT", "/realms/gravitino/statements/gained", body)
    with visit("admin") as found:
        found.open("/ui/r/gravitino/matrix", ask="table.load")
        page = found.page
        page.get_by_label("Compare with").select_option(label="A revision or a time")
        page.get_by_label("Revision or time").fill(str(before))
        page.get_by_label("Revision or time").press("Enter")
        page.get_by_text(f"pairs of user and entity since revision {before}").wait_for()
        assert f"against={before}" in page.url
        assert "+0 " not in found.text()
        page.get_by_role("button", name="Table").click()
        assert "allowed, before: allowed to owners" in found.text()
    call_api(served, "DELETE", "/realms/gravitino/statements/gained")


@pytest.mark.nightly
def test_the_matrix_shows_what_a_plan_would_change(visit: Visits, served: Served) -> None:
    policy = """
[[statement]]
id = "planned"
effect = "allow"
privileges = ["USE_SCHEMA", "SELECT_TABLE"]
to = ["group:sales"]
on = "catalog:quillmere:lake"
valid_until = 2100-01-01T00:00:00Z
"""
    with visit("admin") as found:
        page = found.page
        found.open("/ui/r/gravitino/plan")
        page.get_by_label("Policy file").fill(policy)
        page.get_by_role("button", name="Plan", exact=True).click()
        page.get_by_role("link", name="Show in the matrix").click()
        page.wait_for_url("**/matrix?against=plan")
        page.get_by_text("pairs of user and entity by the plan").wait_for()
        assert "+0 " not in found.text()
        assert "−0 " in found.text()
        page.get_by_role("button", name="Table").click()
        assert "allowed, before: allowed to owners" in found.text()
        page.get_by_label("Compare with").select_option(label="Nothing")
        page.get_by_text("pairs of user and entity are allowed").wait_for()


@pytest.mark.nightly
def test_who_may_is_grouped_by_reason(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        query = {"do": "table.load", "on": "table:quillmere:lake.people.salaries"}
        found.open("/ui/ask/who", realm="gravitino", **query)
        told = found.text()
        assert "12 people may" in told
        assert "3 reasons" in told
        assert "people_reader" in told
        found.page.get_by_role("button", name="People", exact=True).click()
        assert found.page.get_by_role("row").count() == 13


@pytest.mark.nightly
def test_a_scenario_with_a_wrong_expectation_is_told(visit: Visits, served: Served) -> None:
    before = call_api(served, "GET", "/realms/gravitino/statements?page.limit=1")["total"]
    with visit("ana") as found:
        found.open("/ui/playground")
        page = found.page
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_text("4 cases as expected, 0 not").wait_for()
        text = page.get_by_label("Scenario").input_value()
        wrong = text.replace('deny = ["ana", "ben"]', 'deny = ["ben"]\nallow = ["ana"]')
        page.get_by_label("Scenario").fill(wrong)
        page.get_by_label("Scenario").press("Control+Enter")
        page.get_by_text("3 cases as expected, 1 not").wait_for()
        assert "expected allow, got deny" in found.text()
        page.get_by_label("Scenario").fill(text.replace("table.load", "table.lod", 1))
        page.get_by_role("button", name="Run", exact=True).click()
        assert "table.lod" in page.get_by_role("alert").inner_text()
    assert call_api(served, "GET", "/realms/gravitino/statements?page.limit=1")["total"] == before


def test_a_link_brings_the_scenario_along(visit: Visits, served: Served) -> None:
    with visit("ana") as found:
        found.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        found.open("/ui/playground")
        page = found.page
        page.get_by_label("Scenario").fill("# only this\n")
        page.get_by_role("button", name="Run", exact=True).click()
        with found.expect_message("Link copied"):
            page.get_by_role("button", name="Copy link").click()
        link = page.evaluate("navigator.clipboard.readText()")
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        page.goto(link)
        found.settle()
        page.wait_for_function("document.querySelector('textarea').value === '# only this\\n'")


@pytest.mark.nightly
def test_an_asset_shows_its_rows_and_values_as_somebody_sees_them(
    visit: Visits, served: Served
) -> None:
    table = "table:quillmere:lake.people.salaries"
    of = "/realms/gravitino"
    rows = {"on": table, "expression": "currency = 'EUR'", "except": ["user:rita"]}
    call_api(served, "PUT", f"{of}/filters/euros", rows)
    cells = {"on": "column:quillmere:lake.people.salaries.gross", "expression": "redact"}
    call_api(served, "PUT", f"{of}/masks/no-amounts", cells)
    with visit("admin") as found:
        found.open("/ui/asset", realm="gravitino", e=table, tab="rules")
        card = found.page.get_by_role("region", name="Rows and values")
        card.get_by_text("No read access.").wait_for()
        pick(found, "See as", "paul")
        card.get_by_role("link", name="euros").wait_for()
        masked = card.get_by_role("row").filter(has_text="salaries.gross")
        assert "redact" in masked.inner_text()
        pick(found, "See as", "rita")
        card.get_by_role("link", name="euros").wait_for(state="detached")
        assert card.get_by_role("link", name="no-amounts").is_visible()
        for id in ("euros", "no-amounts"):
            call_api(served, "DELETE", f"{of}/statements/{id}")
        found.open("/ui/asset", realm="gravitino", e=table, tab="rules")
        pick(found, "See as", "paul")
        card.get_by_text("All rows and values are visible.").wait_for()


@pytest.mark.nightly
def test_an_asset_says_which_rules_bear_on_it(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        table = "table:quillmere:lake.sales.forecasts"
        found.open("/ui/asset", realm="gravitino", e=table, tab="rules")
        told = found.text()
        assert "From above" in told
        assert "the role marts_only may not USE_SCHEMA" in told


@pytest.mark.nightly
def test_what_if_somebody_leaves_a_group(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/principal", realm="gravitino", p="user:ana")
        # Other trials on this server may have changed ana's access.
        reached = call_api(served, "GET", "/realms/gravitino/principal?p=user:ana")["reached"]
        (tables,) = {
            one["entities"] for one in reached if (one["way"], one["type"]) == ("see", "table")
        }
        told = found.text()
        assert f"{tables} table" in told
        assert "through finance" in told
        row = found.page.get_by_role("listitem").filter(has_text="finance group")
        row.get_by_role("button", name="What if it leaves").click()
        assert "ana can no longer" in effect(found)


@pytest.mark.nightly
def test_an_asset_of_which_the_systems_do_not_agree(visit: Visits, served: Served) -> None:
    table = "table:quillmere:lake.finance.invoices"
    with visit("admin") as found:
        found.open("/ui/asset", realm="gravitino", e=table)
        reach = call_api(served, "POST", "/estate/access", {"asset": table, "limit": 500})
        told = found.text()
        assert "The systems do not agree." in told
        assert f"{reach['total']} people" in told
        page = found.page
        page.get_by_role("row", name="finance").get_by_role("button").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        drawer = page.get_by_role("dialog")
        drawer.get_by_text("6 people: all of the row").wait_for()
        assert "ana" in drawer.inner_text()
        assert "SELECT_TABLE" in drawer.inner_text()
        assert found.barriers("[role=dialog]") == []
        page.keyboard.press("Escape")
        drawer.wait_for(state="detached")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "all 6 may"
        page.get_by_role("button", name="Show the people").click()
        page.get_by_role("row", name="ana").wait_for()
        page.get_by_role("button", name="Role sets").click()
        page.get_by_role("columnheader", name="Role set").wait_for()
        page.get_by_role("button", name="Operations").click()
        page.get_by_role("columnheader", name="table.load", exact=True).wait_for()
        found.check()


def test_the_history_of_an_asset_says_who_may_grant_it(visit: Visits) -> None:
    with visit("hugo") as found:
        found.open(
            "/ui/asset", realm="gravitino", e="table:quillmere:lake.sales.forecasts", tab="history"
        )
        assert "Who can grant it" in found.text()
