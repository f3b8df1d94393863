"""The output of a pipeline job, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lakewarden.cli.outcome import YES, show, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.pipeline.storage.location import Location

_GIB = 1024**3


class JobOutcome(Protocol):
    """The outcome of a job: its run report, and whether it made a version."""

    @property
    def report(self) -> Mapping[str, Any]: ...

    @property
    def is_new(self) -> bool: ...


def show_product(out: Location, product: JobOutcome, format: As, *more: str) -> int:
    """Shows the run report; `more` are lines between its tables and its times."""
    report = product.report
    if format == "json":
        show_json({"folder": str(out), "new": product.is_new, **report})
        return YES
    if warning := report.get("not_current"):
        show(f"warning: {warning}")
    as_before = "" if product.is_new else ", unchanged"
    show(f"{out}: version {report['version']}{as_before}", "")
    show_table(("table", "rows"), [(name, f"{n:,}") for name, n in report["rows"].items()])
    show(*more)
    if report["reused"]:
        show(f"reused from an earlier run: {', '.join(report['reused'])}")
    took = sum(s for name, s in report["seconds"].items() if name not in report["reused"])
    memory = report.get("peak_bytes", 0)
    show(f"took {took:.1f} s" + (f", {memory / _GIB:.1f} GiB at most" if memory else ""))
    return YES
