"""`lakewarden push` to a Ranger admin, from the command line: journal, drift and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app import webhook
from lakewarden.app.open_store import opened_service
from lakewarden.app.webhook import SIGNATURE
from lakewarden.cli import main
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Effect as Allowing
from lakewarden.kernel.statement import On, Statement
from lakewarden.pushdown.ranger import admin
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import Effect
from lakewarden.service.push_target import PushTarget, SentEvent, target
from lakewarden.service.push_target_writes import note_drift, note_event
from tests.app.json_receiver import receiver
from tests.app.test_webhook import is_genuine
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.worlds import ranger_of

STORE = "sqlite:///estate.db"
ORDERS = Entity("table", "quillmere:warehouse.sales.orders")
WAREHOUSE = Entity("catalog", "quillmere:warehouse")
READS = frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"})
ANA = Principal(USER, "ana")


def furnish() -> None:
    """A table that `ana` may read."""
    parts = [
        Entity("metalake", "quillmere"), WAREHOUSE, Entity("schema", "quillmere:warehouse.sales"),
        ORDERS,
    ]  # fmt: skip
    effects: list[Effect] = [
        *(EntityAdded(one, above) for one, above in zip(parts, [None, *parts], strict=False)),
        PrincipalChanged(ANA, True),
        MembershipChanged(MembershipRow(ANA, members_of("quillmere")), True),
        StatementAdded(Statement("reads", Allowing.ALLOW, READS, On(WAREHOUSE), frozenset({ANA}))),
    ]
    with opened_service(STORE) as service:
        service.write(SYSTEM, lambda transaction: transaction.change("lake", *effects))


def run(*words: str) -> int:
    return main([*words, "--database", STORE])


def test_a_ranger_is_told_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(admin, "_FIRST_PAUSE_SECONDS", 0.01)
    ranger = ranger_of("trino")
    assert run("init") == 0
    assert run("realm", "create", "lake", "--model", "gravitino", "--setting", "trino=on") == 0
    furnish()
    with serving(ranger):
        monkeypatch.setenv("LAKEWARDEN_TARGET_URL", ranger.address)
        assert run("push", "target", "add", "rg", "--realm", "lake", "--catalog", "quillmere") == 0
        ranger.plugins.append(
            {"serviceName": "svc", "hostName": "trino-1", "appType": "trino",
             "info": {"policyActiveVersion": "7", "adminPolicyLatestVersion": "8"}}
        )  # fmt: skip
        assert run("push", "doctor", "rg") == 0
        assert "trino on trino-1 holds version 7 of 8" in capsys.readouterr().out
        assert run("push", "plan", "rg", "--out", "push.json") == 1
        said = capsys.readouterr().out
        assert "create policy: " in said
        assert "  + ana: " in said
        _killed_and_gone_on(ranger, capsys)
        assert run("push", "drift", "rg") == 0
        policy = next(one for one in ranger.policies.values() if _reads_orders(one))
        policy["policyItems"][0]["users"] = ["eve"]
        capsys.readouterr()
        assert run("push", "drift", "rg") == 1
        said = capsys.readouterr().out
        assert "select on warehouse.sales.orders.* to user eve" in said
        assert "  + eve: select on 1, such as warehouse.sales.orders.*" in said
        _taken_over(ranger, capsys)
        assert run("push", "reset", "rg") == 0
        assert (ranger.policies, ranger.roles) == ({}, {})
        ranger.status = 401
        assert run("push", "doctor", "rg") == 1
        assert "does not know the user `ops`" in capsys.readouterr().out
    capsys.readouterr()
    assert run("push", "plan", "rg") == 3
    assert "Ranger cannot be reached" in capsys.readouterr().err
    assert run("realm", "drop", "lake", "--yes") == 0  # it is empty now


def test_a_watch_posts_an_event_of_drift_until_it_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webhook, "PAUSES_SECONDS", (0.01,))
    assert run("init") == 0
    assert run("realm", "create", "lake", "--model", "gravitino", "--setting", "trino=on") == 0
    furnish()
    (tmp_path / "token").write_text("s3cret\n")
    with serving(ranger_of("trino")) as ranger, receiver(503, 503, 204) as (url, taken):
        settings = f'[push]\nwebhook_url = "{url}"\nwebhook_token_file = "token"\n'
        (tmp_path / "warden.toml").write_text(settings)
        monkeypatch.setenv("LAKEWARDEN_TARGET_URL", ranger.address)
        assert run("push", "target", "add", "rg", "--realm", "lake", "--catalog", "quillmere") == 0
        assert run("push", "plan", "rg", "--out", "push.json") == 1
        assert run("push", "apply", "push.json") in {0, 1}
        watch = ("push", "watch", "rg", "--once", "--config", "warden.toml")
        assert (run(*watch), taken) == (0, [])
        secret = _signed(capsys)
        policy = next(one for one in ranger.policies.values() if _reads_orders(one))
        policy["policyItems"][0]["users"] = ["eve"]
        capsys.readouterr()
        assert run(*watch) == 3
        said = capsys.readouterr().err
        assert "did not accept the event: HTTP 503" in said
        assert "s3cret" not in said
        assert run(*watch) == 1
        assert run(*watch) == 1
        (id,) = {one.body["id"] for one in taken}
        assert id.startswith("lake/rg/1/")
        assert len(taken) == 3
        assert taken[-1].headers["authorization"] == "Bearer s3cret"
        assert taken[-1].body["counts"]["added"] > 0
        assert all(is_genuine()(one.headers[SIGNATURE.lower()], one.text, secret) for one in taken)
        assert run("push", "target", "sign", "rg", "--off") == 0
        policy["policyItems"][0]["users"] = []
        assert run(*watch) == 0
        assert SIGNATURE.lower() not in taken[-1].headers
        assert [one.body["event"] for one in taken] == [*["push.drift"] * 3, "push.resolved"]


def _signed(capsys: pytest.CaptureFixture[str]) -> str:
    """The secret for signing events from now on; it is printed once and nowhere else."""
    capsys.readouterr()
    assert run("push", "target", "sign", "rg") == 0
    secret = capsys.readouterr().out.strip()
    assert len(secret) > 40
    assert secret.encode() not in Path("estate.db").read_bytes()
    return secret


def test_nothing_is_noted_of_a_target_that_was_removed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check and an event take some time."""
    monkeypatch.chdir(tmp_path)
    assert run("init") == 0
    assert run("realm", "create", "lake", "--model", "gravitino", "--setting", "trino=on") == 0
    gone = PushTarget("gone", "lake", "ranger", "quillmere", "")
    with opened_service(STORE) as service:
        revision = service.state.revision
        service.write(SYSTEM, lambda work: note_event(work, gone, SentEvent("d", 1)))
        service.write(SYSTEM, lambda work: note_drift(work, gone, {"added": 1}, "d"))
        with service.reading() as reading:
            assert not [*reading.documents_of("lake", "push-event")]
            assert not [*reading.documents_of("lake", "push-drift")]
        assert service.catch_up().revision == revision


def _taken_over(ranger: Ranger, capsys: pytest.CaptureFixture[str]) -> None:
    """`--adopt` deletes a policy of others with the same grant as ours."""
    assert run("push", "plan", "rg", "--out", "push.json") == 1
    assert run("push", "apply", "push.json") == 1
    resources = {"catalog": "warehouse", "schema": "sales", "table": "orders", "column": "*"}
    access = [{"type": "select", "isAllowed": True}]
    other = {
        "service": "svc", "name": "by hand", "policyType": 0,
        "resources": {level: {"values": [one]} for level, one in resources.items()},
        "policyItems": [{"accesses": access, "users": ["ana"], "groups": [], "roles": []}],
    }  # fmt: skip
    mine = next(one for one in ranger.policies.values() if _reads_orders(one))
    ranger.delete_policy(mine["id"])
    ranger.put_policy(other)
    capsys.readouterr()
    assert run("push", "drift", "rg", "--adopt", "adopted.toml") == 1
    assert "user ana by by hand" in capsys.readouterr().out
    assert Path("adopted.toml").read_text() == 'realm = "lake"\n'  # the realm already grants it
    assert run("push", "adopt", "rg") == 0
    assert run("push", "plan", "rg", "--adopt", "--out", "push.json") == 1
    assert "delete policy of others: 1" in capsys.readouterr().out
    assert run("push", "apply", "push.json") == 2
    assert run("push", "apply", "push.json", "--adopt") == 1
    assert "by hand" not in {one["name"] for one in ranger.policies.values()}
    assert run("push", "drift", "rg") == 0


def _killed_and_gone_on(ranger: Ranger, capsys: pytest.CaptureFixture[str]) -> None:
    ranger.lose = lambda count: "before" if count > 4 else ""
    assert run("push", "apply", "push.json") == 3
    with opened_service(STORE) as service, service.reading() as reading:
        kept = target(reading, ["lake"], "rg")
    assert kept.journal["digest"] == json.loads(Path("push.json").read_text())["digest"]
    assert not kept.pushed
    assert ranger.policies or ranger.roles
    assert run("push", "drift", "rg") == 0
    ranger.lose = lambda _: ""
    assert run("push", "apply", "push.json") == 1  # something is left out
    with opened_service(STORE) as service, service.reading() as reading:
        kept = target(reading, ["lake"], "rg")
    assert not kept.journal
    assert kept.size == len(ranger.policies)
    capsys.readouterr()


def _reads_orders(policy: dict[str, Any]) -> bool:
    return "orders" in policy["resources"].get("table", {"values": ()})["values"]


def test_what_cannot_be_a_target_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init") == 0
    assert run("realm", "create", "lake", "--model", "gravitino") == 0
    monkeypatch.setenv("LAKEWARDEN_TARGET_URL", "ranger+https://ops:pw@127.0.0.1/svc")
    add = ("push", "target", "add", "rg", "--realm", "lake", "--catalog", "quillmere")
    assert run(*add) == 2
    assert "set `hdfs`, `hive`, `kafka`, `trino` to `on`" in capsys.readouterr().err
