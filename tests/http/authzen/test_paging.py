"""Pages: every result once, in order, and tokens bound to one search."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from lakewarden.service.system import load_system
from tests.http.authzen.small import Asking, facts, ids, realm, state

TABLES = [f"m:c.s.t{number:02d}" for number in range(25)]
USERS = [f"u{number:02d}" for number in range(25)]


def _world() -> Any:
    system = load_system("gravitino")
    rows = facts(
        system,
        ["metalake:m", "catalog:m:c", "schema:m:c.s", *(f"table:{name}" for name in TABLES)],
        [
            {
                "id": "all",
                "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
                "to": [f"user:{name}" for name in USERS],
                "on": "metalake:m",
            }
        ],
        users=USERS,
        members=[(f"user:{name}", "members:m") for name in USERS],
    )
    return realm("gravitino", system, rows)


GATE = Asking(state(_world()))
SUBJECT = {"type": "user", "id": "u00"}
LOAD = {"name": "table.load"}
BODIES: dict[str, dict[str, Any]] = {
    "resource": {"subject": SUBJECT, "action": LOAD, "resource": {"type": "table"}},
    "subject": {
        "subject": {"type": "user"},
        "action": LOAD,
        "resource": {"type": "table", "id": "m:c.s.t00"},
    },
    "action": {"subject": SUBJECT, "resource": {"type": "table", "id": "m:c.s.t00"}},
}


def _pages(what: str, limit: int) -> list[Any]:
    body, pages = BODIES[what], []
    token = ""
    while True:
        found = GATE.search(what, {**body, "page": {"limit": limit, "token": token}})
        pages.append(found)
        token = found["page"]["next_token"]
        if not token:
            return pages


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize("limit", [1, 4, 5, 24, 25, 26, 1_000])
def test_pages_together_are_the_whole(what: str, limit: int) -> None:
    whole = GATE.search(what, BODIES[what])
    pages = _pages(what, limit)
    assert [one for page in pages for one in page["results"]] == whole["results"]
    assert {page["page"]["total"] for page in pages} == {whole["page"]["total"]}
    for page in pages:
        assert page["page"]["count"] == len(page["results"]) <= limit
    assert list(pages[0]) == ["page", "results"]


def test_results_come_in_order() -> None:
    assert ids(GATE.search("resource", BODIES["resource"])) == TABLES
    assert ids(GATE.search("subject", BODIES["subject"])) == USERS


@pytest.mark.parametrize("what", BODIES)
def test_each_result_is_allowed(what: str) -> None:
    body = BODIES[what]
    found = GATE.search(what, body)["results"]
    items = [{what: result} for result in found]
    answers = GATE.evaluations({**body, "evaluations": items})
    assert all(answer["decision"] for answer in answers)


@pytest.mark.parametrize("what", BODIES)
def test_a_page_of_nothing_counts_and_does_not_end(what: str) -> None:
    found = GATE.search(what, {**BODIES[what], "page": {"limit": 0}})
    assert found["results"] == []
    assert found["page"]["total"] > 0
    token = found["page"]["next_token"]
    first = GATE.search(what, {**BODIES[what], "page": {"limit": 1, "token": token}})
    assert first["results"] == GATE.search(what, BODIES[what])["results"][:1]


@pytest.mark.parametrize("limit", [-1, 1_001, "5", 1.5, True])
def test_a_limit_beyond_its_bounds_is_a_bad_request(limit: object) -> None:
    body = {**BODIES["resource"], "page": {"limit": limit}}
    assert GATE.post("/access/v1/search/resource", body)[0] == 400


def _token(what: str) -> str:
    token = GATE.search(what, {**BODIES[what], "page": {"limit": 3}})["page"]["next_token"]
    assert isinstance(token, str)
    return token


@pytest.mark.parametrize("what", BODIES)
def test_a_token_belongs_to_its_search(what: str) -> None:
    token, path = _token(what), f"/access/v1/search/{what}"
    page = {"page": {"token": token}}
    assert GATE.post(path, {**BODIES[what], **page})[0] == 200
    changed = {**BODIES[what], **page, "context": {"x": 1}}
    assert GATE.post(path, changed)[0] == 400
    assert GATE.post(path, {**BODIES[what], **page}, realm="gravitino")[0] == 400
    assert GATE.as_("admin").post(path, {**BODIES[what], **page})[0] == 400
    other = "action" if what == "resource" else "resource"
    assert GATE.post(f"/access/v1/search/{other}", {**BODIES[other], **page})[0] == 400


def test_the_page_may_change_its_limit_on_the_way() -> None:
    token = _token("resource")
    found = GATE.search("resource", {**BODIES["resource"], "page": {"token": token, "limit": 2}})
    assert ids(found) == TABLES[3:5]


@pytest.mark.parametrize(
    "token",
    [
        *("x", "!!!!", "\u00fc", "e30", "W10", "A" * 9_000, 5, {}),
        base64.urlsafe_b64encode(b'["0","table","m:c.s.t03"]').decode(),
    ],
)
def test_a_token_that_is_none_is_a_bad_request(token: object) -> None:
    body = {**BODIES["resource"], "page": {"token": token}}
    status, said = GATE.post("/access/v1/search/resource", body)
    assert status == 400
    assert said.startswith("page.token")


def test_a_token_with_a_place_of_another_shape_is_a_bad_request() -> None:
    text = base64.urlsafe_b64decode(_token("resource") + "==")
    digest = json.loads(text)[0]
    forged = base64.urlsafe_b64encode(json.dumps([digest, "only"]).encode()).decode().rstrip("=")
    body = {**BODIES["resource"], "page": {"token": forged}}
    assert GATE.post("/access/v1/search/resource", body)[0] == 400


@pytest.mark.parametrize(
    "place", [["nope", "x"], ["table", "m"], ["table", "m:c.s.t/.."], ["", ""], ["platform"] * 2]
)
@pytest.mark.parametrize("realms", [None, ["gravitino"]])
def test_a_token_with_a_place_that_nothing_can_have_is_a_bad_request(
    place: list[str], realms: list[str] | None
) -> None:
    body = {**BODIES["resource"], **({} if realms is None else {"context": {"realms": realms}})}
    first = GATE.search("resource", {**body, "page": {"limit": 3}})["page"]["next_token"]
    digest, *known = json.loads(base64.urlsafe_b64decode(first + "=="))
    forged = [digest, *known[:-2], *place]
    token = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")
    status, said = GATE.post("/access/v1/search/resource", {**body, "page": {"token": token}})
    assert (status, said) == (400, "page.token: is not a page token of this search")


def test_a_place_that_is_gone_is_passed_over() -> None:
    text = base64.urlsafe_b64decode(_token("resource") + "==")
    digest = json.loads(text)[0]
    place = [digest, "table", "m:c.s.t05a"]
    forged = base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")
    found = GATE.search("resource", {**BODIES["resource"], "page": {"token": forged}})
    assert ids(found) == TABLES[6:]
