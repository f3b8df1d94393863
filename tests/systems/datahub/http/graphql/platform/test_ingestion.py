"""Ingestion sources and their runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import grant, input_of
from tests.systems.datahub.http.graphql.wire import BAD, FORBIDDEN, NOT_FOUND, Wire, document, user

CREATE = input_of("UpdateIngestionSourceInput", "createIngestionSource")
UPDATE = """mutation m($urn: String!, $i: UpdateIngestionSourceInput!) {
  updateIngestionSource(urn: $urn, input: $i)
}"""
RUN = input_of("CreateIngestionExecutionRequestInput", "createIngestionExecutionRequest")
STOP = input_of("CancelIngestionExecutionRequestInput", "cancelIngestionExecutionRequest")
TRY = input_of("CreateTestConnectionRequestInput", "createTestConnectionRequest")
LIST = document("platform_ingestion_sources")
NAMED = "urn:li:dataHubIngestionSource:deploy-hive"


@pytest.fixture(autouse=True)
def _managers(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_INGESTION")


def source(**members: Any) -> dict[str, Any]:
    extra = [{"key": "extra_pip_requirements", "value": "[]"}]
    config = {"recipe": "{}", "executorId": "east", "version": "1.7.0", "extraArgs": extra}
    schedule = {"interval": "0 * * * *", "timezone": "UTC"}
    return {"name": "Hive", "type": "hive", "config": config, "schedule": schedule, **members}


def list_sources(wire: Wire, **input: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = wire.good(LIST, "ana", input=input)["ingestionSources"]
    return found


def test_a_source_is_listed_as_it_was_made(wire: Wire) -> None:
    urn = wire.good(CREATE, "ana", i=source())
    (found,) = list_sources(wire, query="hive")
    assert (found["urn"], found["name"], found["type"]) == (urn, "Hive", "hive")
    assert found["schedule"] == {"interval": "0 * * * *", "timezone": "UTC"}
    assert found["config"]["executorId"] == "east"
    assert found["config"]["extraArgs"] == [{"key": "extra_pip_requirements"}]
    assert found["executions"]["total"] == 0
    kept = wire.aspects("dataHubIngestionSource", urn)["dataHubIngestionSourceInfo"]
    assert kept["config"]["extraArgs"] == {"extra_pip_requirements": "[]"}


def test_the_client_deploys_a_source_under_a_name_of_its_own(wire: Wire) -> None:
    assert wire.good(UPDATE, "ana", urn=NAMED, i=source()) == NAMED
    assert wire.good(UPDATE, "ana", urn=NAMED, i=source(name="Hive 2", schedule=None)) == NAMED
    (found,) = list_sources(wire)
    assert (found["name"], found["schedule"]) == ("Hive 2", None)


def test_sources_are_filtered_and_sorted(wire: Wire) -> None:
    for name in ("a hive", "b hive", "c kafka"):
        wire.good(CREATE, "ana", i=source(name=name, type=name.split()[1]))

    def found(*filters: dict[str, Any], **more: Any) -> list[str]:
        return [one["name"][0] for one in list_sources(wire, filters=list(filters), **more)]

    hive = {"field": "name", "values": ["HIVE"], "condition": "CONTAIN"}
    assert found(hive) == ["a", "b"]
    assert found({**hive, "negated": True}) == ["c"]
    assert found(hive, {"field": "type", "values": ["kafka"]}) == []
    assert found({"field": "urn", "values": ["no"], "condition": "CONTAIN"}) == []
    assert found({"field": "urn", "condition": "EXISTS"}) == ["a", "b", "c"]
    assert found(sort={"field": "name", "sortOrder": "DESCENDING"}) == ["c", "b", "a"]
    for wrong in (
        {"filters": [{"field": "owner", "values": ["x"]}]},
        {"sort": {"field": "owner", "sortOrder": "ASCENDING"}},
    ):
        assert wire.bad(LIST, "ana", input=wrong) == BAD


def test_a_right_to_one_source_is_a_right_to_that_source(wire: Wire) -> None:
    wire.good(UPDATE, "ana", urn=NAMED, i=source())
    other = wire.good(CREATE, "ana", i=source())
    grant(wire, "bob", "EXECUTE_ENTITY", on=(NAMED,))
    grant(wire, "cid", "EDIT_ENTITY", on=(NAMED,))
    assert wire.good(RUN, "bob", i={"ingestionSourceUrn": NAMED})
    assert wire.bad(RUN, "bob", i={"ingestionSourceUrn": other}) == FORBIDDEN
    assert wire.bad(UPDATE, "bob", urn=NAMED, i=source()) == FORBIDDEN
    assert wire.good(UPDATE, "cid", urn=NAMED, i=source()) == NAMED
    assert wire.bad(RUN, "cid", i={"ingestionSourceUrn": NAMED}) == FORBIDDEN
    delete = f'mutation {{ deleteIngestionSource(urn: "{NAMED}") }}'
    assert wire.bad(delete, "cid") == FORBIDDEN
    assert wire.good(delete, "ana") == NAMED
    assert wire.bad(delete, "ana") == NOT_FOUND


def test_a_run_waits_for_an_executor_and_says_what_it_runs(wire: Wire) -> None:
    wire.good(UPDATE, "ana", urn=NAMED, i=source())
    first = wire.good(RUN, "ana", i={"ingestionSourceUrn": NAMED})
    second = wire.good(RUN, "ana", i={"ingestionSourceUrn": NAMED})
    result = {"status": "SUCCESS", "startTimeMs": 1, "durationMs": 2, "report": "fine"}
    report = {"type": "RUN_INGEST", "serializedValue": "{}", "contentType": "application/json"}
    wire.put(
        "dataHubExecutionRequest",
        first,
        "dataHubExecutionRequestResult",
        {**result, "structuredReport": report},
    )
    (found,) = list_sources(wire)
    runs = {one["urn"]: one for one in found["executions"]["executionRequests"]}
    assert runs.keys() == {first, second}
    assert runs[first]["result"] == {**result, "structuredReport": report}
    assert runs[second]["result"] is None
    asked = runs[second]["input"]
    assert (asked["task"], asked["executorId"], asked["actorUrn"]) == (
        "RUN_INGEST",
        "east",
        user("ana"),
    )
    assert asked["source"]["ingestionSource"] == NAMED
    everything = wire.good(
        "query q($i: ListExecutionRequestsInput!)"
        " { listExecutionRequests(input: $i) { total executionRequests { source { urn } } } }",
        "ana",
        i={},
    )
    assert everything["total"] == 2
    assert everything["executionRequests"][0]["source"] == {"urn": NAMED}


def test_a_run_is_stopped_by_who_may_run_its_source(wire: Wire) -> None:
    wire.good(UPDATE, "ana", urn=NAMED, i=source())
    other = wire.good(CREATE, "ana", i=source())
    run = wire.good(RUN, "ana", i={"ingestionSourceUrn": NAMED})
    stop = {"ingestionSourceUrn": NAMED, "executionRequestUrn": run}
    assert wire.bad(STOP, "eve", i=stop) == FORBIDDEN
    assert wire.bad(STOP, "ana", i={**stop, "ingestionSourceUrn": other}) == BAD
    assert wire.good(STOP, "ana", i=stop) == run
    kept = wire.aspects("dataHubExecutionRequest", run)["dataHubExecutionRequestSignal"]
    assert (kept["signal"], kept["createdAt"]["actor"]) == ("KILL", user("ana"))


def test_a_recipe_is_tried_by_who_manages_ingestion(wire: Wire) -> None:
    urn = wire.good(TRY, "ana", i={"recipe": "{}"})
    kept = wire.aspects("dataHubExecutionRequest", urn)["dataHubExecutionRequestInput"]
    assert kept["task"] == "TEST_CONNECTION"


def test_recipes_are_for_who_manages_ingestion_alone(wire: Wire) -> None:
    """For every way to find a run: its arguments contain the recipe."""
    wire.good(UPDATE, "ana", urn=NAMED, i=source())
    run = wire.good(RUN, "ana", i={"ingestionSourceUrn": NAMED})
    for member in ("input { task }", "result { status }"):
        asked = f'query {{ entity(urn: "{run}") {{ ... on ExecutionRequest {{ {member} }} }} }}'
        assert wire.bad(asked, "eve") == FORBIDDEN


def test_a_source_that_is_not_there_is_not_run(wire: Wire) -> None:
    assert wire.bad(RUN, "ana", i={"ingestionSourceUrn": NAMED}) == NOT_FOUND
    assert wire.bad(RUN, "eve", i={"ingestionSourceUrn": NAMED}) == FORBIDDEN
    assert wire.good(f'query {{ ingestionSource(urn: "{NAMED}") {{ urn }} }}', "ana") is None
