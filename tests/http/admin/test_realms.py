"""Realms over our own API: read, created, changed and dropped."""

from __future__ import annotations

import json

import sqlalchemy as sa

from lakewarden.store import SqlStore, schema
from tests.http.admin.api import Api
from tests.own_model import GIVEN, NAME, NO_READ, TEXT


def test_the_caller_learns_who_it_is(api: Api) -> None:
    admin = api.must("GET", "/whoami")
    assert (admin["user"], admin["directory"], admin["administrator"]) == ("admin", "main", True)
    assert api.must("GET", "/whoami", user="ana")["administrator"] is False


def test_without_a_credential_nothing_is_answered(api: Api) -> None:
    answer = api.ask("GET", "/whoami", user=None)
    assert (answer.status, answer.headers["content-type"]) == (401, "application/problem+json")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_fresh_server_has_the_three_realms_and_its_own(api: Api) -> None:
    found = api.must("GET", "/realms")["realms"]
    assert [one["name"] for one in found] == ["_server", "cdap", "datahub", "gravitino"]
    assert all(one["statements"] is not None for one in found)


def test_everybody_of_the_directory_sees_its_realms_but_not_what_is_in_them(api: Api) -> None:
    found = api.must("GET", "/realms", user="ana")["realms"]
    assert [one["name"] for one in found] == ["_server", "cdap", "datahub", "gravitino"]
    assert all(one["statements"] is None for one in found)


def test_a_realm_is_created_with_its_defaults_changed_and_dropped(api: Api) -> None:
    made = api.ask("POST", "/realms", {"name": "hub2", "model": "datahub"})
    assert made.status == 201
    assert made.body["statements"] > 0
    settings = {"settings": {"bootstrap": "closed"}}
    changed = api.must("PATCH", "/realms/hub2", settings)
    assert changed["settings"]["bootstrap"] == "closed"
    assert changed["statements"] < made.body["statements"]
    assert api.ask("DELETE", "/realms/hub2").status == 204
    assert api.ask("GET", "/realms/hub2").status == 404


def test_what_is_malformed_or_taken_is_refused(api: Api) -> None:
    for body, status in (
        ({"name": "gravitino", "model": "gravitino"}, 409),
        ({"name": "Bad", "model": "gravitino"}, 400),
        ({"name": "_other", "model": "gravitino"}, 400),
        ({"name": "x", "model": "atlas"}, 400),
        ({"name": "x", "model": "control"}, 400),
        ({"name": "x", "model": "gravitino", "settings": {"mode": "odd"}}, 400),
        ({"name": "x", "model": "gravitino", "owner": "ana"}, 400),
        ({"name": "x"}, 400),
    ):
        assert api.ask("POST", "/realms", body).status == status, body
    assert api.ask("DELETE", "/realms/_server").status == 409
    assert api.ask("PATCH", "/realms/_server", {"settings": {}}).status == 400


def test_an_error_in_a_new_realm_or_token_names_the_field(api: Api) -> None:
    for path, body, field in (
        ("/realms", {"name": "X y", "model": "cdap"}, "body.name"),
        ("/realms", {"name": "x", "model": "cdap", "directory": "@"}, "body.directory"),
        ("/realms", {"name": "x", "model": "cdap", "settings": {"no": "on"}}, "body.settings"),
        ("/tokens", {"user": "ana", "seconds": -5}, "body.seconds"),
    ):
        answer = api.ask("POST", path, body)
        assert answer.status == 400, body
        assert [error["path"] for error in answer.body["errors"]] == [field]


def test_an_unknown_setting_of_a_realm_is_refused_with_the_field(api: Api) -> None:
    answer = api.ask("PATCH", "/realms/datahub", {"settings": {"no": "on"}})
    assert answer.status == 400
    error = {"path": "body.settings", "message": "unknown setting `no`"}
    assert answer.body["errors"] == [error]
    assert "datahub.toml" not in str(answer.body)


def test_a_realm_is_created_of_a_model_of_ones_own(api: Api) -> None:
    made = api.ask("POST", "/realms", {"name": "mine", "model_text": TEXT})
    assert made.status == 201
    assert (made.body["model"], made.body["model_digest"]) == (NAME, GIVEN.digest)
    assert api.must("GET", "/realms/mine")["model_text"] == TEXT
    listed = api.must("GET", "/realms")["realms"]
    assert {one["name"]: one["model_text"] for one in listed}["mine"] is None
    asked = {"principal": "ana", "operation": "document.read", "entity": "document:plan"}
    assert api.must("POST", "/realms/mine/check", asked)["allow"] is False


def test_what_is_no_model_of_ones_own_is_refused_with_its_place(api: Api) -> None:
    for body, path in (
        ({"name": "x", "model": "gravitino", "model_text": TEXT}, "model"),
        (
            {"name": "x", "model_text": TEXT.replace('"plain"', '"cdap"')},
            "model_text.model.spelling",
        ),
        ({"name": "x", "model_text": TEXT.replace("READ or", "LOOK or")}, "operations"),
        ({"name": "x", "model_text": "[model"}, "model_text"),
        ({"name": "x", "model_text": ""}, "model_text"),
        ({"name": "x", "model_text": "#" * 262_145}, "model_text"),
        ({"name": "x", "model_text": "é" * 131_073}, "a model has 262,144 at most"),
    ):
        answer = api.ask("POST", "/realms", body)
        assert answer.status == 400, body
        assert path in json.dumps(answer.body), answer.body
    assert api.ask("GET", "/realms/x").status == 404


def test_a_realm_whose_model_cannot_be_used_is_closed_and_told(api: Api) -> None:
    api.must("POST", "/realms", {"name": "mine", "model_text": TEXT})
    store = api.service.store
    assert isinstance(store, SqlStore)
    with store.engine.begin() as connection:
        connection.execute(sa.update(schema.models).values(text="#"))
    api.service.open()
    asked = {"principal": "ana", "operation": "document.read", "entity": "document:plan"}
    for answer in (api.ask("GET", "/realms/mine"), api.ask("POST", "/realms/mine/check", asked)):
        assert answer.status == 503
        assert "realm `mine` is closed" in answer.body["detail"]
    for path in ("//readyz", "//healthz"):
        warnings = api.must("GET", path)["warnings"]
        assert warnings[0] == "realms: 1 closed, as its model cannot be used"
    question = {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "document.read"},
        "resource": {"type": "document", "id": "plan", "properties": {"realm": "mine"}},
    }
    assert api.ask("POST", "//access/v1/evaluation", question).status == 503
    # Its own path responds as if the realm did not exist.
    assert api.ask("POST", "//r/mine/access/v1/evaluation", question).status == 401
    assert api.must("GET", "/realms/gravitino")["model"] == "gravitino"
    assert api.ask("DELETE", "/realms/mine").status == 204


def test_an_upgrade_is_planned_first_and_refuses_to_orphan(api: Api) -> None:
    api.must("POST", "/realms", {"name": "mine", "model_text": TEXT})
    granted = {"privileges": ["READ"], "to": ["user:ana"], "on": "workspace:home"}
    api.must("PUT", "/realms/mine/statements/read", granted)
    path, body = "/realms/mine/upgrade", {"model_text": NO_READ.text}
    planned = api.must("POST", path, body)
    assert (planned["pending"], planned["orphaned"]) == (True, {"statement": 1})
    assert planned["words"]["privileges"]["gone"] == ["READ"]
    assert api.must("GET", "/realms/mine")["model_digest"] == GIVEN.digest
    refused = api.ask("POST", path, {**body, "apply": True})
    assert (refused.status, "`read`" in refused.body["detail"]) == (409, True)
    done = api.must("POST", path, {**body, "apply": True, "drop": True})
    found = api.must("GET", "/realms/mine")
    assert (found["model_digest"], found["statements"]) == (NO_READ.digest, 0)
    assert done["revision"] > planned["revision"]
    assert api.must("POST", path, body)["pending"] is False
    for wrong, status in (
        ({"model_text": "[model"}, 400),
        ({"model_text": TEXT.replace('"documents"', '"papers"')}, 400),
        ({}, 400),
    ):
        assert api.ask("POST", path, wrong).status == status
    assert api.ask("POST", "/realms/gravitino/upgrade", body).status == 409
    assert api.ask("POST", path, body, user="ana").status == 403


def test_a_no_says_what_is_missing_and_who_may_grant_it(api: Api) -> None:
    answer = api.ask("POST", "/realms", {"name": "x", "model": "gravitino"}, user="ana")
    assert answer.status == 403
    assert answer.body["operation"] == "realm.create"
    assert answer.body["object"] == "directory:main"
    assert answer.body["missing"] == {"privilege": "MANAGE_SERVER", "object": "server:lakewarden"}
    assert answer.body["may_grant"] == ["admin"]


def test_hidden_and_absent_realms_are_refused_alike(api: Api) -> None:
    api.must("POST", "/realms", {"name": "far", "model": "gravitino", "directory": "other"})
    for path in ("", "/statements", "/entities", "/operations"):
        hidden = api.ask("GET", f"/realms/far{path}", user="ana")
        absent = api.ask("GET", f"/realms/xyz{path}", user="ana")
        assert hidden.status == absent.status == 403
        for one in (hidden.body, absent.body):
            one.pop("request_id")
        assert str(hidden.body).replace("far", "xyz") == str(absent.body)


def test_every_answer_names_the_revision_that_it_was_taken_from(api: Api) -> None:
    before = int(api.ask("GET", "/realms").headers["lakewarden-revision"])
    made = api.ask("POST", "/realms", {"name": "x", "model": "gravitino"})
    assert int(made.headers["lakewarden-revision"]) == before + 1
    later = api.ask("GET", "/realms", headers={"lakewarden-at-least": str(before + 1)})
    assert later.status == 200
