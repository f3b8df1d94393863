"""OpenLineage run events are read as its client writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.unused.access_record import LoggedAccess, Refused
from lakewarden.pipeline.unused.log_formats import read
from lakewarden.pipeline.unused.mapping import read_mappings
from tests.pipeline.unused.test_warehouse_logs import GRAVITINO, acts, details, lines

ORDERS = {"namespace": "trino://host:8080", "name": "lake.shop.orders"}
DAY = "2024-03-01"


def event(
    inputs: object = (ORDERS,), outputs: object = (), kind: str = "COMPLETE", **facets: object
) -> dict[str, object]:
    return {
        "eventType": kind,
        "eventTime": f"{DAY}T08:00:00.000Z",
        "run": {"runId": "018e", "facets": facets},
        "job": {"namespace": "etl", "name": "daily", "facets": {"ownership": {"owners": []}}},
        "inputs": inputs,
        "outputs": outputs,
    }


def said(folder: Path, text: str, mapping: str = "") -> list[LoggedAccess | Refused]:
    log, file = folder / "events.jsonl", folder / "mapping.toml"
    log.write_text(text, "utf-8")
    file.write_text(f"[openlineage]\n{mapping}", "utf-8")
    mappings = read_mappings(file, ["openlineage"], GRAVITINO, ["lk"])
    return list(read("openlineage", [File(log, "events.jsonl")], mappings, "lake"))


def test_a_run_of_spark_has_its_user(tmp_path: Path) -> None:
    """A Spark dataset is a location of files, and its table a symlink."""
    ana = {"userName": "ana"}
    link = {"namespace": "hive://host:9083", "name": "hive.shop.totals", "type": "TABLE"}
    other = {"namespace": "s3://lake", "name": "totals", "type": "LOCATION"}
    totals = {
        "namespace": "s3://lake",
        "name": "warehouse/totals",
        "facets": {"symlinks": {"identifiers": [other, link]}},
    }
    files = {"namespace": "file", "name": "/data/raw.csv"}
    found = said(
        tmp_path,
        lines(
            event(kind="START", spark_applicationDetails=ana),
            event([ORDERS, ORDERS, files], [totals], spark_applicationDetails=ana),
            event(kind="FAIL", spark_applicationDetails=ana),
            event(None, None, spark_applicationDetails=ana),
        ),
    )
    assert acts(found) == [
        ("ana", "table.load", "table:lk:lake.shop.orders", DAY, True),
        ("ana", "table.write", "table:lk:hive.shop.totals", DAY, True),
    ]
    assert not details(found)


@pytest.mark.parametrize(
    ("principal", "who"), [("user:airflow", "user:airflow"), ("{job.namespace}", "etl")]
)
def test_the_mapping_says_as_whom_jobs_run(tmp_path: Path, principal: str, who: str) -> None:
    mapping = f"principal = {json.dumps(principal)}\n"
    mapping += 'entity = "table:lk:pg.{schema}.{table}"\n'
    short = {"namespace": "postgres://host:5432", "name": "public.orders"}
    found = said(tmp_path, lines(event([short])), mapping)
    assert acts(found) == [(who, "table.load", "table:lk:pg.public.orders", DAY, True)]


BAD: Sequence[tuple[object, str]] = [
    (event(), "expected text in `run.facets.spark_applicationDetails.userName`"),
    (event("orders"), "expected a list of `inputs`"),
    (event(["orders"]), "expected objects in `inputs`"),
    (event([{"namespace": "x"}]), "expected text in `name`"),
    (
        event([{"name": "orders"}]),
        "expected schema and table, or catalog, schema and table in `orders`",
    ),
    (event([{"name": "shop.orders"}]), "expected text in `catalog`"),
]


@pytest.mark.parametrize(("line", "detail"), BAD)
def test_what_cannot_be_read_is_set_aside(tmp_path: Path, line: object, detail: str) -> None:
    assert details(said(tmp_path, lines(line))) == [detail]


def test_events_that_our_own_jobs_send_are_read(tmp_path: Path) -> None:
    """The client of OpenLineage writes the events read here."""
    from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
    from openlineage.client.serde import Serde

    made = RunEvent(
        eventType=RunState.COMPLETE,
        eventTime=f"{DAY}T08:00:00+00:00",
        run=Run(runId="018e6c1c-0000-7000-8000-000000000000"),
        job=Job(namespace="etl", name="daily"),
        producer="https://producer.test",
        inputs=[InputDataset(namespace="trino://host", name="lake.shop.orders")],
    )
    found = said(tmp_path, f"{Serde.to_json(made)}\n", 'principal = "ana"\n')
    assert acts(found) == [("ana", "table.load", "table:lk:lake.shop.orders", DAY, True)]
