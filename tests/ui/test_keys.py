"""Every key on the sheet works without a mouse, and none acts inside a field."""

from __future__ import annotations

import pytest

from tests.app.serving import Served
from tests.ui.browser import Tab, Visits
from tests.ui.test_trials import steward

__all__ = ["steward"]

pytestmark = pytest.mark.browser

FORECASTS = "table:quillmere:lake.sales.forecasts"
PLACES = {
    "o": "/ui/",
    "a": "/ui/ask",
    "s": "/ui/assets",
    "e": "/ui/people",
    "p": "/ui/r/datahub/policies",
    # For the displayed realm.
    "m": "/ui/r/datahub/matrix",
    "f": "/ui/findings",
    "u": "/ui/audit",
}


def path_of(found: Tab) -> str:
    return str(found.page.evaluate("location.pathname"))


@pytest.mark.nightly
def test_g_and_a_letter_lead_to_a_page(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/r/gravitino/statements")
        for key, path in PLACES.items():
            found.page.keyboard.press("g")
            found.page.keyboard.press(key)
            found.page.wait_for_url(f"**{path}")
            found.settle()


@pytest.mark.nightly
def test_the_letter_after_g_does_nothing_else(visit: Visits, steward: str) -> None:
    with visit(steward) as found:
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        found.page.keyboard.press("e")
        assert found.page.evaluate("document.activeElement.dataset.condition")
        # Here it would allow the privilege of the cell.
        found.page.keyboard.press("g")
        found.page.keyboard.press("a")
        found.page.wait_for_url("**/ui/ask")
        found.open("/ui/r/gravitino/role", name="quillmere:marts_only")
        assert "not saved yet" not in found.text()


@pytest.mark.nightly
def test_policies_are_made_edited_and_switched_by_key(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policies", q="custodians")
        page = found.page
        dialog = page.get_by_role("dialog")
        name = page.locator("tbody tr").first.get_by_role("link").first.inner_text()
        page.keyboard.press("j")
        page.keyboard.press("d")
        assert name.split("\n")[0] in dialog.get_by_role("heading").first.inner_text()
        page.keyboard.press("n")  # the dialog captures the keyboard
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        page.keyboard.press("e")
        page.wait_for_url("**/policy?**#edit")
        field = page.get_by_label("Name", exact=True)
        page.wait_for_function("() => document.activeElement?.labels?.[0].textContent === 'Name'")
        was = field.input_value()
        page.keyboard.type("de")
        assert set(field.input_value()) >= {"d", "e"}
        assert len(field.input_value()) == len(was) + 2
        page.get_by_role("button", name="Discard changes").click()
        page.keyboard.press("d")
        dialog.wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        page.keyboard.press("g")
        page.keyboard.press("p")
        page.wait_for_url("**/policies")
        found.settle()
        page.keyboard.press("n")
        page.wait_for_url("**/policy/new")
        found.settle()


@pytest.mark.nightly
def test_t_goes_from_tab_to_tab(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/asset", realm="gravitino", e=FORECASTS)
        for tab in ("inside", "rules", "history"):
            found.page.keyboard.press("t")
            found.page.wait_for_url(f"**tab={tab}**")
        found.page.keyboard.press("t")
        found.page.wait_for_function("() => !location.search.includes('tab=')")
        found.settle()


@pytest.mark.nightly
def test_the_tree_of_assets_is_walked(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/assets", realm="gravitino")
        page = found.page
        here = "document.activeElement.textContent"
        page.locator("main li a").first.focus()
        top = page.evaluate(here)
        page.keyboard.press("ArrowRight")
        found.settle()
        page.keyboard.press("ArrowRight")
        first = page.evaluate(here)
        assert first != top
        page.keyboard.press("ArrowDown")
        assert page.evaluate(here) not in {top, first}
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(here) == top
        page.keyboard.press("ArrowLeft")
        assert page.get_by_role("button", expanded=True).count() == 0
        page.keyboard.press("*")
        assert page.get_by_role("button", expanded=True).count() == 2


@pytest.mark.nightly
def test_the_matrix_is_enlarged_and_its_cell_read(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/r/gravitino/matrix")
        page = found.page
        width = "document.querySelector('main canvas').clientWidth"
        was = page.evaluate(width)
        page.keyboard.press("+")
        page.wait_for_function(f"() => {width} === {2 * was}")
        page.get_by_role("application").focus()
        for _ in range(200):
            page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.scrollLeft") > 0
        page.keyboard.press("-")
        page.wait_for_function(f"() => {width} === {was}")
        page.keyboard.press("Enter")
        cell = "document.activeElement.closest('section').ariaLabel"
        assert page.evaluate(cell) == "The chosen cell"
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.role") == "application"


@pytest.mark.nightly
def test_rows_are_chosen(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/links/suggestions", realm="gravitino", other="datahub")
        page = found.page
        for key in ("j", "x", "j", "x", "j", "x", "x"):
            page.keyboard.press(key)
        page.get_by_role("button", name="Link these 2").wait_for()


@pytest.mark.nightly
def test_single_letters_do_nothing_in_a_field_or_when_switched_off(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/findings")
        found.page.keyboard.press("/")
        found.page.keyboard.type("go")
        found.settle()
        assert found.page.get_by_label("Find an asset, a person, a rule").input_value() == "go"
        assert path_of(found) == "/ui/findings"
        found.page.keyboard.press("Escape")
        found.open("/ui/findings")
        found.page.keyboard.press("?")
        found.page.get_by_role("dialog").get_by_label("Keys of a single letter").press("Space")
        found.page.keyboard.press("Escape")
        found.page.keyboard.press("g")
        found.page.keyboard.press("o")
        found.settle()
        assert path_of(found) == "/ui/findings"
        found.page.evaluate("localStorage.clear()")


def test_rows_are_walked_and_opened(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/findings", realm="gravitino")
        page = found.page
        rows = page.locator("tbody tr")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 1
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 2
        rule = rows.nth(1).locator("code").first.inner_text()
        page.keyboard.press("Enter")
        assert page.get_by_role("dialog").get_by_role("heading").first.inner_text() == rule
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 2


@pytest.mark.nightly
def test_a_finding_is_fixed_and_dismissed_by_key(visit: Visits, served: Served) -> None:
    body = {"privileges": ["SELECT_TABLE"], "to": ["user:kim"], "on": FORECASTS}
    for name in ("keys-a", "keys-b"):
        path = f"/api/v1/realms/gravitino/statements/{name}"
        assert served.ask("PUT", path, body, user="admin").status < 300
    with visit("admin") as found:
        page = found.page
        found.open("/ui/findings", realm="gravitino", rule="duplicate-statement")
        page.get_by_role("row").filter(has_text="keys-b").get_by_role("button").first.press("Enter")
        page.get_by_role("button", name="Preview the fix").wait_for()
        page.keyboard.press("f")
        page.get_by_text("Nobody gains or loses access").wait_for()
        page.keyboard.press("z")
        assert page.evaluate("document.activeElement.required") is True
        page.keyboard.type("known")
        assert page.get_by_label("Why", exact=True).input_value() == "known"
    for name in ("keys-a", "keys-b"):
        served.ask("DELETE", f"/api/v1/realms/gravitino/statements/{name}", user="admin")


@pytest.mark.nightly
def test_cards_of_the_overview_have_numbers(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/")
        page = found.page
        headings = page.locator("main section h2").all_inner_texts()
        for place in range(4):
            page.keyboard.press(str(place + 1))
            card = page.evaluate(
                "document.activeElement.closest('section').querySelector('h2').textContent"
            )
            assert card == headings[place]


@pytest.mark.nightly
def test_a_question_is_turned_to_who_may(visit: Visits) -> None:
    with visit("admin") as found:
        question = {"realm": "gravitino", "do": "table.load", "on": FORECASTS}
        found.open("/ui/ask", who="user:hugo", **question)
        found.page.keyboard.press("w")
        found.page.wait_for_url("**/ui/ask/who?**")
        found.settle()
        found.open("/ui/principal", realm="gravitino", p="user:ana")
        found.page.keyboard.press("c")
        found.page.wait_for_url("**/ui/ask/compare?**")
        found.settle()
        assert "a=user%3Aana" in found.page.url


@pytest.mark.nightly
def test_the_audit_is_followed_live(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/audit")
        live = found.page.get_by_label("Live")
        assert not live.is_checked()
        found.page.keyboard.press(".")
        assert live.is_checked()
        found.page.keyboard.press(".")
        assert not live.is_checked()


@pytest.mark.nightly
def test_the_playground_leads_to_its_mistake(visit: Visits) -> None:
    with visit("ana") as found:
        found.open("/ui/playground")
        field = found.page.get_by_label("Scenario")
        text = field.input_value().replace("table.load", "table.lod", 1)
        field.fill(text)
        field.press("Control+Enter")
        found.page.get_by_role("alert").wait_for()
        field.press("F8")
        selected = found.page.evaluate(
            "(f => f.value.slice(f.selectionStart, f.selectionEnd))(document.activeElement)"
        )
        assert "table.lod" in selected
        found.page.evaluate("sessionStorage.clear()")


def test_the_sheet_lists_the_keys(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/")
        found.page.keyboard.press("?")
        sheet = found.page.get_by_role("dialog")
        listed = sheet.locator("dt").all_inner_texts()
        letters = {"/", "j", "k", "n", "e", "d", "x", "t", "w", "*", "c", "f", "z", ".", "F8", "?"}
        assert letters <= set(listed)
        assert found.barriers("html") == []


@pytest.mark.nightly
def test_enter_that_ends_a_composition_chooses_nothing(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/r/cdap/privileges")
        field = found.page.get_by_role("combobox", name="On", exact=True)
        field.fill("namespace:")
        method = found.page.context.new_cdp_session(found.page)
        composed = {"text": "sal", "selectionStart": 3, "selectionEnd": 3}
        method.send("Input.imeSetComposition", composed)
        # Like an input method: the key is named, but the code shows that it is not for the page.
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
        method.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
        found.settle()
        assert "namespace" not in found.page.url
        method.send("Input.insertText", {"text": "sales"})
        assert field.input_value() == "namespace:sales"
        field.press("Enter")
        found.page.wait_for_url("**on=namespace%3Asales*")
