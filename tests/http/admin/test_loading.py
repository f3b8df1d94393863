"""Rows sent for loading: each name is validated, and the rows are counted."""

from __future__ import annotations

import pytest

from tests.http.admin.api import Api

ROWS: dict[str, object] = {
    "model": "gravitino",
    "entities": [["metalake", "lk", None, None], ["catalog", "lk:c", "metalake", "lk"]],
    "owners": [["catalog", "lk:c", "user", "ana", ""]],
    "principals": [["user", "ana"]],
    "memberships": [["user", "ana", "implied", "members:lk"]],
    "statements": [
        {"id": "use", "privileges": ["USE_CATALOG"], "to": ["user:ana"], "on": "catalog:lk:c"}
    ],
}
PATH = "/realms/gravitino/load"


def test_rows_are_loaded_once(api: Api) -> None:
    answer = api.must("POST", PATH, ROWS)
    assert answer["new"] is True
    assert answer["rows"]["entities"] == {"new": 2, "changed": 0, "gone": 0}
    again = api.must("POST", PATH, {**ROWS, "prune": True})
    assert (again["new"], again["revision"]) == (False, answer["revision"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "nope"}, "unknown model `nope`"),
        ({"model": "cdap"}, "unknown type `metalake`"),
        ({"settings": {"mode": "next"}}, "has `mode = seed`"),
        ({"entities": [["nope", "x", None, None]]}, "unknown type `nope`"),
        ({"entities": [["catalog", "", None, None]]}, "catalog"),
        ({"principals": [["nobody", "x"]]}, "unknown kind `nobody`"),
        ({"principals": [["user", "a\u0000"]]}, "the user name"),
        ({"owners": [["catalog", "lk:d", "user", "ana", ""]]}, "which is not stored"),
        ({"statements": [{"id": "x", "privileges": ["MEMBER"]}]}, "cannot be granted"),
        ({"entities": [["catalog"]]}, "body.entities"),
        ({"tables": []}, "tables"),
    ],
)
def test_rows_that_cannot_be_are_refused(api: Api, change: dict[str, object], said: str) -> None:
    answer = api.ask("POST", PATH, {**ROWS, **change})
    assert answer.status == 400
    assert said in str(answer.body)
    assert api.must("GET", "/realms/gravitino")["entities"] == 0


def test_loading_needs_the_right_to(api: Api) -> None:
    """Without it, nothing is computed; each denial is in the trail."""
    for rows in (ROWS, {**ROWS, "model": "nope"}):
        assert api.ask("POST", PATH, rows, user="eve").status == 403
    query = {"realm": "gravitino", "operation": "realm.import"}
    kept = [row["event"] for row in api.must("GET", "/audit", query=query)["rows"]]
    assert [(event["actor"], event["outcome"]) for event in kept] == [("eve", "deny")] * 2


def test_the_trail_keeps_what_the_pipeline_rejected(api: Api) -> None:
    row = {"table": "entities", "reason": "bad name", "detail": "a\nb" + "x" * 300, "place": "f:7"}
    quarantine = {"total": 23, "first": [row] * 20, "directory": "estate/lake"}
    api.must("POST", PATH, {**ROWS, "quarantine": quarantine})
    query = {"realm": "gravitino", "operation": "realm.import", "order": "newest"}
    event = api.must("GET", "/audit", query=query)["rows"][0]["event"]
    kept = event["details"]["quarantine"]
    assert (kept["total"], kept["directory"], len(kept["first"])) == (23, "estate/lake", 20)
    assert kept["first"][0] == {**row, "detail": row["detail"][:199] + "…"}
    for wrong in ({"total": -1}, {"total": 1, "first": [row] * 21}, {"total": 1, "first": [{}]}):
        answer = api.ask("POST", PATH, {**ROWS, "quarantine": wrong})
        assert answer.status == 400
        assert "body.quarantine" in answer.body["errors"][0]["path"]
