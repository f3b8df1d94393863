"""Jobs submitted to a real cluster of several processes: same results, even if a driver is lost."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lakewarden import cli
from lakewarden.cli.outcome import BAD_INPUT
from lakewarden.pipeline.index.index import BLOCKS, open_index
from tests.pipeline.cluster import killing, runs
from tests.pipeline.cluster.conftest import Local, Seldom
from tests.pipeline.cluster.killing import Trials, Undisturbed
from tests.pipeline.cluster.machines import WORKERS, Cluster, Process

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.spark]


@pytest.mark.nightly
def test_submitted_jobs_write_what_they_write_here(
    cluster: Cluster, reviewed: Local, tmp_path: Path
) -> None:
    run = runs.submitted(cluster, reviewed.lake, runs.JOBS, tmp_path)
    runs.as_here(run, tmp_path, reviewed.made, runs.JOBS)
    _ran_on(cluster, run)


def _ran_on(cluster: Cluster, run: Process) -> None:
    assert runs.masters(run) == {cluster.address}
    assert len(cluster.applications()[-1].workers) == WORKERS


@pytest.mark.nightly
def test_other_submitted_jobs_write_what_they_write_here(
    cluster: Cluster, local: Local, seldom: Seldom, tmp_path: Path
) -> None:
    run = runs.submitted(cluster, local.lake, seldom.jobs, tmp_path)
    runs.as_here(run, tmp_path, seldom.made, seldom.jobs)
    _ran_on(cluster, run)


@pytest.mark.nightly
def test_the_package_may_be_handed_over_as_an_archive(
    cluster: Cluster, local: Local, seldom: Seldom, tmp_path: Path
) -> None:
    run = runs.submitted_whole(cluster, local.lake, seldom.jobs, tmp_path)
    runs.as_here(run, tmp_path, seldom.made, seldom.jobs)
    _ran_on(cluster, run)


@pytest.mark.nightly
def test_a_job_may_be_told_the_master(cluster: Cluster, local: Local, tmp_path: Path) -> None:
    run = runs.told(cluster, local.lake, runs.INDEX, tmp_path)
    runs.as_here(run, tmp_path, local.made, runs.INDEX)
    _ran_on(cluster, run)


# Kills at random times, and of a worker after the driver, are in test_killing.py. A review on
# the cluster is above, and one of a Connect client in test_connect.py.
@pytest.mark.nightly
def test_jobs_whose_driver_is_lost_go_on_behind_their_finished_stages(
    cluster: Cluster, local: Local, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    start = killing.submitting(cluster, local.lake, runs.INDEX)
    trials = Trials(undisturbed, start, Process.kill)
    trial = trials.at(tmp_path, "code", 0.0, random.Random(1))
    assert trial.faults == [], trial
    assert trial.code != 0
    assert trial.finished >= {"read", "number"}
    _ran_on(cluster, trial.last)
    assert runs.tables(tmp_path, runs.INDEX) == runs.tables(local.made, runs.INDEX)


def test_the_workers_have_no_lakewarden_but_the_one_that_is_sent(cluster: Cluster) -> None:
    python = cluster.environment["PYSPARK_PYTHON"]
    words = "import pyroaring, importlib.util as u; print(u.find_spec('lakewarden'))"
    asked = subprocess.run(
        [python, "-c", words],
        cwd="/",
        env=cluster.environment,
        check=True,
        capture_output=True,
    )
    assert asked.stdout == b"None\n"


@pytest.mark.nightly
def test_the_command_may_be_submitted_as_a_file(cluster: Cluster) -> None:
    command = Path(cli.__file__).with_name("__main__.py")
    words = cluster.submit(str(command), "pipeline", "index-it")
    asked = subprocess.run(words, env=cluster.environment, check=False, capture_output=True)
    assert b"unknown verb `index-it`; did you mean `index`?" in asked.stdout
    assert asked.returncode == BAD_INPUT


@pytest.mark.nightly
def test_every_block_has_a_file_of_its_own(local: Local) -> None:
    index = open_index(local.made / "index")
    files = [pq.ParquetFile(file) for file in sorted((index.folder / BLOCKS).iterdir())]
    assert [file.num_row_groups for file in files] == [1] * len(files)
    held = [set(file.read(["block"]).column("block").to_pylist()) for file in files]
    assert sorted(held, key=min) == [{number} for number in range(len(files))]
    assert len(files) > WORKERS
