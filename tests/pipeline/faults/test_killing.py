"""Any process of a cluster is lost in any job: the old or the new version results, by digest."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.pipeline.cluster.conftest import cluster
from tests.pipeline.cluster.machines import Cluster
from tests.pipeline.faults import killing
from tests.pipeline.faults.killing import Task, Trials

__all__ = ["cluster"]

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.spark, pytest.mark.nightly]

TRIALS = 20


@pytest.fixture(scope="module")
def tasks(spark: object, tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    """Every job, and its undisturbed results."""
    return killing.tasks(tmp_path_factory.mktemp("tasks"))


@pytest.mark.parametrize("kind", killing.KINDS)
def test_nothing_is_lost_in_any_job(
    kind: str, cluster: Cluster, tasks: list[Task], tmp_path: Path
) -> None:
    known = Trials(cluster, random.Random(1), {})
    assert killing.trials(kind, TRIALS, known, tasks, tmp_path) == 0
