"""Traces of jobs: a span for the job and each of its stages, never with a name or a message."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from lakewarden.cli import main
from lakewarden.pipeline.ingest.stages import Stages
from lakewarden.pipeline.job_spans import stage_span, traced
from lakewarden.telemetry import environment, span_sender
from tests.app.otlp_collector import Collector, attributes, collector

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
ENTITIES = (
    "type,name,parent_type,parent_name\nmetalake,hidden,,\ncatalog,hidden:c,metalake,hidden\n"
)


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*environment.ENDPOINTS, "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as running:
        monkeypatch.setenv(ENDPOINT, running.address)
        yield running


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "hidden-source"
    folder.mkdir()
    (folder / "entities.csv").write_text(ENTITIES, "utf-8")
    return folder


def ingest(source: Path, out: Path) -> int:
    words = ["--source", "csv", "--model", "gravitino", "--out", str(out)]
    return main(["pipeline", "ingest", str(source), *words])


def about(span: Span) -> dict[str, object]:
    return attributes(list(span.attributes))


def test_jobs_and_their_stages_are_spans_that_name_nobody(
    source: Path, tmp_path: Path, collected: Collector, unstarted: object
) -> None:
    lake, index = tmp_path / "hidden-lake", tmp_path / "hidden-index"
    assert ingest(source, lake) == 0
    assert main(["pipeline", "index", str(lake), "--out", str(index)]) == 0
    spans = collected.spans()
    jobs = [span for span in spans if not span.parent_span_id]
    assert [span.name for span in jobs] == ["pipeline ingest", "pipeline index"]
    stages = {
        job.name: [span for span in spans if span.parent_span_id == job.span_id] for job in jobs
    }
    ingested, indexed = stages.values()
    assert [span.name for span in ingested] == ["read", "check", "write"]
    assert [span.name for span in indexed] == ["read", "gather", "match"]
    assert len(spans) == len(jobs) + len(ingested) + len(indexed)
    assert about(jobs[0]) == {
        "lakewarden.job": "ingest",
        "lakewarden.version": 1,
        "lakewarden.rows": 2,
    }
    for job in jobs:
        for stage in stages[job.name]:
            assert job.start_time_unix_nano <= stage.start_time_unix_nano
            assert stage.end_time_unix_nano <= job.end_time_unix_nano
    assert about(ingested[1]) == {
        "lakewarden.reused": False,
        "lakewarden.count.passed": 3,
        "lakewarden.count.failed": 0,
        "lakewarden.count.reasons": 0,
    }
    assert {one["service.name"] for one in collected.resources()} == {"lakewarden-pipeline"}
    assert b"hidden" not in b"".join(collected.bodies)


def test_a_job_that_fails_says_by_which_kind_of_error(
    source: Path, tmp_path: Path, collected: Collector, unstarted: object
) -> None:
    (source / "entities.csv").write_text("type,hidden\n", "utf-8")
    assert ingest(source, tmp_path / "lake") == 2
    job, stage = collected.spans()
    for span in (job, stage):
        assert about(span)["error.type"] == "BadInput"
        assert span.status.code == span.status.STATUS_CODE_ERROR
    assert "lakewarden.version" not in about(job)
    assert b"hidden" not in b"".join(collected.bodies)


def test_a_stage_that_an_earlier_run_did_is_told_as_reused(
    tmp_path: Path, collected: Collector
) -> None:
    for _ in range(2):
        with traced("ingest", tmp_path, warn=lambda _: None):
            Stages(tmp_path / "scratch").run("read", "key", lambda _: {"rows": 7})
    stages = [about(span) for span in collected.spans() if span.parent_span_id]
    assert stages == [
        {"lakewarden.reused": reused, "lakewarden.count.rows": 7} for reused in (False, True)
    ]


def test_a_trace_has_the_id_of_the_run_in_openlineage(
    source: Path,
    tmp_path: Path,
    collected: Collector,
    unstarted: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("openlineage.client")
    file = tmp_path / "events.jsonl"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(file))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    assert ingest(source, tmp_path / "lake") == 0
    event = json.loads(file.read_text("utf-8").splitlines()[0])
    assert about(collected.spans()[0])["openlineage.run_id"] == event["run"]["runId"]


def test_a_collector_that_is_away_fails_no_job(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unstarted: object
) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    monkeypatch.setattr(span_sender, "FLUSH_SECONDS", 0.1)
    assert ingest(source, tmp_path / "lake") == 0


def test_a_failure_of_the_library_is_told_once_and_fails_no_job(
    tmp_path: Path, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise RuntimeError("no span")

    told: list[str] = []
    with traced("index", tmp_path, warn=told.append):
        monkeypatch.setattr(span_sender.SpanSender, "end", fail)
        with stage_span("read"):
            monkeypatch.setattr(span_sender.SpanSender, "begin", fail)
        with stage_span("write"):
            pass
    assert told == ["the trace is not whole: no span"]


def test_what_cannot_be_had_is_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    told: list[str] = []
    with traced("index", tmp_path, warn=told.append), stage_span("read") as stage:
        stage.reused = True
    assert told == ["no traces are sent: traces are sent to `otlp`, not to `zipkin`"]


def test_nothing_of_the_library_is_imported_where_traces_are_off(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from lakewarden.pipeline.job_spans import stage_span, traced\n"
        f"with traced('index', Path({str(tmp_path)!r}), warn=print), stage_span('read'):\n"
        "    pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == ""
