"""Trials without a mouse: every step is a key, and what it needs is reached with Tab."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import VIEWS, Tab, Visits

pytestmark = pytest.mark.browser

_HERE = """
(() => {
  const one = document.activeElement;
  const box = one.getBoundingClientRect();
  const name = one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent;
  // A field may be outlined by the frame around it.
  const outlined = [one, one.parentElement, one.parentElement?.parentElement].some((at) => {
    const style = at && getComputedStyle(at);
    return style && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  });
  const isInSight = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.width > 0;
  return { name: name.trim(), seen: one === document.body || (outlined && isInSight) };
})()
"""
MOST_TABS = 80
DOUBLE = "document.documentElement.style.fontSize = '175%'"


def reach(found: Tab, name: str) -> None:
    """Presses Tab until what has this name has the focus, which is seen at every step."""
    for _ in range(MOST_TABS):
        found.page.keyboard.press("Tab")
        at = found.page.evaluate(_HERE)
        assert at["seen"], at
        if at["name"].startswith(name):
            return
    raise AssertionError(f"{name} cannot be reached")


def here(found: Tab) -> str:
    """The name of what has the focus."""
    return str(found.page.evaluate(_HERE)["name"])


def press(found: Tab, *keys: str) -> None:
    for key in keys:
        found.page.keyboard.press(key)


def fill(found: Tab, name: str, text: str) -> None:
    reach(found, name)
    found.page.keyboard.press("Control+a")
    found.page.keyboard.type(text)
    found.page.keyboard.press("Escape")  # closes the suggestions; what was typed stays


def why_denied(found: Tab) -> None:
    fill(found, "Person", "user:hugo")
    fill(found, "Operation", "table.alter")
    fill(found, "Asset", "table:quillmere:lake.sales.forecasts")
    found.page.keyboard.press("Control+Enter")
    found.page.wait_for_url("**/ui/ask?**do=table.alter**")
    found.settle()
    assert "marts_only" in found.text()


def who_may(found: Tab) -> None:
    fill(found, "Operation", "table.load")
    fill(found, "Asset", "table:quillmere:lake.people.salaries")
    found.page.keyboard.press("Control+Enter")
    found.page.wait_for_url("**/ui/ask/who?**do=table.load**")
    found.settle()
    assert "12 people may" in found.text()


def test_a_denial_is_understood(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/ask", realm="gravitino")
        why_denied(found)


@pytest.mark.nightly
def test_who_may_is_asked(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/ask/who", realm="gravitino")
        who_may(found)


@pytest.mark.nightly
def test_an_asset_is_found_and_a_locked_policy_read(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/")
        keyboard = found.page.keyboard
        keyboard.press("/")
        keyboard.type("lake.finance.invoices")
        found.page.get_by_role("option").first.wait_for()
        keyboard.press("Enter")
        found.page.wait_for_url("**/ui/asset?**")
        found.settle()
        assert "invoices" in found.text()
        keyboard.press("g")
        keyboard.press("p")
        found.page.wait_for_url("**/policies")
        found.settle()
        reach(found, "root: the platform")
        keyboard.press("Enter")
        found.page.wait_for_url("**/policy?**")
        found.settle()
        assert "read-only" in found.text()
        reach(found, "Copy")


@pytest.mark.nightly
@pytest.mark.parametrize("size", ["normal", "double"])
@pytest.mark.parametrize("view", VIEWS)
def test_questions_in_every_view(visit: Visits, served: Served, view: str, size: str) -> None:
    with visit("admin", view) as found:
        for path, act in (("/ui/ask", why_denied), ("/ui/ask/who", who_may)):
            found.open(path, realm="gravitino")
            if size == "double":
                found.page.evaluate(DOUBLE)
            act(found)
            assert found.overflow() <= 0
            assert found.barriers("html") == []


@pytest.mark.nightly
def test_the_overview_is_left_and_returned_to(own_visit: Visits) -> None:
    """Trial 1: from the first page by a card, and back to that card."""
    with own_visit("admin") as found:
        found.open("/ui/")
        reach(found, "Skip to the page")
        press(found, "Enter")
        reach(found, "What you may do")
        reach(found, "863 assets")
        press(found, "Enter")
        found.page.wait_for_url("**/ui/assets?**")
        found.settle()
        assert here(found) == "Assets"
        found.page.go_back()
        found.page.wait_for_function("() => document.activeElement.textContent === '863 assets'")


@pytest.mark.nightly
def test_the_address_of_an_answer_is_opened_by_others(own_visit: Visits) -> None:
    """Trial 6: whom it is about gets the answer; another person reads who may know it."""
    with own_visit("admin") as found:
        found.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        found.open("/ui/ask", realm="gravitino")
        why_denied(found)
        reach(found, "Copy link")
        with found.expect_message("Link copied"):
            press(found, "Enter")
        link = found.page.evaluate("navigator.clipboard.readText()")
    with own_visit("hugo") as found:
        found.page.goto(link)
        found.settle()
        assert "marts_only" in found.text()
    with own_visit("ana") as found:
        found.page.goto(link)
        found.settle()
        assert "EXPLAIN" in found.page.get_by_role("alert").inner_text()
        assert "marts_only" not in found.text()


@pytest.mark.nightly
def test_a_cell_of_the_matrix_is_read_and_explained(own_visit: Visits) -> None:
    """Trial 8: what is said about a cell is reached from it, and left to it."""
    with own_visit("admin") as found:
        found.open("/ui/r/gravitino/statements")
        press(found, "g", "m")
        found.page.wait_for_url("**/ui/r/gravitino/matrix")
        found.settle()
        reach(found, "Matrix: arrow keys")
        chosen = found.page.get_by_role("region", name="The chosen cell")
        first = chosen.inner_text()
        press(found, "ArrowDown", "ArrowRight")
        assert chosen.inner_text() != first
        press(found, "Enter")
        assert here(found) in chosen.inner_text()
        reach(found, "Why?")
        press(found, "Escape")
        assert here(found).startswith("Matrix: arrow keys")
        reach(found, "Why?")
        press(found, "Enter")
        found.page.wait_for_url("**/ui/ask?**")
        found.settle()
        assert found.page.get_by_role("heading", name="How the rules reach").count() == 1
        found.page.go_back()
        found.page.wait_for_function("() => document.activeElement.textContent === 'Why?'")


TAGGED = "dataset:urn:li:dataset:(urn:li:dataPlatform:iceberg,sales.forecasts,PROD)"
SHIPPED = "urn:li:dataHubPolicy:editor-metadata-policy-entities"


def allowed(served: Served) -> set[str]:
    """Who may edit the tags of a dataset."""
    body = {"operation": "tags.edit", "entity": TAGGED, "page": {"limit": 1000}}
    answer = served.ask("POST", "/api/v1/realms/datahub/who", body, user="admin")
    assert answer.status == 200, answer.body
    found: Any = answer.json()
    return set(found["users"])


def stored(served: Served, urn: str) -> dict[str, Any]:
    path = f"/r/datahub/openapi/v3/entity/dataHubPolicy/{urn}?aspects=dataHubPolicyInfo"
    found: Any = served.ask("GET", path, user="admin").json()
    value: dict[str, Any] = found["dataHubPolicyInfo"]["value"]
    return value


def act(found: Tab, button: str, done: str) -> None:
    """Presses a button once its effect was worked out, and waits for what is then said."""
    enabled = found.page.get_by_role("button", name=button, exact=True, disabled=False)
    enabled.wait_for()
    reach(found, button)
    with found.expect_message(done):
        press(found, "Enter")


@pytest.mark.nightly
def test_a_policy_is_made(own_visit: Visits, own_served: Served) -> None:
    """Trial 9: who gains by it is who may afterwards and might not before."""
    before = allowed(own_served)
    with own_visit("admin") as found:
        found.open("/ui/r/datahub/policies")
        press(found, "n")
        found.page.wait_for_url("**/policy/new")
        found.settle()
        fill(found, "Name", "Audit tags forecasts")
        for field, value in (
            ("Add to Privileges", "Edit Tags"),
            ("Add to Who", "group:audit"),
        ):
            reach(found, field)
            found.page.keyboard.type(value)
            press(found, "Enter")
        act(found, "Save and activate", "Policy saved")
        urn = found.page.evaluate("new URLSearchParams(location.search).get('urn')")
    gained = allowed(own_served) - before
    assert gained
    query = {"query": '{ listPolicies(input: {query: "Audit tags"}) { policies { urn } } }'}
    listed = own_served.ask("POST", "/r/datahub/api/graphql", query, user="admin")
    assert urn in listed.body.decode()


@pytest.mark.nightly
def test_a_shipped_policy_is_edited_and_switched(own_visit: Visits, own_served: Served) -> None:
    """Trials 10 and 11: only what was typed changes; each switch shows its effect first."""
    was = stored(own_served, SHIPPED)
    with own_visit("admin") as found:
        found.open("/ui/r/datahub/policies", q="Editor: anything")
        press(found, "j", "e")
        found.page.wait_for_url("**/policy?**")
        found.page.wait_for_function(
            "() => document.activeElement.labels?.[0].textContent === 'Name'"
        )
        reach(found, "Description")
        found.page.keyboard.type("What editors do. ")
        act(found, "Save policy", "Policy saved")
        now = stored(own_served, SHIPPED)
        changed = {key for key in {*now, *was} if now.get(key) != was.get(key)}
        assert changed == {"description", "lastUpdatedTimestamp"}
        for verb, state in (("Deactivate", "INACTIVE"), ("Activate", "ACTIVE")):
            press(found, "d")
            act(found, f"{verb} policy", f"Policy is {state.lower()} now")
            assert here(found) == "Editor: anything about the assets"
            assert stored(own_served, SHIPPED)["state"] == state
