"""Jobs in Spark on an object store that fails: the version is the old one, or the right one.

A job that fails names the store and what to do, and the next run succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from lakewarden.pipeline.storage.object_store import RUN_AGAIN
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.faults import estate
from tests.pipeline.faults.conftest import variables_of
from tests.pipeline.faults.estate import JOBS, Job, Run, tables
from tests.pipeline.faults.faulty_s3 import NONE, Fault, FaultyServer, Request, at, since
from tests.pipeline.spark_jobs import SparkJobs, jars, spark_jobs

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

SPARK: Final = tuple(
    job for job in JOBS if job.out in ("lake", "index", "review", "diff", "export")
)
STARTS: Final = "starting Spark …"
AT_ONCE: Final = {
    "spark.hadoop.fs.s3a.retry.interval": "5ms",
    "spark.hadoop.fs.s3a.retry.throttle.interval": "5ms",
}
"""As many retries as users have, after milliseconds."""

NOW_AND_THEN: Final = {
    "refused": Fault(refuse=503),
    "lost": Fault(lose=True),
    "cut": Fault(cut=True),
    "slow": Fault(wait=0.03),
}


@pytest.fixture(scope="module")
def spark(
    faulty_server: FaultyServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkJobs]:
    """Spark with Hadoop's client of S3."""
    settings = jars("spark-s3-*", "install-spark-s3.sh") | AT_ONCE
    folder = tmp_path_factory.mktemp("spark")
    with spark_jobs(folder, settings, variables_of(faulty_server)) as jobs:
        yield jobs


def runner(spark: SparkJobs) -> Run:
    """Runs a job in Spark."""
    return lambda job, place, files: spark.run(*job.arguments(place, files))


@pytest.fixture(scope="module")
def good(spark: SparkJobs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the second edition of all jobs, undisturbed."""
    place = tmp_path_factory.mktemp("good")
    estate.make(place, SPARK, 2, place / "in", runner(spark))
    return place


def follow(
    bucket: RemotePath, good: Path, spark: SparkJobs, fail: Callable[[Job], int]
) -> dict[str, int]:
    """The results of `fail` for each job; published versions must stay valid, see `followed`."""
    files = good / "in"
    estate.make(bucket, SPARK, 1, files, runner(spark))
    followed = estate.followed(bucket, good, SPARK, fail, files, runner(spark))
    return {job.out: result for job, result in followed}


def check_failure(said: str, place: RemotePath) -> None:
    """Checks what a user sees of a job that a store has failed: one line."""
    lines = [line for line in said.splitlines() if line != STARTS]
    assert len(lines) == 1, said
    bucket = place.root.partition("//")[2]
    assert re.fullmatch(rf"lakewarden: .*s3a?://{bucket}\b.*; {RUN_AGAIN}", lines[0]), said
    assert "not-to-be-shown" not in said


@pytest.mark.parametrize("kind", NOW_AND_THEN)
def test_a_store_that_fails_now_and_then_changes_nothing(
    kind: str, bucket: RemotePath, server: FaultyServer, good: Path, spark: SparkJobs
) -> None:
    def plan(request: Request) -> Fault:
        # Of each third request the first two attempts fail.
        is_failing = request.number % 3 == 0 and request.attempt <= 2
        return NOW_AND_THEN[kind] if is_failing else NONE

    def fail(job: Job) -> int:
        server.fails(plan)
        code = runner(spark)(job, bucket, good / "in")
        server.heals()
        # After a switch with a lost response, nothing is known; all other requests are retried.
        assert code in ((0, 1, 3) if kind == "lost" else (0, 1)), (job, spark.said)
        return server.failed

    assert min(follow(bucket, good, spark, fail).values()) > 5


ONCE: Final = {
    "cut": Fault(cut=True),
    "lost": Fault(lose=True),
    "restarted": Fault(away=0.05),
}


@pytest.mark.parametrize("kind", ONCE)
def test_one_failing_request_changes_nothing(
    kind: str, bucket: RemotePath, server: FaultyServer, good: Path, spark: SparkJobs
) -> None:
    files, run = good / "in", runner(spark)
    estate.make(bucket, SPARK, 2, files, run)
    for job in SPARK:
        for last in (2, 7, 20, 50, 120, 260, 520):
            fresh = job._replace(out=f"{job.out} {last}")
            server.fails(at(last, ONCE[kind]))
            code = run(fresh, bucket, files)
            server.heals()
            if code == 3:  # a switch whose response was lost, or no retry was late enough
                assert kind != "cut", spark.said
                check_failure(spark.said, bucket / fresh.out)
                code = run(fresh, bucket, files)
            assert code in (0, 1), (fresh, spark.said)
            assert tables(bucket / fresh.out) == tables(good / job.out), fresh
            if not server.failed:
                break  # it needs fewer requests


GONE: Final = {"refuses": Fault(refuse=503), "is away": Fault(away=3_600.0)}


@pytest.mark.parametrize("kind", GONE)
def test_a_store_that_stops_leaves_the_version_that_counts(
    kind: str, bucket: RemotePath, server: FaultyServer, good: Path, spark: SparkJobs
) -> None:
    def fail(job: Job) -> int:
        before, stopped = tables(bucket / job.out), 0
        for first in (1, 5, 15, 30, 60, 100, 150, 220, 300):
            server.fails(since(first, GONE[kind]))
            code = runner(spark)(job, bucket, good / "in")
            server.heals()
            if code in (0, 1):
                break
            assert code == 3, (job, spark.said)
            check_failure(spark.said, bucket / job.out)
            stopped += 1
            if tables(bucket / job.out) != before:
                break  # it was stopped after its switch
        return stopped

    assert min(follow(bucket, good, spark, fail).values()) >= 3


def test_a_store_that_does_not_answer_is_given_up(
    bucket: RemotePath, server: FaultyServer, good: Path, spark: SparkJobs
) -> None:
    def fail(job: Job) -> int:
        server.fails(since(40, Fault(hang=60.0)))
        code = runner(spark)(job, bucket, good / "in")
        server.heals()
        check_failure(spark.said, bucket / job.out)
        return code

    assert set(follow(bucket, good, spark, fail).values()) == {3}
