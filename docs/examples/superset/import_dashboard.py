"""Imports the dashboard into the Superset of this environment, and runs its charts once.

    SUPERSET_CONFIG_PATH=… python import_dashboard.py dashboard duckdb:////srv/lakewarden/access.duckdb

Without this script: zip the folder, and upload it under Settings, Import dashboards.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRITTEN = "duckdb:////srv/lakewarden/access.duckdb"
"""The address of the database in the folder."""


def bundle_of(folder: Path, address: str) -> io.BytesIO:
    """The folder as the archive that Superset imports."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        for file in sorted(folder.rglob("*.yaml")):
            text = file.read_text("utf-8").replace(WRITTEN, address)
            out.writestr(f"dashboard/{file.relative_to(folder)}", text)
    return archive


def imported(archive: io.BytesIO) -> Any:
    """The dashboard, imported as an administrator; call it within an app."""
    from flask import g
    from superset import db, security_manager
    from superset.commands.dashboard.importers.v1 import ImportDashboardsCommand
    from superset.commands.importers.v1.utils import get_contents_from_bundle
    from superset.models.dashboard import Dashboard

    security_manager.sync_role_definitions()
    g.user = security_manager.find_user("admin")
    if g.user is None:
        raise SystemExit("there is no user `admin`; run `superset fab create-admin`")
    with zipfile.ZipFile(archive) as bundle:
        ImportDashboardsCommand(get_contents_from_bundle(bundle), overwrite=True).run()
    return db.session.query(Dashboard).filter_by(slug="who-can-read-what").one()


def rows_of_charts(board: Any) -> Iterator[tuple[str, int]]:
    """How many rows each chart of the dashboard shows, at most five."""
    for chart in sorted(board.slices, key=lambda chart: chart.slice_name):
        asked = json.loads(chart.params)
        is_raw = asked.get("query_mode") == "raw"
        axis = [asked["x_axis"]] if "x_axis" in asked else []
        columns = asked["all_columns"] if is_raw else [*asked.get("groupby", []), *axis]
        metrics = None if is_raw else asked.get("metrics") or [asked["metric"]]
        filters = [
            {"col": f["subject"], "op": f["operator"], "val": f["comparator"]}
            for f in asked["adhoc_filters"]
        ]
        result = chart.datasource.query(
            {
                **{"columns": columns, "metrics": metrics, "filter": filters, "row_limit": 5},
                **{"groupby": columns if metrics else None, "is_timeseries": False},
                **dict.fromkeys(("granularity", "from_dttm", "to_dttm")),
                **{"extras": {}, "orderby": []},
            }
        )
        if result.error_message:
            raise SystemExit(f"{chart.slice_name}: {result.error_message}")
        yield chart.slice_name, len(result.df)


def main(folder: Path, address: str) -> None:
    """Imports, and prints the charts."""
    from superset.app import create_app

    with create_app().app_context():
        board = imported(bundle_of(folder, address))
        print("DASHBOARD", board.dashboard_title)
        for name, rows in rows_of_charts(board):
            print("CHART", rows, name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
