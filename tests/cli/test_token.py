"""`lakewarden token`."""

from __future__ import annotations

import json
import re

import pytest

from lakewarden.client.server import Server
from tests.cli.realms import Cli
from tests.cli.stores import Admin


def test_a_token_is_printed_alone_and_listed_without_its_text(admin: Admin) -> None:
    made = admin("token", "create", "ana", "--new", "--ttl", "12h", "--title", "for the job")
    assert re.fullmatch(r"lw_[A-Za-z0-9_-]{43}\n", made.out)
    listed = admin("token", "list", "--format", "json")
    (found,) = json.loads(listed.out)
    assert (found["user"], found["title"], found["realm"]) == ("ana", "for the job", None)
    assert made.out.strip() not in listed.out
    assert "all of main" in admin("token", "list", "--of", "ana").out


def test_a_script_learns_the_id_of_the_token_that_it_created(admin: Admin) -> None:
    issued = json.loads(admin("token", "create", "ana", "--new", "--format", "json").out)
    assert re.fullmatch(r"lw_[A-Za-z0-9_-]{43}", issued.pop("token"))
    assert [issued] == json.loads(admin("token", "list", "--format", "json").out)


def test_a_fresh_database_is_made_ready_first(cli: Cli, tmp_path: object) -> None:
    found = cli("token", "create", "ana", "--new", "--database", f"sqlite:///{tmp_path}/fresh.db")
    assert found.code == 0
    assert found.out.startswith("lw_")
    assert found.out.count("\n") == 1
    assert "`admin` is its administrator" in found.err


def test_a_revoked_token_is_gone_and_revoking_it_again_is_no_error(admin: Admin) -> None:
    admin("token", "create", "ana", "--new")
    (found,) = json.loads(admin("token", "list", "--format", "json").out)
    assert admin("token", "revoke", found["id"]).code == 0
    assert admin("token", "list").code == 1
    assert admin("token", "revoke", found["id"]).code == 0


def test_a_token_may_be_good_in_one_realm_only(admin: Admin) -> None:
    admin("token", "create", "ana", "--new", "--realm", "cdap")
    (found,) = json.loads(admin("token", "list", "--format", "json").out)
    assert found["realm"] == "cdap"
    assert admin.ask("token", "create", "ana", "--new", "--realm", "nope").code == 2


@pytest.mark.parametrize("ttl", ["", "1", "d", "1y", "-1d", "1.5h", "0s", "2000d"])
def test_a_length_that_is_none_is_refused(admin: Admin, ttl: str) -> None:
    found = admin.ask("token", "create", "ana", "--new", f"--ttl={ttl}")
    assert (found.code, found.out) == (2, "")


def test_a_token_of_somebody_who_is_stored_nowhere_is_asked_for_in_so_many_words(
    admin: Admin,
) -> None:
    found = admin.ask("token", "create", "anna")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("lakewarden: unknown user `anna`; not in directory `main` or its")
    assert "`--new`" in found.err
    assert admin("token", "create", "anna", "--new").out.startswith("lw_")
    admin("user", "add", "anna")
    assert admin("token", "create", "anna").out.startswith("lw_")


def test_whom_a_realm_alone_has_is_stored(admin: Admin) -> None:
    for realm, name in (("datahub", "ben"), ("gravitino", "eve")):
        assert admin.ask("token", "create", name).code == 2
        admin("load", str(admin.cli.folders[realm]), "--realm", realm)
        assert admin("token", "create", name).code == 0


def test_an_empty_realm_makes_no_token_that_is_good_everywhere(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert admin.ask("token", "create", "ana", "--new", "--realm", "").code == 2
    asked: list[object] = []

    def ask(_: Server, method: str, path: str, body: object) -> object:
        asked.append(body)
        return {"token": f"{method} {path}"}

    monkeypatch.setattr(Server, "ask", ask)
    there = ("--server", "http://127.0.0.1:1", "--user", "root")
    assert admin.cli("token", "create", "ana", "--realm", "", *there).out == "POST /tokens\n"
    assert asked == [
        {"user": "ana", "directory": "main", "seconds": 86_400.0, "title": ""}
        | {"new": False, "engine": False, "realm": ""}
    ]
