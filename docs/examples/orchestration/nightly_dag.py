"""A DAG of Airflow: the estate is ingested, indexed and linted every night."""

from __future__ import annotations

import os

from airflow.sdk import DAG
from lakewarden_orchestration.airflow import LakewardenOperator

HOME = os.environ.get("ESTATE_HOME", "/srv/lakewarden")
BIN = os.environ.get("ESTATE_COMMAND", "lakewarden")
JSON = ["--format", "json"]

with DAG("lakewarden_nightly", schedule="0 2 * * *", catchup=False) as dag:
    ingest = LakewardenOperator(
        task_id="ingest",
        executable=BIN,
        arguments=[
            *("pipeline", "ingest", f"{HOME}/export", "--source", "gravitino-file"),
            *("--out", f"{HOME}/lake", *JSON),
        ],
    )
    index = LakewardenOperator(
        task_id="index",
        executable=BIN,
        arguments=["pipeline", "index", f"{HOME}/lake", "--out", f"{HOME}/lake-index", *JSON],
    )
    lint = LakewardenOperator(
        task_id="lint",
        executable=BIN,
        arguments=["lint", "--from", f"{HOME}/lake", *JSON],
        findings="succeed",
    )
    ingest >> [index, lint]
