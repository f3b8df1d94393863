"""The dashboard for Superset: complete, with existing columns, and imported by a real Superset."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakewarden.pipeline.access.run import Options
from lakewarden.pipeline.access.schemas import SCHEMAS
from tests.orchestration.environments import ROOT, environment
from tests.pipeline.access.worlds import export, report
from tests.pipeline.review.whole import compiled, some

FOLDER = ROOT / "docs" / "examples" / "superset"

CONFIG = """
SECRET_KEY = "of a test" * 8
SQLALCHEMY_DATABASE_URI = "sqlite:///{home}/superset.db"
"""

ADMIN = "fab create-admin --username admin --firstname A --lastname B --email a@b.example"


def parts(kind: str) -> list[dict[str, Any]]:
    return [
        yaml.safe_load(file.read_text("utf-8"))
        for file in (FOLDER / "dashboard" / kind).rglob("*.yaml")
    ]


def test_every_part_names_others_that_there_are() -> None:
    datasets = {part["uuid"]: part for part in parts("datasets")}
    charts = {part["uuid"]: part for part in parts("charts")}
    (database,) = parts("databases")
    (board,) = parts("dashboards")
    assert {part["database_uuid"] for part in datasets.values()} == {database["uuid"]}
    placed = [
        p["meta"]["uuid"]
        for p in board["position"].values()
        if p and isinstance(p, dict) and p["type"] == "CHART"
    ]
    assert sorted(placed) == sorted(charts)
    for chart in charts.values():
        params, of = chart["params"], datasets[chart["dataset_uuid"]]
        columns = {column["column_name"] for column in of["columns"]}
        asked = {*params.get("all_columns", ()), *params.get("groupby", ())}
        asked |= {params["x_axis"]} if "x_axis" in params else set()
        assert asked <= columns
        metrics = {metric["metric_name"] for metric in of["metrics"]}
        assert {*params.get("metrics", ()), *filter(None, [params.get("metric")])} <= metrics


def test_datasets_have_columns_of_the_report() -> None:
    for part in parts("datasets"):
        names = {column["column_name"] for column in part["columns"]}
        assert names <= set(SCHEMAS[part["table_name"]].names)


def database(folder: Path) -> Path:
    """A report of a world, with changes and toxic combinations, as one file."""
    first, second = some("gravitino", 9_130, 2)
    export(folder / "export", first, compiled(first))
    report(folder / "export", folder / "access")
    export(folder / "export", second, compiled(second))
    toxic = folder / "toxic.toml"
    side = '{way = "%s", type = "metalake"}'
    toxic.write_text(
        f'[[combination]]\nid = "a"\nfirst = {side % "see"}\n'
        'second = {way = "see", type = "catalog"}\n'
    )
    options = Options(combinations=toxic)
    report(folder / "export", folder / "access", options, before=folder / "access")
    file = folder / "access.duckdb"
    words = [sys.executable, str(FOLDER / "make_database.py"), str(folder / "access"), str(file)]
    subprocess.run(words, check=True)
    return file


@pytest.mark.nightly
@pytest.mark.slow
def test_superset_imports_the_dashboard_and_its_charts_show_rows(tmp_path: Path) -> None:
    # Its own requirements omit two, and allow a release of a third with which it fails.
    more = ("duckdb-engine==0.17.0", "duckdb", "rich", "cachetools", "flask-caching==2.3.1")
    python = environment("superset", "6.1.0", "apache-superset", *more)
    (tmp_path / "superset_config.py").write_text(CONFIG.format(home=tmp_path))
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "FLASK_APP": "superset",
        "SUPERSET_HOME": str(tmp_path),
        "SUPERSET_CONFIG_PATH": str(tmp_path / "superset_config.py"),
    }

    def run(*words: str) -> str:
        ran = subprocess.run(
            words,
            env=settings,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-3000:]
        return ran.stdout

    superset = str(Path(python).with_name("superset"))
    run(superset, "db", "upgrade")
    run(superset, *ADMIN.split(), "--password", "x" * 20)
    words = (str(FOLDER / "dashboard"), f"duckdb:///{database(tmp_path)}")
    said = run(python, str(FOLDER / "import_dashboard.py"), *words)
    charts = [line.split(maxsplit=2) for line in said.splitlines() if line.startswith("CHART ")]
    assert "DASHBOARD Who can read what" in said
    assert len(charts) == len(parts("charts")) == 9
    empty = {"Access never used"}  # no logs here
    assert {name for _, rows, name in charts if rows == "0"} <= empty, said
