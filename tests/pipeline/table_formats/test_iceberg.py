"""Iceberg tables: pyiceberg and DuckDB read the rows of the Parquet files, by version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.table_formats.target import Target
from tests.http.iceberg.rest_catalog import TOKEN, rest_catalog
from tests.pipeline.table_formats.products import (
    KIND,
    TABLES,
    in_parquet,
    make,
    own_catalog,
    rows_of,
)

ICEBERG = Target("iceberg")


@contextmanager
def opened(catalog: SqlCatalog) -> Iterator[SqlCatalog]:
    try:
        yield catalog
    finally:
        catalog.close()


def tags(table: Table) -> set[str]:
    return set(table.refs()) - {"main"}


def check_equal(out: Path) -> None:
    """Iceberg's tables equal the version, in two readers."""
    with opened(own_catalog(out)) as catalog:
        for name, rows in in_parquet(out).items():
            table = catalog.load_table(f"{KIND}.{name}")
            written = pq.read_schema(out / "current" / name / "part-0.parquet").names
            # A column that is no longer written remains, with nulls.
            read = table.scan().to_arrow()
            assert rows_of(read.select(written)) == rows
            assert all(column.null_count == len(column) for column in read.drop_columns(written))
            files = [task.file.file_path for task in table.scan().plan_files()]
            if files:
                query = "SELECT * FROM read_parquet($files)"
                relation = duckdb.sql(query, params={"files": files})
                assert relation is not None
                assert rows_of(relation.to_arrow_table()) == rows


def test_a_version_is_a_snapshot_with_a_tag(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = make(out, "apple")
    committed = ICEBERG.commit(out)
    assert committed == (1, TABLES)
    check_equal(out)
    with opened(own_catalog(out)) as catalog:
        table = catalog.load_table(f"{KIND}.rows")
        (snapshot,) = table.snapshots()
        assert snapshot.summary is not None
        assert snapshot.summary["lakewarden.version"] == str(made.version)
        assert snapshot.summary["lakewarden.revision"] == "45"
        assert tags(table) == {"version-1"}
        # It uses the version's files: a drop or an expiry must not delete them.
        assert table.properties["gc.enabled"] == "false"


def test_the_same_content_adds_no_snapshot(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        make(out, "apple")
        ICEBERG.commit(out)
    assert ICEBERG.commit(out) == (1, ())
    with opened(own_catalog(out)) as catalog:
        assert len(catalog.load_table(f"{KIND}.rows").snapshots()) == 1


def test_columns_come_and_go_and_earlier_versions_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    ICEBERG.commit(out)
    before = in_parquet(out)
    make(out, "pear", more=True)
    assert ICEBERG.commit(out) == (2, TABLES)
    check_equal(out)
    with opened(own_catalog(out)) as catalog:
        table = catalog.load_table(f"{KIND}.rows")
        assert tags(table) == {"version-1", "version-2"}
        first = table.scan(snapshot_id=table.refs()["version-1"].snapshot_id)
        assert rows_of(first.to_arrow()) == before["rows"]
    make(out, "plum")
    ICEBERG.commit(out)
    with opened(own_catalog(out)) as catalog:
        table = catalog.load_table(f"{KIND}.rows")
        read = table.scan().to_arrow()
        assert rows_of(read.drop_columns("extra")) == in_parquet(out)["rows"]
        first = table.scan(snapshot_id=table.refs()["version-1"].snapshot_id)
        assert rows_of(first.to_arrow()) == before["rows"]


def test_versions_whose_files_are_gone_are_forgotten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text in ("apple", "pear", "plum"):
        make(out, text, keep=2)
        ICEBERG.commit(out)
    check_equal(out)
    with opened(own_catalog(out)) as catalog:
        table = catalog.load_table(f"{KIND}.rows")
        assert tags(table) == {"version-2", "version-3"}
        assert len(table.snapshots()) == 2


def test_a_rest_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The catalog is built to mislead a guard; here its client trusts it.
    monkeypatch.setattr("tests.http.iceberg.rest_catalog.LURES", {})
    monkeypatch.setattr("tests.http.iceberg.rest_catalog.READER_TOKEN", "t")
    with rest_catalog(tmp_path / "upstream") as upstream:
        monkeypatch.setenv("CATALOG_TOKEN", TOKEN)
        file = tmp_path / "catalog.toml"
        file.write_text(f'type = "rest"\nuri = "{upstream.address}"\ntoken = "env:CATALOG_TOKEN"\n')
        target = Target("iceberg", str(file), "governance")
        out = tmp_path / "out"
        make(out, "apple")
        assert target.commit(out) == (1, TABLES)
        make(out, "pear", more=True)
        assert target.commit(out) == (2, TABLES)
        assert target.commit(out) == (2, ())


def test_tables_of_others_are_left_alone(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    file = tmp_path / "catalog.toml"
    file.write_text(
        f'type = "sql"\nuri = "sqlite:///{tmp_path}/c.db"\nwarehouse = "{tmp_path}/w"\n'
    )
    target = Target("iceberg", str(file), "governance")
    for folder in (out, other):
        make(folder, "apple")
    target.commit(out)
    with pytest.raises(BadInput, match=r"governance\.bins.*another --table-namespace"):
        target.commit(other)


def test_a_catalog_that_fails_is_told_without_its_secrets(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    file = tmp_path / "catalog.toml"
    file.write_text('type = "rest"\nuri = "http://127.0.0.1:1"\ntoken = "very-secret"\n')
    with pytest.raises(Unavailable) as failure:
        Target("iceberg", str(file)).commit(out)
    assert "very-secret" not in str(failure.value)
    uri = "postgresql+psycopg://me:very-secret@127.0.0.1:1/x"
    file.write_text(f'type = "sql"\nuri = "{uri}"\nwarehouse = "{tmp_path}"\n')
    with pytest.raises(Unavailable) as failure:
        Target("iceberg", str(file)).commit(out)
    assert "very-secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "uri"),
        ('uri = "env:NO_SUCH_VARIABLE"', "NO_SUCH_VARIABLE"),
        ("uri = 7", "uri"),
    ],
)
def test_a_catalog_file_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "catalog.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=message):
        Target("iceberg", str(file)).check()


def test_a_catalog_of_pyicebergs_own_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="PYICEBERG_CATALOG__LAKE__URI"):
        Target("iceberg", "lake").check()
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/c.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", str(tmp_path / "w"))
    target = Target("iceberg", "lake")
    target.check()
    make(tmp_path / "out", "apple")
    assert target.commit(tmp_path / "out") == (1, TABLES)


def test_options_of_a_catalog_are_for_iceberg() -> None:
    with pytest.raises(BadInput, match="--table-catalog"):
        Target("delta", "lake").check()
    with pytest.raises(BadInput, match="--table-namespace"):
        Target("duckdb", None, "x").check()
