"""A stream whose process is killed during a batch loses nothing and repeats nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.pipeline.stream.run import follow
from lakewarden.pipeline.stream.source import Feed
from lakewarden.testing.world_draft import NOW
from tests.pipeline.stream import killing
from tests.pipeline.stream.followed import write_followed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

TRIALS = 20
SECONDS = 8
"""The approximate duration of the batch."""


@pytest.mark.nightly
def test_a_killed_batch_is_made_up_for(spark: SparkSession, tmp_path: Path) -> None:
    given = tmp_path / "given"
    write_followed(given)
    index = killing.copied(given, tmp_path / "good")
    made = follow(Feed(place=given / "feed"), index, spark=spark, now=NOW)
    good = killing.Undisturbed(made.manifest, SECONDS)
    after = random.uniform(0, SECONDS)
    assert killing.trial(given, good, tmp_path / "trial", after, alone=False).faults == []


@pytest.mark.nightly
def test_nothing_is_lost_at_any_moment(tmp_path: Path) -> None:
    write_followed(tmp_path / "given")
    assert killing.trials(tmp_path / "given", TRIALS, random.Random(1), tmp_path) == 0
