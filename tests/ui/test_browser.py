"""The pages in a real browser: nothing breaks, nobody is shut out, and the first trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import Tab, pages, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}},
}
DENIED = {
    "realm": "gravitino",
    "who": "user:hugo",
    "do": "table.alter",
    "on": "table:quillmere:lake.sales.forecasts",
}


@pytest.mark.parametrize(
    "view", ["light", "narrow", pytest.param("dark", marks=pytest.mark.nightly)]
)
def test_every_page_opens_for_everybody(browser: Browser, served: Served, view: str) -> None:
    with tab(browser, served.address, **VIEWS[view]) as admin:
        admin.sign_in("admin")
        found: dict[str, list[str]] = {}
        for path, search in pages():
            admin.open(path, **search)
            admin.check()
            found[path] = admin.barriers()
            wide = admin.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= VIEWS[view]["viewport"]["width"], path
        assert not any(found.values()), found


@pytest.mark.parametrize("person", ["ana", pytest.param("nobody", marks=pytest.mark.nightly)])
def test_every_page_opens_without_rights(browser: Browser, served: Served, person: str) -> None:
    with tab(browser, served.address) as found:
        found.sign_in(person)
        for path, search in pages():
            found.open(path, **search)
            found.check()


@pytest.mark.nightly
def test_text_of_twice_the_size_fits(browser: Browser, served: Served) -> None:
    with tab(browser, served.address, viewport={"width": 1280, "height": 900}) as found:
        found.sign_in("admin")
        for path, search in pages():
            found.open(path, **search)
            found.page.evaluate("document.documentElement.style.fontSize = '200%'")
            assert found.page.evaluate("document.documentElement.scrollWidth") <= 1280, path
            assert found.barriers() == [], path


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


def test_who_was_denied_learns_why_and_whom_to_ask(browser: Browser, served: Served) -> None:
    with tab(browser, served.address) as found:
        found.sign_in("hugo")
        found.open("/ui/ask", **DENIED)
        said = found.text()
        answer = served.ask(
            "POST",
            "/api/v1/realms/gravitino/explain",
            {"principal": "user:hugo", "operation": "table.alter", "entity": DENIED["on"]},
            user="hugo",
        ).json()
        assert isinstance(answer, dict)
        sentence = "".join(word["text"] for word in answer["summary"])
        assert " ".join(sentence.split()) in " ".join(said.split())
        assert "DENIED" in said.upper()


def test_the_question_is_asked_with_the_keyboard_alone(browser: Browser, served: Served) -> None:
    with tab(browser, served.address) as found:
        found.sign_in("admin")
        page = found.page
        page.keyboard.press("/")
        page.keyboard.type("invoices")
        page.get_by_role("option").first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/asset?**")
        found.settle()
        page.keyboard.press("g")
        page.keyboard.press("a")
        page.wait_for_url("**/ui/ask**")
        found.check()


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(2)</script>',
    "javascript:alert(3)",
    "{{7*7}}${7*7}",
    "a\u202eb",
    "' onmouseover='alert(4)",
)


def test_what_is_stored_is_never_markup(browser: Browser, served: Served) -> None:
    for number, text in enumerate(HOSTILE):
        user = served.ask(
            "PUT",
            f"/api/v1/realms/datahub/statements/hostile-{number}",
            {"privileges": ["VIEW_ENTITY_PAGE"], "to": ["user:ana"], "title": text},
            user="admin",
        )
        assert user.status < 300, user.body
    with tab(browser, served.address) as found:
        found.sign_in("admin")
        found.open("/ui/r/datahub/statements")
        _is_plain(found)
        for number in range(len(HOSTILE)):
            found.open("/ui/r/datahub/statement", id=f"hostile-{number}")
            assert HOSTILE[number].replace("\u202e", "202e")[:4] in found.text()
            _is_plain(found)
        for text in HOSTILE:
            for path in ("/ui/ask", "/ui/ask/who", "/ui/asset", "/ui/principal"):
                found.open(
                    path, realm="gravitino", who=text, do="table.load", on=text, e=text, p=text
                )
                _is_plain(found)


def _is_plain(found: Tab) -> None:
    found.check()
    made = "main img[src=x], main script, main [onmouseover], main [onerror]"
    assert found.page.locator(made).count() == 0
