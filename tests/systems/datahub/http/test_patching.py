"""Patches of aspects: authorized first, with bounded and linear work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.aspects.patch import PatchedAspect
from lakewarden.systems.datahub.settings import DataHubSettings
from tests.http.lock_spy import only_recorded, spied
from tests.systems.datahub.http.wire import Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
INGEST = "/aspects?action=ingestProposal"
OPEN = f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}/globalTags"


def operations(count: int) -> list[dict[str, Any]]:
    tags = [f"urn:li:tag:t{number}" for number in range(count)]
    return [{"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}} for tag in tags]


def patch(count: int, urn: str = ORDERS) -> dict[str, Any]:
    return proposal(urn, "globalTags", operations(count), "PATCH")


@contextmanager
def count_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The numbers of decisions, of applied patches, and of resulting effects."""
    found = dict.fromkeys(("decisions", "patches", "effects"), 0)
    decide, apply, change = WriteTransaction.decide, PatchedAspect.apply, WriteTransaction._apply

    def decided(self: WriteTransaction, *arguments: Any) -> Any:
        found["decisions"] += 1
        return decide(self, *arguments)

    def applied(self: PatchedAspect, *arguments: Any) -> None:
        found["patches"] += 1
        apply(self, *arguments)

    def changed(self: WriteTransaction, scope: str, effects: Any) -> None:
        found["effects"] += len(effects)
        change(self, scope, effects)

    with monkeypatch.context() as patched:
        patched.setattr(WriteTransaction, "decide", decided)
        patched.setattr(PatchedAspect, "apply", applied)
        patched.setattr(WriteTransaction, "_apply", changed)
        yield found


@pytest.mark.parametrize("is_there", [True, False])
def test_who_may_not_write_is_refused_before_a_patch_is_applied(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    if is_there:
        wire.put((ORDERS, "globalTags", {"tags": []}))
    ways = [
        (INGEST, "POST", {"proposal": patch(4_000)}),
        ("/aspects?action=ingestProposalBatch", "POST", {"proposals": [patch(4_000)]}),
        (OPEN, "PATCH", {"value": operations(4_000)}),
    ]
    for path, method, body in ways:
        with count_calls(monkeypatch) as found, only_recorded(wire.service):
            assert wire.bad(method, path, body, "eve") == 403
        assert found == {"decisions": 1, "patches": 0, "effects": 0}


def test_a_patch_has_so_many_operations_at_most(wire: Wire) -> None:
    wire.put((ORDERS, "globalTags", {"tags": []}))
    wire.grant("edit", "EDIT_ENTITY", to="eve")
    status, answer = wire.ask("POST", INGEST, {"proposal": patch(1_001)}, "eve")
    assert status == 400
    assert "body.proposal.aspect.value.patch: expected no more than 1000" in answer["message"]
    status, answer = wire.ask("PATCH", OPEN, {"value": operations(1_001)}, "eve")
    assert status == 400
    assert "body.value.patch: expected no more than 1000" in answer["message"]
    assert wire.aspects(ORDERS)["globalTags"] == {"tags": []}
    wire.services = type(wire.services)(systems={"datahub": DataHubSettings(patch_operations=2)})
    assert wire.bad("POST", INGEST, {"proposal": patch(3)}, "eve") == 400
    with spied(wire.service) as spy:
        wire.good("POST", INGEST, {"proposal": patch(2)}, "eve")
    assert spy.tasks == 0
    assert len(wire.aspects(ORDERS)["globalTags"]["tags"]) == 2


def test_what_is_done_until_a_batch_is_refused_is_linear_in_it(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the last is denied: nothing is applied, and each is checked once."""
    wire.grant("make", "CREATE_ENTITY", "EDIT_ENTITY", to="eve", URN=[_named(n) for n in range(40)])
    wire.put(*((_named(number), "status", {"removed": False}) for number in range(0, 40, 2)))
    for count in (10, 40):
        proposals = [patch(5, _named(number)) for number in range(count)]
        proposals.append(patch(5, ORDERS))
        body = {"proposals": proposals}
        with count_calls(monkeypatch) as found, only_recorded(wire.service):
            assert wire.bad("POST", "/aspects?action=ingestProposalBatch", body, "eve") == 403
        assert found == {"decisions": count + 1, "patches": 0, "effects": 0}


def _named(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,shop.n{number},PROD)"


def test_a_patch_of_what_is_not_there_gives_what_its_record_requires(wire: Wire) -> None:
    def put(aspect: str, path: str, value: object) -> dict[str, Any]:
        given = [{"op": "add", "path": path, "value": value}]
        wire.good("POST", INGEST, {"proposal": proposal(ORDERS, aspect, given, "PATCH")})
        found: dict[str, Any] = wire.aspects(ORDERS)[aspect]
        return found

    price = {"urn": "urn:li:glossaryTerm:price"}
    terms = put("glossaryTerms", f"/terms/{price['urn']}", price)
    assert terms["terms"] == [price]
    assert terms["auditStamp"]["actor"] == "urn:li:corpuser:admin"
    column = f"/editableSchemaFieldInfo/id/glossaryTerms/terms/{price['urn']}"
    (field,) = put("editableSchemaMetadata", column, price)["editableSchemaFieldInfo"]
    assert field["fieldPath"] == "id"
    assert field["glossaryTerms"].keys() == terms.keys()
    assert field["glossaryTerms"]["terms"] == [price]
    assert put("datasetProperties", "/customProperties/k", "v") == {"customProperties": {"k": "v"}}
    assert put("upstreamLineage", "/note", "x") == {"upstreams": [], "note": "x"}
