"""Events of OpenLineage as jobs and datasets of DataHub: names, owners, tags, the newest event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.directory import Loaded, load
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.service.warden import Warden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GITHUB = "https://github.com/OpenLineage/OpenLineage"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.0.0"
FLOW = "urn:li:dataFlow:(airflow,shop,prod)"
JOB = f"urn:li:dataJob:({FLOW},shop.load)"


def urn(platform: str, name: str, environment: str = "PROD") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{environment})"


def dataset(namespace: str, name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}


def owned(*names: str) -> dict[str, Any]:
    return {"owners": [{"name": name, "type": "DATAOWNER"} for name in names]}


def run(time: str = "2026-03-01T10:00:00Z", **fields: Any) -> dict[str, Any]:
    event = {
        "eventType": "COMPLETE",
        "eventTime": time,
        "producer": AIRFLOW,
        "run": {"runId": str(uuid4())},
        "job": {"namespace": "prod", "name": "shop.load"},
        "inputs": [],
        "outputs": [],
    }
    return {**event, **fields}


ORDERS = dataset("postgres://db.host:5432", "shop.public.orders", ownership=owned("ana"))


EVENT = run(
    job={
        "namespace": "prod",
        "name": "shop.load",
        "facets": {"ownership": owned("etl"), "tags": {"tags": [{"key": "nightly"}]}},
    },
    inputs=[dataset("s3://lake", "raw/orders")],
    outputs=[ORDERS],
)


def ingested(
    folder: Path, spark: SparkSession, *events: Mapping[str, Any], **options: str
) -> tuple[Result, Loaded]:
    file = folder / "events.jsonl"
    file.write_text("\n".join(map(json.dumps, events)), "utf-8")
    source = opener_of("openlineage-file").open(str(file), "datahub", options)
    result = ingest(source, folder / "out", spark=spark)
    return result, load(folder / "out")


def owners(loaded: Loaded) -> set[tuple[str, str]]:
    return {(row.entity.name, row.owner.name) for row in loaded.facts.owners}


def names(loaded: Loaded, type: str = "dataset") -> set[str]:
    return {row.entity.name for row in loaded.facts.entities if row.entity.type == type}


def test_owners_of_jobs_and_datasets_are_owners_in_datahub(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    job = {"namespace": "prod", "name": "shop.load", "facets": {"ownership": owned("dag-team")}}
    _, loaded = ingested(tmp_path, unstarted, run(job=job, outputs=[ORDERS]))
    orders = urn("postgres", "shop.public.orders")
    assert owners(loaded) == {
        (orders, "urn:li:corpuser:ana"),
        (JOB, "urn:li:corpuser:dag-team"),
    }
    assert names(loaded, "dataFlow") == {FLOW}
    parents = {row.entity.name: row.parent for row in loaded.facts.entities}
    assert parents[JOB] == Entity("dataFlow", FLOW)
    warden = Warden(loaded.system, loaded.facts)
    question = ("EDIT_ENTITY_TAGS", f"dataset:{orders}")
    assert warden.check("urn:li:corpuser:ana", *question).allow
    assert not warden.check("urn:li:corpuser:dag-team", *question).allow


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (dataset("snowflake://org-account", "DB.S.T"), urn("snowflake", "DB.S.T")),
        (dataset("sqlserver://h:1433", "db.dbo.t"), urn("mssql", "db.dbo.t")),
        (dataset("awsathena://athena.eu.amazonaws.com", "c.s.t"), urn("athena", "c.s.t")),
        (dataset("bigquery", "project.set.table"), urn("bigquery", "project.set.table")),
        (dataset("s3://lake", "raw/orders/"), urn("s3", "lake/raw/orders")),
        (dataset("s3a://lake", "/raw/orders"), urn("s3", "lake/raw/orders")),
        (dataset("gs://lake", "raw"), urn("gcs", "lake/raw")),
        (
            dataset("abfss://c@a.dfs.core.windows.net", "raw"),
            urn("abs", "c@a.dfs.core.windows.net/raw"),
        ),
        (dataset("file://host", "/data/x"), urn("file", "host/data/x")),
        (dataset("file", "/data/x"), urn("file", "/data/x")),
        (dataset("file.localhost", "s3://lake/raw"), urn("s3", "lake/raw")),
        (dataset("hdfs://nn:8020", "/warehouse/t"), urn("hdfs", "/warehouse/t")),
        (dataset("s3://lake", "s3://lake/raw"), urn("hdfs", "s3://lake/s3://lake/raw")),
        (
            dataset(
                "s3://lake",
                "warehouse/t",
                symlinks={
                    "identifiers": [
                        {"namespace": "s3://lake/warehouse", "name": "x", "type": "LOCATION"},
                        {"namespace": "hive://h:9083", "name": "sales.t", "type": "TABLE"},
                    ]
                },
            ),
            urn("hive", "sales.t"),
        ),
        (
            dataset(
                "s3://lake",
                "warehouse/t",
                symlinks={
                    "identifiers": [
                        {
                            "namespace": "arn:aws:glue:eu-west-1:123456789012",
                            "name": "table/sales/t",
                            "type": "TABLE",
                        }
                    ]
                },
            ),
            urn("glue", "sales.t"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value["namespace"],
)
def test_datasets_have_the_names_of_datahubs_own_receiver(
    unstarted: SparkSession, tmp_path: Path, one: dict[str, Any], expected: str
) -> None:
    _, loaded = ingested(tmp_path, unstarted, run(inputs=[one]))
    assert names(loaded) == {expected}


@pytest.mark.parametrize(
    ("fields", "orchestrator"),
    [
        ({}, "airflow"),
        (
            {"producer": "https://github.com/OpenLineage/OpenLineage/tree/1.9.1/integration/spark"},
            "spark",
        ),
        ({"producer": "https://github.com/openlineage/OpenLineage/integration/dbt"}, "unknown"),
        ({"producer": "https://host/apache/airflow"}, "unknown"),
        (
            {
                "producer": "https://host",
                "run": {"facets": {"processing_engine": {"name": "Spark"}}},
            },
            "spark",
        ),
        (
            {
                "job": {
                    "namespace": "prod",
                    "name": "shop.load",
                    "facets": {"jobType": {"integration": "DBT", "processingType": "BATCH"}},
                }
            },
            "dbt",
        ),
    ],
)
def test_the_orchestrator_is_the_integration_the_engine_or_the_producer(
    unstarted: SparkSession, tmp_path: Path, fields: dict[str, Any], orchestrator: str
) -> None:
    _, loaded = ingested(tmp_path, unstarted, run(**fields))
    assert names(loaded, "dataFlow") == {f"urn:li:dataFlow:({orchestrator},shop,prod)"}


def test_the_newest_event_of_an_aspect_counts(unstarted: SparkSession, tmp_path: Path) -> None:
    newest = {**ORDERS, "facets": {"ownership": owned("ben"), "tags": {"tags": [{"key": "pii"}]}}}
    without = {**ORDERS, "facets": {}}
    _, loaded = ingested(
        tmp_path,
        unstarted,
        run("2026-03-03T10:00:00+02:00", outputs=[newest]),
        run("2026-03-03T07:59:59Z", outputs=[ORDERS]),
        run("2026-03-04T10:00:00Z", outputs=[without]),
    )
    orders = urn("postgres", "shop.public.orders")
    assert owners(loaded) == {(orders, "urn:li:corpuser:ben")}
    assert [(row.source.name, row.target.name) for row in loaded.facts.relations] == [
        (orders, "urn:li:tag:pii")
    ]


def test_a_dropped_dataset_is_removed_until_it_is_written_again(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    drop = {**ORDERS, "facets": {"lifecycleStateChange": {"lifecycleStateChange": "DROP"}}}
    dropped, again = run("2026-03-02T10:00:00Z", outputs=[drop]), run("2026-03-03T10:00:00Z")
    _, loaded = ingested(tmp_path, unstarted, run(outputs=[ORDERS]), dropped)
    assert [row.value for row in loaded.facts.attributes] == ["true"]
    _, loaded = ingested(tmp_path, unstarted, dropped, {**again, "outputs": [ORDERS]})
    assert not loaded.facts.attributes


def test_a_symlink_names_the_dataset_in_later_events_too(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    table = {"namespace": "hive://h", "name": "sales.t", "type": "TABLE"}
    linked = dataset("s3://lake", "t", symlinks={"identifiers": [table]})
    plain = dataset("s3://lake", "t", ownership=owned("ana"))
    _, loaded = ingested(tmp_path, unstarted, run(inputs=[linked]), run(inputs=[plain]))
    assert owners(loaded) == {(urn("hive", "sales.t"), "urn:li:corpuser:ana")}


def test_events_of_jobs_and_of_datasets_count_too(unstarted: SparkSession, tmp_path: Path) -> None:
    time = {"eventTime": "2026-03-01T10:00:00Z"}
    _, loaded = ingested(
        tmp_path,
        unstarted,
        {**time, "job": {"namespace": "prod", "name": "solo"}, "producer": AIRFLOW},
        {**time, "dataset": ORDERS},
        environment="DEV",
    )
    assert names(loaded, "dataJob") == {"urn:li:dataJob:(urn:li:dataFlow:(airflow,solo,prod),solo)"}
    assert names(loaded) == {urn("postgres", "shop.public.orders", "DEV")}


def test_what_cannot_be_named_is_counted_or_quarantined(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    spaced, comma = dataset("s3://lake", "a b"), dataset("postgres://h", "a,b.c")
    result, loaded = ingested(tmp_path, unstarted, run(inputs=[spaced, comma]))
    assert not names(loaded)
    assert result.report.ignored == {"dataset whose name is no URI": 1}
    assert result.manifest.quarantined > 0


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            {"eventTime": "2026-03-01T10:00:00Z"},
            "line 1: expected `job` or `dataset`",
        ),
        (run("yesterday"), "events.jsonl: line 1.eventTime: expected a time such as"),
        (run(inputs=[{"name": "x"}]), "inputs[0].namespace: expected a string"),
        (run(job={"namespace": "p"}), "job.name: expected a string"),
        (run(inputs=[dataset("p", "x", ownership={"owners": [{}]})]), "owners[0].name: expected a"),
        (run(inputs={"a": "b"}), "inputs: expected a list"),
    ],
)
def test_a_malformed_event_is_refused_with_its_place(
    unstarted: SparkSession, tmp_path: Path, event: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        ingested(tmp_path, unstarted, event)
    assert message in str(refused.value)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_events_of_the_official_client_are_read(unstarted: SparkSession, tmp_path: Path) -> None:
    event_v2 = pytest.importorskip("openlineage.client.event_v2")
    from openlineage.client.facet_v2 import ownership_dataset, ownership_job
    from openlineage.client.serde import Serde

    job_owner = ownership_job.OwnershipJobFacet(owners=[ownership_job.Owner(name="etl")])
    table_owner = ownership_dataset.OwnershipDatasetFacet(
        owners=[ownership_dataset.Owner(name="ana", type="STEWARD")]
    )
    event = event_v2.RunEvent(
        eventTime=datetime(2026, 3, 1, tzinfo=UTC).isoformat(),
        producer=AIRFLOW,
        run=event_v2.Run(runId=str(uuid4())),
        job=event_v2.Job(namespace="prod", name="shop.load", facets={"ownership": job_owner}),
        eventType=event_v2.RunState.COMPLETE,
        outputs=[
            event_v2.OutputDataset(
                namespace="postgres://h:5432", name="a.b.c", facets={"ownership": table_owner}
            )
        ],
    )
    _, loaded = ingested(tmp_path, unstarted, json.loads(Serde.to_json(event)))
    assert owners(loaded) == {
        (JOB, "urn:li:corpuser:etl"),
        (urn("postgres", "a.b.c"), "urn:li:corpuser:ana"),
    }


def test_an_owner_is_a_user_whatever_the_name_begins_with(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    named = dataset("bigquery", "p.s.t", ownership=owned("team:data", "urn:li:corpGroup:staff"))
    _, loaded = ingested(tmp_path, unstarted, run(inputs=[named]))
    assert all(row.owner.kind == Principal("user", "").kind for row in loaded.facts.owners)
