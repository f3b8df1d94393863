"""Orientation and navigation: the rail, tabs, and side-by-side layouts."""

from __future__ import annotations

import pytest

from tests.ui.browser import Tab, Visits

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

FORECASTS = "table:quillmere:lake.sales.forecasts"
WITHIN = [
    ("/ui/asset", {"realm": "gravitino", "e": FORECASTS}, "Assets"),
    ("/ui/principal", {"realm": "gravitino", "p": "group:finance"}, "People"),
    ("/ui/r/datahub/policy/new", {}, "Policies"),
    ("/ui/r/gravitino/owners", {"e": FORECASTS}, "Roles and grants"),
    ("/ui/r/gravitino/limit", {"kind": "mask"}, "Statements"),
    ("/ui/links/suggestions", {}, "Realms and links"),
    ("/ui/r/gravitino/statements", {}, "Statements"),
]
"""Pages, and their item of the rail."""


def tabs(found: Tab) -> list[str]:
    return found.page.locator("main nav").first.get_by_role("link").all_inner_texts()


def test_the_rail_says_where_one_is(visit: Visits) -> None:
    with visit("admin") as found:
        for path, search, item in WITHIN:
            found.open(path, **search)
            here = found.page.get_by_role("navigation", name="Main").locator("[aria-current]")
            assert here.all_inner_texts() == [item], path


def test_no_tab_leads_to_a_denial(visit: Visits) -> None:
    with visit("hugo") as found:
        found.open("/ui/ask")
        assert tabs(found) == ["May …?", "What may …?", "Denials"]
        found.open("/ui/realms")
        assert tabs(found) == ["Realms"]
        found.open("/ui/realm", name="gravitino")
        assert tabs(found) == ["Settings", "Operations and rules", "Privileges"]
        assert found.refused == []
    with visit("admin") as found:
        found.open("/ui/ask")
        assert tabs(found) == ["May …?", "Who may …?", "What may …?", "Compare", "Denials"]
        found.open("/ui/realms")
        assert tabs(found) == ["Realms", "Links", "Suggested links", "Targets"]


def test_an_asset_of_a_consumer_is_no_refusal(visit: Visits) -> None:
    with visit("hugo") as found:
        found.open("/ui/asset", realm="gravitino", e=FORECASTS)
        assert "What you may do with it" in found.text()
        assert "Who else has access is shown to users who may ask about others" in found.text()
        assert found.page.get_by_role("alert").count() == 0


def test_the_tab_that_is_shown_is_in_sight_on_a_phone(visit: Visits) -> None:
    with visit("admin", "narrow") as found:
        found.open("/ui/ask/denials")
        here = found.page.locator("main nav [aria-current]")
        box = here.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_words_of_a_list_stay_whole(visit: Visits) -> None:
    """Names may break anywhere, so a column could become as narrow as a few letters."""
    with visit("admin") as found:
        found.open("/ui/r/datahub/statements")
        place = found.page.get_by_text("everything", exact=True).first.bounding_box()
        assert place is not None
        assert place["height"] < 30
        assert "urn:li:corpuser" not in found.text()
