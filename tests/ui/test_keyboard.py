"""Trials without a mouse: every step is a key, and what it needs is reached with Tab."""

from __future__ import annotations

import pytest

from tests.app.serving import Served
from tests.ui.browser import VIEWS, Tab, Visits

pytestmark = pytest.mark.browser

_NAME = """
(one => (one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent).trim())
(document.activeElement)
"""
MOST_TABS = 80
DOUBLE = "document.documentElement.style.fontSize = '175%'"


def reach(found: Tab, name: str) -> None:
    """Presses Tab until what has this name has the focus."""
    for _ in range(MOST_TABS):
        found.page.keyboard.press("Tab")
        if str(found.page.evaluate(_NAME)).startswith(name):
            return
    raise AssertionError(f"{name} cannot be reached")


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


def test_who_may_is_asked(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/ask/who", realm="gravitino")
        who_may(found)


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
