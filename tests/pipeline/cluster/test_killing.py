"""A process is lost during a job, at a random time: no result is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.pipeline.cluster import killing
from tests.pipeline.cluster.killing import Undisturbed
from tests.pipeline.cluster.machines import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.spark, pytest.mark.nightly]

TRIALS = 20


@pytest.mark.nightly
@pytest.mark.parametrize("kind", killing.KINDS)
def test_nothing_is_lost_at_any_moment(
    kind: str, cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    rng = random.Random(1)
    assert killing.trials(kind, TRIALS, cluster, undisturbed, rng, tmp_path) == 0
