"""The admin verbs over the API of a running server, and directly on its database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakewarden import __version__
from lakewarden.cli.admin_target import account
from lakewarden.store import open_store
from tests.app.threaded import threaded
from tests.cli.policies import POLICY, write
from tests.cli.realms import Cli, Outcome


@dataclass(frozen=True)
class Running:
    """A server, accessed over its API and through its database."""

    cli: Cli
    address: str
    url: str

    def remote(self, *words: str, user: str = "admin") -> Outcome:
        return self.cli(*words, "--server", self.address, "--user", user)

    def local(self, *words: str) -> Outcome:
        return self.cli(*words, "--database", self.url)

    def revision(self) -> int:
        with open_store(self.url) as store:
            return store.revision()


@pytest.fixture
def running(cli: Cli, tmp_path: Path) -> Iterator[Running]:
    folder = tmp_path / "server"
    with threaded(folder) as served:
        yield Running(cli, served.address, f"sqlite:///{folder}/store.db")


def test_people_realms_and_tokens_are_the_same_on_both_ways(running: Running) -> None:
    for add, see in ((running.remote, running.local), (running.local, running.remote)):
        name = "ana" if add == running.remote else "ben"
        assert add("user", "add", name).code == 0
        assert add("user", "add", f"{name}s", "--group").code == 0
        assert add("realm", "create", f"of-{name}", "--model", "cdap").code == 0
        made = add("token", "create", name, "--new")
        assert made.out.startswith("lw_")
        people = see("user", "list")
        assert f"user   {name}" in people.lines
        assert f"group  {name}s" in people.lines
        assert any(line.startswith(f"of-{name} ") for line in see("realm", "list").lines)
        (token,) = json.loads(see("token", "list", "--of", name, "--format", "json").out)
        assert see("token", "revoke", token["id"]).code == 0
        assert add("token", "list", "--of", name).code == 1
        assert see("realm", "drop", f"of-{name}", "--yes").code == 0
        assert see("user", "remove", name).code == 0
        assert add("user", "list").out.count(name) == 1  # the group
    assert running.local("user", "list").out == running.remote("user", "list").out
    assert running.local("realm", "list").out == running.remote("realm", "list").out


def test_a_directory_is_loaded_over_the_api_as_it_is_directly(running: Running) -> None:
    for name in ("gravitino", "datahub", "cdap"):
        words = ("load", str(running.cli.folders[name]), "--realm", name)
        first = running.remote(*words, "--prune", "--format", "json")
        assert first.code == 0, first.err
        assert first.json["new"] is True
        again = running.local(*words, "--prune", "--format", "json").json
        assert (again["new"], again["revision"]) == (False, first.json["revision"])
        assert running.remote(*words, "--format", "json").json["new"] is False
    folder = str(running.cli.folders["cdap"])
    refused = running.remote("load", folder, "--realm", "cdap", user="eve")
    assert (refused.code, refused.out) == (2, "")
    assert "`eve` may not realm.import" in refused.err
    found = running.remote("load", folder, "--realm", "gravitino")
    assert "is of model `gravitino`, not `cdap`" in found.err
    assert running.local("doctor").code == 0


def test_the_trail_is_the_same_on_both_ways(running: Running) -> None:
    for name in ("ana", "ben", "cid"):
        running.remote("user", "add", name)
    for words in (("verify",), ("tail", "--last", "3"), ("export",)):
        local, remote = running.local("audit", *words), running.remote("audit", *words)
        assert (local.code, local.out) == (remote.code, remote.out), words
    assert running.remote("audit", "tail", user="eve").code == 2


def test_policy_is_exported_planned_and_applied_alike_on_both_ways(
    running: Running, tmp_path: Path
) -> None:
    of = ("--realm", "gravitino")
    running.local("load", str(running.cli.folders["gravitino"]), *of)
    for form in ("toml", "yaml"):
        assert _alike(running, "export", *of, "--format", form).code == 0
    file, plan = write(tmp_path, WITH_MOMENTS), tmp_path / "plan.json"
    for words in ((), ("--whole",), ("--format", "json"), ("--name", "me", "--adopt")):
        assert _alike(running, "plan", file, *of, *words).code == 1
    made = {}
    for way in (running.remote, running.local):
        assert way("plan", file, *of, "--out", str(plan)).code == 1
        made[way] = plan.read_text("utf-8")
    assert made[running.remote] == made[running.local]
    found = running.remote("apply", str(plan))
    assert (found.code, found.err) == (0, "")
    assert "applied: revision" in found.lines[-1]
    assert _alike(running, "plan", file, *of).code == 0
    assert _alike(running, "apply", str(plan)).code == 2  # it was already applied
    running.local("plan", write(tmp_path, ""), *of, "--out", str(plan))
    shown = json.loads(running.remote("apply", str(plan), "--format", "json").out)
    exported = _alike(running, "export", *of)
    assert "analysts" not in exported.out
    assert shown["applied"] == running.revision()
    assert running.local("doctor").code == 0


WITH_MOMENTS = f"""{POLICY}
[[statement]]
id = "for-a-while"
privileges = ["USE_SCHEMA"]
to = ["user:eve"]
on = "schema:lk:c.s"
valid_from = 2026-01-01T00:00:00.25Z
valid_until = 4000000000
"""


def _alike(running: Running, *words: str) -> Outcome:
    """The verb's outcome, which is the same both ways."""
    local, remote = running.local(*words), running.remote(*words)
    assert (remote.code, remote.out, remote.err) == (local.code, local.out, local.err)
    return remote


def test_policy_that_cannot_be_is_refused_alike_on_both_ways(
    running: Running, tmp_path: Path
) -> None:
    of = ("--realm", "gravitino")
    running.local("load", str(running.cli.folders["gravitino"]), *of)
    for text, said in (
        ("states = []", "policy.toml: unknown key `states`"),
        ('realm = "cdap"', "policy.toml.realm: is for realm `cdap`"),
        ("roles = [1]", "policy.toml.roles: expected a string"),
        (
            WITH_MOMENTS.replace("00.25Z", "00"),
            "policy.toml: statement[1].valid_from: expected seconds or a date-time with an offset",
        ),
        (POLICY.replace("analysts-read", "read"), "`read` already exists and has no mark"),
        (POLICY.replace("lk:c.s", "lk:c.none"), "which is not stored"),
    ):
        found = _alike(running, "plan", write(tmp_path, text), *of)
        assert (found.code, found.out) == (2, "")
        assert said in found.err
    file = write(tmp_path)
    assert _alike(running, "plan", file, "--realm", "nope").code == 2
    assert _alike(running, "export", "--realm", "nope").code == 2
    plan = str(tmp_path / "plan.json")
    running.remote("plan", file, *of, "--out", plan)
    for words in (("export", *of), ("plan", file, *of), ("apply", plan)):
        refused = running.remote(*words, user="eve")
        assert (refused.code, refused.out) == (2, "")
        assert f"`eve` may not realm.{words[0]} on `realm:gravitino`" in refused.err
    running.local("user", "add", "dan")
    moved = _alike(running, "apply", plan)
    assert (moved.code, moved.out) == (2, "")
    assert "has changed since revision" in moved.err
    endless = write(tmp_path, WITH_MOMENTS.replace("4000000000", "inf"))
    for way in (running.local, running.remote):
        assert way("plan", endless, *of).code == 2


def test_a_server_is_looked_at_by_the_doctor(running: Running, tmp_path: Path) -> None:
    found = running.remote("doctor")
    assert found.code == 0, found.out
    findings = json.loads(running.remote("doctor", "--format", "json").out)
    names = list(dict.fromkeys(one["name"] for one in findings))
    assert names == [
        *("server", "readiness", "release", "revision", "caller"),
        *("systems", "settings", "store", "realms", "audit trail", "clock", "change feed"),
        "documents",
    ]
    assert any(
        "callers are not authenticated" in one["says"] for one in findings
    )  # names are trusted here
    says = {one["name"]: one["says"] for one in findings}
    assert says["release"] == __version__
    assert says["revision"] == str(running.revision())
    assert says["caller"] == "takes you for `admin`, who administers it"
    stranger = running.cli("doctor", "--server", running.address)
    assert (stranger.code, "no credential was given" in stranger.out) == (0, True)
    token = tmp_path / "token"
    token.write_text("lw_nobody's", "utf-8")
    given = ("--server", running.address, "--token-file", str(token))
    assert running.cli("doctor", *given).code == 1
    assert running.remote("doctor", "--config", str(token)).code == 2
    nobody = running.cli("doctor", "--server", "http://127.0.0.1:9")
    assert (nobody.code, "unreachable  server" in nobody.out) == (3, True)


def test_who_is_refused_is_told_and_who_answers_nothing_is_exit_code_3(running: Running) -> None:
    for words in (("user", "add", "x"), ("realm", "create", "x", "--model", "cdap")):
        found = running.remote(*words, user="eve")
        assert (found.code, found.out) == (2, ""), words
        assert "`eve` may not" in found.err
    found = running.cli("user", "list", "--server", "http://127.0.0.1:9", "--user", "admin")
    assert (found.code, found.out) == (3, "")


def test_the_server_and_the_token_may_be_named_by_the_environment(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEWARDEN_SERVER", running.address)
    assert running.cli("user", "list", "--user", "admin").code == 0
    assert running.cli("user", "list").code == 2


def test_an_account_without_a_name_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4_294_967_290)
    assert account() == "uid 4294967290"
