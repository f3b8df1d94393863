"""Every page in a real browser: no errors, no overflow, no accessibility violations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits, pages, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.browser

DENIED = {
    "realm": "gravitino",
    "who": "user:hugo",
    "do": "table.alter",
    "on": "table:quillmere:lake.sales.forecasts",
}
night = pytest.mark.nightly
Pages = Sequence[tuple[str, dict[str, str]]]


def _of_each_kind() -> Pages:
    """A form with a result, tabs, an editor, a drawing, a long table."""
    kinds = ("/ui/ask", "/ui/asset", "/ui/r/datahub/policy", "/ui/r/gravitino/matrix", "/ui/audit")
    by_path = {path: (path, search) for path, search in pages()}
    return [by_path[path] for path in kinds]


@night
@pytest.mark.parametrize("view", ["wide", "dark"])
def test_pages_are_without_barriers(visit: Visits, view: str) -> None:
    """Pages are opened like by links; tests below open them by address, as `ana`."""
    with visit("admin", view) as found:
        barriers: dict[str, list[str]] = {}
        for path, search in pages():
            found.go(path, **search)
            assert found.overflow() <= 0, path
            # The frame of the pages is the same on each.
            barriers[path] = found.barriers("main" if barriers else "html")
        assert not any(barriers.values()), barriers


@pytest.mark.parametrize(
    "checked",
    [pytest.param(_of_each_kind(), id="width"), pytest.param(pages(), marks=night, id="barriers")],
)
def test_every_page_fits_a_phone(visit: Visits, checked: Pages) -> None:
    """By day, accessibility is checked on one page of each kind."""
    with visit("admin", "narrow") as found:
        barriers: dict[str, list[str]] = {}
        for path, search in pages():
            found.go(path, **search)
            assert found.overflow() <= 0, path
            if (path, search) in checked:
                barriers[path] = found.barriers("main" if barriers else "html")
        assert not any(barriers.values()), barriers


@night
def test_text_of_twice_the_size_fits(visit: Visits) -> None:
    with visit("admin") as found:
        for path, search in pages():
            found.go(path, **search)
            found.page.evaluate("document.documentElement.style.fontSize = '175%'")
            assert found.overflow() <= 0, path
            assert found.barriers() == [], path


@night
def test_the_current_tab_is_in_view(visit: Visits) -> None:
    """Of five tabs a phone shows three."""
    with visit("admin", "narrow") as found:
        found.open("/ui/ask/denials")
        found.page.evaluate("document.fonts.ready")
        tab = found.page.get_by_role("link", name="Denials").bounding_box()
        assert tab is not None
        assert tab["x"] + tab["width"] <= 390


@night
def test_a_field_shows_the_realm_that_its_page_acts_on(visit: Visits) -> None:
    with visit("admin") as found:
        for page in ("plan", "matrix", "statements"):
            found.open(f"/ui/r/_server/{page}")
            assert found.page.get_by_label("Realm", exact=True).input_value() == "_server"


@night
def test_an_empty_tree_is_without_barriers(visit: Visits) -> None:
    def empty(route: Route) -> None:
        route.fulfill(json={"children": [], "total": 0, "page": {"next_token": ""}})

    with visit("admin") as found:
        found.page.route("**/children?*", empty)
        found.open("/ui/assets")
        found.page.get_by_text("Nothing here that you may see.").wait_for()
        assert found.barriers() == []


@night
def test_long_names_and_many_of_them_fit(browser: Browser, own_served: Served) -> None:
    names = ["W" * 120, *(f"Wolfeschlegelsteinhausenbergerdorff-{n}" for n in range(8))]
    body = {
        "privileges": ["READ"],
        "to": [f"user:{name}" for name in names],
        "on": "namespace:sales",
    }
    path = "/api/v1/realms/cdap/statements/long"
    assert own_served.ask("PUT", path, body, user="admin").status < 300
    with tab(browser, own_served.address, viewport={"width": 1024, "height": 800}) as found:
        found.sign_in("admin")
        for path, search in (
            ("/ui/principal", {"realm": "cdap", "p": f"user:{names[0]}"}),
            ("/ui/r/cdap/statement", {"id": "long"}),
            ("/ui/asset", {"realm": "cdap", "e": "namespace:sales", "tab": "rules"}),
            ("/ui/ask/who", {"realm": "cdap", "do": "namespace.get", "on": "namespace:sales"}),
        ):
            found.go(path, **search)
            assert found.overflow() <= 0, path
            # Names in a sentence are a line apart.
            assert path == "/ui/asset" or found.barriers() == [], path


@night
@pytest.mark.parametrize("person", ["ana", "nobody"])
def test_every_address_opens_without_rights(visit: Visits, person: str) -> None:
    with visit(person) as found:
        for path, search in pages():
            found.open(path, **search)
            found.check()


def test_one_signs_in_comes_back_and_out(browser: Browser, served: Served) -> None:
    with tab(browser, served.address) as found:
        found.page.goto(f"{served.address}/ui/r/gravitino/statements")
        found.page.wait_for_url("**/ui/login?**")
        found.page.fill("input[name=user]", "ana")
        found.page.locator("form:has(input[name=user]) button").first.click()
        found.page.wait_for_url("**/ui/r/gravitino/statements")
        found.settle()
        assert found.page.evaluate("document.cookie") == ""
        assert found.page.evaluate("localStorage.length + sessionStorage.length") <= 1
        found.page.get_by_role("button", name="Account of ana").click()
        found.page.get_by_role("menuitem", name="Log out").click()
        found.page.wait_for_url("**/ui/login**")
