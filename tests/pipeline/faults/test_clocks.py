"""Clocks that disagree: files from the future or from 1970, and a clock that goes back."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.pipeline.index.index import open_index
from lakewarden.pipeline.stream.run import follow
from lakewarden.pipeline.stream.source import Feed
from lakewarden.testing.world_draft import NOW
from tests.pipeline.faults import estate
from tests.pipeline.faults.estate import FIRST, LOCAL, Job, tables
from tests.pipeline.stream import killing
from tests.pipeline.stream.followed import write_followed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUTURE, PAST = 4_102_444_800.0, 1.0
WEEK = 7 * 86_400.0


def _touch(folder: Path, moment: float) -> None:
    """Sets the time of all files below."""
    for file in folder.rglob("*"):
        os.utime(file, (moment, moment), follow_symlinks=False)


@pytest.mark.parametrize(
    ("moment", "jobs"),
    [
        pytest.param(FUTURE, FIRST, id="future"),
        pytest.param(FUTURE, LOCAL, id="future of all", marks=pytest.mark.nightly),
        pytest.param(PAST, LOCAL, id="past of all", marks=pytest.mark.nightly),
    ],
)
def test_when_files_were_written_changes_nothing(
    moment: float, jobs: tuple[Job, ...], tmp_path: Path, unstarted: object
) -> None:
    good, place = tmp_path / "good", tmp_path / "place"
    for edition in (1, 2):
        estate.make(good, jobs, edition)
        estate.write(place, edition)
        for job in jobs:
            _touch(place, moment)
            assert job.run(place) in (0, 1)
    assert {job.out: tables(place / job.out) for job in jobs} == {
        job.out: tables(good / job.out) for job in jobs
    }


@pytest.mark.nightly
def test_a_clock_that_goes_back_changes_nothing(
    tmp_path: Path, unstarted: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, place = tmp_path / "good", tmp_path / "place"
    estate.make(good, LOCAL)
    began, asked = time.time(), iter(range(1_000_000))
    monkeypatch.setattr(time, "time", lambda: began - 3_600.0 * next(asked))
    estate.make(place, LOCAL)
    assert {job.out: tables(place / job.out) for job in LOCAL} == {
        job.out: tables(good / job.out) for job in LOCAL
    }


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.spark
def test_a_feed_is_followed_though_a_file_is_of_the_future(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_followed(tmp_path / "given")
    feed, later = tmp_path / "given" / "feed", tmp_path / "later"
    files = sorted(feed.glob("*.jsonl"))
    assert len(files) > 1
    good = killing.copied(tmp_path / "given", tmp_path / "good")
    follow(Feed(place=feed), good, spark=spark, now=NOW)
    later.mkdir()
    out = killing.copied(tmp_path / "given", tmp_path / "out")
    for number, file in enumerate(files):
        copy = later / file.name
        copy.write_bytes(file.read_bytes())
        moment = time.time() + (5 * WEEK if number == 0 else -5 * WEEK)
        os.utime(copy, (moment, moment))
        follow(Feed(place=later), out, spark=spark, now=NOW)
    assert open_index(out).manifest.tables == open_index(good).manifest.tables
