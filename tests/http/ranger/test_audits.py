"""Uploads of plugins: their effect on counts, their limits, and the age of documents."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app import periodic
from lakewarden.http.ranger.audits import BODY_BYTES, MOST_EVENTS
from lakewarden.http.ranger.dialect import MOST_DENIALS
from tests.app.serving import Answer
from tests.http.opa.test_served import ROOT, Trino, served_realm
from tests.http.ranger.test_served import CONFIGURATION, POLICIES, _plugin, anonymous, document, get

__all__ = ("_plugin",)

ALLOWED: dict[str, Any] = {
    "repoType": 203, "repo": "prod", "reqUser": "ana", "evtTime": "2026-11-27 08:00:00.000",
    "access": "select", "action": "select", "resource": "memory/sales/orders/id",
    "resType": "column", "result": 1, "policy": 1 << 62, "policy_version": 1 << 61,
    "enforcer": "ranger-acl", "seq_num": 1, "event_count": 3, "event_dur_ms": 0, "tags": [],
    "additional_info": "{}", "cluster_name": "", "agentHost": "vm", "logType": "RangerAudit",
}  # fmt: skip
"""In the plugin's format."""
USAGE = "realms/gravitino/usage?by=operation&entity=table:lk:lake.sales.orders"
AUDIT = "audit?realm=gravitino&page.limit=500&operation="
OF_HIVE = {**ALLOWED, "repo": "sql", "access": "SELECT", "action": "QUERY",
           "resource": "sales/orders/id,region", "resType": "@column"}  # fmt: skip


def upload(
    plugin: Trino,
    events: object,
    service: str = "prod",
    *,
    token: str | None = None,
    realm: str = "gravitino",
) -> Answer:
    path = f"/r/{realm}/ranger/api/audit/access?serviceName={service}&appId=trino"
    return plugin.served.ask("POST", path, events, token=token or plugin.engine)


def kept(plugin: Trino, events: object, service: str = "prod") -> int:
    answer = upload(plugin, events, service)
    assert answer.status == 200, answer.body
    told: Any = answer.json()
    assert told["serviceName"] == service
    return int(told["kept"])


def admin(plugin: Trino, path: str) -> Any:
    answer = plugin.served.ask("GET", f"/api/v1/{path}", token=ROOT)
    assert answer.status == 200, answer.body
    return answer.json()


def test_what_was_allowed_is_usage_of_the_realm(
    plugin: Trino, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periodic, "_USAGE_SECONDS", 0.0)
    assert kept(plugin, [ALLOWED, {**ALLOWED, "event_count": 4}]) == 2
    assert kept(plugin, [OF_HIVE], "sql") == 1
    found: dict[str, Any] = {}
    for _ in range(900):  # the watch writes counts at its next turn
        rows = admin(plugin, USAGE)
        found = {row["key"]: row["acts"] for row in rows["rows"]}
        if len(found) == 2:
            break
        time.sleep(0.1)
    assert found == {"trino.SelectFromColumns": 7, "hive.SelectFromTable": 3}


def test_what_was_denied_is_in_the_audit_trail_once_for_many(plugin: Trino) -> None:
    denied = {**ALLOWED, "result": 0, "reqUser": "bo", "access": "drop", "action": "drop",
              "resource": "memory/sales/orders", "resType": "table"}  # fmt: skip
    assert kept(plugin, [denied, denied]) == 2
    rows = admin(plugin, f"{AUDIT}trino.DropTable")["rows"]
    (row,) = [one["event"] for one in rows if one["event"]["actor"] == "bo"]
    assert (row["outcome"], row["target"]) == ("deny", "table:lk:lake.sales.orders")
    assert row["details"]["acts"] == 6
    kept(plugin, [denied])
    assert len(admin(plugin, f"{AUDIT}trino.DropTable")["rows"]) == len(rows)


@pytest.mark.parametrize(
    "change",
    [
        {"resource": "memory/sales/absent"},
        {"resource": "memory/sales/or*"},
        {"resource": "memory/sales/orders'; DROP TABLE users; --"},
        {"resource": "lake/sales/orders"},
        {"resource": "memory/sales"},
        {"resource": None},
        {"resource": "x" * 5_000},
        {"resType": "database"},
        {"resType": "queryid", "resource": "memory/sales/orders"},
        {"access": "grant", "action": "fly"},
        {"reqUser": ""},
        {"reqUser": "u" * 600},
        {"reqUser": "nobody"},
        {"reqUser": "ana\0"},
        {"reqUser": "bo\n", "result": 0},
    ],
)
def test_what_is_about_nothing_that_is_stored_is_not_kept(
    plugin: Trino, change: dict[str, object]
) -> None:
    assert kept(plugin, [{**ALLOWED, **change}]) == 0


def test_an_upload_is_bounded_in_size_and_count(plugin: Trino) -> None:
    small = {"repo": "prod"}
    assert upload(plugin, [small] * MOST_EVENTS).status == 200
    assert upload(plugin, [small] * (MOST_EVENTS + 1)).status == 400
    large = b'[{"repo": "prod", "reqData": "' + b"x" * BODY_BYTES + b'"}]'
    assert upload(plugin, large).status == 413


def test_denials_of_many_users_make_few_rows(plugin: Trino) -> None:
    one = {**ALLOWED, "result": 0, "action": "insert", "resource": "memory/sales/orders"}
    denied = [{**one, "resType": "table", "reqUser": f"nobody-{n}"} for n in range(500)]
    before = document(plugin, POLICIES)["policyVersion"]
    assert kept(plugin, denied) == 500
    rows = admin(plugin, f"{AUDIT}trino.InsertIntoTable")["rows"]
    assert len(rows) == MOST_DENIALS
    assert document(plugin, POLICIES)["policyVersion"] == before


@pytest.mark.parametrize(
    "events",
    [b"", b"{", b"[]", b"{}", b"[1]", b'["\xff"]', b"[" * 100_000, b"null", b'[{"repo": 1}]',
     b'[{"repo": "prod", "result": "1"}]', b'[{"repo": "prod", "event_count": 1e99}]',
     b'[{"repo": "prod", "reqUser": "\\ud800"}]'],
)  # fmt: skip
def test_a_malformed_upload_is_refused_in_rangers_form(plugin: Trino, events: bytes) -> None:
    answer = upload(plugin, events)
    assert answer.status == 400, answer.body
    body: Any = answer.json()
    assert body["statusCode"] == 1


def test_nothing_is_taken_for_the_service_of_others(plugin: Trino) -> None:
    mixed = upload(plugin, [ALLOWED, {**ALLOWED, "repo": "sql"}])
    assert (mixed.status, b"another service" in mixed.body) == (400, True)
    others = (("none", "gravitino"), ("quiet", "gravitino"), ("prod", "silent"), ("", "gravitino"))
    for service, realm in others:
        events = [{**ALLOWED, "repo": service}]
        assert upload(plugin, events, service, realm=realm).status == 404


def test_only_enforcement_points_upload(plugin: Trino) -> None:
    assert upload(plugin, [ALLOWED], token=plugin.stranger).status == 403
    path = "/r/gravitino/ranger/api/audit/access?serviceName=prod"
    assert plugin.served.ask("POST", path, [ALLOWED]).status == 401
    in_query = plugin.served.ask("POST", f"{path}&token={plugin.engine}", [ALLOWED])
    assert in_query.status == 200
    assert plugin.engine not in plugin.served.log.read_text()
    assert anonymous(plugin, "plugins").status == 401
    assert get(plugin, "plugins", token=plugin.stranger).status == 403


def test_who_asks_plugins_to_grant_is_told_that_they_cannot(plugin: Trino) -> None:
    for path in ("services/grant/prod", "secure/services/revoke/prod"):
        where = f"/r/gravitino/ranger/service/plugins/{path}"
        answer = plugin.served.ask("POST", where, {}, token=plugin.engine)
        assert answer.status == 404


def test_the_age_of_a_plugins_documents_is_a_figure(tmp_path: Path) -> None:
    with closing(served_realm(tmp_path, configuration=CONFIGURATION, apart=True)) as made:
        check_ages(next(made))


def check_ages(plugin: Trino) -> None:
    start = time.time()
    newest = document(plugin, f"{POLICIES}?pluginId=trino@vm-prod")["policyVersion"]
    path = f"{POLICIES}?lastKnownVersion={newest}&pluginId=trino@vm2-prod"
    assert get(plugin, path).status == 304
    get(plugin, f"{POLICIES}?pluginId={'x' * 3_000}")
    for hostile in ("%00", "%0Afake_metric%201", "%ED%A0%80", "%FF", ""):
        get(plugin, f"{POLICIES}?pluginId={hostile}")
    listed: list[dict[str, Any]] = []
    for _ in range(100):  # reported every second
        listed = document(plugin, "plugins")["plugins"]
        if len(listed) == 3:
            break
        time.sleep(0.1)
    assert [(one["service"], one["plugin"]) for one in listed] == [
        ("prod", "trino@vm-prod"), ("prod", "trino@vm2-prod"), ("prod", "x" * 128)
    ]  # fmt: skip
    assert all(-1 <= one["ageSeconds"] <= time.time() - start + 1 for one in listed)
    shown: Any = plugin.served.ask("GET", "/api/v1/realms/gravitino/plugins", token=ROOT).json()
    assert [one["plugin"] for one in shown["plugins"]] == [one["plugin"] for one in listed]
    assert all(0 <= one["age_seconds"] <= time.time() - start + 1 for one in shown["plugins"])
    silent: Any = plugin.served.ask("GET", "/api/v1/realms/silent/plugins", token=ROOT).json()
    assert silent == {"plugins": []}
    metrics = plugin.served.ask("GET", "/metrics", token=ROOT).body.decode()
    name = "lakewarden_plugin_newest_documents_timestamp_seconds"
    lines = [line for line in metrics.splitlines() if line.startswith(name)]
    assert len(lines) == 3
    assert 'plugin="trino@vm-prod",realm="gravitino",service="prod"' in lines[0]
    assert float(lines[0].split()[-1]) >= start - 1
