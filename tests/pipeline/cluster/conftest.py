"""The cluster, and the jobs' results on this machine alone, each created once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pipeline.cluster import killing, launch, machines, runs
from tests.pipeline.cluster.killing import Undisturbed
from tests.pipeline.cluster.machines import Cluster
from tests.pipeline.cluster.runs import Job


@dataclass(frozen=True, slots=True)
class Local:
    """An ingested directory, and the folder with the jobs' local results."""

    lake: Path
    made: Path


@dataclass(frozen=True, slots=True)
class Seldom:
    """Some jobs, and the folder with their local results."""

    jobs: tuple[Job, ...]
    made: Path


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Spark cluster of several processes."""
    with machines.cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def connect(cluster: Cluster) -> Iterator[str]:
    """The address of a Connect server on the cluster; it holds its cores until the end."""
    with cluster.connect() as address:
        yield address


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Local:
    """The index, made without a cluster."""
    folder = tmp_path_factory.mktemp("local")
    lake = folder / runs.LAKE
    runs.write_lake(lake)
    assert launch.run(runs.commands(folder, lake, runs.INDEX)) == 0
    return Local(lake, folder)


@pytest.fixture(scope="session")
def reviewed(local: Local) -> Local:
    """The same, with its review."""
    (review,) = (job for job in runs.JOBS if job not in runs.INDEX)
    assert launch.run(runs.commands(local.made, local.lake, (review,))) == 0
    return local


@pytest.fixture(
    scope="session",
    params=[runs.EXPORT, runs.REVIEW, runs.STREAM],
    ids=["export", "review", "stream"],
)
def seldom(
    request: pytest.FixtureRequest, local: Local, tmp_path_factory: pytest.TempPathFactory
) -> Seldom:
    """Less frequently tested jobs, and their results without a cluster."""
    jobs: tuple[Job, ...] = request.param
    folder = tmp_path_factory.mktemp("seldom")
    runs.ready(folder, local.lake, jobs)
    assert launch.run(runs.commands(folder, local.lake, jobs)) == 0
    return Seldom(jobs, folder)


@pytest.fixture(scope="session")
def undisturbed(local: Local) -> Undisturbed:
    """The result of an undisturbed run on the directory."""
    return killing.undisturbed(local.lake, local.made / "index")
