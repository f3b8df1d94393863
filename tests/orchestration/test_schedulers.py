"""The examples in Airflow and in Dagster, run by these programs' own test harnesses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.orchestration.environments import environment
from tests.orchestration.test_command import BIN, EXPORT, FOLDER

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

CODES = f"""
import datetime, os
from airflow.sdk import DAG
from lakewarden_orchestration.airflow import LakewardenOperator

LAKE = os.environ["ESTATE_HOME"] + "/lake"
with DAG("codes", schedule=None) as dag:
    def task(id, *arguments, **more):
        LakewardenOperator(task_id=id, executable="{BIN}", arguments=list(arguments),
                           retry_delay=datetime.timedelta(0), **more)
    task("found", "lint", "--from", LAKE)
    task("skipped", "lint", "--from", LAKE, findings="skip")
    task("failed", "lint", "--from", LAKE, findings="fail", retries=1)
    task("refused", "lint", "--from", LAKE + "-no", retries=1)
    task("unavailable", "check", "user:ana", "table.load", "table:lk:c.s.t", "--realm", "lake",
         "--server", "http://ana:hunter2@127.0.0.1:9", retries=1,
         secrets={{"LAKEWARDEN_TOKEN": "warden"}})
    task("no_secret", "lint", "--from", LAKE, secrets={{"LAKEWARDEN_TOKEN": "nothing"}})
"""

AIRFLOW = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
for name in ("nightly_dag", "codes"):
    run = importlib.import_module(name).dag.test()
    print("ENDED", json.dumps({t.task_id: [str(t.state), t.try_number]
                               for t in run.get_task_instances()}))
"""

DAGSTER = """
import dagster, nightly_assets
from lakewarden_orchestration.dagster import lakewarden_asset
for assets in ([nightly_assets.lake, nightly_assets.lake_index],
               [lakewarden_asset("no", ["pipeline", "index", "no", "--out", "no-index"],
                                 executable=nightly_assets.BIN)]):
    with dagster.DagsterInstance.ephemeral() as instance:
        run = dagster.materialize(assets, instance=instance, raise_on_error=False)
        made = [e.materialization for e in run.get_asset_materialization_events()]
        print("ENDED", run.success, [m.metadata["version"].value for m in made])
"""


def said(python: str, text: str, home: Path, *arguments: str, **more: str) -> str:
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ESTATE_HOME": str(home),
        "ESTATE_COMMAND": BIN,
        "PYTHONPATH": str(FOLDER),
        **more,
    }
    ran = subprocess.run(
        [python, "-c", text, *arguments],
        cwd=home,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    return ran.stdout


def test_a_dag_of_airflow_maps_exit_codes_and_logs_no_secret(tmp_path: Path) -> None:
    python = environment("airflow", "3.3.2", "apache-airflow")
    shutil.copytree(EXPORT, tmp_path / "export")
    dags = tmp_path / "airflow" / "dags"
    dags.mkdir(parents=True)
    shutil.copy(FOLDER / "nightly_dag.py", dags)
    (dags / "codes.py").write_text(CODES)
    settings = {
        "AIRFLOW_HOME": str(dags.parent),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_WARDEN": '{"conn_type": "generic", "password": "secret-of-many-letters"}',
        "AIRFLOW_CONN_NOTHING": '{"conn_type": "generic"}',
    }
    migrate = (
        "import sys; from airflow.__main__ import main; sys.argv[1:] = ['db', 'migrate']; main()"
    )
    said(python, migrate, tmp_path, **settings)
    text = said(python, AIRFLOW, tmp_path, str(dags), **settings)
    nightly, codes = (
        json.loads(line.partition("ENDED ")[2])
        for line in text.splitlines()
        if line.startswith("ENDED ")
    )
    assert {task: state for task, (state, _) in nightly.items()} == dict.fromkeys(
        ("ingest", "index", "lint"), "success"
    )
    assert codes == {
        "found": ["success", 1],
        "skipped": ["skipped", 1],
        "failed": ["failed", 1],
        "refused": ["failed", 1],
        "unavailable": ["failed", 2],
        "no_secret": ["failed", 1],
    }
    assert "hunter2" not in text
    assert "secret-of-many-letters" not in text


def test_assets_of_dagster_are_materialized_in_order(tmp_path: Path) -> None:
    python = environment("dagster", "1.13.29", "dagster")
    shutil.copytree(EXPORT, tmp_path / "export")
    ended = [
        line for line in said(python, DAGSTER, tmp_path).splitlines() if line.startswith("ENDED ")
    ]
    assert ended == ["ENDED True [1, 1]", "ENDED False []"]
