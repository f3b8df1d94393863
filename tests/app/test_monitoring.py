"""Metrics: those of a server, of the page, and of dashboards and alerts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from lakewarden.http import engine_figures
from lakewarden.pipeline.job_figures import JobFigures
from tests.app.serving import Served
from tests.http.opa.test_served import CONFIGURATION, ROOT, Trino, served_realm, table

POLLED = """
[ranger.gravitino]
metalake = "lk"
catalogs = { memory = "lake" }
services = { prod_trino = "trino" }
"""
DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `(lakewarden_\w+)` \|([^|]*)\|", re.MULTILINE)
USED = re.compile(r"\b(lakewarden_\w+)(?:\{([^}]*)\})?")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
GATEWAY = "lakewarden_gateway_calls_total"
MONITORING = DOCS / "monitoring"
UNWATCHED = {"lakewarden_ranger_document_made_timestamp_seconds"}
"""Metrics for ad-hoc queries."""
OF_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus adds; dashboards filter by them."""
Labels = dict[str, frozenset[str]]
Document = dict[str, Any]


@pytest.fixture(name="trino", scope="module")
def _trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    yield from served_realm(
        tmp_path_factory.mktemp("figures"), configuration=CONFIGURATION + POLLED
    )


def text(served: Served) -> str:
    answer = served.ask("GET", "/metrics", token=ROOT)
    assert answer.status == 200
    return answer.body.decode()


def documented(page: str = "serving.md") -> Labels:
    text = (DOCS / page).read_text("utf-8")
    return {name: frozenset(re.findall(r"`(\w+)`", cell)) for name, cell in ROW.findall(text)}


def value(served: Served, name: str, **labels: str) -> float:
    for family in text_string_to_metric_families(text(served)):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return 0.0


def declared() -> Labels:
    """The metrics of this code with their labels, under Prometheus's names."""
    for module in (
        "lakewarden.app.metrics",
        "lakewarden.app.push_figures",
        "lakewarden.gateway.service",
    ):
        import_module(module)
    engine_figures.figures()
    return _of(REGISTRY)


def of_pipeline() -> Labels:
    """The metrics of monitored jobs, which the server does not have."""
    return _of(JobFigures()._registry)


def _of(registry: CollectorRegistry) -> Labels:
    found = {}
    for collector in registry._collector_to_names:
        name = getattr(collector, "_name", "")
        if name.startswith("lakewarden_"):
            suffix = "_total" if getattr(collector, "_type", "") == "counter" else ""
            found[name + suffix] = frozenset(collector._labelnames)  # type: ignore[attr-defined]
    return found


def test_the_pages_have_all_metrics_with_their_labels() -> None:
    assert documented() == declared()
    assert documented("jobs.md") == of_pipeline()


def dashboards() -> dict[str, Document]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in MONITORING.glob("*.json")}


def groups() -> list[Document]:
    found: list[Document] = yaml.safe_load((MONITORING / "rules.yml").read_text("utf-8"))["groups"]
    return found


def expressions(*, server: bool = True) -> list[str]:
    """The expressions of dashboards and alerts; without `server`, those of engines and jobs."""
    shown = [
        one["expr"]
        for name, dashboard in dashboards().items()
        for panel in dashboard["panels"]
        for one in panel["targets"]
        if server or name != "server"
    ]
    kept = [group for group in groups() if server or group["name"] != "lakewarden-server"]
    return [*shown, *(rule["expr"] for group in kept for rule in group["rules"])]


def test_dashboards_have_panels_side_by_side_and_names_of_their_own() -> None:
    boards = dashboards()
    assert len({board["uid"] for board in boards.values()}) == len(boards)
    for board in boards.values():
        places: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & places, panel["title"]
            assert place["x"] + place["w"] <= 24
            places |= cells
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.nightly  # Go builds the linter
@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")
def test_grafanas_linter_has_nothing_to_say_of_the_dashboards(tmp_path: Path) -> None:
    script = DOCS.parent / "scripts/dashboard-linter.sh"
    found = subprocess.run([script], check=False, capture_output=True, text=True)
    if found.returncode:
        pytest.skip(f"the linter could not be built: {found.stderr[-200:]}")
    linter = found.stdout.strip()

    def said(path: Path) -> subprocess.CompletedProcess[str]:
        command = [linter, "lint", "--strict", str(path)]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    boards = sorted(MONITORING.glob("*.json"))
    assert len(boards) == 2
    for board in boards:
        linted = said(board)
        assert linted.returncode == 0, linted.stdout + linted.stderr
    planted = tmp_path / "planted.json"
    planted.write_text(boards[0].read_text("utf-8").replace("rate(", "max(", 1), "utf-8")
    assert said(planted).returncode != 0


def test_alerts_say_how_bad_it_is_and_name_labels_that_their_expression_has() -> None:
    alerts = [rule for group in groups() for rule in group["rules"]]
    assert len({rule["alert"] for rule in alerts}) == len(alerts)
    for rule in alerts:
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        told = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        grouped = {label for group in GROUPED.findall(rule["expr"]) for label in group.split(", ")}
        assert told <= grouped, rule["alert"]


def test_dashboards_and_alerts_look_at_metrics_that_there_are() -> None:
    known, looked_at = {**declared(), **of_pipeline()}, set()
    for expression in expressions():
        names = USED.findall(expression)
        assert names, expression
        for name, condition in names:
            metric = name.removesuffix("_bucket")
            assert metric in known, expression
            labels = known[metric] | ({"le"} if metric != name else set())
            used = re.findall(r"(\w+)\s*[=!]", condition)
            for group in GROUPED.findall(expression):
                used += re.findall(r"\w+", group)
            assert set(used) <= labels | OF_PROMETHEUS, expression
            looked_at.add(metric)
    push = {one for one in known if one.startswith("lakewarden_push_")}
    assert {*declared()} - push - UNWATCHED <= looked_at


def test_decisions_and_denials_are_counted_by_engine(trino: Trino) -> None:
    served = trino.served
    engine, decisions = {"engine": "trino"}, "lakewarden_engine_decisions_total"
    allowed = value(served, decisions, **engine, outcome="allow")
    denied = value(served, decisions, **engine, outcome="deny")
    trino.allows("ana", "SelectFromColumns", table=table("sales.orders"))
    trino.allows("ana", "DropTable", table=table("sales.orders"))
    tables = [{"table": table(name)} for name in ("sales.orders", "hr.people", "hr.none")]
    action = {"operation": "FilterTables", "filterResources": tables}
    assert trino.result("batch", "ana", action) == [0]
    assert value(served, decisions, **engine, outcome="allow") == allowed + 2
    assert value(served, decisions, **engine, outcome="deny") == denied + 3
    denials = "lakewarden_engine_denials_total"
    assert value(served, denials, **engine, operation="DropTable") == 1
    assert value(served, denials, **engine, operation="FilterTables") == 2
    trino.allows("ana", "BurnTable", table=table("sales.orders"))
    assert value(served, denials, **engine, operation="unknown") == 1
    assert value(served, denials, **engine, operation="BurnTable") == 0
    assert value(served, "lakewarden_engine_seconds_count", **engine) >= 4


def test_polls_tell_residue_and_when_they_were(trino: Trino) -> None:
    served, service = trino.served, {"realm": "gravitino", "service": "prod_trino"}
    path = "/r/gravitino/ranger/service/plugins/policies/download/prod_trino"
    assert served.ask("GET", f"{path}?token={trino.engine}").status == 200
    made = value(served, "lakewarden_ranger_document_made_timestamp_seconds", **service)
    polled = value(served, "lakewarden_ranger_polled_timestamp_seconds", **service)
    assert 1.7e9 < made <= polled
    residue = served.ask("GET", f"/r/gravitino/ranger/residue/prod_trino?token={trino.engine}")
    count = residue.json()
    assert isinstance(count, dict)
    assert value(served, "lakewarden_ranger_residue", **service) == count["count"] > 0


def test_a_server_shows_what_dashboards_and_alerts_look_at(trino: Trino) -> None:
    trino.allows("ana", "DropTable", table=table("sales.orders"))
    for kind in ("roles", "plugins/policies"):
        path = f"/r/gravitino/ranger/service/{kind}/download/prod_trino"
        polled = trino.served.ask("GET", f"{path}?token={trino.engine}&pluginId=trino@one")
        assert polled.status == 200
    newest = "lakewarden_plugin_newest_documents_timestamp_seconds"
    end = time.monotonic() + 20.0
    while not value(trino.served, newest, plugin="trino@one"):  # reported every second
        assert time.monotonic() < end
        time.sleep(0.1)
    shown = {
        sample.name
        for family in text_string_to_metric_families(text(trino.served))
        for sample in family.samples
    }
    watched = expressions(server=False)
    used = {name for expression in watched for name, _ in USED.findall(expression)}
    push = {name for name in used if name.startswith("lakewarden_push_")}
    # Metrics of push have their own address.
    assert used - {GATEWAY, *of_pipeline()} - push <= shown
