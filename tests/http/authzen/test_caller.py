"""Permitted callers: for oneself always, for others with an enforcement point's permission."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakewarden.http.authzen.caller import are_alike
from lakewarden.http.authzen.discovery import EVALUATION, EVALUATIONS
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.state import People, State
from tests.http.authzen.small import Asking, control, ids, lake, question, records, state

HERE = "table/lk:c.s.t"
ANA = question("ana", "table.load", HERE)
EVE = question("eve", "table.load", HERE)
GATE_OF_RECORDS = {"id": "g", "privileges": ["ASK"], "to": ["user:gate"], "on": "realm:records"}
TOLD = {"id": "t", "privileges": ["ASK", "EXPLAIN"], "to": ["user:told"], "on": "realm:gravitino"}
GROUP = {"id": "s", "privileges": ["ASK"], "to": ["group:staff"], "on": "server:lakewarden"}

WORLD = state(records(), lake())


def test_everybody_may_ask_about_themselves() -> None:
    assert Asking(WORLD, "ana").decides(ANA)
    assert not Asking(WORLD, "eve").decides(EVE)


@pytest.mark.parametrize("more", [{}, {"unknown": 1}, {"context": {"x": 1}}])
def test_asking_about_another_takes_the_right(more: dict[str, Any]) -> None:
    status, said = Asking(WORLD, "eve").post(EVALUATION, {**ANA, **more})
    assert status == 403
    assert said == (
        "a request about another principal in the realm `gravitino` requires the privilege of an"
        " enforcement point"
    )
    assert Asking(WORLD, "gate").decides({**ANA, **more})


def test_a_batch_answers_what_may_be_asked() -> None:
    body = {"evaluations": [EVE, ANA, EVE]}
    first, other, last = Asking(WORLD, "eve").evaluations(body)
    assert first == last
    assert other["decision"] is False
    assert other["context"]["reason"] == "forbidden"
    assert other["context"]["error"]["status"] == 403


def test_another_kind_of_the_same_name_is_another() -> None:
    asked = question("ana", "SELECT_TABLE", HERE)
    group = {**asked, "subject": {"type": "group", "id": "ana"}}
    assert Asking(WORLD, "ana").post(EVALUATION, group)[0] == 403
    gate = Asking(WORLD, "gate")
    assert gate.decides({**asked, "subject": {"type": "group", "id": "staff"}})
    assert gate.decides({**asked, "subject": {"type": "role", "id": "lk:readers"}})
    assert not gate.decides({**asked, "subject": {"type": "user", "id": "staff"}})


def test_the_right_may_be_of_one_realm() -> None:
    world = state(records(), lake(), control(GATE_OF_RECORDS))
    gate = Asking(world, "gate")
    assert gate.decides(question("alice", "read", "record/record-1"))
    assert gate.post(EVALUATION, ANA)[0] == 403


def test_the_right_may_come_by_a_group_of_the_credential() -> None:
    world = state(lake(), control(GROUP))
    assert Asking(world, "zoe", groups=("staff",)).decides(ANA)
    assert Asking(world, "zoe").post(EVALUATION, ANA)[0] == 403


def test_nothing_in_a_body_gives_the_right() -> None:
    sent = {
        **ANA,
        "context": {"groups": ["staff"], "roles": ["enforcement-point"], "credential.fits": True},
        "subject": {"type": "user", "id": "ana", "properties": {"isAdmin": True}},
    }
    assert Asking(state(lake(), control(GROUP)), "eve").post(EVALUATION, sent)[0] == 403


@pytest.mark.parametrize(
    ("what", "body"),
    [
        (
            "resource",
            {
                "subject": {"type": "user", "id": "ana"},
                "action": {"name": "table.load"},
                "resource": {"type": "table"},
            },
        ),
        (
            "action",
            {
                "subject": {"type": "user", "id": "ana"},
                "resource": {"type": "table", "id": "lk:c.s.t"},
            },
        ),
    ],
)
def test_searches_about_oneself_are_everybodys_others_take_the_right(
    what: str, body: dict[str, Any]
) -> None:
    path = f"/access/v1/search/{what}"
    assert Asking(WORLD, "eve").post(path, body)[0] == 403
    assert Asking(WORLD, "ana").search(what, body) == Asking(WORLD, "gate").search(what, body)
    assert ids(Asking(WORLD, "ana").search(what, body))


def test_searching_for_subjects_takes_the_right() -> None:
    body = {
        "subject": {"type": "user"},
        "action": {"name": "table.load"},
        "resource": {"type": "table", "id": "lk:c.s.t"},
    }
    assert Asking(WORLD, "ana").post("/access/v1/search/subject", body)[0] == 403
    assert ids(Asking(WORLD, "gate").search("subject", body)) == ["ana"]


# --- visibility ---


def test_statements_about_others_take_the_right_to_explain() -> None:
    world = state(lake(), control(TOLD))
    told = Asking(world, "told")
    assert told.evaluation(ANA)["context"]["statements"] == ["implied:member:lk", "read", "use"]
    assert told.evaluation(EVE)["context"]["statements"] == []


# --- realms and directories ---


def test_a_credential_of_one_realm_asks_there_about_its_user_only() -> None:
    bound = Asking(WORLD, "ana", realm="gravitino")
    assert bound.decides(ANA)
    assert bound.decides(ANA, realm="gravitino")
    elsewhere = question("ana", "read", "record/record-1")
    named = {"type": "record", "id": "record-1", "properties": {"realm": "records"}}
    assert bound.evaluation(elsewhere)["context"]["reason"] == "unknown"
    assert bound.post(EVALUATION, {**elsewhere, "resource": named})[0] == 403
    gate = Asking(WORLD, "gate", realm="gravitino")
    assert gate.post(EVALUATION, ANA)[0] == 403
    assert Asking(WORLD, "admin", realm="gravitino").post(EVALUATION, ANA)[0] == 403


def test_the_same_name_in_another_directory_is_somebody_else() -> None:
    stranger = Asking(WORLD, "ana", directory="other")
    assert stranger.evaluation(ANA)["context"]["reason"] == "unknown"
    named = {**ANA, "resource": {**ANA["resource"], "properties": {"realm": "gravitino"}}}
    status, said = stranger.post(EVALUATION, named)
    assert (status, said) == (403, "there is no realm `gravitino` that you may query")


def test_hidden_and_absent_realms_answer_alike() -> None:
    stranger = Asking(WORLD, "ana", directory="other")
    for name in ("gravitino", "nowhere"):
        named = {**ANA, "resource": {**ANA["resource"], "properties": {"realm": name}}}
        status, said = stranger.post(EVALUATION, named)
        assert (status, said.replace(name, "X")) == (
            403,
            "there is no realm `X` that you may query",
        )


def test_a_user_under_a_directorys_other_name_is_the_same_one() -> None:
    found = lake()
    spelt = found.realm.__class__("gravitino", "gravitino", spellings={"ana@corp.test": "ana"})
    world = state(found.__class__(spelt, found.system, found.matrix, found.own))
    asked = question("ana@corp.test", "table.load", HERE)
    assert Asking(world, "ana@corp.test").decides(asked)
    assert Asking(world, "ana@corp.test").decides(ANA)
    assert Asking(world, "ana").decides(asked)
    assert Asking(world, "eve").post(EVALUATION, asked)[0] == 403


def test_groups_of_the_credential_count_for_oneself_alone() -> None:
    zoe = question("zoe", "SELECT_TABLE", HERE)
    assert not Asking(WORLD, "zoe").decides(zoe)
    assert Asking(WORLD, "zoe", groups=("staff",)).decides(zoe)
    assert not Asking(WORLD, "gate", groups=("staff",)).decides(zoe)


def test_one_may_ask_about_ones_rights_over_the_server() -> None:
    on = {"type": "realm", "id": "gravitino", "properties": {"realm": "_server"}}
    asked = question("ana", "decision.ask_own", "x/x", resource=on)
    assert Asking(WORLD, "ana").decides(asked)
    denied = question("ana", "decision.ask", "x/x", resource=on)
    assert not Asking(WORLD, "ana").decides(denied)
    assert Asking(WORLD, "admin").decides(question("admin", "decision.ask", "x/x", resource=on))
    body = {"evaluations": [asked, denied]}
    assert [a["decision"] for a in Asking(WORLD, "ana").evaluations(body)] == [True, False]
    assert Asking(WORLD, "ana").post(EVALUATIONS, {"evaluations": []})[0] == 400


# --- permissions are decided again when they may have changed ---


def test_a_right_that_is_taken_away_is_gone_with_the_next_state() -> None:
    gate = Asking(WORLD, "gate")
    assert gate.decides(ANA)
    gate.state = state(*(r for n, r in WORLD.realms.items() if n != CONTROL), control(TOLD))
    assert gate.post(EVALUATION, ANA)[0] == 403


def test_rights_are_kept_while_nothing_that_gives_them_changes() -> None:
    realms = list(WORLD.realms.values())
    people: dict[str, People] = {}
    first = replace(state(*realms), people=people)
    assert are_alike(first, replace(first, revision=first.revision + 1))
    assert are_alike(first, replace(state(*realms, lake()), people=people))
    assert not are_alike(first, replace(first, people={}))
    assert not are_alike(first, replace(state(*realms, control()), people=people))
    assert not are_alike(first, replace(state(*realms, lake("more")), people=people))
    assert not are_alike(first, State())
    moved = replace(WORLD.realms["gravitino"], realm=Realm("gravitino", "gravitino", "other"))
    assert not are_alike(first, replace(state(*realms, moved), people=people))


def test_a_realm_that_moves_to_another_directory_is_no_longer_ones_own() -> None:
    ana = Asking(WORLD, "ana")
    assert ana.decides(ANA)
    moved = replace(WORLD.realms["gravitino"], realm=Realm("gravitino", "gravitino", "other"))
    ana.state = replace(WORLD, realms={**WORLD.realms, "gravitino": moved})
    assert ana.evaluation(ANA)["context"]["reason"] == "unknown"


def test_a_no_to_a_group_and_a_search_by_one_say_what_they_leave_out() -> None:
    gate, group = Asking(WORLD, "gate"), {"type": "group", "id": "staff"}
    answer = gate.evaluation({**question("x", "table.drop", HERE), "subject": group})
    assert answer["decision"] is False
    (note,) = answer["context"]["notes"]
    assert note.startswith("asked of group `staff` by itself: ")
    assert "notes" not in gate.evaluation(question("ana", "table.drop", HERE))["context"]
    load, resource = {"name": "table.load"}, {"type": "table", "id": "lk:c.s.t"}
    found = gate.search("resource", {"subject": group, "action": load, "resource": resource})
    assert found["context"] == {"notes": [note]}
    found = gate.search("action", {"subject": group, "resource": resource})
    assert found["context"] == {"notes": [note]}
    body = {"subject": {"type": "group"}, "action": load, "resource": resource}
    (each,) = gate.search("subject", body)["context"]["notes"]
    assert each.startswith("each group is evaluated by itself: ")
    several = gate.search("subject", {**body, "context": {"realms": "*"}})
    assert several["context"]["notes"] == [each]
    assert "context" not in gate.search("subject", {**body, "subject": {"type": "user"}})
