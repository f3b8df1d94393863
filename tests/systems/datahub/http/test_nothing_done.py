"""Writes without any change: refused with the field, not answered with 200 and ignored."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.wire import Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
TAGS = {"tags": [{"tag": "urn:li:tag:pii"}]}
ENTITY = f"/openapi/v3/entity/dataset/{quote(ORDERS, safe='')}"
ALL = "/openapi/v3/entity/dataset"
GENERIC = "/openapi/v3/entity/generic"
SNAPSHOT = {"com.linkedin.metadata.snapshot.DatasetSnapshot": {"urn": ORDERS, "aspects": []}}
ODD = {"nonsense": 1}
PATCHES: list[dict[str, Any]] = [{}, ODD, {"patch": None}, {"patch": []}, {"value": {}}]


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/aspects?action=ingestProposal", {}, "body.proposal"),
        ("POST", "/aspects?action=ingestProposal", ODD, "body.proposal"),
        (
            "POST",
            "/aspects?action=ingestProposal",
            {"proposal": proposal(ORDERS, "globalTags", [], "PATCH")},
            "body.proposal.aspect.value.patch",
        ),
        ("POST", "/aspects?action=ingestProposalBatch", {}, "body.proposals"),
        ("POST", "/aspects?action=ingestProposalBatch", ODD, "body.proposals"),
        ("POST", "/entities?action=ingest", {}, "body.entity"),
        ("POST", "/entities?action=ingest", {"entity": {"value": SNAPSHOT}}, "body.entity.value"),
        ("POST", "/entities?action=batchIngest", {}, "body.entities"),
        ("POST", "/entities?action=batchIngest", ODD, "body.entities"),
        (
            "POST",
            "/entities?action=batchIngest",
            {"entities": [{"value": SNAPSHOT}]},
            "body.entities[0].entity.value",
        ),
        ("POST", "/entities?action=delete", {}, "body.urn"),
        ("POST", "/entities?action=deleteReferences", {}, "body.urn"),
        ("POST", "/usageStats?action=batchIngest", {}, "body.buckets"),
        ("POST", "/usageStats?action=batchIngest", ODD, "body.buckets"),
        ("POST", ALL, {}, "body"),
        ("POST", ALL, [{}], "body.items[0].urn"),
        ("POST", ALL, [{"urn": ORDERS}], "body.items[0]"),
        ("POST", ALL, [{"urn": ORDERS, "globalTags": {}}], "body.items[0].globalTags.value"),
        ("POST", GENERIC, {}, "body"),
        ("POST", GENERIC, {"dataset": []}, "body"),
        ("POST", "/openapi/v2/entity/dataset", [{"urn": ORDERS}], "body.items[0]"),
        ("POST", f"{ENTITY}/globalTags", {}, "body.value"),
        ("POST", f"{ENTITY}/globalTags", ODD, "body.value"),
        *(("PATCH", f"{ENTITY}/globalTags", body, "patch") for body in PATCHES),
        *(("PATCH", ALL, [{"urn": ORDERS, "globalTags": body}], "patch") for body in PATCHES),
        ("PATCH", ALL, [{"urn": ORDERS}], "body.items[0]"),
        ("PATCH", GENERIC, {}, "body"),
    ],
)
def test_a_write_without_its_content_is_refused_with_the_field(
    wire: Wire, method: str, path: str, body: object, field: str
) -> None:
    wire.put((ORDERS, "globalTags", TAGS))
    before = wire.service.state.revision
    status, answer = wire.ask(method, path, body)
    assert (status, answer["message"].split(": ")[0].endswith(field)) == (400, True), answer
    assert wire.service.state.revision == before
    assert wire.aspects(ORDERS)["globalTags"] == TAGS


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/aspects?action=ingestProposalBatch", {"proposals": []}),
        ("/entities?action=batchIngest", {"entities": []}),
        ("/usageStats?action=batchIngest", {"buckets": []}),
        (ALL, []),
    ],
)
def test_a_list_of_nothing_is_written_whole(wire: Wire, path: str, body: object) -> None:
    """Clients send one for an empty batch."""
    wire.good("POST", path, body)
