"""Aspects that are only written if they are unchanged since the writer read them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.kernel.change import StatementRemoved
from lakewarden.service.actor import SYSTEM
from tests.systems.datahub.http.wire import Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop/orders,PROD)"
ONE = f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}"
PII, GOLD = ({"tags": [{"tag": f"urn:li:tag:{name}"}]} for name in ("pii", "gold"))
POLICY = "urn:li:dataHubPolicy:shelf"
PLACE = f"/openapi/v3/entity/dataHubPolicy/{POLICY}"


def version(wire: Wire, place: str = ONE, aspect: str = "globalTags") -> str:
    body = wire.good("GET", f"{place}?aspects={aspect}&systemMetadata=true")
    told: str = body[aspect]["systemMetadata"]["version"]
    return told


def write(wire: Wire, value: dict[str, Any], expected: str, user: str = "admin") -> tuple[int, Any]:
    body = {"value": value, "headers": {"If-Version-Match": expected}}
    return wire.ask("POST", f"{ONE}/globalTags?createIfNotExists=false", body, user)


def test_two_writers_of_one_version_are_told_apart(wire: Wire) -> None:
    assert write(wire, PII, "-1")[0] == 200
    seen = version(wire)
    assert write(wire, GOLD, seen)[0] == 200
    status, answer = write(wire, PII, seen)
    assert (status, answer["status"]) == (412, 412)
    assert answer["message"] == f"Expected version {seen}, actual version {version(wire)}"
    assert wire.good("GET", f"{ONE}/globalTags")["value"] == GOLD
    assert write(wire, PII, "-1")[0] == 412


def test_a_batch_with_one_stale_version_writes_nothing(wire: Wire) -> None:
    wire.good("POST", f"{ONE}/globalTags", {"value": PII})
    stale = {"value": GOLD, "headers": {"If-Version-Match": "1"}}
    batch = [{"urn": ORDERS, "status": {"value": {"removed": True}}, "globalTags": stale}]
    assert wire.bad("POST", "/openapi/v3/entity/dataset", batch) == 412
    assert "status" not in wire.good("GET", ONE)


def test_a_proposal_of_the_older_interface_has_conditions_too(wire: Wire) -> None:
    item = {**proposal(ORDERS, "globalTags", PII), "headers": {"If-Version-Match": "7"}}
    assert wire.bad("POST", "/aspects?action=ingestProposal", {"proposal": item}) == 412
    item["headers"] = {"If-Version-Match": "-1"}
    wire.good("POST", "/aspects?action=ingestProposal", {"proposal": item})


@pytest.mark.parametrize("name", ["If-Version-Match", "if-version-match"])
def test_the_name_of_a_condition_is_read_in_any_case(wire: Wire, name: str) -> None:
    body = {"value": PII, "headers": {name: "7"}}
    assert wire.bad("POST", f"{ONE}/globalTags", body) == 412


@pytest.mark.parametrize("change", ["CREATE", "CREATE_ENTITY"])
@pytest.mark.parametrize("name", ["If-None-Match", "if-none-match"])
def test_what_is_there_is_left_out_of_a_batch_where_it_is_to_be_new(
    wire: Wire, change: str, name: str
) -> None:
    def put(value: dict[str, Any], user: str = "admin") -> int:
        item = {**proposal(ORDERS, "globalTags", value, change), "headers": {name: "*"}}
        beside = proposal(ORDERS, "status", {"removed": value == GOLD})
        body = {"proposals": [item, beside], "async": "false"}
        return wire.ask("POST", "/aspects?action=ingestProposalBatch", body, user)[0]

    assert put(PII) == 200
    assert put(GOLD, "ana") == 403
    assert put(GOLD) == 200
    stored = wire.aspects(ORDERS)
    assert (stored["globalTags"], stored["status"]) == (PII, {"removed": True})


@pytest.mark.parametrize(("change", "word"), [("UPSERT", "*"), ("CREATE", "7")])
def test_only_what_is_created_may_have_to_be_new(wire: Wire, change: str, word: str) -> None:
    item = {**proposal(ORDERS, "globalTags", PII, change), "headers": {"If-None-Match": word}}
    assert wire.bad("POST", "/aspects?action=ingestProposal", {"proposal": item}) == 400


def test_who_may_not_write_learns_of_no_version(wire: Wire) -> None:
    wire.good("POST", f"{ONE}/globalTags", {"value": PII})
    assert write(wire, GOLD, "1", "ana")[0] == 403


def test_a_patch_may_be_conditional(wire: Wire) -> None:
    wire.good("POST", f"{ONE}/globalTags", {"value": PII})
    add = {"op": "add", "path": "/tags/urn:li:tag:gold", "value": {"tag": "urn:li:tag:gold"}}
    body = {"patch": [add], "arrayPrimaryKeys": {"tags": ["tag"]}}
    stale = {**body, "headers": {"If-Version-Match": "1"}}
    assert wire.bad("PATCH", f"{ONE}/globalTags", stale) == 412
    fresh = {**body, "headers": {"If-Version-Match": version(wire)}}
    wire.good("PATCH", f"{ONE}/globalTags", fresh)
    assert len(wire.good("GET", f"{ONE}/globalTags")["value"]["tags"]) == 2


def test_a_policy_that_was_changed_elsewhere_has_another_version(wire: Wire) -> None:
    info = {"displayName": "Shelf", "type": "PLATFORM", "state": "ACTIVE", "actors": {}}
    value = {**info, "privileges": ["MANAGE_TAGS"]}
    wire.good("POST", f"{PLACE}/dataHubPolicyInfo", {"value": value})
    seen = version(wire, PLACE, "dataHubPolicyInfo")
    wire.service.write(
        SYSTEM, lambda transaction: transaction.change("datahub", StatementRemoved(POLICY))
    )
    body = {"value": value, "headers": {"If-Version-Match": seen}}
    again = f"{PLACE}/dataHubPolicyInfo?createIfNotExists=false"
    assert wire.bad("POST", again, body) == 412


@pytest.mark.parametrize(
    "headers", [{"If-Unmodified-Since": "2026-11-25T00:00:00Z"}, {"If-Version-Match": 1}, "x"]
)
def test_a_condition_that_would_not_be_kept_is_refused(wire: Wire, headers: object) -> None:
    body = {"value": PII, "headers": headers}
    assert wire.bad("POST", f"{ONE}/globalTags", body) == 400


def test_values_in_time_have_no_versions(wire: Wire) -> None:
    value = {"timestampMillis": 1, "rowCount": 1}
    body = {"value": value, "headers": {"If-Version-Match": "1"}}
    assert wire.bad("POST", f"{ONE}/datasetProfile", body) == 400
