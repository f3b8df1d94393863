"""AuthZEN on a real server: the server's work around the handlers, and the visibility of writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.serving import Answer, Served
from tests.app.threaded import threaded
from tests.http.authzen.small import question

ROOT = "root-token-of-the-tests-0123456789abcdef"
EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"
LOAD = question("admin", "metalake.load", "metalake/lk")


@pytest.fixture(name="served", scope="module")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("authzen")
    with threaded(folder, auth="token", root_token=ROOT) as found:
        yield found


def _post(served: Served, path: str, body: object, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return served.ask("POST", path, body, named, token=ROOT)


def _document(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return answer.json()


def _make(served: Served, metalake: str) -> None:
    """Creates a metalake, which the caller then owns."""
    body = {"name": metalake, "comment": "", "properties": {}}
    assert _post(served, "/api/metalakes", body).status == 200


def test_a_write_is_seen_by_the_next_question_and_raises_the_revision(served: Served) -> None:
    asked = question("admin", "metalake.load", "metalake/new")
    before = _post(served, EVALUATION, asked)
    assert _document(before)["decision"] is False
    _make(served, "new")
    after = _post(served, EVALUATION, asked)
    context = _document(after)["context"]
    assert _document(after)["decision"] is True
    assert context["revision"] == after.revision > before.revision
    again = _post(served, EVALUATIONS, {**asked, "evaluations": [{}, {}]})
    assert [one["context"] for one in _document(again)["evaluations"]] == [context] * 2


def test_a_revision_may_be_asked_for(served: Served) -> None:
    known = _post(served, EVALUATION, LOAD).revision
    body = {**LOAD, "context": {"at_least_revision": known}}
    assert _document(_post(served, EVALUATION, body))["context"]["revision"] >= known
    later = {**LOAD, "context": {"at_least_revision": known + 1_000}}
    for stale in ({}, {"Lakewarden_Consistency": "60"}):
        answer = _post(served, EVALUATION, later, **stale)
        assert answer.status == 409
        assert isinstance(answer.json(), str)


def test_the_request_id_comes_back(served: Served) -> None:
    for path in (EVALUATION, "/access/v1/nothing"):
        answer = _post(served, path, LOAD, X_Request_ID="bfe9eb29-ab87-4ca3")
        assert answer.headers["x-request-id"] == "bfe9eb29-ab87-4ca3"


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/jsonx"])
@pytest.mark.parametrize("path", [EVALUATION, EVALUATIONS, "/access/v1/search/subject"])
def test_a_wrong_content_type_is_a_bad_request(
    served: Served, path: str, content_type: str
) -> None:
    raw = json.dumps(LOAD).encode()
    answer = _post(served, path, raw, Content_Type=content_type)
    assert answer.status == 400
    assert isinstance(answer.json(), str)


def test_who_has_no_credential_is_challenged(served: Served) -> None:
    answer = served.ask("POST", EVALUATION, LOAD)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert isinstance(answer.json(), str)


def test_an_empty_body_is_a_bad_request(served: Served) -> None:
    assert _post(served, EVALUATION, b"").status == 400


def test_a_body_beyond_its_limit_is_refused(served: Served) -> None:
    assert _post(served, EVALUATION, b" " * (1024 * 1024 + 1)).status == 413


def test_a_method_that_is_not_there_is_refused(served: Served) -> None:
    answer = served.ask("GET", EVALUATION, token=ROOT)
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]


def test_every_realm_answers_below_its_path(served: Served) -> None:
    assert _document(_post(served, "/r/gravitino" + EVALUATION, LOAD))
    named = question("admin", "MANAGE_POLICIES", "platform/platform")
    assert _document(_post(served, "/r/datahub" + EVALUATION, named))["decision"] is True
    instance = question("admin", "ADMIN", "instance/cdap")
    assert "decision" in _document(_post(served, "/r/cdap" + EVALUATION, instance))


@pytest.mark.parametrize("prefix", ["", "/r/gravitino"])
def test_discovery_needs_no_credential(served: Served, prefix: str) -> None:
    answer = served.ask("GET", prefix + "/.well-known/authzen-configuration")
    document = _document(answer)
    assert document["policy_decision_point"].endswith(prefix)
    behind = served.ask("GET", "/.well-known/authzen-configuration" + prefix)
    assert behind.json() == document


def test_searches_are_answered(served: Served) -> None:
    _make(served, "lk")
    body = {"subject": LOAD["subject"], "resource": {"type": "metalake", "id": "lk"}}
    names = _document(_post(served, "/access/v1/search/action", body))["results"]
    assert {"name": "metalake.load"} in names
    body = {**LOAD, "resource": {"type": "metalake"}}
    found = _document(_post(served, "/access/v1/search/resource", body))["results"]
    assert {"type": "metalake", "id": "lk"} in found
    body = {**LOAD, "subject": {"type": "user"}}
    found = _document(_post(served, "/access/v1/search/subject", body))["results"]
    assert {"type": "user", "id": "admin"} in found
