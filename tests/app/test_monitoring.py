"""Metrics: what a server has, what its page says, what dashboards and alerts look at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

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
Labels = dict[str, frozenset[str]]


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
    """The metrics of this code with their labels, as Prometheus calls them."""
    for module in (
        "lakewarden.app.metrics",
        "lakewarden.app.push_figures",
        "lakewarden.gateway.service",
    ):
        import_module(module)
    engine_figures.figures()
    return _of(REGISTRY)


def of_pipeline() -> Labels:
    """The metrics of jobs that are watched, which the server does not have."""
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


def expressions() -> list[str]:
    dashboard = json.loads((DOCS / "monitoring/engines.json").read_text("utf-8"))
    rules = yaml.safe_load((DOCS / "monitoring/rules.yml").read_text("utf-8"))
    shown = [one["expr"] for panel in dashboard["panels"] for one in panel["targets"]]
    return [*shown, *(rule["expr"] for group in rules["groups"] for rule in group["rules"])]


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
            assert set(used) <= labels, expression
            looked_at.add(metric)
    engines = {one for one in known if one.startswith(("lakewarden_engine", "lakewarden_ranger"))}
    assert engines <= looked_at


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
    path = "/r/gravitino/ranger/service/roles/download/prod_trino"
    assert trino.served.ask("GET", f"{path}?token={trino.engine}").status == 200
    shown = {
        sample.name
        for family in text_string_to_metric_families(text(trino.served))
        for sample in family.samples
    }
    used = {name for expression in expressions() for name, _ in USED.findall(expression)}
    push = {name for name in used if name.startswith("lakewarden_push_")}
    # Those of push have an address of their own.
    assert used - {GATEWAY, *of_pipeline()} - push <= shown
