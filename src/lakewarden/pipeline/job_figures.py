"""Metrics of recurring jobs, for Prometheus: a text file, or a push gateway."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, push_to_gateway, write_to_textfile

from lakewarden.kernel.errors import Unavailable
from lakewarden.names.secret import plain_address
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST, REPORT, VERSIONS

GROUPING: Final = "lakewarden_pipeline"
"""The job label of the metrics in the push gateway."""

PUSH_SECONDS: Final = 10.0


class JobFigures:
    """The metrics; a job is named after its verb and its output folder."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        named = ("job",)
        self._ran = self._gauge("run_timestamp_seconds", "When the job ended last.", named)
        self._succeeded = self._gauge(
            "success_timestamp_seconds", "When it ended last without an error.", named
        )
        self._seconds = self._gauge("duration_seconds", "What its last run took.", named)
        self._code = self._gauge("exit_code", "The exit code of its last run.", named)
        self._version = self._gauge("output_version", "The version of its output.", named)
        self._rows = self._gauge(
            "output_rows", "Rows of each table of its output.", ("job", "table")
        )
        self._quarantined = self._gauge(
            "quarantined_share", "Rows set aside, as a share of those that came in.", named
        )
        rounds = "lakewarden_pipeline_rounds"
        self._rounds = Counter(rounds, "Rounds that ended.", ["outcome"], registry=self._registry)
        self._late = Counter(
            f"{rounds}_late",
            "Moments at which a round should have begun while one went on.",
            registry=self._registry,
        )

    def _gauge(self, name: str, meaning: str, labels: tuple[str, ...]) -> Gauge:
        return Gauge(f"lakewarden_pipeline_{name}", meaning, labels, registry=self._registry)

    def ran(self, job: str, out: Location | None, code: int, seconds: float, now: float) -> None:
        """Records a run of a job that ended `now`; with a code above 1 it failed."""
        self._ran.labels(job).set(now)
        self._seconds.labels(job).set(seconds)
        self._code.labels(job).set(code)
        if code <= 1:
            self._succeeded.labels(job).set(now)
            self._note_output(job, out)

    def _note_output(self, job: str, out: Location | None) -> None:
        manifest = {} if out is None else _json(out / MANIFEST)
        if out is None or "version" not in manifest:
            return
        self._version.labels(job).set(manifest["version"])
        for table, content in manifest.get("tables", {}).items():
            self._rows.labels(job, table).set(content["rows"])
        report = _json(out / VERSIONS / str(manifest["version"]) / REPORT)
        rows = report.get("rows", {}).values()
        if report.get("quarantined") is not None and all(isinstance(row, dict) for row in rows):
            came_in = sum(row["in"] for row in rows)
            aside = sum(report["quarantined"].values())
            self._quarantined.labels(job).set(aside / came_in if came_in else 0.0)

    def round_ended(self, outcome: str, late: int) -> None:
        """Records a round, and how many scheduled starts of further rounds it missed."""
        self._rounds.labels(outcome).inc()
        self._late.inc(late)

    def write(self, file: Location) -> None:
        """Writes a file for the text file collector of Prometheus' node exporter, atomically."""
        write_to_textfile(str(file), self._registry)

    def push(self, gateway: str) -> None:
        """Sends the metrics to a push gateway. Raises `Unavailable`."""
        try:
            push_to_gateway(gateway, GROUPING, self._registry, timeout=PUSH_SECONDS)
        except OSError as error:
            shown = plain_address(gateway if "://" in gateway else f"http://{gateway}")
            raise Unavailable(f"the push gateway `{shown}`: {error}") from error


def _json(file: Location) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, Unavailable):
        return {}
    return found if isinstance(found, dict) else {}
