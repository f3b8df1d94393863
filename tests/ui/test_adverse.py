"""Pages during concurrent changes, with a failing or slow server, and after the back button."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.app.serving import Served
from tests.ui.browser import PATIENCE_MS, Visits, tab
from tests.ui.test_policies import V3, WHOLE
from tests.ui.test_trials import call_api, effect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser

ROLE = "quillmere:marts_only"
SCHEMA = "schema:quillmere:lake.sales"


@pytest.fixture
def policy(served: Served, request: pytest.FixtureRequest) -> Iterator[str]:
    """A policy of its own."""
    urn = f"urn:li:dataHubPolicy:{request.function.__name__}"
    body = {"value": {**WHOLE, "displayName": request.function.__name__}}
    made = served.ask("POST", f"{V3}/{urn}/dataHubPolicyInfo", body, user="admin")
    assert made.status < 300, made.body
    yield urn
    remove_policy(served, urn)


def remove_policy(served: Served, urn: str) -> None:
    body = {
        "query": "mutation ($urn: String!) { deletePolicy(urn: $urn) }",
        "variables": {"urn": urn},
    }
    served.ask("POST", "/r/datahub/api/graphql", body, user="admin")


def first(page: Page, held: Sequence[Route]) -> Route:
    """The first delayed request, once the page has sent it."""
    for _ in range(PATIENCE_MS // 25):
        if held:
            break
        page.wait_for_timeout(25)
    return held[0]


@pytest.mark.nightly
def test_who_saves_a_policy_that_somebody_else_removed_is_told(
    visit: Visits, served: Served, policy: str
) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn=policy)
        found.page.get_by_label("Description", exact=True).fill("mine")
        effect(found)
        remove_policy(served, policy)
        found.page.get_by_role("button", name="Save policy").click()
        found.page.get_by_text("somebody else has removed this policy").wait_for()
        assert found.page.get_by_label("Description", exact=True).input_value() == "mine"


@pytest.mark.nightly
def test_who_switches_a_policy_that_somebody_else_changed_can_do_it_then(
    visit: Visits, served: Served, policy: str
) -> None:
    """The second attempt is about what the policy says now."""
    with visit("admin") as found:
        page = found.page
        found.open("/ui/r/datahub/policy", urn=policy)
        body = {"value": {**WHOLE, "description": "theirs", "displayName": "Switched"}}
        path = f"{V3}/{policy}/dataHubPolicyInfo?createIfNotExists=false"
        changed = served.ask("POST", path, body, user="admin")
        assert changed.status < 300, changed.body
        page.get_by_role("button", name="Deactivate", exact=True).click()
        page.get_by_role("button", name="Deactivate policy").click()
        page.get_by_text("somebody else has changed this policy: try again").wait_for()
        assert page.get_by_label("Description", exact=True).input_value() == "theirs"
        page.get_by_role("button", name="Deactivate", exact=True).click()
        with found.expect_message("Policy is inactive now"):
            page.get_by_role("button", name="Deactivate policy").click()


@pytest.mark.nightly
def test_what_cannot_be_read_is_no_silence(visit: Visits, served: Served, policy: str) -> None:
    """In the list, a policy is toggled that no longer exists."""
    name = policy.rpartition(":")[2]
    with visit("admin") as found:
        found.open("/ui/r/datahub/policies", q=name)
        remove_policy(served, policy)
        found.page.get_by_role("button", name=f"Acts on {name}").click()
        found.page.get_by_role("menuitem", name="Deactivate").click()
        found.page.get_by_role("dialog").get_by_role("alert").wait_for()


@pytest.mark.nightly
def test_settings_of_a_realm_that_two_people_change_are_both_kept(
    visit: Visits, served: Served
) -> None:
    realm = "settled"
    call_api(served, "POST", "/realms", {"name": realm, "model": "gravitino"})
    declared = call_api(served, "GET", f"/realms/{realm}/operations")["settings"]
    mine, theirs = [one for one in declared if len(one["values"]) > 1][:2]

    def other(setting: dict[str, Any]) -> str:
        return str(next(one for one in setting["values"] if one != setting["default"]))

    with visit("admin") as found:
        found.open("/ui/realm", name=realm)
        changed = {"settings": {theirs["name"]: other(theirs)}}
        call_api(served, "PATCH", f"/realms/{realm}", changed)
        field = found.page.get_by_label(mine["name"], exact=True)
        field.select_option(other(mine))
        with found.expect_message("Settings saved"):
            found.page.get_by_role("button", name="Save settings").click()
        stored = call_api(served, "GET", f"/realms/{realm}")["settings"]
        assert (stored[mine["name"]], stored[theirs["name"]]) == (other(mine), other(theirs))
        call_api(served, "PATCH", f"/realms/{realm}", {"settings": {}})
        field.select_option(mine["default"])
        with found.expect_message("Settings saved"):
            found.page.get_by_role("button", name="Save settings").click()
    call_api(served, "DELETE", f"/realms/{realm}")


@pytest.mark.nightly
def test_a_new_grant_takes_nothing_that_is_held(visit: Visits, served: Served) -> None:
    """In CDAP, a grant adds the sent privileges to the stored ones.

    Until the stored ones are known, nothing is displayed about them and nothing is sent.
    """
    on, path = "namespace:adverse", "/realms/cdap/statements?to=user%3Akira&on=namespace%3Aadverse"
    call_api(served, "PUT", "/realms/cdap/entity", {"entity": on})
    body = {
        "principal": {"name": "kira", "type": "USER"},
        "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "adverse"}},
        "actions": ["READ"],
    }
    grant = "/r/cdap/v3/security/authorization/privileges/grant"
    assert served.ask("POST", grant, body, user="admin").status < 300
    with visit("admin") as found:
        found.open("/ui/r/cdap/privileges")
        found.page.get_by_role("button", name="New grant").click()
        dialog = found.page.get_by_role("dialog")
        stored_of_kira = "**/realms/cdap/statements?to=*"
        found.page.route(stored_of_kira, lambda route: route.fulfill(status=502, body=""))
        for label, value in (("Who", "user:kira"), ("On", on)):
            field = dialog.get_by_role("combobox", name=label, exact=True)
            field.fill(value)
            field.press("Tab")
        failure = dialog.get_by_role("alert").filter(has_text="the server answered 502")
        failure.wait_for()
        dialog.get_by_label("WRITE", exact=True).check()
        assert dialog.get_by_role("button", name="Save grant").is_disabled()
        found.page.unroute(stored_of_kira)
        failure.get_by_role("button").click()
        held = dialog.get_by_label("READ", exact=True)
        found.page.wait_for_function("one => one.checked", arg=held.element_handle())
        assert "can no longer" not in effect(found)
        with found.expect_message("Privileges saved"):
            dialog.get_by_role("button", name="Save grant").click()
        # A row of the list may omit parts: the stored document is read again.
        found.open("/ui/r/cdap/privileges", on=on)
        found.page.route(stored_of_kira, lambda route: route.fulfill(status=502, body=""))
        found.page.get_by_role("row", name="kira").get_by_role("button", name="Change").click()
        failure.wait_for()
        dialog.get_by_label("EXECUTE", exact=True).check()
        assert dialog.get_by_role("button", name="Save grant").is_disabled()
    stored = call_api(served, "GET", path)["statements"]
    assert {one for row in stored for one in row["privileges"]} == {"READ", "WRITE"}


@pytest.mark.nightly
def test_a_plan_is_of_what_stands_in_the_field(visit: Visits) -> None:
    held: list[Route] = []
    with visit("admin") as found:
        page = found.page
        found.open("/ui/r/gravitino/plan")
        page.route("**/api/v1/realms/gravitino/plan", lambda route: held.append(route))  # noqa: PLW0108 — Playwright marks the function that it calls
        field = page.get_by_label("Policy file: paste it, or drop a file here")
        field.fill('[[statement]]\nid = "a"\nprivileges = ["USE_CATALOG"]\nto = ["user:ana"]\n')
        page.get_by_role("button", name="Plan", exact=True).click()
        request = first(page, held)
        field.fill("# nothing\n")
        request.continue_()
        page.get_by_role("button", name="Plan", exact=True).click(trial=True)
        found.settle()
        assert page.get_by_text("What it changes").count() == 0
        field.fill("")
        page.evaluate("sessionStorage.clear()")


def test_a_filter_is_what_the_address_says(visit: Visits) -> None:
    """A typed name is one entry of the history, and the back button changes the field."""
    with visit("admin") as found:
        page = found.page
        found.open("/ui/r/gravitino/statements")
        whole = page.get_by_text(" in all").inner_text()
        field = page.get_by_role("combobox", name="To whom")
        field.press_sequentially("role:quillmere:marts_only")
        field.press("Enter")
        page.wait_for_url("**to=role*")
        page.wait_for_function(
            "text => !document.querySelector('main').innerText.includes(text)", arg=whole
        )
        page.go_back()
        page.get_by_text(whole).wait_for()
        assert page.url.endswith("/statements")
        assert field.input_value() == ""
        field.fill("kira")
        field.press("Tab")
        page.wait_for_url("**to=kira")


@pytest.mark.nightly
def test_what_a_list_leaves_out_is_said(visit: Visits) -> None:
    def more(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "total": 5_000})

    with visit("admin") as found:
        found.page.route("**/statements?reaching=*", more)
        found.page.route("**/memberships?*", more)
        found.open("/ui/asset", realm="gravitino", e=SCHEMA, tab="rules")
        found.page.get_by_text("of 5,000 statements that apply to it").wait_for()
        found.open("/ui/r/gravitino/roles")
        found.page.get_by_text("a role’s own page has all").wait_for()
        assert found.page.get_by_role("cell", name="nobody", exact=True).count() == 0


@pytest.mark.nightly
def test_an_edit_of_a_role_outlives_a_reload_and_is_nobody_elses(
    browser: Browser, served: Served
) -> None:
    body = {"privileges": ["READ_REALM"], "to": ["user:kai"], "on": "realm:gravitino"}
    call_api(served, "PUT", "/realms/_server/statements/kai-reads", body)
    with tab(browser, served.address) as found:
        page = found.page
        found.sign_in("kai")
        found.open("/ui/r/gravitino/role", name=ROLE)
        cell = page.get_by_role("button", name="CREATE_TABLE").first
        assert cell.inner_text().startswith("–")
        cell.click()
        page.get_by_text("not saved yet").wait_for()
        page.reload()
        found.settle()
        assert cell.inner_text().startswith("ALLOW")
        page.get_by_text("not saved yet").wait_for()
        # Another user signs in on the same tab.
        page.context.clear_cookies()
        found.sign_in("hugo")
        kept = page.evaluate("Object.keys(sessionStorage)")
        assert not [key for key in kept if key.startswith("role ")]


@pytest.mark.nightly
def test_enter_opens_what_was_typed_and_not_what_was_found_before(visit: Visits) -> None:
    held: list[Route] = []
    with visit("admin") as found:
        page = found.page
        found.open("/ui/")
        field = page.get_by_role("combobox", name="Find an asset, a person, a rule")
        field.fill("forecasts")
        page.locator("[role=option]").first.wait_for()
        page.route("**/api/v1/search?q=salaries*", lambda route: held.append(route))  # noqa: PLW0108 — Playwright marks the function that it calls
        field.fill("salaries")
        field.press("Enter")
        request = first(page, held)
        assert page.url.endswith("/ui/")
        request.continue_()
        found.settle()
        field.press("ArrowDown")
        page.locator("[role=option]", has_text="salaries").first.wait_for()


def test_a_server_that_is_gone_is_no_success(visit: Visits, served: Served) -> None:
    token = call_api(served, "POST", "/tokens", {"title": "adverse", "seconds": 600})
    with visit("admin") as found:
        page = found.page
        found.open("/ui/settings/tokens")
        page.route("**/api/v1/tokens/*", lambda route: route.fulfill(status=502, body=""))
        row = page.get_by_role("row").filter(has_text="adverse")
        row.get_by_role("button", name="Revoke").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Revoke token").click()
        dialog.get_by_role("alert").get_by_text("the server answered 502").wait_for()
        page.unroute("**/api/v1/tokens/*")
        page.route("**/api/v1/tokens/*", lambda route: route.abort())
        dialog.get_by_role("button", name="Revoke token").click()
        dialog.get_by_text("the server cannot be reached now").wait_for()
    call_api(served, "DELETE", f"/tokens/{quote(token['id'])}")


@pytest.mark.nightly
def test_ones_own_save_is_no_news_and_that_of_others_is(
    visit: Visits, served: Served, policy: str
) -> None:
    with visit("admin") as found:
        page = found.page
        found.open("/ui/")
        found.go("/ui/r/datahub/policy", urn=policy)
        page.get_by_label("Description", exact=True).fill("mine")
        effect(found)
        with found.expect_message("Policy saved"):
            page.get_by_role("button", name="Save policy").click()
        assert page.get_by_text("since this page was read").count() == 0
        call_api(served, "PUT", "/directories/main/users/newcomer")
        page.get_by_label("Description", exact=True).fill("mine, too")
        page.get_by_text("since this page was read").wait_for()
        page.get_by_role("button", name="Discard changes").click()
    call_api(served, "DELETE", "/directories/main/users/newcomer")
