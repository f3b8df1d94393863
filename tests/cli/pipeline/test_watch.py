"""Repeated runs of a file's jobs: rounds, figures, and exit."""

from __future__ import annotations

import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lakewarden.cli.pipeline import watch
from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.job_figures import JobFigures
from lakewarden.pipeline.storage.location import location
from tests.cli.pipeline.test_run import JOBS, TABLES, jobfile
from tests.cli.realms import Cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name, text in TABLES.items():
        (tmp_path / "in" / name).write_text(text, "utf-8")
    return tmp_path


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Values by name and labels."""
    return {
        (one.name, *one.labels.values()): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if not one.name.endswith("_created")
    }


def test_rounds_are_repeated_and_figures_are_written(
    cli: Cli, folder: Path, unstarted: object
) -> None:
    file = folder / "figures.prom"
    words = ("--every", "1s", "--rounds", "2", "--metrics", str(file))
    found = cli("pipeline", "watch", jobfile(folder), *words)
    assert found.code == 0, found.err
    assert found.err.count("[2/2]") == 4
    told = samples(file.read_text("utf-8"))
    name = "lakewarden_pipeline_"
    assert told[f"{name}rounds_total", "succeeded"] == 2
    assert told[f"{name}exit_code", "index.index"] == 0
    assert told[f"{name}output_version", "ingest.lake"] == 1
    assert told[f"{name}output_rows", "ingest.lake", "owners"] == 1
    assert told[f"{name}quarantined_share", "ingest.lake"] == 0
    ran = told[f"{name}run_timestamp_seconds", "index.index"]
    assert ran == told[f"{name}success_timestamp_seconds", "index.index"] > 0


def test_a_job_that_fails_ends_its_round_and_the_next_one_begins(
    cli: Cli, folder: Path, unstarted: object
) -> None:
    (folder / "in" / "entities.csv").write_text("nonsense\n", "utf-8")
    file = folder / "figures.prom"
    words = ("--every", "1s", "--rounds", "2", "--metrics", str(file))
    found = cli("pipeline", "watch", jobfile(folder), *words)
    assert found.code == 2
    assert found.err.count("nonsense") == 2
    assert "[2/2]" not in found.err
    told = samples(file.read_text("utf-8"))
    assert told["lakewarden_pipeline_rounds_total", "failed"] == 2
    assert told["lakewarden_pipeline_exit_code", "ingest.lake"] == 2
    assert ("lakewarden_pipeline_success_timestamp_seconds", "ingest.lake") not in told


class Clock:
    """A clock that advances when a caller waits or works."""

    def __init__(self) -> None:
        self.now, self.waited = 1_000.0, list[float]()

    def wait(self, seconds: float) -> bool:
        if seconds:
            self.waited.append(seconds)
        self.now += seconds
        return False


class Working:
    """Replaces a bound job: takes so many seconds each time."""

    verb, out = "index", None

    def __init__(self, clock: Clock, *seconds: float) -> None:
        self._clock, self._seconds = clock, list(seconds)
        self.began: list[float] = []
        self.job = self

    text = "lakewarden pipeline index"

    def run(self) -> int:
        self.began.append(self._clock.now)
        self._clock.now += self._seconds.pop(0)
        return 0


def test_a_round_that_takes_too_long_is_followed_at_once_and_the_missed_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    job = Working(clock, 4, 25, 1, 1)
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    figures, told = JobFigures(), list[int]()
    jobs: Any = [job]
    assert watch.watch(jobs, 10.0, figures, lambda: told.append(1), clock.wait, 4) == 0
    # The second run lasts past the times 1020 and 1030; the third begins when it ends.
    assert job.began == [1_000, 1_010, 1_035, 1_040]
    assert len(told) == 4
    folder = figures._registry.get_sample_value
    assert folder("lakewarden_pipeline_rounds_late_total") == 2
    assert folder("lakewarden_pipeline_rounds_total", {"outcome": "succeeded"}) == 4


def test_a_signal_ends_it_after_the_job_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    class Stopped(Working):
        def run(self) -> int:
            signal.raise_signal(signal.SIGTERM)
            return super().run()

    first, second = Stopped(clock, 1), Working(clock, 1)
    jobs: Any = [first, second]
    before = signal.getsignal(signal.SIGTERM)
    with watch._until_stopped() as wait:
        assert watch.watch(jobs, 60.0, JobFigures(), lambda: None, wait) == 0
    assert (len(first.began), second.began) == (1, [])
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_push_gateway_gets_the_figures_and_its_absence_stops_nothing(
    cli: Cli, folder: Path, unstarted: object
) -> None:
    taken: list[tuple[str, str]] = []

    class Gateway(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.path, body.decode()))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    address = f"127.0.0.1:{server.server_port}"
    words = ("--every", "1h", "--rounds", "1", "--push-gateway", address)
    try:
        assert cli("pipeline", "watch", jobfile(folder), *words).code == 0
    finally:
        server.shutdown()
        server.server_close()
    ((path, body),) = taken
    assert path == "/metrics/job/lakewarden_pipeline"
    assert samples(body)["lakewarden_pipeline_exit_code", "index.index"] == 0
    away = cli("pipeline", "watch", jobfile(folder), *words)
    assert away.code == 0
    assert "metrics were not written" in away.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--every", "soon"), "--every: expected a duration"),
        (("--every", "0s"), "--every: expected more than 0 seconds"),
        (("--every", "1h", "--rounds", "0"), "--rounds: expected at least one round"),
        (("--every", "1h", "--metrics", "/nowhere/x.prom"), "--metrics: there is no folder"),
    ],
)
def test_what_cannot_be_is_refused_before_a_job_runs(
    cli: Cli, folder: Path, words: tuple[str, ...], said: str
) -> None:
    found = cli("pipeline", "watch", jobfile(folder), *words)
    assert (found.code, said in found.err) == (2, True), found.err
    assert not (folder / "lake").exists()


@pytest.mark.parametrize("verb", ["watch", "run"])
def test_a_watch_is_no_job(cli: Cli, folder: Path, verb: str) -> None:
    text = JOBS.replace('verb = "index"', f'verb = "{verb}"')
    found = cli("pipeline", "run", jobfile(folder, text))
    assert (found.code, f"no job `{verb}`" in found.err) == (2, True)


class Ending:
    """Replaces a bound job that ends with these codes in turn."""

    text = "lakewarden pipeline index"

    def __init__(self, out: str, *codes: int) -> None:
        self.verb, self.out, self.job, self._codes = "index", Path(out), self, list(codes)

    def run(self) -> int:
        return self._codes.pop(0)


def test_a_failed_round_is_followed_unless_the_session_is_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock, figures, told = Clock(), JobFigures(), list[int]()
    jobs: Any = [Ending("lake", 3, 0, 3, 0)]
    lost = iter([False, True])
    code = watch.watch(
        jobs, 10.0, figures, lambda: told.append(1), clock.wait, None, lambda: next(lost)
    )
    assert (code, len(told)) == (3, 3)
    assert "the Spark session is lost; start the watch again" in capsys.readouterr().err
    exit_code = figures._registry.get_sample_value
    assert exit_code("lakewarden_pipeline_exit_code", {"job": "index.lake"}) == 3


def test_jobs_that_write_to_folders_of_one_name_have_figures_of_their_own() -> None:
    clock, figures = Clock(), JobFigures()
    jobs: Any = [Ending("eu/lake", 1), Ending("eu/all", 0), Ending("us/lake", 0)]
    watch.watch(jobs, 10.0, figures, lambda: None, clock.wait, 1)
    samples = [s for m in figures._registry.collect() for s in m.samples]
    codes = {s.labels["job"]: s.value for s in samples if s.name.endswith("_exit_code")}
    assert codes == {"index.eu/lake": 1, "index.all": 0, "index.us/lake": 0}


def test_a_store_that_does_not_answer_is_no_end_of_a_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    out = location("s3://a-store-of-no-answer/index")
    with pytest.raises(Unavailable):
        out.read_bytes()
    JobFigures().ran("index.index", out, 0, 1.0, 2.0)
