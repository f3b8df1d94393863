"""`lakewarden check`: the answer, the exit code, and the notes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lakewarden.cli import EXTRAS
from lakewarden.kernel.errors import StaleSnapshot
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Decision, Reason
from tests.cli.realms import DATASET, OTHER, Cli
from tests.cli.stores import Admin


def test_an_allow_is_exit_code_0(cli: Cli) -> None:
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out, found.err) == (0, "allow\n", "")


def test_a_deny_is_exit_code_1(cli: Cli) -> None:
    found = cli("check", "ben", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out, found.err) == (1, "deny\n", "")


def test_a_privilege_can_be_asked_by_its_bare_name(cli: Cli) -> None:
    assert cli("check", "ana", "SELECT_TABLE", "table:lk:c.s.t", "@gravitino").code == 0
    assert cli("check", "ana", "MODIFY_TABLE", "table:lk:c.s.t", "@gravitino").code == 1


def test_without_an_entity_the_platform_is_asked_about(cli: Cli) -> None:
    assert cli("check", "ana", "VIEW_ANALYTICS", "@datahub").code == 0
    assert cli("check", "ana", "MANAGE_POLICIES", "@datahub").code == 1


def test_json_has_the_reason_and_the_revision(cli: Cli) -> None:
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino", "--format", "json")
    assert found.code == 0
    assert found.json == {"allow": True, "reason": "allowed", "revision": 0, "notes": []}
    found = cli("check", "ben", "table.load", "table:lk:c.s.t", "@gravitino", "--format", "json")
    assert found.code == 1
    assert found.json == {"allow": False, "reason": "denied", "revision": 0, "notes": []}


def test_a_user_that_is_not_stored_gets_an_answer_and_a_note(cli: Cli) -> None:
    found = cli("check", "zoe", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out) == (1, "deny\n")
    assert found.err == "note: user `zoe` is not stored\n"
    found = cli("check", "zoe", "table.load", "table:lk:c.s.t", "@gravitino", "--format", "json")
    assert found.json["notes"] == ["user `zoe` is not stored"]
    assert found.err == ""


def test_an_entity_that_is_not_stored_gets_what_its_system_answers(cli: Cli) -> None:
    found = cli("check", "ana", "table.load", "table:lk:c.s.x", "@gravitino")
    assert (found.code, found.out) == (1, "deny\n")
    assert "table `lk:c.s.x` is not stored, so every operation on it is denied" in found.err
    found = cli("check", "ana", "dataset.read", "dataset:sales.new", "@cdap")
    assert (found.code, found.out) == (0, "allow\n")
    assert "dataset `sales.new` is not stored, evaluated by its name" in found.err


def test_a_urn_needs_no_type(cli: Cli) -> None:
    assert cli("check", "ana", "entity.update", DATASET, "@datahub").code == 0
    assert cli("check", "ana", "entity.update", f"dataset:{DATASET}", "@datahub").code == 0
    assert cli("check", "urn:li:corpuser:ana", "entity.update", OTHER, "@datahub").code == 1


def test_a_type_alone_can_be_asked_about(cli: Cli) -> None:
    found = cli("check", "ana", "entity.create", "dataset:", "@datahub")
    assert (found.code, found.err) == (1, "")


def test_a_group_of_the_identity_provider_counts(cli: Cli) -> None:
    question = ("check", "eve", "SELECT_TABLE", "table:lk:c.s.t", "@gravitino")
    assert cli(*question).code == 1
    assert cli(*question, "--group", "staff").code == 0
    assert cli(*question, "--group", "group:staff").code == 0


def test_active_roles_narrow_what_is_allowed(cli: Cli) -> None:
    question = ("check", "ana", "SELECT_TABLE", "table:lk:c.s.t", "@gravitino")
    assert cli(*question, "--role", "lk:readers").code == 0
    assert cli(*question, "--role", "role:lk:readers").code == 0
    found = cli(*question, "--role", "lk:blocked", "--format", "json")
    assert (found.code, found.json["reason"]) == (1, "role not held")


def test_sub_resources_are_what_the_act_touches(cli: Cli) -> None:
    question = ("check", "ana", "EDIT_ENTITY_TAGS", OTHER, "@datahub")
    assert cli(*question, "--sub", "urn:li:tag:spring").code == 0
    assert cli(*question, "--sub", "urn:li:tag:pii").code == 1
    assert cli(*question, "--sub", "urn:li:tag:spring", "--sub", "urn:li:tag:pii").code == 1


def test_further_targets_are_named(cli: Cli) -> None:
    question = ("check", "ana", "application.redeploy", "application:sales.load", "@cdap")
    found = cli(*question)
    assert found.code == 1
    assert "specify it with --target artifact=TYPE:ENTITY" in found.err
    found = cli(*question, "--target", "artifact=artifact:system.core")
    assert (found.code, found.err) == (0, "")


def test_lists_are_named_item_by_item(cli: Cli) -> None:
    question = ("check", "ana", "object.tags.associate", "table:lk:c.s.t", "@gravitino")
    found = cli(*question)
    assert found.code == 1
    assert "`object.tags.associate` also requires `tags`" in found.err
    found = cli(*question, "--item", "tags=tag:lk:pii")
    assert (found.code, found.err) == (1, "")


def test_what_cannot_be_judged_is_neither_yes_nor_no(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = Decision(allow=False, reason=Reason.ERROR, revision=0)
    monkeypatch.setattr(Matrix, "decide", lambda *_: error)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out) == (3, "deny\n")


def test_a_stale_snapshot_could_not_be_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stale(*_: object) -> None:
        raise StaleSnapshot("the snapshot ended")

    monkeypatch.setattr(Matrix, "decide", stale)
    found = cli("check", "ana", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.err) == (3, "lakewarden: the snapshot ended\n")


def test_a_database_is_asked_as_a_directory_is(admin: Admin) -> None:
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")
    of = ("table:lk:c.s.t", "--realm", "gravitino")
    assert admin.ask("check", "ana", "table.load", *of).out == "allow\n"
    assert admin.ask("check", "ben", "table.load", *of).code == 1
    assert admin.ask("check", "ana", "table.load", "table:lk:c.s.t").err == (
        "lakewarden: --realm: name the realm of the database\n"
    )
    held = admin.ask("privileges", "ana", *of, "--format", "json")
    assert (
        held.json["privileges"]
        == admin.cli("privileges", "ana", "table:lk:c.s.t", "@gravitino", "--format", "json").json[
            "privileges"
        ]
    )
    assert "table.load" in admin.ask("operations", "--realm", "gravitino").out


def test_what_limits_a_read_is_listed(admin: Admin) -> None:
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")
    policy = admin.cli.folders["gravitino"].parent / "limits.toml"
    policy.write_text(
        """
        [[filter]]
        id = "rows"
        on = "schema:lk:c.s"
        where = "region = $user.name"
        [[mask]]
        id = "hidden"
        on = "table:lk:c.s.t"
        with = "null"
        """
    )
    of = ("--realm", "gravitino", "--name", "limits")
    planned = admin.ask("plan", str(policy), *of, "--out", str(policy.with_suffix(".json")))
    assert planned.code == 1
    assert "FILTER `region = $user.name` on schema:lk:c.s to everybody" in planned.out
    assert admin.ask("apply", str(policy.with_suffix(".json"))).code == 0
    where = ("table:lk:c.s.t", "--realm", "gravitino")
    found = admin.ask("see", "ana", *where, "--format", "json")
    assert (found.code, found.json["filters"]) == (
        0,
        [{"id": "rows", "expression": "region = $user.name"}],
    )
    assert "region = $user.name" in admin.ask("see", "ana", *where).out
    binding = (
        "1 row filter (rows) and 1 column mask (hidden) bind where it is read:"
        " `lakewarden see ana table:lk:c.s.t`"
    )
    explained = admin.ask("explain", "ana", "table.load", *where)
    assert (explained.code, explained.err) == (0, f"note: {binding}\n")
    as_json: Any = admin.ask("explain", "ana", "table.load", *where, "--format", "json").json
    (of_realm,) = as_json["realms"]
    limits = {"filters": ["rows"], "masks": ["hidden"]}
    assert of_realm["explanation"]["limits"] == limits
    denied = admin.ask("see", "ben", *where)
    assert (denied.code, "it may not be read: table.load is denied" in denied.err) == (1, True)
    unlimited = admin.cli("see", "ana", "table:lk:c.s.t", "@gravitino")
    assert (unlimited.code, unlimited.err) == (
        0,
        "note: all rows and all values of stored columns are seen\n",
    )


def test_a_database_may_be_named_by_its_variable(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEWARDEN_DATABASE", admin.url)
    of = ("check", "root", "metalake.create", "--realm", "gravitino")
    assert admin.cli(*of).out == "allow\n"
    both = admin.cli(*of, "--database", admin.url, "--server", "http://127.0.0.1:1")
    assert both.err == "lakewarden: give one of --from DIR, --server URL and --database URL\n"


_LEFT_OUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {left_out}:
            raise ModuleNotFoundError("left out", name=name)

sys.meta_path.insert(0, Absent())
from lakewarden.cli import main
for verb in {verbs}:
    assert main([*verb, "--quiet", "--from", {folder!r}]) == 0, verb
"""


def test_asking_a_directory_takes_no_more_than_reading_parquet_does(
    folders: Mapping[str, Path],
) -> None:
    needed = {name for name, extra in EXTRAS.items() if extra == "parquet"}
    program = _LEFT_OUT.format(
        left_out=sorted(EXTRAS.keys() - needed),
        verbs=[
            ["check", "ana", "table.load", "table:lk:c.s.t"],
            ["explain", "ana", "table.load", "table:lk:c.s.t"],
            ["who", "table.load", "table:lk:c.s.t"],
            ["list", "ana", "table.load"],
            ["privileges", "ana", "table:lk:c.s.t"],
        ],
        folder=str(folders["gravitino"]),
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
