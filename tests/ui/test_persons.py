"""Each page for each person: no enabled button causes a 403, no page is a dead end.

The fifth person, an administrator, is denied nothing; `test_every_page` opens all pages as one.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import Tab, Visits, pages

pytestmark = pytest.mark.browser

RIGHTS = {
    "author": ["READ_REALM"],
    "auditor": ["READ_AUDIT", "EXPLAIN", "ASK", "READ_REALM"],
}
"""The server permissions of the policy author and the auditor; a consumer has none."""

CONSUMER, STEWARD = "hugo", "wanda"
OWNED = "table:quillmere:lake.sales.forecasts"
REALMS = ("gravitino", "datahub", "cdap")
LEFT = ("Log out", "Close", "Cancel")
"""Buttons that would end the session or dialog under test."""


@pytest.fixture(scope="module")
def peopled(own_served: Served) -> Served:
    """The sample estate with the missing persons."""
    for user, privileges in RIGHTS.items():
        call_api(own_served, f"/directories/main/users/{user}")
        body = {"privileges": privileges, "to": [f"user:{user}"], "on": "server:lakewarden"}
        call_api(own_served, f"/realms/_server/statements/person-{user}", body)
    owned = {"entity": OWNED, "owners": [{"principal": f"user:{STEWARD}"}]}
    call_api(own_served, "/realms/gravitino/entity", owned)
    return own_served


def call_api(served: Served, path: str, body: object = None) -> None:
    answer = served.ask("PUT", f"/api/v1{path}", body, user="admin")
    assert answer.status < 300, (path, answer.body)


def is_no_dead_end(found: Tab, path: str) -> None:
    """The page has contents, and leads on: within itself, or by the rail."""
    found.check()
    assert found.page.locator("main h1").first.inner_text().strip(), path
    assert found.page.get_by_role("navigation", name="Main").get_by_role("link").count() >= 5
    body = found.text().partition("\n")[2].strip()
    assert body or found.page.locator("main canvas, main svg").count(), path


@pytest.mark.nightly  # each button of each page
@pytest.mark.parametrize("person", [CONSUMER, STEWARD, *RIGHTS])
def test_what_is_offered_is_never_denied(own_visit: Visits, peopled: Served, person: str) -> None:
    denied: dict[str, list[str]] = {}
    with own_visit(person) as found:
        for path, search in pages():
            found.open(path, **search)
            is_no_dead_end(found, path)
            for place in range(found.page.locator("main button:enabled").count()):
                before = len(found.refused)
                press(found, place)
                # If the effect of a change may not be shown, the page says so.
                acts = [one for one in found.refused[before:] if not one.endswith("/preview")]
                acts = [one for one in acts if not one.startswith("GET ")]
                if acts:
                    denied.setdefault(path, []).extend(acts)
                found.open(path, **search)
    assert denied == {}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("path", "search"),
    [
        ("/ui/r/gravitino/plan", {}),
        ("/ui/r/gravitino/limit", {"kind": "filter"}),
        ("/ui/r/gravitino/limit", {"id": "hide-iban"}),
        ("/ui/r/datahub/policy/new", {}),
    ],
)
def test_a_form_that_would_be_refused_is_not_shown(
    visit: Visits, path: str, search: dict[str, str]
) -> None:
    """Its address can be in a link from somebody else."""
    with visit(CONSUMER) as found:
        found.open(path, **search)
        found.page.get_by_text("An administrator of the realm can grant it.").wait_for()
        assert found.page.locator("main").locator("input, textarea, select, button").count() == 0


@pytest.mark.nightly  # every page, and every operation of three realms
def test_no_hidden_name_is_shown(own_visit: Visits, peopled: Served) -> None:
    """Trial 24: what a consumer may not see is named nowhere, except in the address itself."""
    hidden = hidden_names(peopled, CONSUMER)
    assert len(hidden) > 50
    shown: dict[str, list[str]] = {}
    with own_visit(CONSUMER) as found:
        for path, search in pages():
            found.open(path, **search)
            words = set(re.split(r"[\s,;:()]+", found.page.locator("body").inner_text()))
            asked_about = " ".join(search.values())
            names = sorted(name for name in hidden & words if name not in asked_about)
            if names:
                shown[path] = names
    assert shown == {}


def hidden_names(served: Served, user: str) -> set[str]:
    """The dotted names of entities on which the user has no permission in any realm."""
    every: set[str] = set()
    visible: set[str] = set()
    for realm in REALMS:
        vocabulary = read_api(served, "GET", f"/realms/{realm}/operations")
        for operation in vocabulary["operations"]:
            if operation["types"] != ["none"]:
                question = {
                    "principal": f"user:{user}",
                    "operation": operation["name"],
                    "page": {"limit": 1000},
                }
                visible |= names_in(read_api(served, "POST", f"/realms/{realm}/list", question))
        every |= names_in(read_api(served, "GET", f"/realms/{realm}/entities?page.limit=1000"))
    # The name of a visible entity contains the names of its containers.
    return {name for name in every - visible if not any(name in one for one in visible)}


def names_in(listed: dict[str, Any]) -> set[str]:
    names = {dotted(one["name"]) for one in listed["entities"]}
    return {name for name in names if "." in name}


def dotted(entity: str) -> str:
    """The part of an entity's name that people know it by.

    >>> dotted("table:quillmere:lake.people.salaries")
    'lake.people.salaries'
    """
    found = re.search(r"[\w-]+(\.[\w-]+)+", entity)
    return found[0] if found else entity


def read_api(served: Served, method: str, path: str, body: object = None) -> dict[str, Any]:
    answer = served.ask(method, f"/api/v1{path}", body, user="admin")
    assert answer.status < 300, (path, answer.body)
    found: Any = answer.json()
    return dict(found)


def press(found: Tab, place: int) -> None:
    """Presses the button, and what it then asks to confirm is not pressed."""
    button = found.page.locator("main button:enabled").nth(place)
    if button.count() and button.inner_text() not in LEFT:
        button.click()
        found.settle()
