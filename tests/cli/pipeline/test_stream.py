"""`lakewarden changes` and `lakewarden pipeline stream`, called like users call them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.cli import main
from lakewarden.cli.outcome import BAD_INPUT, COULD_NOT_TELL, YES
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.pipeline.product import read_manifest
from tests.pipeline.stream.realms import Estate
from tests.service.opened_services import LAKE, furnish, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG = ("--table-format", "iceberg")
AFAR = ("--remote", "sc://127.0.0.1:9", "--every", "1")
TABLE, TABLES = Entity("table", "lk:c.s.n1"), Entity("schema", "lk:c.s")


def changes(folder: Path, *more: str) -> int:
    database = f"sqlite:///{folder}/lakewarden.db"
    return main(["changes", str(folder / "feed"), "--realm", LAKE, "--database", database, *more])


def test_what_happened_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(tmp_path) as service:
        furnish(service)
    assert changes(tmp_path) == YES
    assert "14 events, revisions 1 to 2" in capsys.readouterr().out
    assert changes(tmp_path) == YES
    assert capsys.readouterr().out == ""
    assert len(list((tmp_path / "feed").iterdir())) == 1
    assert changes(tmp_path, "--after", "1000") == BAD_INPUT
    assert "--after: expected a revision from 0" in capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.slow
def test_an_index_follows_and_says_what_is_missing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        estate = Estate(service, tmp_path, spark)
        estate.start(bits=2)
        estate.happens(EntityAdded(TABLE, TABLES))
        assert changes(tmp_path) == YES
    capsys.readouterr()
    index = ["--index", str(estate.index)]
    assert main(["pipeline", "stream", str(estate.feed), *index, "--format", "json"]) == YES
    report = json.loads(capsys.readouterr().out)
    assert (report["versions"], report["events"]["applied"]) == (1, 1)
    before = read_manifest(estate.index, "index")
    kafka = ["--option", "kafka.bootstrap.servers=127.0.0.1:9", "--option", "subscribe=lake"]
    asked = ["pipeline", "stream", "--source", "kafka", *kafka, *index]
    assert main(asked) == COULD_NOT_TELL
    package = f"--packages org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
    assert package in capsys.readouterr().err
    (estate.feed / f"{LAKE}-{10**6:015}.jsonl").write_text('{"realm": "lake"}\n', "utf-8")
    assert main(["pipeline", "stream", str(estate.feed), *index]) == BAD_INPUT
    said = capsys.readouterr().err
    assert f"{LAKE}-{10**6:015}.jsonl: line 1.kind: expected a non-empty string" in said
    assert read_manifest(estate.index, "index") == before
    _follow_over_a_gap(estate, tmp_path)


def _follow_over_a_gap(estate: Estate, folder: Path) -> None:
    """A run that missed a file continues once the file exists."""
    (estate.feed / f"{LAKE}-{10**6:015}.jsonl").unlink()
    with opened(folder) as service:
        again = replace(estate, service=service)
        for name in ("n2", "n3"):
            again.happens(EntityAdded(Entity("table", f"lk:c.s.{name}"), TABLES))
            again.lines()
    missing = sorted(estate.feed.iterdir())[-2]
    text = missing.read_bytes()
    missing.unlink()
    asked = ["pipeline", "stream", str(estate.feed), "--index", str(estate.index)]
    assert main(asked) == BAD_INPUT
    missing.write_bytes(text)
    revision = read_manifest(estate.index, "index").facts["revision"]
    assert main(asked) == YES
    assert read_manifest(estate.index, "index").facts["revision"] == revision + 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--every", "1", "--once"], "give either --available-now or --every"),
        (["--every", "0"], "--every: expected more than 0 seconds"),
        (["--keep", "0"], "--keep: expected at least one version"),
        (["--keep", "1", *ICEBERG], "--keep: expected at least two versions of Iceberg's tables"),
        (["--keep", "9", *ICEBERG, *AFAR], "--keep: with --remote and --every, tables of Iceberg"),
        (["--now", "nan"], "--now. expected a finite number of seconds"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "stream", "feed", "--index", "lake", *options]) == BAD_INPUT
    assert expected in capsys.readouterr().err
