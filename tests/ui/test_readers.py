"""A reader of everything who may change nothing, like an auditor, is offered no change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits, pages
from tests.ui.test_trials import call_api

pytestmark = pytest.mark.browser

READER: Final = "inspector"
RIGHTS: Final = ["READ_AUDIT", "EXPLAIN", "ASK", "READ_REALM"]
CHANGES: Final = re.compile(
    r"(New|Save|Remove|Delete|Drop|Take|Assign|Add|Change|Set|Activate|Deactivate|Dismiss|Apply"
    r"|Link|Replace|Push|Grant|Revoke|Discard)\b"
)
GRANTS: Final[Sequence[tuple[str, dict[str, str]]]] = (
    ("/ui/r/gravitino/roles", {}),
    ("/ui/r/gravitino/role", {"name": "quillmere:marts_only"}),
    ("/ui/r/cdap/privileges", {}),
)
OTHERS_ONLY: Final = ("/ui/links/suggestions", "/ui/settings/server", "/ui/settings/health")
"""Pages for administrators of a realm or of the server; nothing leads there."""

_OFFERED: Final = """
() => [...document.querySelectorAll("main button:enabled, main a[class]")]
  .filter((one) => one.offsetParent !== null)
  .map((one) => (one.getAttribute("aria-label") || one.textContent).trim())
"""


@pytest.fixture(scope="module")
def reader(served: Served) -> str:
    call_api(served, "PUT", f"/directories/main/users/{READER}")
    body = {"privileges": RIGHTS, "to": [f"user:{READER}"], "on": "server:lakewarden"}
    call_api(served, "PUT", f"/realms/_server/statements/{READER}", body)
    return READER


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param(GRANTS, id="grants"),
        pytest.param(pages(), id="every", marks=pytest.mark.nightly),
    ],
)
def test_a_reader_is_offered_no_change(
    visit: Visits, reader: str, opened: Sequence[tuple[str, dict[str, str]]]
) -> None:
    with visit(reader) as found:
        for path, search in opened:
            found.open(path, **search)
            offered: list[str] = found.page.evaluate(_OFFERED)
            assert [one for one in offered if CHANGES.match(one)] == [], path
            if path not in OTHERS_ONLY:
                assert found.refused == [], path
            found.refused.clear()


@pytest.mark.nightly
def test_what_a_reader_may_not_open_leads_on(visit: Visits, reader: str) -> None:
    with visit(reader) as found:
        found.open("/ui/r/datahub/policies")
        found.page.get_by_role("link", name="What the policies say").click()
        found.page.wait_for_url("**/ui/r/datahub/statements")
        found.settle()
        realms = found.page.get_by_label("Realm", exact=True).locator("option").all_inner_texts()
        assert realms == ["CDAP", "DataHub", "Apache Gravitino"]
        found.open("/ui/r/gravitino/limit", id="hide-iban")
        found.page.get_by_role("link", name="What it says").click()
        found.page.get_by_text("only as last4").first.wait_for()


@pytest.mark.nightly
def test_the_realm_of_lakewarden_itself_has_no_load(visit: Visits) -> None:
    with visit("admin") as found:
        found.open("/ui/realm", name="cdap")
        assert "Last load" in found.text()
        found.open("/ui/realm", name="_server")
        assert "Last load" not in found.text()
