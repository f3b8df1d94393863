"""Clients' requests about the server itself."""

from __future__ import annotations

from dataclasses import replace

from lakewarden.systems.datahub.settings import DataHubSettings
from tests.systems.datahub.http.wire import Wire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"


def test_the_configuration_says_what_clients_look_for(wire: Wire) -> None:
    for path in ("/config", "/api/gms/config"):
        body = wire.good("GET", path, user="anonymous")
        assert body["noCode"] == "true"
        assert body["versions"]["acryldata/datahub"]["version"] == "v0.15.0"
        assert body["datahub"]["serverEnv"] == "core"
        assert body["telemetry"]["enabledCli"] is False
        assert [body[key] for key in ("patchCapable", "statefulIngestionCapable")] == [True, True]


def test_the_version_is_a_setting(wire: Wire) -> None:
    wire.services = replace(wire.services, systems={"datahub": DataHubSettings(version="v1.2.0")})
    body = wire.good("GET", "/config")
    assert body["versions"]["acryldata/datahub"]["version"] == "v1.2.0"


def test_health_is_told_below_the_address_of_a_frontend(wire: Wire) -> None:
    assert wire.good("GET", "/api/gms/health", user="anonymous") == {"status": "UP"}


def test_specifications_come_in_pages(wire: Wire) -> None:
    path = "/openapi/v1/registry/models/entity/specifications"
    first = wire.good("GET", f"{path}?start=0&count=5")
    assert (first["start"], first["count"], len(first["elements"])) == (0, 5, 5)
    rest = wire.good("GET", f"{path}?start=5&count=1000")
    names = [one["name"] for one in first["elements"] + rest["elements"]]
    assert len(set(names)) == len(names) == first["total"]
    assert {"dataset", "corpuser", "dataHubPolicy"} <= set(names)
    (dataset,) = (one for one in rest["elements"] if one["name"] == "dataset")
    assert dataset["keyAspectName"] == "datasetKey"
    assert dataset["keyAspectSpec"]["aspectAnnotation"]["name"] == "datasetKey"
    told = {one["aspectAnnotation"]["name"]: one for one in dataset["aspectSpecs"]}
    assert {"datasetKey", "ownership", "schemaMetadata", "datasetProfile"} <= told.keys()
    in_time = {name for name, one in told.items() if one["aspectAnnotation"]["timeseries"]}
    assert in_time == {"datasetProfile", "datasetUsageStatistics", "operation"}
    assert wire.bad("GET", f"{path}?start=x") == 400


def test_a_trace_says_what_is_there_to_whoever_may_read_it(wire: Wire) -> None:
    wire.put((ORDERS, "status", {"removed": False}))
    path = "/openapi/v1/trace/write/1234?onlyIncludeErrors=false&detailed=true"
    body = wire.good("POST", path, {ORDERS: ["status", "ownership"]})
    states = {name: one["primaryStorage"]["writeStatus"] for name, one in body[ORDERS].items()}
    assert states == {"status": "ACTIVE_STATE", "ownership": "NO_OP"}
    assert wire.good("POST", path, {ORDERS: ["status"]}, "eve") == {}
    assert wire.good("GET", path) == {}
    assert wire.bad("POST", path, {"nothing": ["status"]}) == 400
