"""`lakewarden user`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from tests.cli.policies import furnish, write
from tests.cli.stores import Admin

OF = ("--realm", "gravitino")


def test_users_and_groups_come_and_go(admin: Admin) -> None:
    for words in (("ana",), ("ana",), ("staff", "--group")):
        assert admin("user", "add", *words).code == 0
    found = admin("user", "list")
    assert found.lines == ["kind   name", "group  staff", "user   ana", "user   root"]
    assert admin("user", "remove", "staff", "--group").code == 0
    assert admin("user", "remove", "ana").code == 0
    assert admin("user", "remove", "ana").code == 0
    listed = json.loads(admin("user", "list", "--format", "json").out)
    assert listed == [{"kind": "user", "name": "root"}]


def test_a_removal_of_what_is_not_there_says_so(admin: Admin) -> None:
    ends = ("gravitino=table:lk:c.s.t", "cdap=dataset:s.t")
    for words, what in (
        (("user", "remove", "ana"), "`user:ana` in directory `main`"),
        (("token", "revoke", "t0"), "valid token `t0` in directory `main`"),
        (("lookup", "remove", "regions", *OF), "lookup table `regions`"),
        (("link", "remove", *ends), "link between them"),
    ):
        found = admin.ask(*words)
        message = f"note: there was no {what}; nothing was removed\n"
        assert (found.code, found.out, found.err) == (0, "", message)
    admin("user", "add", "ana")
    token = admin("token", "create", "ana")
    assert token.code == 0
    (row,) = json.loads(admin("token", "list", "--format", "json").out)
    for words in (("token", "revoke", row["id"]), ("user", "remove", "ana")):
        found = admin.ask(*words)
        assert (found.code, found.out, found.err) == (0, "", "")


def test_a_name_that_no_user_may_have_is_refused(admin: Admin) -> None:
    before = admin.revision()
    for name in ("", ".", "a\nb", ".."):
        found = admin.ask("user", "add", name)
        assert (found.code, found.out) == (2, ""), name
    assert admin.revision() == before


def test_an_empty_directory_has_nobody(admin: Admin) -> None:
    assert admin("user", "list", "--directory", "other").code == 1


HOSTILE = ("/eng/data", "DOM\\user", "O'Hara", '"; drop table x --', "%2e%2e", "main/ana")


def test_names_of_identity_providers_are_listed_exported_and_planned_as_they_are(
    admin: Admin, tmp_path: Path
) -> None:
    for name in HOSTILE:
        admin("user", "add", name)
    found = json.loads(admin("user", "list", "--format", "json").out)
    assert {row["name"] for row in found} == {*HOSTILE, "root"}
    assert set(admin("user", "list").lines[1:]) == {f"user  {n}" for n in (*HOSTILE, "root")}
    furnish(admin)
    to = json.dumps([f"user:{name}" for name in HOSTILE])
    text = (
        f'[[statement]]\nid = "a"\nprivileges = ["USE_SCHEMA"]\nto = {to}\non = "schema:lk:c.s"\n'
    )
    policy, plan = write(tmp_path, text), str(tmp_path / "plan.json")
    admin("plan", policy, *OF, "--out", plan)
    admin("apply", plan)
    assert admin("plan", policy, *OF).code == 0
    written = tomllib.loads(admin("export", *OF).out)["statement"]
    assert sorted(*(one["to"] for one in written if one["id"] == "a")) == sorted(json.loads(to))
    for name in HOSTILE:
        admin("user", "remove", name)
    assert admin("user", "list").lines == ["kind  name", "user  root"]


def test_an_administrator_may_be_called_as_an_identity_provider_has_it(admin: Admin) -> None:
    admin("init", "--admin", "eng/ana", "--add-admin")
    assert admin.ask("user", "add", "ana", "--directory", "eng").code == 0
    assert admin.ask("init", "--admin", "eng/ana").code == 0


def test_attributes_are_set_removed_and_kept(admin: Admin) -> None:
    assert admin("user", "add", "ben").code == 0
    assert admin("user", "attributes", "ben").out == ""
    changed = admin("user", "attributes", "ben", "--set", "region=EU", "--set", "level=a=b")
    assert changed.lines == ["attribute  value", "level      a=b", "region     EU"]
    kept = admin("user", "attributes", "ben", "--remove", "level", "--format", "json")
    assert json.loads(kept.out) == {"region": "EU"}
    before = admin.revision()
    assert admin("user", "attributes", "ben", "--set", "region=EU").code == 0
    assert admin.revision() == before


def test_what_is_no_attribute_is_refused(admin: Admin) -> None:
    assert admin("user", "add", "ben").code == 0
    for words, problem in (
        (("ben", "--set", "region"), "--set: expected NAME=VALUE"),
        (("ben", "--set", "name=x"), "attributes.name: is known of every user"),
        (("zoe", "--set", "region=EU"), "unknown person `zoe`"),
        (("zoe",), "unknown person `zoe`; add the user to directory `main` first"),
    ):
        refused = admin.ask("user", "attributes", *words)
        assert (refused.code, refused.out) == (2, "")
        assert problem in refused.err
