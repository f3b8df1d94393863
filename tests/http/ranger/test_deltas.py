"""The changes since a version: applied to the old document, they give the new one."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from lakewarden.http.ranger.deltas import CREATED, DELETED, UPDATED, changes, policy_digests
from lakewarden.service.ranger.number import numbered
from tests.http.opa.test_served import Trino
from tests.http.ranger.service_worlds import world_of
from tests.http.ranger.test_served import POLICIES, _plugin, document, drop, get, put

__all__ = ("_plugin",)

Policies = list[dict[str, Any]]


def applied(old: Policies, deltas: Policies, type: str) -> Policies:
    """Like Ranger's plugin: by the ids of policies, in the order of the changes.

    Source: apache/ranger, `RangerPolicyDeltaUtil.applyDeltas` at 8e7716cd3c36.
    """
    by_id = {policy["id"]: policy for policy in old}
    for delta in deltas:
        policy, change = delta["policy"], delta["changeType"]
        assert policy["serviceType"] == type
        assert policy["policyType"] in (0, 1, 2)
        assert (policy["id"] in by_id) is (change != CREATED)
        by_id.pop(policy["id"], None)
        if change != DELETED:
            by_id[policy["id"]] = policy
    return sorted(by_id.values(), key=lambda policy: policy["id"])


def turned(old: Policies, new: Policies, type: str) -> Policies:
    raw = {policy["id"]: msgspec.Raw(msgspec.json.encode(policy)) for policy in new}
    found = changes(policy_digests(old), policy_digests(new), raw, type, 7)
    deltas: Policies = msgspec.json.decode(msgspec.json.encode(found))
    assert {delta["policiesVersion"] for delta in deltas} <= {7}
    return applied(old, deltas, type)


def by_id(policies: Policies) -> Policies:
    return sorted(policies, key=lambda policy: policy["id"])


@pytest.mark.parametrize("type", ["hive", "kafka"])
def test_the_document_of_any_world_becomes_that_of_any_other(type: str) -> None:
    worlds = [world_of(type, seed).made.policies["policies"] for seed in (1, 2)]
    for old in (*worlds, []):
        for new in (*worlds, []):
            assert turned(old, new, type) == by_id(new)


def test_any_change_of_some_policies_is_told() -> None:
    rng = random.Random(5)
    document: Policies = world_of("hive", 1).made.policies["policies"]
    for _ in range(50):
        rest = [policy for policy in document if rng.random() < 0.8]
        new = [
            {**policy, "isEnabled": rng.random() < 0.9, "id": policy["id"]} for policy in rest
        ]  # policies that change but keep their ids, too
        assert turned(document, new, "hive") == by_id(new)
        assert turned(new, document, "hive") == by_id(document)


def test_a_policy_that_stays_keeps_its_id_and_ids_are_exact_in_json() -> None:
    policies = [{"policyType": 0, "resources": {"n": number}} for number in range(200)]
    first = {policy["resources"]["n"]: policy["id"] for policy in numbered(policies, "x")}
    second = {
        policy["resources"]["n"]: policy["id"] for policy in numbered(reversed(policies[50:]), "x")
    }
    assert second.items() <= first.items()
    assert len({*first.values()}) == 200
    assert all(0 < id < 1 << 53 for id in first.values())
    assert len(list(numbered([policies[0], policies[0]], "x"))) == 1


def test_a_policy_that_kept_its_id_is_told_as_changed() -> None:
    old = [{"id": 1, "serviceType": "hive", "policyType": 0, "isEnabled": True}]
    new = [{**old[0], "isEnabled": False}]
    raw = {1: msgspec.Raw(msgspec.json.encode(new[0]))}
    (delta,) = changes(policy_digests(old), policy_digests(new), raw, "hive", 2)
    assert delta["changeType"] == UPDATED
    assert turned(old, new, "hive") == new


def test_a_plugin_that_asks_for_changes_gets_them(plugin: Trino) -> None:
    def poll(version: object, deltas: str = "true") -> dict[str, Any]:
        path = f"{POLICIES}?lastKnownVersion={version}&supportsPolicyDeltas={deltas}"
        return dict(document(plugin, path))

    first = poll(-1)
    assert "policyDeltas" not in first
    put(plugin, "statement", "ins", privileges=["MODIFY_TABLE"], on="table:lk:lake.sales.clients",
        to=["role:lk:reader"])  # fmt: skip
    second = document(plugin, POLICIES)
    drop(plugin, "ins")
    third = document(plugin, POLICIES)
    put(plugin, "filter", "rows", on="table:lk:lake.sales.orders", expression="id = 1")
    fourth = document(plugin, POLICIES)
    try:
        assert first["policies"] == third["policies"] != second["policies"] != fourth["policies"]
        for old in (first, second, third):
            change = poll(old["policyVersion"])
            assert "policies" not in change
            assert change["policyVersion"] == fourth["policyVersion"]
            assert change["serviceDef"] == fourth["serviceDef"]
            found = applied(old["policies"], change["policyDeltas"], "trino")
            assert found == by_id(fourth["policies"])
        for unknown in ("-1", "1", "x", f"{fourth['policyVersion'] + 1}", "9" * 40):
            assert poll(unknown)["policies"] == fourth["policies"]
        assert poll(first["policyVersion"], "false")["policies"] == fourth["policies"]
        newest = f"{POLICIES}?lastKnownVersion={fourth['policyVersion']}&supportsPolicyDeltas=true"
        assert get(plugin, newest).status == 304
    finally:
        drop(plugin, "rows")
