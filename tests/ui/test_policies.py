"""The page of DataHub's policies: created, edited, toggled, deleted; a save loses nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

V3 = "/r/datahub/openapi/v3/entity/dataHubPolicy"
URN = "urn:li:dataHubPolicy:kept-whole"
WHOLE: dict[str, Any] = {
    "displayName": "Kept whole",
    "description": "every member of the aspect",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["EDIT_ENTITY", "NOT_KNOWN_HERE"],
    "actors": {
        "users": ["urn:li:corpuser:ana"],
        "groups": ["urn:li:corpGroup:audit"],
        "roles": ["urn:li:dataHubRole:Editor"],
        "allUsers": False,
        "allGroups": False,
        "resourceOwners": True,
        "resourceOwnersTypes": ["urn:li:ownershipType:__system__technical_owner"],
    },
    "resources": {
        "allResources": False,
        "filter": {
            "criteria": [
                {"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"},
                {"field": "TAG", "values": ["urn:li:tag:pii"], "condition": "NOT_EQUALS"},
            ]
        },
        "privilegeConstraints": {
            "criteria": [
                {"field": "URN", "values": ["urn:li:tag:"], "condition": "STARTS_WITH"},
            ]
        },
    },
    "editable": True,
    "lastUpdatedTimestamp": 1,
}


def add(page: Page, to: str, value: str) -> None:
    """Types a value into a field of tokens, like with the keyboard."""
    field = page.get_by_label(f"Add to {to}", exact=True)
    field.fill(value)
    field.press("Enter")
    page.wait_for_function(
        "label => document.querySelector(`input[aria-label='${label}']`).value === ''",
        arg=f"Add to {to}",
    )


def tokens(page: Page, of: str) -> list[str]:
    """The displayed contents of a field of tokens."""
    held = page.get_by_role("list", name=of, exact=True).get_by_role("listitem")
    return [text for one in held.all() if (text := " ".join(one.inner_text().split()))]


def _stored(served: Served, urn: str) -> dict[str, Any] | None:
    answer = served.ask("GET", f"{V3}/{urn}?aspects=dataHubPolicyInfo", user="admin")
    if answer.status == 404:
        return None
    body = answer.json()
    assert isinstance(body, dict)
    value: dict[str, Any] | None = body.get("dataHubPolicyInfo", {}).get("value")
    return value


def test_nothing_that_was_stored_is_lost_by_a_save(visit: Visits, served: Served) -> None:
    body = {"value": WHOLE}
    made = served.ask("POST", f"{V3}/{URN}/dataHubPolicyInfo", body, user="admin")
    assert made.status < 300, made.body
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn=URN)
        name = found.page.get_by_label("Name", exact=True)
        assert name.input_value() == "Kept whole"
        assert "not known to this version" in found.text()
        name.fill("Kept whole, and renamed")
        with found.expect_message("Policy saved"):
            found.page.get_by_role("button", name="Save policy").click()
    after = _stored(served, URN)
    assert after is not None
    changed = {key for key in {*after, *WHOLE} if after.get(key) != WHOLE.get(key)}
    assert changed == {"displayName", "lastUpdatedTimestamp"}


@pytest.mark.nightly  # by day as a draft of test_trials.py
def test_a_policy_is_made_switched_and_taken_away(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policies")
        page = found.page
        page.get_by_role("link", name="New policy").click()
        page.wait_for_url("**/ui/r/datahub/policy/new*")  # the list has a field with that label too
        page.get_by_label("Name", exact=True).fill("Made in a browser")
        add(page, "Who", "ben")
        add(page, "Privileges", "Edit Entity")
        page.get_by_role("button", name="Save inactive").click()
        page.wait_for_url("**/ui/r/datahub/policy?urn=**")
        found.settle()
        urn = page.evaluate("new URLSearchParams(location.search).get('urn')")
        stored = _stored(served, urn)
        assert stored is not None
        assert stored["actors"]["users"] == ["urn:li:corpuser:ben"]
        assert (stored["privileges"], stored["state"]) == (["EDIT_ENTITY"], "INACTIVE")
        page.get_by_role("button", name="Activate", exact=True).click()
        page.get_by_role("button", name="Activate policy").click()
        page.get_by_role("button", name="Deactivate", exact=True).wait_for()
        assert (_stored(served, urn) or {})["state"] == "ACTIVE"
        page.get_by_role("button", name="Deactivate", exact=True).click()
        page.get_by_role("button", name="Deactivate policy").click()
        page.get_by_role("button", name="Activate", exact=True).wait_for()
        page.get_by_role("button", name="Remove", exact=True).click()
        page.get_by_role("button", name="Remove policy").click()
        page.wait_for_url("**/ui/r/datahub/policies")
        found.settle()
        found.check()
        assert _stored(served, urn) is None
        assert "Made in a browser" not in found.text()


@pytest.mark.nightly
def test_a_locked_policy_is_read_and_copied(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn="urn:li:dataHubPolicy:0")
        page = found.page
        assert page.get_by_label("Name", exact=True).is_disabled()
        assert page.get_by_role("button", name="Save").count() == 0
        assert page.get_by_role("button", name="Remove").count() == 0
        assert "from locking themselves out" in page.get_by_role("note").inner_text()
        page.get_by_role("link", name="Copy").click()
        page.wait_for_url("**/ui/r/datahub/policy/new?**")
        found.settle()
        assert page.get_by_label("Name", exact=True).input_value().startswith("Copy of ")


@pytest.mark.nightly
def test_what_was_typed_outlives_an_error_and_a_reload(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn="urn:li:dataHubPolicy:custodians-edit")
        page = found.page
        page.get_by_label("Name", exact=True).fill("Typed and not saved")
        page.route("**/dataHubPolicyInfo?*", lambda route: route.abort())
        page.get_by_role("button", name="Save policy").click()
        page.get_by_role("alert").first.wait_for()
        assert page.get_by_label("Name", exact=True).input_value() == "Typed and not saved"
        page.reload()
        found.settle()
        assert page.get_by_label("Name", exact=True).input_value() == "Typed and not saved"
        page.get_by_role("button", name="Discard changes").click()
        assert "Custodians" in page.get_by_label("Name", exact=True).input_value()


@pytest.mark.nightly
def test_tokens_are_added_and_removed_with_the_keyboard(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy/new")
        page, keys = found.page, found.page.keyboard
        for name in ("ana", "group:audit", "role:Editor", "urn:li:corpuser:nobody here"):
            add(page, "Who", name)
        shown = ["ana", "nobody here", "audit group"]
        assert tokens(page, "Who") == [*shown, "Editor role"]
        page.get_by_label("Add to Who", exact=True).focus()
        keys.press("Backspace")
        assert tokens(page, "Who") == shown
        keys.press("ArrowLeft")
        keys.press("ArrowLeft")
        keys.press("Delete")
        assert tokens(page, "Who") == ["ana", "audit group"]
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Add to Who"
        page.evaluate("sessionStorage.clear()")


@pytest.mark.nightly
def test_privileges_are_offered_under_the_types_that_they_are_about(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy/new")
        page = found.page
        field = page.get_by_label("Add to Privileges", exact=True)
        field.fill("lineage")
        page.get_by_role("option", name="Edit Lineage").wait_for()
        field.fill("dataset")
        page.get_by_role("group", name="dataset only").wait_for()
        page.get_by_role("option", name="View Dataset Profile").click()
        assert tokens(page, "Privileges") == ["View Dataset Profile"]
        page.get_by_role("button", name="Add a condition").click()
        add(page, "Type values", "chart")
        assert tokens(page, "Privileges") == ["View Dataset Profile not for these assets"]
        page.get_by_role("button", name="Platform", exact=True).click()
        assert "so no assets are chosen" in found.text()
        assert page.get_by_text("Which", exact=True).count() == 0
        page.evaluate("sessionStorage.clear()")


@pytest.mark.nightly
def test_conditions_are_stored_as_they_are_shown(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy/new")
        page = found.page
        page.get_by_label("Name", exact=True).fill("By conditions")
        add(page, "Privileges", "View Entity Page")
        add(page, "Who", "ben")
        conditions = (("Domain", "NOT_EQUALS", "people"), ("Urn", "STARTS_WITH", "urn:li:dataset:"))
        page.get_by_role("button", name="Add a condition").click()
        add(page, "Type values", "dataset")
        for title, condition, value in conditions:
            page.get_by_role("button", name="Add a condition").click()
            page.get_by_label("Field", exact=True).last.select_option(title.upper())
            page.get_by_label("Condition", exact=True).last.select_option(condition)
            add(page, f"{title} values", value)
        assert tokens(page, "Domain values") == ["people and below"]
        page.get_by_role("button", name="Limit to tags").click()
        page.get_by_label("Field", exact=True).last.select_option("TAG")
        add(page, "Tag values", "restricted")
        save = page.get_by_role("button", name="Save inactive")
        page.wait_for_function(
            "() => [...document.querySelectorAll('button')]"
            ".some((one) => one.textContent === 'Save inactive' && !one.disabled)"
        )
        assert re.search(r"[1-9]\d* of \d+ do now", found.text())
        assert "on every dataset whose domain is not people" in found.text()
        save.click()
        page.wait_for_url("**/ui/r/datahub/policy?urn=**")
        found.settle()
        urn = page.evaluate("new URLSearchParams(location.search).get('urn')")
    stored = _stored(served, urn)
    assert stored is not None
    assert stored["resources"]["filter"]["criteria"] == [
        {"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]},
        {"field": "DOMAIN", "condition": "NOT_EQUALS", "values": ["urn:li:domain:people"]},
        {"field": "URN", "condition": "STARTS_WITH", "values": ["urn:li:dataset:"]},
    ]
    limits = stored["resources"]["privilegeConstraints"]["criteria"]
    assert limits == [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:restricted"]}]
    body = {
        "query": "mutation ($urn: String!) { deletePolicy(urn: $urn) }",
        "variables": {"urn": urn},
    }
    assert served.ask("POST", "/r/datahub/api/graphql", body, user="admin").status == 200


@pytest.mark.nightly  # by day two people save a role
def test_two_people_save_the_same_policy(visit: Visits, served: Served) -> None:
    """Trial 15: the second one sees both versions, and no typed text is lost."""
    urn = "urn:li:dataHubPolicy:twice-edited"
    body = {"value": {**WHOLE, "displayName": "Twice edited"}}
    made = served.ask("POST", f"{V3}/{urn}/dataHubPolicyInfo", body, user="admin")
    assert made.status < 300, made.body
    reads = {
        "privileges": ["GET_ENTITY_PRIVILEGE"],
        "to": ["user:urn:li:corpuser:edda"],
        "where": [{"field": "TYPE", "condition": "EQUALS", "values": ["dataHubPolicy"]}],
    }
    path = "/api/v1/realms/datahub/statements/edda-reads-policies"
    assert served.ask("PUT", path, reads, user="admin").status < 300
    with visit("admin") as mine, visit("edda") as theirs:
        for one in (mine, theirs):
            one.open("/ui/r/datahub/policy", urn=urn)
        add(theirs.page, "Who", "ben")
        with theirs.expect_message("Policy saved"):
            theirs.page.get_by_role("button", name="Save policy").click()
        mine.page.get_by_label("Description", exact=True).fill("mine")
        mine.page.get_by_role("button", name="Save policy").click()
        both = mine.page.get_by_role("region", name="Two versions")
        both.wait_for()
        rows = [" ".join(row.inner_text().split()) for row in both.get_by_role("row").all()[1:]]
        assert [row.split()[0] for row in rows] == ["Description", "Who"]
        assert "mine" in rows[0]
        assert "corpuser:ben" in rows[1]
        mine.page.reload()
        mine.settle()
        assert mine.page.get_by_label("Description", exact=True).input_value() == "mine"
        both.get_by_role("button", name="Take theirs").click()
        both.wait_for(state="detached")
        assert "ben" in tokens(mine.page, "Who")
        mine.page.get_by_role("button", name="Undo").click()
        assert "mine" in both.inner_text()
        both.get_by_role("button", name="Save mine over it").click()
        dialog = mine.page.get_by_role("dialog")
        dialog.get_by_text("ben can no longer").first.wait_for()
        with mine.expect_message("Policy saved"):
            dialog.get_by_role("button", name="Save policy").click()
        both.wait_for(state="detached")
    stored = _stored(served, urn)
    assert stored is not None
    assert (stored["description"], stored["actors"]) == ("mine", WHOLE["actors"])


@pytest.mark.nightly
def test_the_list_is_narrowed_and_sorted_by_the_server(visit: Visits, served: Served) -> None:
    path = "/api/v1/realms/datahub/statements?id_prefix=urn:li:dataHubPolicy:&page.limit=1"
    answer = served.ask("GET", path, user="admin").json()
    assert isinstance(answer, dict)
    every = answer["total"]
    with visit("admin") as found:
        found.open("/ui/r/datahub/policies")
        page = found.page
        assert f"{every} in all" in found.text()
        page.get_by_label("Sorted by").select_option("-title")
        found.settle()
        names = [row.get_by_role("link").inner_text() for row in _rows(page)[:3]]
        assert names == sorted(names, key=str.casefold, reverse=True)
        page.get_by_label("Name or description").fill("read comm")
        page.get_by_text("1 in all").wait_for()
        page.get_by_role("button", name="Clear").click()
        page.get_by_text(f"{every} in all").wait_for()
        page.get_by_role("combobox", name="For").fill("group:urn:li:corpGroup:audit")
        page.get_by_role("combobox", name="For").press("Tab")
        page.get_by_label("Privilege", exact=True).select_option("DATA_READ_ONLY")
        page.get_by_text("1 in all").wait_for()
        assert "Audit reads the books' data" in found.text()
        assert "2 × 21" in found.text()


@pytest.mark.nightly
def test_a_policy_is_deactivated_from_the_list(visit: Visits, served: Served) -> None:
    urn = "urn:li:dataHubPolicy:half-written"
    with visit("admin") as found:
        found.open("/ui/r/datahub/policies", q="New idea")
        page = found.page
        acts = page.get_by_role("button", name="Acts on New idea for suppliers")
        acts.click()
        page.get_by_role("menuitem", name="Activate").click()
        with found.expect_message("Policy is active now"):
            page.get_by_role("button", name="Activate policy").click()
        assert (_stored(served, urn) or {})["state"] == "ACTIVE"
        acts.press("Enter")
        page.get_by_role("menuitem", name="Deactivate").press("Enter")
        with found.expect_message("Policy is inactive now"):
            page.get_by_role("button", name="Deactivate policy").click()
        acts.click()
        page.get_by_role("menuitem", name="History").click()
        page.get_by_role("dialog", name="New idea for suppliers").wait_for()
    assert (_stored(served, urn) or {})["state"] == "INACTIVE"


def _rows(page: Page) -> list[Locator]:
    return page.locator("tbody tr").all()


@pytest.mark.nightly
def test_who_may_not_manage_policies_is_offered_none(visit: Visits, served: Served) -> None:
    with visit("ana") as found:
        assert found.page.get_by_role("link", name="Policies").count() == 0
        found.open("/ui/r/datahub/policies")
        found.page.get_by_role("alert").wait_for()
        found.check()


@pytest.mark.nightly
def test_who_only_manages_policies_changes_one(visit: Visits, served: Served) -> None:
    person, urn = "petra", "urn:li:dataHubPolicy:of-petra"
    held = {"privileges": ["MANAGE_POLICIES"], "to": [f"user:urn:li:corpuser:{person}"]}
    for path, sent in (
        (f"/directories/main/users/{person}", None),
        ("/realms/datahub/statements/petra-manages", held),
    ):
        assert served.ask("PUT", f"/api/v1{path}", sent, user="admin").status < 300
    body = {"value": {**WHOLE, "displayName": "Of Petra"}}
    made = served.ask("POST", f"{V3}/{urn}/dataHubPolicyInfo", body, user="admin")
    assert made.status < 300, made.body
    with visit(person) as found:
        found.open("/ui/r/datahub/policy", urn=urn)
        page = found.page
        page.get_by_label("Description").fill("by petra")
        page.get_by_role("button", name="As file").click()
        file = json.loads(page.get_by_role("dialog").locator("pre").inner_text())
        assert (file[0]["entityUrn"], file[0]["aspect"]["json"]["description"]) == (urn, "by petra")
        assert file[0]["aspect"]["json"]["actors"] == WHOLE["actors"]
        page.keyboard.press("Escape")
        with found.expect_message("Policy saved"):
            page.get_by_role("button", name="Save policy").click()
    stored = _stored(served, urn)
    assert stored is not None
    assert stored["description"] == "by petra"
    assert stored["actors"] == WHOLE["actors"]
