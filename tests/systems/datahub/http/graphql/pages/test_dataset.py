"""The page of a dataset shows the ingested values, field by field, and the facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systems.datahub.http.graphql.pages.world import (
    ASPECTS,
    DATABASE,
    ORDERS,
    PAGE,
    SCHEMA,
    Json,
)
from tests.systems.datahub.http.graphql.wire import document
from tests.systems.datahub.http.wire import Wire, proposal

DATASET = document("page_dataset")
NO_EDGES = {"types": [], "direction": "INCOMING"}


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    with Wire(tmp_path) as one:
        proposals = [proposal(ORDERS, name, value) for name, value in ASPECTS.items()]
        above = proposal(SCHEMA, "container", {"container": DATABASE})
        batch = {"proposals": [above, *proposals], "async": "false"}
        one.good("POST", "/aspects?action=ingestProposalBatch", batch)
        yield one


def page(wire: Wire, urn: str = ORDERS, query: str = DATASET) -> Json:
    sent = {"query": query, "variables": {"urn": urn, "edges": NO_EDGES}}
    status, answer = wire.ask("POST", "/api/graphql", sent)
    assert status == 200
    assert "errors" not in answer, answer["errors"]
    found: Json = answer["data"]["entity"]
    return found


def test_everything_that_was_ingested_is_on_the_page(wire: Wire) -> None:
    raw = {"aspectNames": ["embed"]}
    found = page(wire, query=DATASET.replace("aspects {", "aspects(input: {aspectNames: []}) {"))
    assert found == PAGE
    only = page(wire, query=DATASET.replace("aspects {", f"aspects(input: {_literal(raw)}) {{"))
    payload = '{"renderUrl":"https://hive.corp.test/frame"}'
    assert only["aspects"] == [{"aspectName": "embed", "payload": payload, "renderSpec": None}]


def _literal(value: Json) -> str:
    return "{aspectNames: " + str(value["aspectNames"]).replace("'", '"') + "}"
