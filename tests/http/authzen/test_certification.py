"""The cases of the certification scenario, over a model file with only rules.

They run over facts in memory, and over a realm that the command line created from the file: its
rows were ingested, loaded into a store and read from it, like those of any custom model.

Source: openid/authzen, certification/authorization-api-1_0-scenario.md at e287920eed84: Basic,
Batch, Search and Discovery, each with the properties in the requests.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.open_store import opened_service
from lakewarden.cli import main
from lakewarden.http.authzen.dialect import BATCH_BYTES
from lakewarden.http.authzen.discovery import EVALUATION, EVALUATIONS, WELL_KNOWN
from lakewarden.service.state import RealmState
from tests.http.authzen.small import RECORDS, Asking, ids, question, records, state

ARCHIVED = {"type": "record", "id": "record-1", "properties": {"status": "archived"}}
ADMIN = {"type": "user", "id": "alice", "properties": {"role": "admin"}}


TABLES = {
    "entities.csv": "type,name\nrecord,record-1\nrecord,record-2\nuser,alice\nuser,bob\n",
    "principals.csv": "kind,name\nuser,alice\nuser,bob\n",
    "attributes.csv": (
        "type,name,attribute,value\nrecord,record-1,status,active\n"
        "record,record-2,status,archived\nuser,bob,role,admin\n"
    ),
    "statements.jsonl": (
        '{"id": "readers", "privileges": ["READ"], "to": ["user:alice", "user:bob"]}\n'
        '{"id": "writers", "privileges": ["WRITE"], "to": ["user:alice"]}\n'
    ),
}


def stored_records(folder: Path) -> RealmState:
    """The world of the scenario as a realm of a custom model, by the command line alone."""
    model, tables, rows = folder / "records.toml", folder / "tables", folder / "rows"
    database = f"sqlite:///{folder}/store"
    model.write_text(RECORDS, "utf-8")
    tables.mkdir()
    for name, text in TABLES.items():
        (tables / name).write_text(text, "utf-8")
    read = ("pipeline", "ingest", str(tables), "--source", "csv", "--model", str(model))
    assert main(["init", "--admin", "root", "--database", database]) == 0
    assert main([*read, "--out", str(rows)]) == 0
    realm = ["realm", "create", "records", "--model", str(model), "--database", database]
    assert main(realm) == 0
    assert main(["load", str(rows), "--realm", "records", "--database", database]) in (0, 1)
    with opened_service(database) as service:
        return service.state.realm("records")


@pytest.fixture(name="pdp", scope="module", params=["in memory", "stored"])
def _pdp(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Asking:
    if request.param == "in memory":
        return Asking(state(records()))
    return Asking(state(stored_records(tmp_path_factory.mktemp("records"))))


# --- Basic ---


@pytest.mark.parametrize(
    ("who", "action", "record", "decision"),
    [
        ("alice", "read", "record-1", True),
        ("alice", "write", "record-1", True),
        ("bob", "read", "record-1", True),
        ("bob", "write", "record-1", False),
        ("alice", "write", "record-2", False),
        ("bob", "write", "record-2", True),
    ],
)
def test_the_core_decisions(
    pdp: Asking, who: str, action: str, record: str, decision: bool
) -> None:
    assert pdp.decides(question(who, action, f"record/{record}")) is decision


def test_a_property_of_the_resource_overrides_what_is_stored(pdp: Asking) -> None:
    assert not pdp.decides(question("alice", "write", "record/record-1", resource=ARCHIVED))


def test_a_property_of_the_subject_overrides_what_is_stored(pdp: Asking) -> None:
    asked = question("alice", "write", "record/record-1", resource=ARCHIVED, subject=ADMIN)
    assert pdp.decides(asked)


@pytest.mark.parametrize("soft", [True, False])
def test_a_property_of_the_action_is_read(pdp: Asking, soft: bool) -> None:
    action = {"name": "delete", "properties": {"soft": soft}}
    asked = question("alice", "delete", "record/record-1", action=action)
    assert pdp.decides(asked) is soft


def test_members_that_nobody_knows_are_ignored(pdp: Asking) -> None:
    asked = question("alice", "read", "record/record-1", context={"time": "2026"}, more=[1, {}])
    asked["subject"]["ip"] = "192.0.2.1"
    asked["resource"]["properties"] = {"colour": "red"}
    assert pdp.decides(asked)


def test_the_same_question_has_the_same_answer(pdp: Asking) -> None:
    body = json.dumps(question("alice", "read", "record/record-1")).encode()
    assert pdp.sent(EVALUATION, body).body == pdp.sent(EVALUATION, body).body


def _without(*path: str) -> dict[str, Any]:
    asked = question("alice", "read", "record/record-1")
    at: Any = asked
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return asked


def _with(value: object, *path: str) -> dict[str, Any]:
    asked = question("alice", "read", "record/record-1")
    at: Any = asked
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return asked


@pytest.mark.parametrize(
    "path",
    [
        ("subject",),
        ("action",),
        ("resource",),
        ("subject", "type"),
        ("subject", "id"),
        ("action", "name"),
        ("resource", "type"),
        ("resource", "id"),
    ],
)
@pytest.mark.parametrize("endpoint", [EVALUATION, EVALUATIONS])
def test_a_missing_member_is_a_bad_request(
    pdp: Asking, path: tuple[str, ...], endpoint: str
) -> None:
    status, said = pdp.post(endpoint, _without(*path))
    assert (status, said) == (400, f"{'.'.join(path)}: missing")


@pytest.mark.parametrize("wrong", [5, "text", ["list"], True])
@pytest.mark.parametrize("member", ["subject", "action", "resource", "context"])
def test_a_member_of_the_wrong_type_is_a_bad_request(
    pdp: Asking, member: str, wrong: object
) -> None:
    assert pdp.post(EVALUATION, _with(wrong, member))[0] == 400


@pytest.mark.parametrize("wrong", [5, None, {}, True])
@pytest.mark.parametrize(
    "path", [("subject", "id"), ("action", "name"), ("resource", "type"), ("resource", "id")]
)
def test_a_sub_member_of_the_wrong_type_is_a_bad_request(
    pdp: Asking, path: tuple[str, ...], wrong: object
) -> None:
    assert pdp.post(EVALUATION, _with(wrong, *path))[0] == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"text"', b"{} {}"])
@pytest.mark.parametrize("endpoint", [EVALUATION, EVALUATIONS, "/access/v1/search/subject"])
def test_what_is_no_json_object_is_a_bad_request(pdp: Asking, body: bytes, endpoint: str) -> None:
    reply = pdp.sent(endpoint, body)
    assert reply.status == 400
    assert isinstance(json.loads(reply.body), str)


# --- Batch ---


def _items(*asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"evaluations": list(asked), **more}


ALICE = {"type": "user", "id": "alice"}
READ, WRITE = {"name": "read"}, {"name": "write"}
ONE = {"type": "record", "id": "record-1"}
TWO = {"type": "record", "id": "record-2"}


def _decisions(answers: list[Any]) -> list[bool]:
    return [one["decision"] for one in answers]


def test_a_batch_answers_in_order(pdp: Asking) -> None:
    body = _items({"resource": ONE}, {"resource": TWO}, subject=ALICE, action=WRITE)
    assert _decisions(pdp.evaluations(body)) == [True, False]


def test_an_item_replaces_a_default_as_a_whole(pdp: Asking) -> None:
    default = {**ONE, "properties": {"status": "archived"}}
    body = _items({}, {"resource": ONE}, subject=ALICE, action=WRITE, resource=default)
    assert _decisions(pdp.evaluations(body)) == [False, True]


def test_all_members_may_be_defaults(pdp: Asking) -> None:
    body = _items({}, {}, subject=ALICE, action=READ, resource=ONE)
    assert _decisions(pdp.evaluations(body)) == [True, True]


def test_a_default_context_is_replaced_as_a_whole(pdp: Asking) -> None:
    body = _items(
        {}, {"context": {"x": 1}}, subject=ALICE, action=READ, resource=ONE, context={"lists": 5}
    )
    assert _decisions(pdp.evaluations(body)) == [False, True]


@pytest.mark.parametrize("extra", [{}, {"evaluations": []}, {"evaluations": None}])
def test_without_items_it_is_an_evaluation(pdp: Asking, extra: dict[str, Any]) -> None:
    asked = {**question("alice", "read", "record/record-1"), **extra}
    assert pdp.post(EVALUATIONS, asked) == pdp.post(EVALUATION, asked)


@pytest.mark.parametrize(
    ("semantic", "decisions"),
    [
        ("execute_all", [True, False, True]),
        ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True]),
    ],
)
@pytest.mark.parametrize("more", [{}, {"unknown": 1}], ids=["usual", "strict"])
def test_the_semantics(
    pdp: Asking, semantic: str, decisions: list[bool], more: dict[str, Any]
) -> None:
    body = _items(
        {"resource": ONE},
        {"resource": TWO},
        {"resource": ONE},
        subject=ALICE,
        action=WRITE,
        options={"evaluations_semantic": semantic},
        **more,
    )
    assert _decisions(pdp.evaluations(body)) == decisions


@pytest.mark.parametrize("semantic", ["", "all", "EXECUTE_ALL", 5])
def test_an_unknown_semantic_is_a_bad_request(pdp: Asking, semantic: object) -> None:
    body = _items({}, subject=ALICE, action=READ, resource=ONE)
    body["options"] = {"evaluations_semantic": semantic}
    assert pdp.post(EVALUATIONS, body)[0] == 400


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({}, "resource: missing"),
        ({"resource": {"type": "record"}}, "resource.id: missing"),
        ({"resource": ONE, "subject": {"id": "x"}}, "subject.type: missing"),
        ({"resource": 5}, "resource: expected an object"),
        (5, "evaluations: expected an object"),
    ],
)
def test_a_bad_item_is_a_no_with_its_reason(pdp: Asking, item: Any, said: str) -> None:
    body = _items(item, {"resource": ONE}, subject=ALICE, action=READ)
    bad, good = pdp.evaluations(body)
    assert bad["decision"] is False
    assert bad["context"]["error"] == {"status": 400, "message": said}
    assert good["decision"] is True


def test_a_thousand_items_are_answered_and_one_more_is_refused(pdp: Asking) -> None:
    body = _items(*[{}] * 1_000, subject=ALICE, action=READ, resource=ONE)
    assert _decisions(pdp.evaluations(body)) == [True] * 1_000
    body["evaluations"].append({})
    told = "evaluations: 1001 questions, at most 1000 are allowed (setting `limits.batch_rows`)"
    assert pdp.post(EVALUATIONS, body) == (400, told)
    assert pdp.post(EVALUATIONS, {**body, "unknown": 1})[0] == 400


@pytest.mark.parametrize("extra", [{}, {"unknown": 1}], ids=["usual", "strict"])
def test_ten_thousand_items_are_answered_where_the_settings_let_them(
    pdp: Asking, extra: dict[str, Any]
) -> None:
    """Each item is complete, so the body exceeds the limit of other calls."""
    large = pdp.as_("gate")
    large.services = replace(pdp.services, batch_rows=10_000)
    one = {"subject": ALICE, "action": READ, "resource": ONE}
    body = {**_items(*[one] * 10_000), **extra}
    assert 1024 * 1024 < len(json.dumps(body)) < BATCH_BYTES
    assert _decisions(large.evaluations(body)) == [True] * 10_000
    found = large.post(EVALUATIONS, {**body, "evaluations": [one] * 10_001})
    told = "evaluations: 10001 questions, at most 10000 are allowed (setting `limits.batch_rows`)"
    assert found == (400, told)
    (route,) = (r for r in large.dialect.routes() if r.path == EVALUATIONS)
    assert route.body_limit == BATCH_BYTES
    assert json.loads(large.sent(WELL_KNOWN, b"").body)["evaluations_limit"] == 10_000


@pytest.mark.parametrize("wrong", [{}, "text", 5, True])
def test_items_that_are_no_list_are_a_bad_request(pdp: Asking, wrong: object) -> None:
    body = {"evaluations": wrong, "subject": ALICE, "action": READ, "resource": ONE}
    assert pdp.post(EVALUATIONS, body)[0] == 400


# --- Search ---


def test_subjects_who_may_write_the_archived_record(pdp: Asking) -> None:
    body = {"subject": {"type": "user"}, "action": WRITE, "resource": TWO}
    assert ids(pdp.search("subject", body)) == ["bob"]


def test_subjects_who_may_read(pdp: Asking) -> None:
    body = {"subject": {"type": "user", "id": "ignored"}, "action": READ, "resource": ONE}
    found = pdp.search("subject", body)
    assert found["page"] == {"next_token": "", "count": 2, "total": 2}
    assert found["results"] == [{"type": "user", "id": "alice"}, {"type": "user", "id": "bob"}]


def test_a_search_for_subjects_reads_what_is_sent(pdp: Asking) -> None:
    body = {"subject": {"type": "user"}, "action": WRITE, "resource": ARCHIVED}
    assert ids(pdp.search("subject", body)) == ["bob"]


@pytest.mark.parametrize(("who", "found"), [("alice", ["record-1"]), ("bob", ["record-2"])])
def test_resources_that_one_may_write(pdp: Asking, who: str, found: list[str]) -> None:
    body = {
        "subject": {"type": "user", "id": who},
        "action": WRITE,
        "resource": {"type": "record"},
    }
    assert ids(pdp.search("resource", body)) == found


def test_a_search_for_resources_reads_what_is_sent(pdp: Asking) -> None:
    sent = {"type": "record", "properties": {"status": "archived"}}
    body = {"subject": ADMIN, "action": WRITE, "resource": sent}
    assert ids(pdp.search("resource", body)) == ["record-1", "record-2"]


def test_actions_on_a_record(pdp: Asking) -> None:
    found = pdp.search("action", {"subject": ALICE, "resource": ONE})
    assert found["results"] == [{"name": n} for n in ("READ", "WRITE", "destroy", "read", "write")]


def test_a_search_for_actions_reads_what_is_sent(pdp: Asking) -> None:
    action = {"properties": {"soft": True}}
    found = pdp.search("action", {"subject": ALICE, "resource": ONE, "action": action})
    assert "delete" in ids(found)


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("subject", {"subject": {"type": "robot"}, "action": READ, "resource": ONE}),
        ("subject", {"subject": {"type": "user"}, "action": {"name": "x"}, "resource": ONE}),
        (
            "subject",
            {
                "subject": {"type": "user"},
                "action": READ,
                "resource": {"type": "record", "id": "x"},
            },
        ),
        ("resource", {"subject": ALICE, "action": READ, "resource": {"type": "robot"}}),
        (
            "resource",
            {
                "subject": {"type": "robot", "id": "a"},
                "action": READ,
                "resource": {"type": "record"},
            },
        ),
        (
            "resource",
            {
                "subject": {"type": "user", "id": "x"},
                "action": READ,
                "resource": {"type": "record"},
            },
        ),
        ("resource", {"subject": ALICE, "action": {"name": "x"}, "resource": {"type": "record"}}),
        ("action", {"subject": ALICE, "resource": {"type": "record", "id": "x"}}),
        ("action", {"subject": ALICE, "resource": {"type": "robot", "id": "x"}}),
        ("action", {"subject": {"type": "user", "id": "nobody"}, "resource": ONE}),
    ],
)
def test_what_is_unknown_finds_nothing(pdp: Asking, what: str, body: dict[str, Any]) -> None:
    found = pdp.search(what, body)
    assert found == {"page": {"next_token": "", "count": 0, "total": 0}, "results": []}


@pytest.mark.parametrize(
    ("what", "body", "said"),
    [
        ("subject", {"action": READ, "resource": ONE}, "subject: missing"),
        ("subject", {"subject": {}, "action": READ, "resource": ONE}, "subject.type: missing"),
        ("subject", {"subject": {"type": "user"}, "resource": ONE}, "action: missing"),
        (
            "subject",
            {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}},
            "resource.id: missing",
        ),
        ("resource", {"subject": {"type": "user"}, "action": READ, "resource": ONE}, "subject.id"),
        ("resource", {"subject": ALICE, "action": READ, "resource": {}}, "resource.type: missing"),
        ("action", {"subject": ALICE, "resource": {"type": "record"}}, "resource.id: missing"),
        ("action", {"subject": {"type": "user"}, "resource": ONE}, "subject.id: missing"),
    ],
)
def test_a_search_without_its_inputs_is_a_bad_request(
    pdp: Asking, what: str, body: dict[str, Any], said: str
) -> None:
    status, found = pdp.post(f"/access/v1/search/{what}", body)
    assert status == 400
    assert found.startswith(said)


# --- Discovery ---


def test_the_configuration_names_every_endpoint(pdp: Asking) -> None:
    reply = pdp.sent(WELL_KNOWN, b"")
    base = "https://pdp.test"
    assert json.loads(reply.body) == {
        "policy_decision_point": base,
        "access_evaluation_endpoint": f"{base}/access/v1/evaluation",
        "access_evaluations_endpoint": f"{base}/access/v1/evaluations",
        "search_subject_endpoint": f"{base}/access/v1/search/subject",
        "search_resource_endpoint": f"{base}/access/v1/search/resource",
        "search_action_endpoint": f"{base}/access/v1/search/action",
        "evaluations_limit": 1_000,
        "search_page_limit": 1_000,
    }


def test_every_endpoint_that_is_named_is_there(pdp: Asking) -> None:
    document = json.loads(pdp.sent(WELL_KNOWN, b"").body)
    named = {name: url for name, url in document.items() if name.endswith("_endpoint")}
    paths = {route.path for route in pdp.dialect.routes() if route.method == "POST"}
    assert {url.removeprefix("https://pdp.test") for url in named.values()} == paths
