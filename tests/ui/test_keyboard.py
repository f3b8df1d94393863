"""Trials without a mouse: every step is a key, and all targets are reached with Tab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import VIEWS, Tab, Visits
from tests.ui.test_adverse import first
from tests.ui.test_trials import effect

if TYPE_CHECKING:
    from playwright.sync_api import Route

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
MOST_TABS = 120
STEADY = 40
DOUBLE = "document.documentElement.style.fontSize = '175%'"


def reach(found: Tab, name: str) -> None:
    """Presses Tab until the element with this name has the focus, visibly at every step."""
    for _ in range(MOST_TABS):
        if step(found).startswith(name):
            return
    raise AssertionError(f"{name} cannot be reached")


def step(found: Tab) -> str:
    """Presses Tab, and returns the name of the focused element; it is, or soon becomes, visible."""
    found.page.keyboard.press("Tab")
    at = found.page.evaluate(_HERE)
    for _ in range(STEADY):
        if at["seen"]:
            break
        # Elements that a response moves are scrolled to in the next frames.
        found.page.wait_for_timeout(25)
        at = found.page.evaluate(_HERE)
    assert at["seen"], at
    return str(at["name"])


def here(found: Tab) -> str:
    """The name of the focused element."""
    return str(found.page.evaluate(_HERE)["name"])


def press(found: Tab, *keys: str) -> None:
    for key in keys:
        found.page.keyboard.press(key)


def fill(found: Tab, name: str, text: str) -> None:
    reach(found, name)
    found.page.keyboard.press("Control+a")
    found.page.keyboard.type(text)
    found.page.keyboard.press("Escape")  # closes the suggestions; the typed text stays


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


@pytest.mark.nightly  # by day rows and the matrix are tested
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
    """Trial 1: from the first page through a card, and back to that card."""
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
    """Trial 6: the person concerned gets the answer; another reads who may see it."""
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
    """Trial 8: the description of a cell can be reached from it, and leads back to it."""
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


TAG = "urn:li:tag:personal-data"
TAGGED = "dataset:urn:li:dataset:(urn:li:dataPlatform:iceberg,lake.customers.profiles,PROD)"
SHIPPED = "urn:li:dataHubPolicy:editor-metadata-policy-entities"


def allowed(served: Served) -> set[str]:
    """The users who may edit the tags of a dataset."""
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
    """Presses a button once its effect is computed, and waits for the resulting message."""
    enabled = found.page.get_by_role("button", name=button, exact=True, disabled=False)
    enabled.wait_for()
    reach(found, button)
    with found.expect_message(done):
        press(found, "Enter")


def choose(found: Tab, field: str, value: str) -> None:
    """Adds a value to a field with several values."""
    reach(found, field)
    found.page.keyboard.type(value)
    press(found, "Enter")


def make_policy(found: Tab, name: str) -> str:
    """Creates a metadata policy for a type and a tag, and returns its URN."""
    found.open("/ui/r/datahub/policy/new")
    fill(found, "Name", name)
    choose(found, "Add to Privileges", "Edit Tags")
    reach(found, "Add a condition")
    press(found, "Enter")
    choose(found, "Add to Type values", "dataset")
    reach(found, "Add a condition")
    press(found, "Enter")
    choose(found, "Add to Tag values", TAG)
    choose(found, "Add to Who", "group:audit")
    act(found, "Save and activate", "Policy saved")
    return str(found.page.evaluate("new URLSearchParams(location.search).get('urn')"))


@pytest.mark.nightly
def test_a_policy_is_made(own_visit: Visits, own_served: Served) -> None:
    """Trial 9: the users who gain by it are permitted afterwards, but were not before."""
    before = allowed(own_served)
    with own_visit("admin") as found:
        found.open("/ui/r/datahub/policies")
        press(found, "n")
        found.page.wait_for_url("**/policy/new")
        found.settle()
        urn = make_policy(found, "Audit tags profiles")
        assert "on every dataset whose tag is" in found.text()
    filters = stored(own_served, urn)["resources"]["filter"]["criteria"]
    assert [(one["field"], one["values"]) for one in filters] == [
        ("TYPE", ["dataset"]),
        ("TAG", [TAG]),
    ]
    gained = allowed(own_served) - before
    assert gained
    query = {"query": '{ listPolicies(input: {query: "Audit tags"}) { policies { urn } } }'}
    listed = own_served.ask("POST", "/r/datahub/api/graphql", query, user="admin")
    assert urn in listed.body.decode()


@pytest.fixture(scope="module")
def steward(own_served: Served) -> str:
    """A user who manages grants in Gravitino, and may read the realm."""
    body = {"privileges": ["READ_REALM"], "to": ["user:kai"], "on": "realm:gravitino"}
    path = "/api/v1/realms/_server/statements/kai-reads"
    assert own_served.ask("PUT", path, body, user="admin").status < 300
    return "kai"


def set_cell(found: Tab, entity: str, privilege: str, key: str) -> None:
    """Sets one cell of a role's grid, and saves once the effect is known."""
    within = f"document.activeElement.closest('[aria-label=\"{entity}\"]') !== null"
    for _ in range(MOST_TABS):
        if step(found).endswith(privilege) and found.page.evaluate(within):
            break
    else:
        raise AssertionError(f"{privilege} on {entity} cannot be reached")
    press(found, key)
    act(found, "Save role", "Role saved")


@pytest.mark.nightly
@pytest.mark.parametrize("size", ["normal", "double"])
@pytest.mark.parametrize("view", VIEWS)
def test_edits_in_every_view(
    own_visit: Visits, own_served: Served, steward: str, view: str, size: str
) -> None:
    """Trials 9 and 16: a policy is created, and a DENY is added to a role's grid and removed."""

    def check(found: Tab) -> None:
        assert found.overflow() <= 0
        assert found.barriers("html") == []

    with own_visit("admin", view) as found:
        found.open("/ui/")
        if size == "double":
            found.page.add_init_script(
                f"addEventListener('DOMContentLoaded', () => {{ {DOUBLE} }})"
            )
        make_policy(found, f"Made at {view} and {size}")
        check(found)
    with own_visit(steward, view) as found:
        if size == "double":
            found.page.add_init_script(
                f"addEventListener('DOMContentLoaded', () => {{ {DOUBLE} }})"
            )
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        set_cell(found, "quillmere:lake.sales_mart", "SELECT_TABLE", "d")
        check(found)
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        set_cell(found, "quillmere:lake.sales_mart", "SELECT_TABLE", "a")


@pytest.mark.nightly
def test_a_shipped_policy_is_edited_and_switched(own_visit: Visits, own_served: Served) -> None:
    """Trials 10 and 11: only typed changes are saved; each toggle shows its effect first."""
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


@pytest.mark.nightly
def test_what_arrives_moves_no_focus_out_of_sight(visit: Visits) -> None:
    """On a phone, the effect of a draft is above the buttons that save and discard it."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "corpGroup:audit" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    with visit("admin", "narrow") as found:
        found.open("/ui/r/datahub/policy/new")
        found.page.route("**/preview", hold)
        fill(found, "Name", "Focus")
        choose(found, "Add to Privileges", "Edit Tags")
        choose(found, "Add to Who", "group:audit")
        request = first(found.page, held)
        found.page.get_by_role("button", name="Discard changes").focus()
        found.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        request.continue_()
        assert " can " in effect(found)
        assert found.page.evaluate(_HERE)["seen"]
        found.page.get_by_role("button", name="Discard changes").click()
