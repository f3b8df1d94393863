"""Rows sent to be loaded: checked name by name, and counted."""

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
    assert api.ask("POST", PATH, ROWS, user="eve").status == 403
