"""An index that follows a realm's changes equals the one built from all its rows."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from lakewarden.kernel.change import EntityAdded, OwnerChanged, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pipeline.product import read_manifest
from lakewarden.pipeline.stream import batch, run
from lakewarden.pipeline.stream.batch import apply
from lakewarden.pipeline.stream.run import follow
from lakewarden.pipeline.stream.source import Feed
from lakewarden.pipeline.version_folder import REPORT
from lakewarden.testing.world_draft import NOW
from tests.pipeline.stream.realms import Estate, alike
from tests.pipeline.stream.worlds import fill, happen
from tests.service.opened_services import furnish, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


# `test_plan` quickly compares the plans of all three with the kernel's own compilation.
@pytest.mark.parametrize(
    "model",
    ["cdap", *(pytest.param(m, marks=pytest.mark.nightly) for m in ("gravitino", "datahub"))],
)
def test_a_batch_gives_the_same_index_as_all_rows_at_once(
    spark: SparkSession, tmp_path: Path, model: str
) -> None:
    with opened(tmp_path, model) as service:
        estate = Estate(service, tmp_path, spark)
        fill(estate, 1)
        estate.start()
        happen(estate, 7, 6)
        apply(estate.lines(), estate.index, spark, now=NOW)
        happen(estate, 8, 6)
        applied = apply(estate.lines(), estate.index, spark, now=NOW)
        assert alike(applied.manifest) == alike(estate.whole())


def test_owners_keep_the_ids_and_reach_one_block(spark: SparkSession, tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        estate = Estate(service, tmp_path, spark)
        furnish(service)
        estate.start(bits=2)
        estate.happens(_owned("ana"))
        lines = estate.lines()
        applied = apply(lines, estate.index, spark, now=NOW)
        report = applied.report
        assert report is not None
        assert report["ids"] == "kept"
        assert report["blocks"]["judged"] == 1
        assert report["blocks"]["kept"] > 0
        assert report["events"] == {"applied": 1, "passed": 0, "waiting": 0}
        again = apply(lines, estate.index, spark, now=NOW)
        assert again.report is None
        assert again.manifest == applied.manifest


def _owned(name: str) -> OwnerChanged:
    return OwnerChanged(OwnerRow(Entity("table", "lk:c.s.t"), Principal(USER, name), ""), True)


def _ending(estate: Estate) -> None:
    """A realm in which a user may read until an hour after `NOW`."""
    on = On(Entity("catalog", "lk:c"))
    privileges, who = frozenset({"SELECT_TABLE"}), frozenset({Principal(USER, "zoe")})
    statement = Statement("ends", Effect.ALLOW, privileges, on, who, valid_until=NOW + 3600)
    estate.happens(StatementAdded(statement))
    estate.start()


@pytest.mark.nightly  # by day, one is renewed while the stream runs
def test_an_index_that_holds_no_longer_is_renewed_though_nothing_happened(
    spark: SparkSession, tmp_path: Path
) -> None:
    with opened(tmp_path) as service:
        estate = Estate(service, tmp_path, spark)
        furnish(service)
        _ending(estate)
        assert not estate.follow(NOW + 3599).is_new
        result = estate.follow(NOW + 3600)
        assert (result.manifest.version, result.report["versions"]) == (2, 1)
        assert result.report["events"] == {"applied": 0, "passed": 0, "waiting": 0}
        assert result.manifest.facts["from"] == NOW + 3600
        assert result.manifest.facts["until"] is None
        whole = estate.whole(NOW + 3600)
        assert dict(result.manifest.facts) == dict(whole.facts)
        assert result.manifest.tables["matches"] == whole.tables["matches"]
        assert not estate.follow(NOW + 3600).is_new


def test_an_index_is_renewed_while_the_stream_continues(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        estate = Estate(service, tmp_path, spark)
        furnish(service)
        _ending(estate)
        estate.follow(NOW + 3599)

        def moments() -> Iterator[float]:
            yield NOW + 3599
            while read_manifest(estate.index, "index").version == 1:
                yield NOW + 3600
            raise KeyboardInterrupt

        monkeypatch.setattr(run, "time", SimpleNamespace(time=partial(next, moments())))
        clock = SimpleNamespace(time=lambda: NOW + 3600, monotonic=time.monotonic)
        monkeypatch.setattr(batch, "time", clock)
        committed: list[int] = []

        def commit() -> None:
            committed.append(read_manifest(estate.index, "index").version)

        feed = Feed(place=estate.feed)
        result = follow(feed, estate.index, spark=spark, every=1, commit=commit)
        assert committed == [2]
        assert (result.manifest.version, result.report["versions"]) == (2, 1)
        assert result.manifest.facts["from"] == NOW + 3600
        assert not spark.streams.active


def test_tables_are_committed_after_each_version_and_not_at_the_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    with opened(tmp_path) as service:
        estate = Estate(service, tmp_path, spark)
        furnish(service)
        estate.start(bits=2)
        estate.happens(_owned("ana"))
        estate.lines()
        seen: list[tuple[int, bool]] = []

        def commit() -> None:
            is_running = bool(spark.streams.active)
            seen.append((read_manifest(estate.index, "index").version, is_running))

        for _ in range(2):  # the second run finds nothing new
            follow(Feed(place=estate.feed), estate.index, spark=spark, now=NOW, commit=commit)
        assert seen == [(2, True)]


def _killed(*_: object) -> None:
    raise RuntimeError("killed")


def test_stopped_anywhere_the_stream_goes_on_to_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        estate = Estate(service, tmp_path, spark)
        furnish(service)
        estate.start(bits=2)
        straight = tmp_path / "straight"
        shutil.copytree(estate.index, straight)
        estate.happens(_owned("ana"))
        all_lines = estate.lines()
        estate.follow()
        happen(estate, 4, 3)
        estate.happens(EntityAdded(Entity("table", "lk:c.s.n1"), Entity("schema", "lk:c.s")))
        all_lines += estate.lines()
        with monkeypatch.context() as patch:
            patch.setattr(batch, "union", _killed)
            with pytest.raises(PySparkException, match="killed"):
                estate.follow()
        assert read_manifest(estate.index, "index").version == 2
        result = estate.follow()
        assert (result.report["versions"], result.manifest.version) == (1, 3)
        report = json.loads((estate.index / "versions/3" / REPORT).read_text("utf-8"))
        assert report["version"] == 3
        assert "gather" in report["reused"]
        assert not estate.follow().is_new
        at_once = apply(all_lines, straight, spark, now=NOW)
        assert alike(at_once.manifest) == alike(result.manifest)
