"""The policy advisor over the API."""

from __future__ import annotations

from lakewarden.analysis.lint.catalogue import RULES
from tests.http.admin.api import Api
from tests.http.admin.conftest import state

PATH = "/realms/gravitino/lint"


def test_what_is_wrong_in_a_realm_is_told(lake: Api) -> None:
    state(lake, "delegate", ["MANAGE_GRANTS"], "metalake:lk", ["role:lk:readers"])
    found = lake.must("GET", PATH)["findings"]
    assert {one["rule"] for one in found} <= RULES.keys()
    (one,) = [one for one in found if one["rule"] == "may-grant"]
    assert (one["kind"], one["name"], one["severity"]) == ("statement", "delegate", "warning")
    assert "`ana`" in one["says"]
    assert one["fix"]


def test_the_worst_stands_first(lake: Api) -> None:
    worst = {"error": 0, "warning": 1, "note": 2}
    found = [worst[one["severity"]] for one in lake.must("GET", PATH)["findings"]]
    assert found == sorted(found)
    assert found


def test_page_after_page_gives_all_of_it_once(lake: Api) -> None:
    whole = lake.must("GET", PATH)
    found, token = [], ""
    while True:
        page = lake.must("GET", f"{PATH}?page.limit=1" + (f"&page.token={token}" if token else ""))
        assert page["total"] == whole["total"] == len(whole["findings"])
        found += page["findings"]
        token = page["page"]["next_token"]
        if not token:
            break
    assert found == whole["findings"]
    assert len(found) > 1


def test_it_is_for_whoever_may_read_the_realm(lake: Api) -> None:
    refused = lake.ask("GET", PATH, user="ben")
    assert refused.status == 403
    assert refused.body["operation"] == "realm.lint"
