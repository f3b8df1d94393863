"""A small input is ingested in this process, with the same result as in Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from lakewarden import sample
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.ingest.local import as_json
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.pipeline.ingest.source import Source
from lakewarden.pipeline.ingest.tabular import Tabular
from lakewarden.pipeline.session import Deferred
from lakewarden.systems.cdap.ingest import CdapFile
from lakewarden.systems.datahub.ingest.file import DatahubFile
from lakewarden.systems.gravitino.ingest.file import GravitinoFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENTITIES = """type,name,parent_type,parent_name
metalake,lk,,
catalog,lk:c,,
catalog,lk:c,,
schema,lk:c.s,,
schema,lk:d.s,,
table,lk:c.s.t\u00e9,,
table,lk:c.s.a\u0001\\u001f,,
"""
OWNERS = """type,name,owner_kind,owner_name,ownership
catalog,lk:c,user,ana,
catalog,lk:c,group,crew,
table,lk:gone,user,bo,
"""
MEMBERSHIPS = """member_kind,member_name,of_kind,of_name
user,ana,group,crew
user,ana,group,crew
group,crew,group,crew
"""


def nowhere() -> SparkSession:
    """A session that must not be started."""

    def start() -> SparkSession:
        raise AssertionError("Spark was started")

    return cast("SparkSession", Deferred(start, is_here=True))


def by_spark(
    monkeypatch: pytest.MonkeyPatch, source: Source, out: Path, spark: SparkSession
) -> Result:
    with monkeypatch.context() as patch:
        patch.setattr(local_mode, "ROWS", -1)
        patch.setattr(local_mode, "BYTES", -1)
        return ingest(source, out, spark=spark)


def lake(folder: Path) -> Tabular:
    folder.mkdir()
    for name, text in {"entities": ENTITIES, "owners": OWNERS, "memberships": MEMBERSHIPS}.items():
        (folder / f"{name}.csv").write_text(text, "utf-8")
    return Tabular(folder, "csv", "gravitino")


# All kinds of files become rows by the same functions here and in Spark's tasks. By day, a few
# DataHub files, with some rows set aside, give the same result in test_run.
@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["datahub", "csv", "gravitino", "cdap", "parquet"])
def test_a_small_input_comes_to_what_spark_makes_of_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source = source_of(kind, tmp_path)
    far = by_spark(monkeypatch, source, tmp_path / "out", spark)
    near = ingest(source, tmp_path / "out", spark=nowhere())
    assert (near.is_new, near.manifest) == (False, far.manifest)
    told = [{**one.report.table(one.manifest), "seconds": None} for one in (near, far)]
    assert told[0] == told[1]
    assert near.manifest.tables["entities"].rows
    if kind == "csv":
        assert near.manifest.tables["quarantine"].rows > len(near.report.quarantined)


def source_of(kind: str, folder: Path) -> Source:
    match kind:
        case "gravitino":
            return GravitinoFile(sample.path("gravitino"))
        case "datahub":
            return DatahubFile(sample.path("datahub"))
        case "cdap":
            return CdapFile(sample.path("cdap"), "cdap")
    source = lake(folder / "in")
    if kind == "parquet":
        ingest(source, folder / "first", spark=nowhere())
        shutil.copytree(folder / "first/versions/1", folder / "tables")
        return Tabular(folder / "tables", "parquet", "gravitino")
    return source


def test_many_rows_are_for_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = lake(tmp_path / "in")
    monkeypatch.setattr(local_mode, "ROWS", 5)
    with pytest.raises(AssertionError, match="Spark was started"):
        ingest(source, tmp_path / "rows", spark=nowhere())
    monkeypatch.undo()
    monkeypatch.setattr(local_mode, "BYTES", 5)
    with pytest.raises(AssertionError, match="Spark was started"):
        ingest(source, tmp_path / "bytes", spark=nowhere())


def test_rows_that_were_set_aside_are_told_as_spark_tells_them(spark: SparkSession) -> None:
    texts = ["a", "", 'q"\\u001f', "\x00\x1f\x7f\t\n\u2028/é", "\U0001f600"]
    row = spark.createDataFrame([(texts,)], "cells array<string>").selectExpr("to_json(cells)")
    assert as_json(texts) == row.collect()[0][0]
