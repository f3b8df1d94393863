"""Denials in engines: each has an id, and the user concerned can find and explain it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lakewarden.cli import main
from tests.http.opa.test_served import ROOT, Trino, served_realm, table

REALM = "/api/v1/realms/gravitino"
PEOPLE: dict[str, Any] = {"table": {**table("hr.people"), "columns": ["id"]}}


@pytest.fixture(scope="module")
def trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    yield from served_realm(tmp_path_factory.mktemp("decisions"))


def answer(trino: Trino, asker: str, operation: str, **resource: object) -> dict[str, Any]:
    action: dict[str, object] = {"operation": operation}
    if resource:
        action["resource"] = resource
    body = {"input": {"context": {"identity": {"user": asker}}, "action": action}}
    found = trino.post("allow", body)
    assert found.status == 200, found.body
    value = found.json()
    assert isinstance(value, dict)
    return value


def token_of(trino: Trino, user: str) -> str:
    made: Any = trino.served.ask("POST", "/api/v1/tokens", {"user": user}, token=ROOT).json()
    return str(made["token"])


def ask(trino: Trino, path: str, token: str) -> tuple[int, Any]:
    found = trino.served.ask("GET", REALM + path, token=token)
    return found.status, found.json()


def test_a_denial_has_an_id_and_is_explained_by_it(trino: Trino) -> None:
    denied = answer(trino, "ana", "SelectFromColumns", **PEOPLE)
    assert denied["result"] is False
    id = denied["decision_id"]
    assert answer(trino, "ana", "SelectFromColumns", **PEOPLE) == denied
    own = token_of(trino, "ana")
    status, found = ask(trino, f"/decisions/{id}", own)
    assert status == 200, found
    denial, explanation = found["denial"], found["explanation"]
    assert denial["decision"] == id
    assert denial["principal"] == "user:ana"
    assert denial["operation"] == "trino.SelectFromColumns"
    assert denial["entity"] == "table:lk:lake.hr.people"
    assert explanation["allow"] is False
    needed = {need["privilege"] for way in explanation["ways"] for need in way["allow"]}
    assert "USE_SCHEMA" in needed
    assert ask(trino, f"/decisions/{id}", ROOT)[0] == 200


def test_the_command_line_lists_and_explains(
    trino: Trino, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    id = answer(trino, "bo", "ReadSystemInformation")["decision_id"]
    monkeypatch.setenv("LAKEWARDEN_TOKEN", token_of(trino, "bo"))
    at = ("--realm", "gravitino", "--server", trino.served.address)
    assert main(["denials", *at]) == 0
    assert f"{id}" in capsys.readouterr().out
    assert main(["explain", "--decision", id, *at]) == 1
    told = capsys.readouterr().out
    assert "bo may not trino.ReadSystemInformation" in told
    assert "owner of metalake" in told
    assert main(["explain", "--decision", id, "--server", trino.served.address]) == 2
    assert main(["explain", "bo", "--decision", id, *at]) == 2
    assert main(["explain", *at]) == 2
    store = ("--realm", "gravitino", "--database", f"sqlite:///{trino.served.log.parent}/store.db")
    monkeypatch.delenv("LAKEWARDEN_TOKEN")
    capsys.readouterr()
    assert main(["denials", "bo", "--format", "json", *store]) == 0
    assert id in {one["decision"] for one in json.loads(capsys.readouterr().out)["denials"]}
    assert main(["explain", "--decision", id, "--format", "json", *store]) == 1
    told_as_json = json.loads(capsys.readouterr().out)
    assert told_as_json["denial"]["principal"] == "user:bo"
    assert told_as_json["explanation"]["allow"] is False


def test_the_id_is_that_of_the_question(trino: Trino) -> None:
    ids = [
        answer(trino, asker, operation, **named)["decision_id"]
        for asker, operation, named in (
            ("ana", "SelectFromColumns", PEOPLE),
            ("bo", "SelectFromColumns", PEOPLE),
            ("ana", "ShowColumns", PEOPLE),
            ("ana", "ShowColumns", {"table": table("sales.totals")}),
            ("eve", "ExecuteQuery", dict[str, Any]()),
        )
    ]
    assert len(set(ids)) == len(ids)


def test_others_learn_nothing_of_a_decision(trino: Trino) -> None:
    id = answer(trino, "bo", "ShowColumns", **PEOPLE)["decision_id"]
    ana, bo = token_of(trino, "ana"), token_of(trino, "bo")
    assert ask(trino, f"/decisions/{id}", bo)[0] == 200
    refused = ask(trino, f"/decisions/{id}", ana)
    absent = ask(trino, "/decisions/d0000000000000000", ana)
    assert refused[0] == absent[0] == 403
    assert refused[1]["operation"] == absent[1]["operation"] == "explain.ask"
    assert id not in str(refused[1])
    assert ask(trino, "/decisions/x", ana)[0] == 403
    assert ask(trino, "/decisions/d0000000000000000", ROOT)[0] == 404
    assert ask(trino, "/decisions/x", ROOT)[0] == 404
    elsewhere = f"/api/v1/realms/silent/decisions/{id}"
    assert trino.served.ask("GET", elsewhere, token=ROOT).status == 404


def test_the_latest_denials_are_listed(trino: Trino) -> None:
    first = answer(trino, "olga", "DropCatalog", catalog={"name": "absent"})["decision_id"]
    second = answer(trino, "olga", "ImpersonateUser", user={"user": "bo"})["decision_id"]
    status, own = ask(trino, "/denials", token_of(trino, "olga"))
    assert status == 200
    assert [one["decision"] for one in own["denials"]] == [second, first]
    assert ask(trino, "/denials?principal=olga", ROOT) == (200, own)
    assert ask(trino, "/denials?principal=user:olga", token_of(trino, "olga")) == (200, own)
    assert ask(trino, "/denials?principal=olga", token_of(trino, "ana"))[0] == 403
    assert ask(trino, "/denials?principal=nobody-at-all", ROOT) == (200, {"denials": []})


def test_what_is_left_out_of_lists_or_not_understood_has_no_id(trino: Trino) -> None:
    assert answer(trino, "ana", "FilterTables", **PEOPLE) == {"result": False}
    assert answer(trino, "ana", "ReadMinds", **PEOPLE) == {"result": False}
    hostile = {"table": table("hr.people.x")}
    assert answer(trino, "ana", "ShowColumns", **hostile) == {"result": False}
    assert answer(trino, "bo", "ExecuteQuery") == {"result": True}


def test_what_moves_is_denied_where_it_comes_to_lie(trino: Trino) -> None:
    action = {
        "operation": "RenameTable",
        "resource": {"table": table("sales.orders")},
        "targetResource": {"table": table("absent.orders")},
    }
    body = {"input": {"context": {"identity": {"user": "olga"}}, "action": action}}
    denied: Any = trino.post("allow", body).json()
    found = ask(trino, f"/decisions/{denied['decision_id']}", ROOT)[1]["denial"]
    assert found["operation"] == "trino.CreateTable"
    assert found["entity"] == "schema:lk:lake.absent"


def test_a_decision_that_would_be_another_now_says_so(trino: Trino) -> None:
    id = answer(trino, "bo", "SelectFromColumns", table=table("sales.totals"))["decision_id"]
    grant = {"privileges": ["SELECT_VIEW"], "to": ["user:bo"], "on": "view:lk:lake.sales.totals"}
    path = f"{REALM}/statements/bo-totals"
    assert trino.served.ask("PUT", path, grant, token=ROOT).status == 200
    status, found = ask(trino, f"/decisions/{id}", ROOT)
    assert status == 200
    assert found["explanation"]["allow"] is True
    assert "allowed now" in str(found["explanation"]["notes"])
    assert found["explanation"]["revision"] > found["denial"]["revision"]


def test_of_one_user_so_many_denials_are_kept_and_no_more(trino: Trino) -> None:
    ids = [
        answer(trino, "eve", "DropTable", table=table(f"sales.t{n}")).get("decision_id")
        for n in range(70)
    ]
    kept = [id for id in ids if id is not None]
    assert 0 < len(kept) <= 60
    assert ids[len(kept) :] == [None] * (70 - len(kept))
    assert ask(trino, f"/decisions/{kept[-1]}", ROOT)[0] == 200
