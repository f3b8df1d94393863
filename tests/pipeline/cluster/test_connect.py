"""Jobs of a Connect client on a real cluster: same results, even if a worker is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.pipeline.cluster import killing, runs
from tests.pipeline.cluster.conftest import Local, Seldom
from tests.pipeline.cluster.killing import Trials, Undisturbed
from tests.pipeline.cluster.machines import WORKERS, Cluster, Process

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.spark]


# By day an index; its review is nightly, below.
def test_a_job_outlives_a_worker_and_writes_what_it_writes_here(
    cluster: Cluster, connect: str, local: Local, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    rng = random.Random(1)
    start = killing.connecting(connect, local.lake)
    trials = Trials(undisturbed, start, killing.worker_of(cluster, rng))
    trial = trials.at(tmp_path, "gather", 0.0, rng)
    assert trial.faults == [], trial
    assert not trial.early
    _ran_on(cluster, trial.last)
    assert runs.tables(tmp_path, runs.INDEX) == runs.tables(local.made, runs.INDEX)


@pytest.mark.nightly
def test_jobs_of_a_client_write_what_they_write_here(
    cluster: Cluster, connect: str, reviewed: Local, tmp_path: Path
) -> None:
    run = runs.connected(connect, reviewed.lake, runs.JOBS, tmp_path)
    runs.as_here(run, tmp_path, reviewed.made, runs.JOBS)
    _ran_on(cluster, run)


@pytest.mark.nightly
def test_other_jobs_of_a_client_write_what_they_write_here(
    cluster: Cluster, connect: str, local: Local, seldom: Seldom, tmp_path: Path
) -> None:
    run = runs.connected(connect, local.lake, seldom.jobs, tmp_path)
    runs.as_here(run, tmp_path, seldom.made, seldom.jobs)
    _ran_on(cluster, run)


def _ran_on(cluster: Cluster, run: Process) -> None:
    assert runs.masters(run) == {cluster.address}
    *_, server = (one for one in cluster.applications() if one.name == "connect")
    assert len(server.workers) >= WORKERS
