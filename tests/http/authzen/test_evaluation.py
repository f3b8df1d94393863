"""Evaluation: one meaning for all code paths of a body, and ambiguous bodies are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.http.authzen import evaluation, fast_decoder
from lakewarden.http.authzen.discovery import EVALUATION, EVALUATIONS
from lakewarden.http.exchange import WouldBlock
from tests.http.authzen.small import REVISION, Asking, lake, question, records, state

WORLD = state(records(), lake())
PDP = Asking(WORLD)
USUAL = question("ana", "table.load", "table/lk:c.s.t")

# --- the usual shape is only assumed if it is verified ---


def _text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _believed(body: bytes) -> bool:
    found = fast_decoder.read(body)
    return found is not None and fast_decoder.is_proven(body, found)


@pytest.mark.parametrize(
    "body",
    [
        USUAL,
        {**USUAL, "evaluations": [{}, {"action": {"name": "x"}}, USUAL]},
        {**USUAL, "options": {}, "context": {}},
        {**USUAL, "options": {"evaluations_semantic": "execute_all"}},
        {**USUAL, "context": {"at_least_revision": 3}},
        {**USUAL, "context": {"answer": "short"}},
        {**USUAL, "context": {"answer": "full", "at_least_revision": 3}},
        {**USUAL, "resource": {"type": "t", "id": ":x", "properties": {"realm": "gravitino"}}},
    ],
)
def test_bodies_of_the_usual_shape_are_believed(body: dict[str, Any]) -> None:
    assert _believed(_text(body))
    assert _believed(json.dumps(body, indent=3).encode())


TWICE = [
    b'{"subject":{"type":"user","id":"ana"},%s,"action":{"name":"table.load"}}',
    b'{"action":{"name":"table.load"},%s,"subject":{"type":"user","id":"ana"}}',
]
RESOURCE = b'"resource":{"type":"table","id":"lk:c.s.t"}'


@pytest.mark.parametrize("frame", TWICE)
@pytest.mark.parametrize(
    "resource",
    [
        RESOURCE + b"," + RESOURCE,
        b'"resource":{"type":"table","id":"lk:c.s.own","id":"lk:c.s.t"}',
        b'"resource":{"type":"table","id" : "lk:c.s.t" , "type" : "table"}',
        b'"resource":{"type":"table","id":"lk:c.s.t","properties":{"realm":"a","realm":"a"}}',
        b'"resource":{"type":"table","id":"lk:c.s.t","x":{"y":1,"y":1}}',
        RESOURCE + b',"evaluations":[{},{"resource":{"type":"t","id":"a","id":"b"}}]',
        RESOURCE + b',"evaluations":[{}],"evaluations":[{}]',
        RESOURCE + b',"context":{"at_least_revision":1,"at_least_revision":1}',
        RESOURCE + b',"context":{"answer":"short","answer":"full"}',
        RESOURCE + b',"options":{},"options":{}',
        RESOURCE + b',"resource\\u0020":1,"resource ":1',
    ],
)
@pytest.mark.parametrize("endpoint", [EVALUATION, EVALUATIONS])
def test_a_member_that_is_there_twice_is_a_bad_request(
    frame: bytes, resource: bytes, endpoint: str
) -> None:
    reply = PDP.sent(endpoint, frame % resource)
    assert reply.status == 400
    assert b"occurs twice" in reply.body


@pytest.mark.parametrize(
    "context",
    [
        b'{"answer":"full","answer":"short"}',
        b'{"at_least_revision":0,"at_least_revision":0}',
        b'{"at_least_revision":9007199254740991,"at_least_revision":0}',
    ],
)
def test_of_several_questions_too_the_context_says_each_thing_once(context: bytes) -> None:
    body = b'{"evaluations":[' + _text(USUAL) + b'],"context":' + context + b"}"
    reply = PDP.sent(EVALUATIONS, body)
    assert reply.status == 400
    assert b"occurs twice" in reply.body


@pytest.mark.parametrize("context", [{"answer": "short"}, {"at_least_revision": REVISION}])
def test_a_context_does_not_have_the_questions_gone_through_once_more(
    monkeypatch: pytest.MonkeyPatch, context: dict[str, Any]
) -> None:
    counted: list[int] = []
    count = fast_decoder.inner_texts

    def spy(items: list[fast_decoder.Item]) -> int:
        counted.append(len(items))
        return count(items)

    monkeypatch.setattr(fast_decoder, "inner_texts", spy)
    status, body = PDP.post(EVALUATIONS, {"evaluations": [USUAL] * 5, "context": context})
    assert (status, len(body["evaluations"])) == (200, 5)
    assert sum(counted) == 0


@pytest.mark.parametrize(
    "broken",
    [
        b'"lk:c.s.\xff"',
        b'"lk:c.s.\xed\xa0\x80"',
        b'"\\ud800"',
        b'"a\x01b"',
        b'"x"}} trailing',
        b"NaN",
        b'"x","n":9007199254740993',
        b'"x","n":1e999',
        b'"x","n":' + b"[" * 70 + b"]" * 70,
    ],
)
@pytest.mark.parametrize("endpoint", [EVALUATION, EVALUATIONS])
def test_what_two_readers_could_read_differently_is_a_bad_request(
    broken: bytes, endpoint: str
) -> None:
    frame = (
        b'{"subject":{"type":"user","id":"ana"},"action":{"name":"x"},"resource":{"type":"t","id":'
    )
    assert PDP.sent(endpoint, frame + broken + b"}}").status == 400


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"\xff\xfe"])
def test_only_plain_utf_8_is_read(start: bytes) -> None:
    assert PDP.sent(EVALUATION, start + _text(USUAL)).status == 400


@pytest.mark.parametrize("revision", [-1, 2**53 + 1, True, "7", 1.5])
def test_a_revision_that_is_none_is_a_bad_request(revision: object) -> None:
    ways: tuple[dict[str, Any], ...] = ({}, {"unknown": 1})
    for more in ways:
        body = {**USUAL, "context": {"at_least_revision": revision}, **more}
        assert PDP.post(EVALUATION, body)[0] == 400


@pytest.mark.parametrize("endpoint", [EVALUATION, EVALUATIONS])
def test_a_revision_that_is_reached_is_answered_and_a_later_one_is_a_conflict(
    endpoint: str,
) -> None:
    ways: tuple[dict[str, Any], ...] = ({}, {"unknown": 1}, {"evaluations": [{}]})
    for more in ways:
        reached = {**USUAL, **more, "context": {"at_least_revision": REVISION}}
        assert PDP.post(endpoint, reached)[0] == 200
        later = {**USUAL, **more, "context": {"at_least_revision": REVISION + 1}}
        assert PDP.post(endpoint, later)[0] == 409


@pytest.mark.parametrize(
    "accepted",
    [{"headers": {evaluation.CONSISTENCY: "60"}}, {"query": {"consistency": ("60",)}}],
    ids=["header", "query"],
)
def test_the_event_loop_does_not_wait_for_a_later_revision(accepted: dict[str, Any]) -> None:
    exchange = replace(PDP.exchange(), on_loop=True, **accepted)
    evaluation.fresh(exchange, REVISION)
    with pytest.raises(WouldBlock):
        evaluation.fresh(exchange, REVISION + 1)


@pytest.mark.parametrize("more", [{}, {"unknown": 1}])
@pytest.mark.parametrize("wrong", [{"subject": {"type": "", "id": "x"}}, {"answer": "brief"}])
def test_a_bad_question_is_bad_whatever_revision_it_asks_for(
    more: dict[str, Any], wrong: dict[str, Any]
) -> None:
    context = {"at_least_revision": REVISION + 1}
    if "answer" in wrong:
        body = {**USUAL, **more, "context": {**context, **wrong}}
    else:
        body = {**USUAL, **more, **wrong, "context": context}
    assert PDP.post(EVALUATION, body)[0] == 400


@pytest.mark.parametrize("more", [{}, {"unknown": 1}])
def test_a_short_answer_is_the_decision_alone(more: dict[str, Any]) -> None:
    asked = [USUAL, question("eve", "table.load", "table/lk:c.s.t"), {"action": {"name": "x"}}]
    short = {"context": {"answer": "short"}, **more}
    verdicts = [PDP.post(EVALUATION, one)[1]["decision"] for one in asked[:2]]
    assert verdicts == [True, False]
    for one, verdict in zip(asked, verdicts, strict=False):
        assert PDP.post(EVALUATION, {**one, **short}) == (200, {"decision": verdict})
    _, body = PDP.post(EVALUATIONS, {**USUAL, **short, "evaluations": asked})
    assert body == {"evaluations": [{"decision": verdict} for verdict in (*verdicts, False)]}
    for endpoint in (EVALUATION, EVALUATIONS):
        for batch in ({}, {"evaluations": asked}):
            wrong = {**USUAL, **batch, **more, "context": {"answer": "brief"}}
            assert PDP.post(endpoint, wrong)[0] == 400
    full = {**USUAL, **more, "context": {"answer": "full"}}
    assert PDP.post(EVALUATION, full) == PDP.post(EVALUATION, USUAL)


# --- the code paths agree ---

_WHO = st.sampled_from(["ana", "ben", "eve", "alice", "bob", "zoe", "", "urn:li:corpuser:ana"])
_KIND = st.sampled_from(["user", "user", "user", "group", "role", "robot", ""])
_ACTION = st.sampled_from(
    ["table.load", "SELECT_TABLE", "table.alter", "schema.load", "read", "write", "x", ""]
)
_TYPE = st.sampled_from(["table", "record", "schema", "metalake", "platform", "robot", ""])
_ID = st.sampled_from(
    [
        *("lk:c.s.t", "lk:c.s.own", "lk:c.s.none", "lk:c.s", "lk", "record-1", "record-2"),
        *("", "platform", "urn:li:table:x", "not:a.name"),
    ]
)
_SUBJECT = st.fixed_dictionaries({"type": _KIND, "id": _WHO})
_ACT = st.fixed_dictionaries({"name": _ACTION})
_REALM = st.sampled_from(["gravitino", "records", "nowhere"])
_RESOURCE = st.fixed_dictionaries(
    {"type": _TYPE, "id": _ID},
    optional={"properties": st.fixed_dictionaries({}, optional={"realm": _REALM})},
)
_PARTS = {"subject": _SUBJECT, "action": _ACT, "resource": _RESOURCE}
_WHOLE = st.fixed_dictionaries(_PARTS)
_PART = st.fixed_dictionaries({}, optional=_PARTS)
_ASKER = st.sampled_from(["gate", "admin", "ana", "eve", "zoe"])


@given(_WHOLE, _ASKER)
def test_a_question_has_one_answer_whatever_way_it_takes(asked: dict[str, Any], who: str) -> None:
    pdp = PDP.as_(who)
    usual = pdp.sent(EVALUATION, _text(asked))
    strict = pdp.sent(EVALUATION, _text({**asked, "unknown": "\u00fc"}))
    assert (usual.status, usual.body) == (strict.status, strict.body)
    with_context = pdp.sent(EVALUATION, _text({**asked, "context": {"nothing": 1}}))
    assert (usual.status, usual.body) == (with_context.status, with_context.body)


@given(_PART, st.lists(_PART, min_size=1, max_size=6), _ASKER)
def test_a_batch_is_the_map_of_its_singles(
    defaults: dict[str, Any], items: list[dict[str, Any]], who: str
) -> None:
    pdp = PDP.as_(who)
    for more in ({}, {"unknown": 1}):
        answers = pdp.evaluations({**defaults, "evaluations": items, **more})
        for item, answer in zip(items, answers, strict=True):
            status, single = pdp.post(EVALUATION, {**defaults, **item})
            if status == 200:
                assert answer == single
            else:
                assert answer["decision"] is False
                assert answer["context"]["error"] == {"status": status, "message": single}


@given(_PART, st.lists(_PART, min_size=1, max_size=6), _ASKER)
def test_a_semantic_cuts_the_answers_off_behind_the_one_that_decides(
    defaults: dict[str, Any], items: list[dict[str, Any]], who: str
) -> None:
    body = {**defaults, "evaluations": items}
    pdp = PDP.as_(who)
    every = pdp.evaluations(body)
    for semantic, last in (("deny_on_first_deny", False), ("permit_on_first_permit", True)):
        answers = pdp.evaluations({**body, "options": {"evaluations_semantic": semantic}})
        deciding = [n for n, one in enumerate(every) if one["decision"] is last]
        assert answers == every[: deciding[0] + 1 if deciding else None]


@given(st.lists(st.tuples(_WHOLE, _ASKER), min_size=2, max_size=8))
def test_questions_that_differ_never_share_an_answer(
    asked: list[tuple[dict[str, Any], str]],
) -> None:
    """A server's earlier requests, of any caller, change nothing."""
    warm = Asking(WORLD)
    for body, who in asked:
        remembered = warm.as_(who).sent(EVALUATION, _text(body))
        alone = Asking(WORLD, who).sent(EVALUATION, _text(body))
        assert (remembered.status, remembered.body) == (alone.status, alone.body)


def test_every_member_of_a_caller_makes_another_caller() -> None:
    """The same name with another credential is cached separately."""
    pdp = PDP.as_("ana")
    callers = [
        pdp,
        pdp.as_("ana", groups=("staff",)),
        pdp.as_("ana", directory="other"),
        pdp.as_("ana", realm="records"),
        pdp.as_("ana", credential="oidc"),
    ]
    cache = evaluation.Evaluation().cache(WORLD)
    judges = [cache.evaluator(caller.exchange()) for caller in callers]
    judges.append(cache.evaluator(pdp.exchange(realm="gravitino")))
    assert all(one is not other for one, other in combinations(judges, 2))
    assert cache.evaluator(pdp.exchange()) is judges[0]


def test_a_new_state_begins_with_nothing() -> None:
    pdp = Asking(WORLD)
    assert pdp.evaluation(USUAL)["context"]["revision"] == REVISION
    pdp.state = state(*WORLD.realms.values(), revision=REVISION + 1)
    assert pdp.evaluation(USUAL)["context"]["revision"] == REVISION + 1


# --- the contents of a response ---


def test_an_answer_names_reason_statements_and_revision() -> None:
    admin = PDP.as_("admin")
    assert admin.evaluation(USUAL) == {
        "decision": True,
        "context": {
            "reason": "allowed",
            "statements": ["implied:member:lk", "read", "use"],
            "revision": REVISION,
        },
    }
    assert admin.evaluation(question("eve", "table.load", "table/lk:c.s.t")) == {
        "decision": False,
        "context": {
            "reason": "denied",
            "statements": ["implied:member:lk", "not-eve", "read", "use"],
            "revision": REVISION,
        },
    }


def test_who_sees_the_realm_learns_that_something_is_not_stored() -> None:
    asked = question("ana", "table.load", "table/lk:c.s.none")
    assert PDP.as_("admin").evaluation(asked)["context"]["reason"] == "not stored"
    assert PDP.as_("ana").evaluation(asked)["context"]["reason"] == "denied"
    hidden = question("eve", "table.load", "table/lk:c.s.t")
    absent = question("eve", "table.load", "table/lk:c.s.none")
    eve = PDP.as_("eve")
    assert eve.evaluation(hidden) == eve.evaluation(absent)


def test_an_enforcement_point_is_told_decisions_and_no_statements() -> None:
    found = PDP.evaluation(USUAL)
    assert found["decision"] is True
    assert found["context"]["statements"] == []


def test_one_is_told_by_which_statements_one_is_allowed() -> None:
    found = PDP.as_("ana").evaluation(USUAL)
    assert found["context"]["statements"] == ["implied:member:lk", "read", "use"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (question("ana", "x", "table/lk:c.s.t"), "unknown operation or privilege `x`"),
        (question("ana", "table.load", "robot/x"), "unknown resource `robot/x`"),
        (question("ana", "table.load", "schema/lk:c.s"), "unknown target type `schema`"),
        (
            question("ana", "x", "t/x", subject={"type": "robot", "id": "x"}),
            "unknown resource `t/x`",
        ),
        (
            question("ana", "read", "record/x", subject={"type": "robot", "id": "x"}),
            "unknown subject type `robot`",
        ),
    ],
)
def test_what_is_unknown_is_a_no_that_says_so(asked: dict[str, Any], said: str) -> None:
    found = PDP.evaluation(asked)
    assert found["decision"] is False
    assert found["context"]["reason"] == "unknown"
    assert found["context"]["error"] == {"status": 404, "message": said}
