"""The policy advisor over the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lakewarden.analysis.lint.catalogue import RULES
from tests.http.admin.api import Api
from tests.http.admin.conftest import TABLE, state
from tests.service.opened_services import prune_feed

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


def test_lint_needs_the_right_to_read_the_realm(lake: Api) -> None:
    refused = lake.ask("GET", PATH, user="ben")
    assert refused.status == 403
    assert refused.body["operation"] == "realm.lint"


def _findings(api: Api, **query: str) -> list[dict[str, Any]]:
    answer: dict[str, list[dict[str, Any]]] = api.must("GET", PATH, query=query)
    return answer["findings"]


def test_findings_are_narrowed(lake: Api) -> None:
    everything = _findings(lake)
    one = everything[0]
    assert one in _findings(lake, rule=one["rule"])
    assert {row["rule"] for row in _findings(lake, rule=one["rule"])} == {one["rule"]}
    assert {row["severity"] for row in _findings(lake, severity=one["severity"])} == {
        one["severity"]
    }
    assert {row["name"] for row in _findings(lake, kind=one["kind"], name=one["name"])} == {
        one["name"]
    }
    assert lake.ask("GET", "/realms/gravitino/lint", query={"rule": "none"}).status == 400


def test_a_finding_is_dismissed_for_a_time_and_says_so(lake: Api) -> None:
    one = _findings(lake)[0]
    path = f"/realms/gravitino/lint/dismissals/{one['fingerprint']}"
    until = datetime.fromtimestamp(lake.service.clock(), UTC) + timedelta(days=10)
    body = {"reason": "known, until the move", "until": until.isoformat()}
    assert lake.ask("PUT", path, body, user="ana").status == 403
    lake.must("PUT", path, body)
    (row,) = _findings(lake, dismissed="true")
    assert (row["fingerprint"], row["dismissed"]["by"]) == (one["fingerprint"], "admin")
    assert one not in _findings(lake, dismissed="false")
    assert len(_findings(lake)) == len(_findings(lake, dismissed="false")) + 1
    lake.must("DELETE", path)
    assert _findings(lake, dismissed="true") == []
    for wrong in ({**body, "reason": " "}, {**body, "until": "2001-01-01T00:00:00Z"}):
        assert lake.ask("PUT", path, wrong).status == 400
    assert lake.ask("PUT", path[:-1], body).status == 400


def test_a_finding_that_a_removal_mends_brings_the_draft(lake: Api) -> None:
    body = {"privileges": ["SELECT_TABLE"], "to": ["role:lk:readers"], "on": TABLE}
    lake.must("PUT", "/realms/gravitino/statements/twin", body)
    (row,) = _findings(lake, rule="duplicate-statement")
    shown = lake.must("POST", "/realms/gravitino/preview", row["edit"])
    assert row["fingerprint"] in {one["fingerprint"] for one in shown["lint_gone"]}
    assert shown["access"]["lost"] == 0


def test_a_draft_is_looked_at(lake: Api) -> None:
    body = {"privileges": ["SELECT_TABLE"], "to": ["role:lk:readers"], "on": TABLE}
    draft = {"put": [{"id": "twin", **body}]}
    found = lake.must("POST", "/realms/gravitino/lint", draft)["findings"]
    assert "duplicate-statement" in {one["rule"] for one in found}
    assert _findings(lake, rule="duplicate-statement") == []
    assert lake.ask("POST", "/realms/gravitino/lint", draft, user="ana").status == 403


def _put_twin(api: Api, id: str) -> int:
    body = {"privileges": ["SELECT_TABLE"], "to": ["role:lk:readers"], "on": TABLE}
    api.must("PUT", f"/realms/gravitino/statements/{id}", body)
    return api.service.state.revision


def test_findings_since_a_revision_are_those_that_it_did_not_have(lake: Api) -> None:
    before = lake.service.state.revision
    after = _put_twin(lake, "twin")
    new = _findings(lake, since=str(before))
    assert "duplicate-statement" in {one["rule"] for one in new}
    old = [one for one in _findings(lake) if one not in new]
    assert old, "the realm has findings that were there before"
    assert _findings(lake, since="0") == _findings(lake)
    assert _findings(lake, since=str(after)) == []
    assert _findings(lake, since=str(before), rule="may-grant") == [
        one for one in new if one["rule"] == "may-grant"
    ]
    refused = lake.ask("GET", PATH, query={"since": str(after + 1)})
    assert (refused.status, refused.body["errors"][0]["path"]) == (400, "since")


def test_a_finding_says_which_revision_brought_it(lake: Api) -> None:
    before = lake.service.state.revision
    revisions = {_put_twin(lake, "twin"), _put_twin(lake, "triplet")}
    rows = _findings(lake, fields="first_seen")
    assert all(one["first_seen"]["revision"] <= max(revisions) for one in rows)
    new = {one["fingerprint"] for one in _findings(lake, since=str(before))}
    late = [one for one in rows if one["first_seen"]["revision"] > before]
    assert {one["fingerprint"] for one in late} == new
    assert {one["first_seen"]["revision"] for one in late} == revisions
    assert all(datetime.fromisoformat(one["first_seen"]["at"]).tzinfo for one in late)
    assert all(one["first_seen"] is None for one in _findings(lake))


def test_earlier_revisions_are_unknown_once_the_feed_is_pruned(lake: Api) -> None:
    prune_feed(lake.service)
    assert lake.ask("GET", PATH).status == 200
    for query in ({"since": "1"}, {"fields": "first_seen"}):
        refused = lake.ask("GET", PATH, query=query)
        assert refused.status == 409
        assert "not known any more" in refused.body["detail"]
