"""Every metric for Prometheus, from its declaration."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry

from lakewarden.http import engine_figures
from lakewarden.pipeline.job_figures import JobFigures
from scripts.docs_site.reference.markdown import code, table

HEAD = """# Metrics

Written from the metrics that the code declares. [Server](../serving.md#metrics) says who may read
them and has dashboards and alerts, [Spark jobs](../jobs.md#repeated-jobs) those of jobs. No label
names a user or an object.
"""
DECLARING = ("lakewarden.app.metrics", "lakewarden.app.push_figures", "lakewarden.gateway.service")
COLUMNS = ("Metric", "Type", "Labels", "Meaning")


def page() -> str:
    """The page: metrics of the server and of long-running commands, then those of jobs."""
    for module in DECLARING:
        import_module(module)
    engine_figures.figures()
    parts = (
        ("At `/metrics`", REGISTRY),
        ("Of `lakewarden pipeline watch`", JobFigures()._registry),
    )
    return "\n".join(
        [HEAD, *(f"## {title}\n\n{table(COLUMNS, _rows(registry))}" for title, registry in parts)]
    )


def _rows(registry: CollectorRegistry) -> Iterator[tuple[str, str, str, str]]:
    # The library has no public list of declared metrics, only of counted ones.
    collectors: Any = dict.fromkeys(registry._collector_to_names)
    for one in collectors:
        name = getattr(one, "_name", "")
        if name.startswith("lakewarden_"):
            suffix = "_total" if one._type == "counter" else ""
            labels = ", ".join(map(code, one._labelnames))
            yield code(name + suffix), one._type, labels, one._documentation
