"""Any name is shown as text: no dialog, no policy violation, no created element."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import quote

import pytest

from tests.app.serving import Served
from tests.hostile_names import MARKUP, names
from tests.ui.browser import Tab, Visits, pages

pytestmark = pytest.mark.browser

Opened: TypeAlias = tuple[str, dict[str, str]]
V3 = "/r/datahub/openapi/v3/entity"
ABOUT_ONE = ("/ui/ask", "/ui/ask/who", "/ui/ask/what", "/ui/ask/compare", "/ui/asset", "/ui/people")
SHOWING = (
    *("/ui/", "/ui/ask/what", "/ui/assets", "/ui/people", "/ui/findings", "/ui/audit"),
    *("/ui/r/datahub/statements", "/ui/r/datahub/policies", "/ui/r/datahub/policy/new"),
    *("/ui/r/gravitino/matrix", "/ui/links/suggestions"),
)
"""Pages with lists and pictures of stored entities."""


def store(served: Served, hostile: list[str]) -> None:
    """Each name as a person, a statement, a tag, a dataset with a description, and a policy."""
    for place, name in enumerate(hostile):
        path = f"/api/v1/directories/main/users/{quote(name, safe='')}"
        call_api(served, "PUT", path)
        body = {"privileges": ["VIEW_ENTITY_PAGE"], "to": [f"user:{name}"], "title": name}
        call_api(served, "PUT", f"/api/v1/realms/datahub/statements/hostile-{place}", body)
    for kind, aspect, value in (
        ("tag", "tagProperties", lambda name: {"name": name, "description": name}),
        ("dataset", "datasetProperties", lambda name: {"name": name, "description": name}),
        ("dataHubPolicy", "dataHubPolicyInfo", policy),
    ):
        rows = [
            {"urn": urn(kind, place), aspect: {"value": value(name)}}
            for place, name in enumerate(hostile)
        ]
        call_api(served, "POST", f"{V3}/{kind}?async=false", rows)


def urn(kind: str, place: int) -> str:
    if kind == "dataset":
        return f"urn:li:dataset:(urn:li:dataPlatform:hive,hostile.{place},PROD)"
    return f"urn:li:{kind}:hostile-{place}"


def policy(name: str) -> dict[str, object]:
    actors = {"users": ["urn:li:corpuser:ana"], "allUsers": False, "allGroups": False}
    actors["resourceOwners"] = False
    return {
        "displayName": name,
        "description": name,
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["VIEW_ANALYTICS"],
        "actors": actors,
        "editable": True,
    }


def call_api(served: Served, method: str, path: str, body: object = None) -> None:
    answer = served.ask(method, path, body, user="admin")
    assert answer.status < 300, (path, answer.body)


def is_text(found: Tab) -> None:
    found.check()
    assert found.page.locator("[data-hostile]").count() == 0


def open_each(visit: Visits, served: Served, hostile: list[str], opened: Iterable[Opened]) -> None:
    store(served, hostile)
    with visit("admin") as found:
        for path, search in opened:
            found.go(path, **search)
            is_text(found)
        for place, name in enumerate(hostile):
            found.go("/ui/r/datahub/statement", id=f"hostile-{place}")
            is_text(found)
            found.go("/ui/principal", realm="datahub", p=f"user:{name}")
            is_text(found)
            found.go("/ui/r/datahub/policy", urn=urn("dataHubPolicy", place))
            is_text(found)
            found.go("/ui/asset", realm="datahub", e=urn("dataset", place))
            is_text(found)
            # Like a link from another page.
            found.go(
                ABOUT_ONE[place % len(ABOUT_ONE)],
                realm="gravitino",
                **dict.fromkeys(("who", "do", "on", "e", "p", "q", "a", "b", "within"), name),
            )
            is_text(found)


def test_markup_in_names_is_text(own_visit: Visits, own_served: Served) -> None:
    """Two names with six kinds of markup; nightly, each kind is a separate name."""
    showing = [one for one in pages() if one[0] in SHOWING]
    assert {path for path, _ in showing} == {*SHOWING}
    open_each(own_visit, own_served, ["".join(MARKUP[:3]), "".join(MARKUP[3:6])], showing)


@pytest.mark.nightly
def test_300_hostile_names_are_text_on_every_page(own_visit: Visits, own_served: Served) -> None:
    open_each(own_visit, own_served, names(300), pages())
