"""An object store that fails, is slow or has another clock, during every job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage import cloud_store
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.faults import estate
from tests.pipeline.faults.estate import FIRST, LOCAL, Job, tables
from tests.pipeline.faults.faulty_s3 import NONE, Fault, FaultyServer, since

DAY = 86_400.0


@pytest.fixture(autouse=True)
def _no_spark(unstarted: object) -> None:
    """No job here may start Spark."""


def follow(
    bucket: RemotePath, folder: Path, jobs: tuple[Job, ...], fail: Callable[[Job], int]
) -> dict[str, int]:
    """The results of `fail` for each job; published versions must stay valid, see `followed`."""
    estate.write(folder, 2)
    files, good = folder / "in", folder / "good"
    estate.make(good, jobs, 1, files)
    estate.make(good, jobs, 2, files)
    estate.make(bucket, jobs, 1, files)
    return {job.out: f for job, f in estate.followed(bucket, good, jobs, fail, files)}


NOW_AND_THEN = {
    "refused": Fault(refuse=503),
    "lost": Fault(lose=True),
    "cut": Fault(cut=True),
    "slow": Fault(wait=0.03),
}


@pytest.mark.parametrize(
    ("kind", "jobs"),
    [
        pytest.param(kind, jobs, marks=marks, id=f"{kind}-{name}")
        for kind in NOW_AND_THEN
        for name, jobs, marks in (
            ("ingest", FIRST[:1], () if kind == "lost" else (pytest.mark.nightly,)),
            ("index", FIRST, (pytest.mark.nightly,)),
            ("all", LOCAL, (pytest.mark.nightly,)),
        )
    ],
)
def test_a_store_that_fails_now_and_then_changes_nothing(
    kind: str,
    jobs: tuple[Job, ...],
    bucket: RemotePath,
    server: FaultyServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(job: Job) -> int:
        server.fails(lambda request: NONE if request.number % 3 else NOW_AND_THEN[kind])
        code = job.run(bucket, tmp_path / "in")
        server.heals()
        said = capsys.readouterr().err
        # After a switch with a lost response, nothing is known; all other requests are retried.
        assert code in ((0, 1, 3) if kind == "lost" else (0, 1)), (job, said)
        assert code != 3 or "s3://" in said, said
        return server.failed

    assert min(follow(bucket, tmp_path, jobs, fail).values()) > 1


@pytest.mark.parametrize(("failing", "is_listed"), [(2, True), (6, False)])
def test_a_list_that_is_cut_off_is_asked_for_again(
    failing: int,
    is_listed: bool,
    bucket: RemotePath,
    server: FaultyServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cloud_store, "_WAITS", (0.0,) * 5)
    for name in ("one", "two/three"):
        (bucket / name).write_text(name, "utf-8")
    ways: list[Callable[[], list[str]]] = [
        lambda: [file.name for file in bucket.iterdir()],
        lambda: [found.key.rpartition("/")[2] for found in bucket.store.below(bucket.key)],
    ]
    for listed in ways:
        server.fails(lambda request: Fault(cut=True) if request.attempt <= failing else NONE)
        if is_listed:
            assert listed()[0] == "one"
        else:
            with pytest.raises(Unavailable, match="run the command again"):
                listed()
        server.heals()


def _stops(
    job: Job, first: int, bucket: RemotePath, server: FaultyServer, files: Path, fault: Fault
) -> int:
    """Runs a job whose requests all fail from one on; returns the exit code."""
    server.fails(since(first, fault))
    try:
        return job.run(bucket, files)
    finally:
        server.heals()


@pytest.mark.parametrize("spread", [pytest.param(3, id="some"), pytest.param(25, id="many")])
@pytest.mark.nightly
def test_a_store_that_stops_leaves_the_version_that_counts(
    spread: int,
    bucket: RemotePath,
    server: FaultyServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = tmp_path / "in"

    def fail(job: Job) -> int:
        before, stopped = tables(bucket / job.out), 0
        for first in (1 + number * number for number in range(spread)):
            code = _stops(job, first, bucket, server, files, Fault(refuse=503))
            said = capsys.readouterr().err
            assert "Traceback" not in said
            assert "not-to-be-shown" not in said
            if code in (0, 1):
                break
            stopped += 1
            assert code == 3, said
            assert f"{bucket.root}/" in said
            if tables(bucket / job.out) != before:
                break  # it was stopped after its switch
        return stopped

    jobs = FIRST if spread == 3 else LOCAL
    assert min(follow(bucket, tmp_path, jobs, fail).values()) >= 3


@pytest.mark.nightly
def test_a_store_that_does_not_answer_is_given_up(
    bucket: RemotePath, server: FaultyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(job: Job) -> int:
        code = _stops(job, 9, bucket, server, tmp_path / "in", Fault(hang=2.5))
        assert f"{bucket.root}/" in capsys.readouterr().err
        return code

    assert set(follow(bucket, tmp_path, FIRST, fail).values()) == {3}


@pytest.mark.nightly
@pytest.mark.parametrize("clock", [-10 * DAY, 10 * DAY])
def test_a_store_with_another_clock_changes_nothing(
    clock: float, bucket: RemotePath, server: FaultyServer, tmp_path: Path
) -> None:
    server.clock = clock
    assert set(follow(bucket, tmp_path, LOCAL, lambda job: job.run(bucket, tmp_path / "in"))) == {
        job.out for job in LOCAL
    }


@pytest.mark.nightly
def test_a_store_that_refuses_our_clock_says_so(
    bucket: RemotePath, server: FaultyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = tmp_path / "in"
    estate.write(tmp_path, 1)
    estate.make(bucket, FIRST, 1, files)
    assert _stops(FIRST[-1], 1, bucket, server, files, Fault(refuse=403)) == 3
    assert "check the credentials, and the clock of this machine" in capsys.readouterr().err
