"""Assertions of every kind, as ingestion writes them: shown as written, otherwise null."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.wire import Json, Wire, document, user

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
CLAIM = "urn:li:assertion:a"
CHART, BOARD = "urn:li:chart:(looker,c)", "urn:li:dashboard:(looker,b)"
AMOUNT = {"path": "amount", "type": "NUMBER", "nativeType": "int"}
OVER = {"operator": "GREATER_THAN", "parameters": {"value": {"value": "1", "type": "NUMBER"}}}
TOLD = {"operator": "GREATER_THAN", "parameters": {"value": {"value": "1"}}}


def query_kinds(wire: Wire, by: str = "datahub") -> Json:
    variables = {"urn": CLAIM, "chart": CHART, "dashboard": BOARD}
    answer = wire.ask(document("assertion_kinds"), by, **variables)
    assert "errors" not in answer, answer
    found: Json = answer["data"]
    return found


def info(wire: Wire, **value: Any) -> Any:
    wire.put("dataset", ORDERS, "status", {"removed": False})
    wire.put("assertion", CLAIM, "assertionInfo", value)
    return query_kinds(wire)["assertion"]["info"]


def test_one_of_time_says_when(wire: Wire) -> None:
    schedule: Json = {"type": "CRON", "cron": {"cron": "0 * * * *", "timezone": "UTC"}}
    claim = {"type": "DATASET_CHANGE", "entity": ORDERS, "schedule": schedule}
    filter = {"type": "SQL", "sql": "x > 1"}
    found = info(wire, type="FRESHNESS", freshnessAssertion={**claim, "filter": filter})
    assert found["freshnessAssertion"] == {
        "type": "DATASET_CHANGE",
        "entityUrn": ORDERS,
        "schedule": {**schedule, "fixedInterval": None},
        "filter": filter,
    }
    assert found["volumeAssertion"] is None


def test_one_of_rows_says_how_many(wire: Wire) -> None:
    segment = {"field": AMOUNT, "transformer": {"type": "FLOOR_DAY"}}
    volume = {
        "type": "INCREMENTING_SEGMENT_ROW_COUNT_CHANGE",
        "entity": ORDERS,
        "incrementingSegmentRowCountChange": {"type": "ABSOLUTE", "segment": segment, **OVER},
    }
    found = info(wire, type="VOLUME", volumeAssertion=volume)["volumeAssertion"]
    told = {"field": AMOUNT, "transformer": {"type": "FLOOR_DAY", "nativeType": None}}
    change = {"type": "ABSOLUTE", "segment": told, **TOLD}
    assert found["incrementingSegmentRowCountChange"] == change
    assert found["rowCountTotal"] is None


def test_one_of_a_statement_or_a_column_says_what_it_compares(wire: Wire) -> None:
    sql = {"type": "METRIC", "entity": ORDERS, "statement": "select 1", **OVER}
    found = info(wire, type="SQL", sqlAssertion=sql)["sqlAssertion"]
    assert (found["statement"], found["operator"]) == ("select 1", "GREATER_THAN")
    values = {
        "field": AMOUNT,
        "failThreshold": {"type": "COUNT", "value": 0},
        "excludeNulls": False,
        **OVER,
    }
    field = {"type": "FIELD_VALUES", "entity": ORDERS, "fieldValuesAssertion": values}
    found = info(wire, type="FIELD", fieldAssertion=field)["fieldAssertion"]
    assert found["fieldValuesAssertion"] == {**values, **TOLD, "transform": None}
    assert found["fieldMetricAssertion"] is None


def test_one_of_a_schema_says_its_columns(wire: Wire) -> None:
    number: Json = {"type": {"com.linkedin.schema.NumberType": {}}}
    column = {"fieldPath": "amount", "type": number, "nativeDataType": "int"}
    claim = {"entity": ORDERS, "compatibility": "SUPERSET", "schema": {"fields": [column]}}
    found = info(wire, type="DATA_SCHEMA", schemaAssertion=claim)["schemaAssertion"]
    assert (found["compatibility"], found["fields"]) == ("SUPERSET", [AMOUNT])
    assert found["schema"]["fields"] == [{**column, "type": "NUMBER"}]
    del claim["schema"]
    found = info(wire, type="DATA_SCHEMA", schemaAssertion=claim)["schemaAssertion"]
    assert (found["fields"], found["schema"]) == (None, None)


def test_what_it_is_about_is_named_to_who_is_shown_it(wire: Wire) -> None:
    custom = {"type": "x", "entity": ORDERS, "field": f"urn:li:schemaField:({ORDERS},id)"}
    found = info(wire, type="CUSTOM", customAssertion=custom, datasetAssertion={"dataset": ORDERS})
    assert found["datasetAssertion"] == {"datasetUrn": ORDERS}
    assert found["customAssertion"]["entityUrn"] == ORDERS
    assert found["customAssertion"]["field"]["path"] == "id"
    wire.close()
    wire.configure(view=True)
    assert ORDERS not in str(
        wire.ask(document("assertion_kinds"), "eve", urn=CLAIM, chart=CHART, dashboard=BOARD)
    )


def test_its_owners_its_actions_and_how_it_ran_are_told(wire: Wire) -> None:
    owner = {"owner": user("ana"), "type": "DATAOWNER"}
    wire.put("assertion", CLAIM, "ownership", {"owners": [owner]})
    assert query_kinds(wire)["assertion"]["actions"] is None
    actions = {"onSuccess": [], "onFailure": [{"type": "RAISE_INCIDENT"}]}
    wire.put("assertion", CLAIM, "assertionActions", actions)
    event = {
        "timestampMillis": 2,
        "lastObservedMillis": 1,
        "partitionSpec": {"type": "PARTITION", "partition": "p"},
        "runtimeContext": {"k": "v"},
    }
    wire.put("assertion", CLAIM, "assertionRunEvent", event)
    found = query_kinds(wire)["assertion"]
    assert found["ownership"]["owners"] == [{"type": "DATAOWNER"}]
    assert found["actions"] == actions
    (run,) = found["runEvents"]["runEvents"]
    assert (run["lastObservedMillis"], run["runtimeContext"]) == (1, [{"key": "k", "value": "v"}])
    assert run["partitionSpec"] == {"type": "PARTITION", "partition": "p"}


@pytest.mark.parametrize("kind", ["chart", "dashboard"])
def test_views_are_those_that_the_platform_said_last_of_all_time(wire: Wire, kind: str) -> None:
    urn = CHART if kind == "chart" else BOARD
    wire.put(kind, urn, "status", {"removed": False})
    assert query_kinds(wire)[kind]["statsSummary"] is None
    said: list[Json] = [
        {"timestampMillis": 1, "viewsCount": 7},
        {"timestampMillis": 2, "viewsCount": 9},
        {"timestampMillis": 3, "viewsCount": 2, "eventGranularity": {"unit": "DAY"}},
        {"timestampMillis": 4, "favoritesCount": 1},
    ]
    for one in said:
        wire.put(kind, urn, f"{kind}UsageStatistics", one)
    assert query_kinds(wire)[kind]["statsSummary"] == {
        "viewCount": 9,
        "viewCountLast30Days": None,
        "uniqueUserCountLast30Days": None,
        "topUsersLast30Days": None,
    }
    wire.close()
    assert query_kinds(wire, "eve")[kind]["statsSummary"] is None


def test_claims_that_are_marked_as_removed_are_shown_on_request(wire: Wire) -> None:
    info(wire, type="DATASET", datasetAssertion={"dataset": ORDERS})
    wire.put("assertion", CLAIM, "status", {"removed": True})
    query = """query q($urn: String!, $all: Boolean) { dataset(urn: $urn) {
      assertions(includeSoftDeleted: $all) { total } } }"""
    for everything, total in ((False, 0), (None, 0), (True, 1)):
        found = wire.good(query, urn=ORDERS, all=everything)
        assert found["assertions"]["total"] == total
