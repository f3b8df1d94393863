"""Tables of jobs in table formats, from the command line, by real jobs that need no Spark."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

from lakewarden.pipeline.version_folder import locked
from tests.cli.realms import Cli
from tests.pipeline import spared

ENTITIES = "type,name\nmetalake,lk\ncatalog,lk:c\nschema,lk:c.s\n"
OWNERS = "type,name,owner_kind,owner_name,ownership\ncatalog,lk:c,user,ana,\n"


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    spared.spare(monkeypatch)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "entities.csv").write_text(ENTITIES, "utf-8")
    (folder / "owners.csv").write_text(OWNERS, "utf-8")
    return folder


def ingested(cli: Cli, source: Path, *more: str) -> Path:
    lake = source.parent / "lake"
    said = ("--source", "csv", "--model", "gravitino", "--out", str(lake))
    found = cli("pipeline", "ingest", str(source), *said, *more)
    assert found.code == 0, found.err
    return lake


def test_a_directory_as_tables_of_iceberg(cli: Cli, source: Path) -> None:
    file = source.parent / "catalog.toml"
    uri = f"sqlite:///{source.parent}/catalog.db"
    file.write_text(f'name = "lake"\ntype = "sql"\nuri = "{uri}"\nwarehouse = "{source.parent}"\n')
    options = (
        "--table-format",
        "iceberg",
        "--table-catalog",
        str(file),
        "--table-namespace",
        "gov",
    )
    lake = ingested(cli, source, *options)
    catalog = SqlCatalog("lake", uri=uri, warehouse=str(source.parent))
    try:
        read = catalog.load_table("gov.entities").scan().to_arrow()
    finally:
        catalog.close()
    assert read.to_pylist() == pq.read_table(lake / "current" / "entities").to_pylist()
    assert len(read) == 3


def test_an_index_as_tables_of_delta(cli: Cli, source: Path) -> None:
    index = source.parent / "index"
    words = (str(ingested(cli, source)), "--out", str(index), "--now", "1.5")
    # The version is published before its tables: the next run writes them.
    assert cli("pipeline", "index", *words).code == 0
    found = cli("pipeline", "index", *words, "--table-format", "delta")
    assert found.code == 0, found.err
    assert "index: delta: version 1 in" in found.err
    tables = sorted(path.name for path in (index / "current").iterdir() if path.is_dir())
    for name in tables:
        read = DeltaTable(index / "delta" / name).to_pyarrow_table()
        written = pq.read_table(index / "current" / name)
        assert sorted(map(repr, read.to_pylist())) == sorted(map(repr, written.to_pylist())), name
    assert "delta" not in cli("pipeline", "index", *words, "--table-format", "delta").err


def test_a_directory_as_a_file_of_duckdb(cli: Cli, source: Path) -> None:
    lake = ingested(cli, source, "--table-format", "duckdb")
    with duckdb.connect(str(lake / "duckdb" / "directory.duckdb"), read_only=True) as connection:
        rows = connection.sql("SELECT name FROM entities ORDER BY name").fetchall()
    assert rows == [("lk",), ("lk:c",), ("lk:c.s",)]


def test_options_that_do_not_go_together_end_the_job_before_it_starts(
    cli: Cli, source: Path
) -> None:
    lake = source.parent / "lake"
    said = ("--source", "csv", "--model", "gravitino", "--out", str(lake))
    found = cli("pipeline", "ingest", str(source), *said, "--table-catalog", "lake")
    assert found.code == 2
    assert "--table-catalog" in found.err
    assert not lake.exists()


def test_a_catalog_that_does_not_answer_leaves_the_version(cli: Cli, source: Path) -> None:
    lake = ingested(cli, source)
    file = source.parent / "catalog.toml"
    file.write_text('type = "rest"\nuri = "http://127.0.0.1:1"\ntoken = "very-secret"\n')
    said = ("--source", "csv", "--model", "gravitino", "--out", str(lake))
    options = ("--table-format", "iceberg", "--table-catalog", str(file))
    found = cli("pipeline", "ingest", str(source), *said, *options)
    assert found.code == 3
    assert "very-secret" not in found.err + found.out
    assert (lake / "current" / "entities").is_dir()


def names_in(folder: Path) -> list[str]:
    names: list[str] = pq.read_table(folder / "current" / "entities").column("name").to_pylist()
    return names


# Delta is read back on an object store by day, in storage/test_pinned_tables.
@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_a_directory_is_read_back_from_its_tables(cli: Cli, source: Path, kind: str) -> None:
    file = source.parent / "catalog.toml"
    uri = f"sqlite:///{source.parent}/catalog.db"
    file.write_text(f'type = "sql"\nuri = "{uri}"\nwarehouse = "{source.parent}"\n')
    catalog = ("--table-catalog", str(file)) if kind == "iceberg" else ()
    lake = ingested(cli, source, "--table-format", kind, *catalog)
    place = [str(lake / "delta")] if kind == "delta" else [str(file), "--namespace", "directory"]
    copy = source.parent / "copy"
    words = ["ingest", *place, "--source", kind, "--model", "gravitino", "--out", str(copy)]
    found = cli("pipeline", *words)
    assert found.code == 0, found.err
    assert names_in(copy) == names_in(lake) == ["lk:c", "lk", "lk:c.s"]
    assert "unchanged" in cli("pipeline", *words).out
    (source / "entities.csv").write_text(f"{ENTITIES}table,lk:c.s.t\n", "utf-8")
    ingested(cli, source, "--table-format", kind, *catalog)
    assert cli("pipeline", *words).code == 0
    assert "lk:c.s.t" in names_in(copy)


@pytest.mark.parametrize("options", [(), ("--table-format", "delta")])
def test_a_folder_on_which_another_process_works_can_be_tried_again(
    cli: Cli, source: Path, options: tuple[str, ...]
) -> None:
    lake = ingested(cli, source)
    said = ("--source", "csv", "--model", "gravitino", "--out", str(lake))
    with locked(lake):
        found = cli("pipeline", "ingest", str(source), *said, *options)
    assert (found.code, f"another process works on `{lake}`" in found.err) == (3, True)
