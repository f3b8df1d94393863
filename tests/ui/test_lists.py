"""Lists that are longer than one request of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits
from tests.ui.test_trials import call_api

pytestmark = pytest.mark.browser

SCHEMA: Final = "schema:many:c.s"
TABLES: Final = 230


@pytest.fixture(scope="module")
def many(served: Served) -> Iterator[str]:
    """A schema with many tables."""
    names = ["metalake:many", "catalog:many:c", SCHEMA]
    names += [f"table:many:c.s.t{number:04}" for number in range(TABLES)]
    for name in names:
        call_api(served, "PUT", "/realms/gravitino/entity", {"entity": name})
    yield SCHEMA
    call_api(served, "DELETE", "/realms/gravitino/entity?entity=metalake:many")


@pytest.mark.nightly
def test_a_long_list_asks_for_the_rows_in_sight(visit: Visits, many: str) -> None:
    with visit("admin") as tab:
        tab.open("/ui/asset", realm="gravitino", e=many, tab="inside")
        page = tab.page
        rows = page.get_by_role("region", name="Inside").locator("tbody tr[data-index]")
        page.get_by_text(f"{TABLES} in all").wait_for()
        assert "t0000" in rows.first.inner_text()
        assert rows.count() < 70
        parts: list[str] = []
        page.on("request", lambda sent: parts.append(sent.url))
        page.get_by_role("region", name="Inside").evaluate(
            "at => { at.scrollTop = at.scrollHeight }"
        )
        page.get_by_text(f"t{TABLES - 1:04}").wait_for()
        assert [part for part in parts if "page.skip=0" in part] == []
        assert len(parts) <= 2
        assert "t0000" not in tab.text()


@pytest.mark.nightly
def test_a_long_list_is_narrowed_by_name(visit: Visits, many: str) -> None:
    with visit("admin") as tab:
        tab.open("/ui/asset", realm="gravitino", e=many, tab="inside")
        page = tab.page
        page.get_by_label("Name contains").fill("t013")
        page.get_by_text("10 in all").wait_for()
        page.get_by_label("Name contains").fill("nothing like it")
        page.get_by_text("Nothing in it has such a name.").wait_for()
        assert page.get_by_label("Name contains").input_value() == "nothing like it"


def test_people_are_listed_or_found(visit: Visits) -> None:
    for user in ("admin", "hugo"):
        with visit(user) as tab:
            tab.open("/ui/people", realm="gravitino", kind="user")
            tab.page.get_by_label("Name contains").fill("hug")
            tab.page.get_by_text("1 in all").wait_for()
            tab.page.locator("main").get_by_role("link", name="hugo").wait_for()
            tab.page.get_by_label("Known in").select_option("datahub")
            tab.page.locator("main").get_by_role("link", name="hugo").wait_for()
