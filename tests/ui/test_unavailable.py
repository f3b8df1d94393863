"""Pages while the server answers 503: each says so, keeps what was typed, and recovers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from tests.app.serving import Served
from tests.ui.browser import Tab, Visits, pages
from tests.ui.test_trials import call_api, effect, pick

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

pytestmark = pytest.mark.browser

WHY: Final = "the store is unavailable"
_PROBLEM: Final = {"type": "about:blank", "title": WHY, "status": 503, "detail": WHY}
_CALLS: Final = re.compile(r"/api/v1/(?!session$)|/r/[^/]+/(api|openapi)/|/openapi\.json$")

# What a page consists of, apart from figures and times.
_SHAPE: Final = """
() => [...document.querySelectorAll("h1, h2, h3, th, label, main button, main [role=tab], nav a")]
  .filter((one) => one.offsetParent !== null)
  .map((one) => (one.getAttribute("aria-label") || one.textContent).trim())
  .filter((text) => !/\\d/.test(text))
"""
_IS_WHOLE: Final = f"(whole) => whole.every((one) => ({_SHAPE})().includes(one))"


@contextmanager
def unavailable(found: Tab) -> Iterator[None]:
    """Meanwhile every call of the pages fails, except that of the session."""

    def fail(route: Route) -> None:
        kind = "application/problem+json"
        route.fulfill(status=503, content_type=kind, body=json.dumps(_PROBLEM))

    found.page.route(_CALLS, fail)
    yield
    found.page.unroute(_CALLS, fail)


def retries(found: Tab) -> Locator:
    return found.page.get_by_role("button", name="Try again", exact=True)


@pytest.mark.nightly
def test_every_page_says_what_failed_and_recovers(visit: Visits) -> None:
    """One press reads again whatever failed on the page."""
    with visit("admin") as found:
        for path, search in pages():
            found.open(path, **search)
            whole: list[str] = found.page.evaluate(_SHAPE)
            with unavailable(found):
                found.open(path, **search)
                found.page.get_by_role("alert").filter(has_text=WHY).first.wait_for()
                retries(found).first.wait_for()
            retries(found).first.click()
            found.page.wait_for_function(_IS_WHOLE, arg=whole)


def test_a_press_reads_again_whatever_failed(visit: Visits) -> None:
    with visit("admin") as found:
        with unavailable(found):
            found.open(
                "/ui/asset", realm="gravitino", e="schema:quillmere:lake.sales", tab="inside"
            )
            found.page.get_by_role("main").get_by_text(WHY).wait_for()
            assert "Nothing" not in found.text()
            assert "0 realms" not in found.page.get_by_role("navigation", name="Main").inner_text()
        retries(found).last.click()
        found.page.get_by_role("link", name="lena").wait_for()
        found.page.get_by_role("link", name="forecasts").wait_for()
        retries(found).wait_for(state="detached")


@pytest.mark.nightly
def test_an_edit_outlives_a_save_that_fails(own_visit: Visits, own_served: Served) -> None:
    """The owner is read again before a save: neither that failure nor the save's loses the edit."""
    entity = "table:quillmere:lake.sales.quotes"
    body = {"privileges": ["READ_REALM"], "to": ["user:kai"], "on": "realm:gravitino"}
    call_api(own_served, "PUT", "/realms/_server/statements/kai-reads", body)
    with own_visit("kai") as found:
        found.open("/ui/r/gravitino/owners", e=entity)
        pick(found, "New owner", "ana")
        effect(found)
        with unavailable(found):
            found.page.get_by_role("button", name="Set owner").click()
            found.page.get_by_role("alert").filter(has_text=WHY).first.wait_for()
        field = found.page.get_by_role("combobox", name="New owner", exact=True)
        assert field.input_value() == "ana"
        with found.expect_message("ana owns it now"):
            found.page.get_by_role("button", name="Set owner").click()
