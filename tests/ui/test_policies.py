"""The page of DataHub's policies: made, edited, switched, taken away; a save loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser

V3 = "/r/datahub/openapi/v3/entity/dataHubPolicy"
URN = "urn:li:dataHubPolicy:kept-whole"
WHOLE: dict[str, Any] = {
    "displayName": "Kept whole",
    "description": "every member of the aspect",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["EDIT_ENTITY", "NOT_KNOWN_HERE"],
    "actors": {
        "users": ["urn:li:corpuser:ana"],
        "groups": ["urn:li:corpGroup:audit"],
        "roles": ["urn:li:dataHubRole:Editor"],
        "allUsers": False,
        "allGroups": False,
        "resourceOwners": True,
        "resourceOwnersTypes": ["urn:li:ownershipType:__system__technical_owner"],
    },
    "resources": {
        "allResources": False,
        "filter": {
            "criteria": [
                {"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"},
                {"field": "TAG", "values": ["urn:li:tag:pii"], "condition": "NOT_EQUALS"},
            ]
        },
        "privilegeConstraints": {
            "criteria": [
                {"field": "URN", "values": ["urn:li:tag:"], "condition": "STARTS_WITH"},
            ]
        },
    },
    "editable": True,
    "lastUpdatedTimestamp": 1,
}


def _stored(served: Served, urn: str) -> dict[str, Any] | None:
    answer = served.ask("GET", f"{V3}/{urn}?aspects=dataHubPolicyInfo", user="admin")
    if answer.status == 404:
        return None
    body = answer.json()
    assert isinstance(body, dict)
    value: dict[str, Any] | None = body.get("dataHubPolicyInfo", {}).get("value")
    return value


def test_nothing_that_was_stored_is_lost_by_a_save(visit: Visits, served: Served) -> None:
    body = {"value": WHOLE}
    made = served.ask("POST", f"{V3}/{URN}/dataHubPolicyInfo", body, user="admin")
    assert made.status < 300, made.body
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn=URN)
        name = found.page.get_by_label("Name", exact=True)
        assert name.input_value() == "Kept whole"
        assert "not known to this version" in found.text()
        name.fill("Kept whole, and renamed")
        found.page.get_by_role("button", name="Save", exact=True).click()
        found.page.get_by_text("Policy saved").first.wait_for()
    after = _stored(served, URN)
    assert after is not None
    changed = {key for key in {*after, *WHOLE} if after.get(key) != WHOLE.get(key)}
    assert changed == {"displayName", "lastUpdatedTimestamp"}


def test_a_policy_is_made_switched_and_taken_away(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policies")
        page = found.page
        page.get_by_role("link", name="New policy").click()
        page.get_by_label("Name", exact=True).fill("Made in a browser")
        field = page.get_by_label("Add to Users")
        field.fill("urn:li:corpuser:ben")
        field.press("Escape")
        field.press("Enter")
        page.get_by_label("Edit Entity", exact=True).check()
        page.get_by_role("button", name="Save as inactive policy").click()
        page.wait_for_url("**/ui/r/datahub/policy?urn=**")
        found.settle()
        urn = page.evaluate("new URLSearchParams(location.search).get('urn')")
        stored = _stored(served, urn)
        assert stored is not None
        assert stored["actors"]["users"] == ["urn:li:corpuser:ben"]
        assert (stored["privileges"], stored["state"]) == (["EDIT_ENTITY"], "INACTIVE")
        page.get_by_role("button", name="Activate", exact=True).click()
        page.get_by_role("button", name="Activate policy").click()
        page.get_by_role("button", name="Deactivate", exact=True).wait_for()
        assert (_stored(served, urn) or {})["state"] == "ACTIVE"
        page.get_by_role("button", name="Deactivate", exact=True).click()
        page.get_by_role("button", name="Deactivate policy").click()
        page.get_by_role("button", name="Activate", exact=True).wait_for()
        page.get_by_role("button", name="Remove", exact=True).click()
        page.get_by_role("button", name="Remove policy").click()
        page.wait_for_url("**/ui/r/datahub/policies")
        found.settle()
        found.check()
        assert _stored(served, urn) is None
        assert "Made in a browser" not in found.text()


def test_a_locked_policy_is_read_and_copied(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn="urn:li:dataHubPolicy:0")
        page = found.page
        assert page.get_by_label("Name", exact=True).is_disabled()
        assert page.get_by_role("button", name="Save").count() == 0
        assert page.get_by_role("button", name="Remove").count() == 0
        page.get_by_role("link", name="Copy").click()
        page.wait_for_url("**/ui/r/datahub/policy/new?**")
        found.settle()
        assert page.get_by_label("Name", exact=True).input_value().startswith("Copy of ")


def test_what_was_typed_outlives_an_error_and_a_reload(visit: Visits, served: Served) -> None:
    with visit("admin") as found:
        found.open("/ui/r/datahub/policy", urn="urn:li:dataHubPolicy:custodians-edit")
        page = found.page
        page.get_by_label("Name", exact=True).fill("Typed and not saved")
        page.route("**/dataHubPolicyInfo?*", lambda route: route.abort())
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("alert").first.wait_for()
        assert page.get_by_label("Name", exact=True).input_value() == "Typed and not saved"
        page.reload()
        found.settle()
        assert page.get_by_label("Name", exact=True).input_value() == "Typed and not saved"
        page.get_by_role("button", name="Discard changes").click()
        assert "Custodians" in page.get_by_label("Name", exact=True).input_value()


def test_who_may_not_manage_policies_is_offered_none(visit: Visits, served: Served) -> None:
    with visit("ana") as found:
        assert found.page.get_by_role("link", name="Policies").count() == 0
        found.open("/ui/r/datahub/policies")
        found.page.get_by_role("alert").wait_for()
        found.check()
