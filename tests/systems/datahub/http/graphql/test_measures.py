"""Profiles, operations and usage of datasets, visible to users who may view the dataset."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.wire import ROOT, Json, Wire, document, user

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
MEASURES = document("measures")
DAY = 86_400_000

PART = {
    "partition": "p1",
    "type": "PARTITION",
    "timePartition": {"startTimeMillis": 5, "length": {"unit": "DAY", "multiple": 2}},
}
COLUMN = {
    "fieldPath": "id",
    "uniqueCount": 3,
    "uniqueProportion": 0.5,
    "nullCount": 0,
    "nullProportion": 0,
    "min": "1",
    "sampleValues": ["1", "2"],
    "quantiles": [{"quantile": "0.5", "value": "2"}],
    "distinctValueFrequencies": [{"value": "1", "frequency": 2}],
}


@pytest.fixture
def measured(wire: Wire) -> Wire:
    now = int(wire.service.clock() * 1_000)
    values: list[tuple[str, Json]] = [
        ("datasetProfile", {"timestampMillis": 1, "rowCount": 5, "fieldProfiles": [COLUMN]}),
        ("datasetProfile", {"timestampMillis": 2, "rowCount": 7}),
        ("datasetProfile", {"timestampMillis": 3, "partitionSpec": PART}),
        (
            "operation",
            {
                "timestampMillis": 4,
                "lastUpdatedTimestamp": 3,
                "operationType": "INSERT",
                "actor": user("ana"),
                "numAffectedRows": 2,
                "customProperties": {"b": "1", "a": "2"},
                "partitionSpec": PART,
            },
        ),
        *(("datasetUsageStatistics", usage_bucket(now - days * DAY)) for days in (1, 2, 60)),
    ]
    for aspect, value in values:
        wire.put("dataset", ORDERS, aspect, value)
    return wire


def usage_bucket(time: int) -> Json:
    return {
        "timestampMillis": time,
        "eventGranularity": {"unit": "DAY", "multiple": 1},
        "uniqueUserCount": 2,
        "totalSqlQueries": 3,
        "topSqlQueries": ["select 1"],
        "userCounts": [{"user": user("ana"), "count": 2, "userEmail": "ana@x"}, {"user": "x"}],
        "fieldCounts": [{"fieldPath": "id", "count": 1}],
    }


def grant(wire: Wire, *privileges: str, to: str = "eve", on: str = ORDERS) -> None:
    filter = {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [on]}]}
    value = {
        "displayName": "x",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": list(privileges),
        "actors": {"users": [user(to)], "resourceOwners": False},
        "resources": {"filter": filter},
    }
    wire.put("dataHubPolicy", "urn:li:dataHubPolicy:measures", "dataHubPolicyInfo", value)


def close(wire: Wire) -> None:
    """Removes the policies that allow everybody to see everything."""
    for id in ("view-dataset-sensitive", "view-entity-page-all"):
        wire.good(
            "mutation m($u: String!) { deletePolicy(urn: $u) }", u=f"urn:li:dataHubPolicy:{id}"
        )


def test_everything_is_shown_as_it_was_written(measured: Wire) -> None:
    shown = measured.good(MEASURES, urn=ORDERS)
    assert [one["timestampMillis"] for one in shown["datasetProfiles"]] == [3, 2, 1]
    part = shown["datasetProfiles"][0]["partitionSpec"]
    assert part["timePartition"] == {"startTimeMillis": 5, "durationMillis": 2 * DAY}
    (column,) = shown["datasetProfiles"][2]["fieldProfiles"]
    assert {name: column[name] for name in COLUMN} == COLUMN
    assert shown["latestFullTableProfile"]["rowCount"] == 7
    assert shown["latestPartitionProfile"]["timestampMillis"] == 3
    (operation,) = shown["operations"]
    assert (operation["operationType"], operation["partition"]) == ("INSERT", "p1")
    assert [one["key"] for one in operation["customProperties"]] == ["a", "b"]
    assert shown["statsSummary"] == {
        "queryCountLast30Days": 6,
        "uniqueUserCountLast30Days": 2,
        "topUsersLast30Days": [{"urn": user("ana")}],
    }


def test_usage_is_of_the_range_that_is_asked_for(measured: Wire) -> None:
    for range, count in (("WEEK", 2), ("YEAR", 3), ("ALL", 3), ("DAY", 0), (None, 2)):
        asked: dict[str, Any] = {"range": range} if range else {}
        shown = measured.good(MEASURES, urn=ORDERS, **asked)["usageStats"]
        assert len(shown["buckets"]) == count, range
        assert shown["aggregations"]["totalSqlQueries"] == 3 * count
    (bucket, _) = measured.good(MEASURES, urn=ORDERS, range="WEEK")["usageStats"]["buckets"]
    assert bucket["metrics"]["users"][0] == {
        "user": {"urn": user("ana")},
        "count": 2,
        "userEmail": "ana@x",
    }
    assert bucket["metrics"]["users"][1]["user"] is None


def test_windows_limits_and_filters_pick_values(measured: Wire) -> None:
    def times(**asked: Any) -> list[int]:
        shown = measured.good(MEASURES, urn=ORDERS, **asked)["datasetProfiles"]
        return [one["timestampMillis"] for one in shown]

    assert times(first=2, last=2) == [2]
    assert times(limit=1) == [3]
    assert times(limit=0) == []
    equal = {"and": [{"field": "rowCount", "values": ["5"], "condition": "EQUAL"}]}
    assert times(filter=equal) == [1]
    errors = measured.ask(MEASURES, urn=ORDERS, limit=-1)["errors"]
    assert {one["extensions"]["code"] for one in errors} == {400}


@pytest.mark.parametrize(
    ("privilege", "fields"),
    [
        (
            "VIEW_DATASET_PROFILE",
            {"datasetProfiles", "latestFullTableProfile", "latestPartitionProfile"},
        ),
        ("VIEW_DATASET_OPERATIONS", {"operations"}),
        ("VIEW_DATASET_USAGE", {"usageStats", "statsSummary"}),
    ],
)
def test_each_is_shown_by_its_own_privilege(
    measured: Wire, privilege: str, fields: set[str]
) -> None:
    close(measured)
    grant(measured, privilege)
    shown = measured.good(MEASURES, "eve", urn=ORDERS)
    assert {name for name, value in shown.items() if value and name != "urn"} == fields
    grant(measured, "EDIT_ENTITY", "VIEW_ENTITY_PAGE")
    shown = measured.good(MEASURES, "eve", urn=ORDERS)
    assert not any(value for name, value in shown.items() if name != "urn")


def test_what_nobody_promises_to_be_of_its_type_is_left_out(wire: Wire) -> None:
    odd = {
        "timestampMillis": 1,
        "rowCount": "x",
        "fieldProfiles": [7, {"fieldPath": 1, "nullProportion": "x"}],
        "partitionSpec": {"type": "ODD", "timePartition": {"length": 3}},
    }
    wire.put("dataset", ORDERS, "datasetProfile", odd)
    wire.put("dataset", ORDERS, "operation", {"timestampMillis": 1, "operationType": "ODD"})
    shown = wire.good(MEASURES, urn=ORDERS)
    assert shown["datasetProfiles"][0]["rowCount"] is None
    assert shown["operations"][0]["operationType"] == "UNKNOWN"


SCHEMA = {"schemaName": "s", "fields": [{"fieldPath": "a"}, {"fieldPath": "b"}]}
PAST = document("past")


def past(wire: Wire, by: str = ROOT, **blame: object) -> Any:
    return wire.ask(
        PAST,
        by,
        timeline={"urn": ORDERS},
        versions={"datasetUrn": ORDERS},
        blame={"datasetUrn": ORDERS, **blame},
    )


def test_of_the_past_is_told_what_is_known(wire: Wire) -> None:
    wire.put("dataset", ORDERS, "schemaMetadata", SCHEMA)
    wire.put("dataset", ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]})
    data = past(wire)["data"]
    schema, tagged = data["getTimeline"]["changeTransactions"]
    assert (schema["versionStamp"], tagged["versionStamp"]) == ("schemaMetadata:0", "globalTags:0")
    (change,) = tagged["changes"]
    assert (change["category"], change["modifier"]) == ("TAG", "urn:li:tag:pii")
    assert change["auditStamp"]["actor"] == user(ROOT)
    (version,) = data["getSchemaVersionList"]["semanticVersionList"]
    assert (
        version
        == data["getSchemaVersionList"]["latestVersion"]
        == data["getSchemaBlame"]["version"]
    )
    blamed = data["getSchemaBlame"]["schemaFieldBlameList"]
    assert [one["fieldPath"] for one in blamed] == ["a", "b"]


def test_a_dataset_without_a_schema_has_no_versions(wire: Wire) -> None:
    wire.put("dataset", ORDERS, "status", {"removed": False})
    data = past(wire)["data"]
    assert data["getSchemaVersionList"]["semanticVersionList"] is None
    assert data["getSchemaBlame"]["schemaFieldBlameList"] is None


def test_a_version_that_is_not_kept_is_400(wire: Wire) -> None:
    wire.put("dataset", ORDERS, "schemaMetadata", SCHEMA)
    (error,) = past(wire, version="1.0.0")["errors"]
    assert error["extensions"]["code"] == 400
    assert "errors" not in past(wire, version="0.0.0-computed")


def test_the_past_has_a_privilege_of_its_own(wire: Wire) -> None:
    wire.put("dataset", ORDERS, "schemaMetadata", SCHEMA)
    close(wire)
    codes = [one["extensions"]["code"] for one in past(wire, "eve")["errors"]]
    assert codes == [403] * 3
    # One row for all three: the next one has the number of denials.
    assert wire.audit()[-1] == ("eve", "timeline.read", f"dataset:{ORDERS}", "deny")
    assert [row["operation"] for row in wire.audit_rows()].count("timeline.read") == 1
    grant(wire, "GET_TIMELINE_PRIVILEGE")
    assert "errors" not in past(wire, "eve")
