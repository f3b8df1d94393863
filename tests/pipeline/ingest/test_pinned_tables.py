"""Tables of Delta and Iceberg as a source: one snapshot for the whole run, or a refusal."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.ingest.pinned_tables import PinnedTables, delta_tables, iceberg_tables
from lakewarden.pipeline.table_formats.catalog import NAME

ROWS = pa.table({"type": ["metalake"], "name": ["lk"]})
MORE = pa.table({"type": ["catalog"], "name": ["lk:c"]})


def names(tables: PinnedTables) -> list[str]:
    files = tables.tables()["entities"]
    return sorted(name for file in files for name in pq.read_table(file.path)["name"].to_pylist())


def catalog_file(folder: Path) -> tuple[str, SqlCatalog]:
    uri = f"sqlite:///{folder}/c.db"
    file = folder / "catalog.toml"
    file.write_text(f'type = "sql"\nuri = "{uri}"\nwarehouse = "{folder}/w"\n')
    catalog = SqlCatalog(NAME, uri=uri, warehouse=f"{folder}/w")
    catalog.create_namespace("lake")
    return str(file), catalog


def test_delta_is_read_as_it_was_when_the_run_began(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "entities", ROWS)
    pinned = delta_tables(tmp_path, "gravitino")
    write_deltalake(tmp_path / "entities", MORE, mode="append")
    assert names(pinned) == ["lk"]
    later = delta_tables(tmp_path, "gravitino")
    assert names(later) == ["lk", "lk:c"]
    assert [input.name for input in pinned.inputs()] == ["entities: version 0"]
    assert [input.name for input in later.inputs()] == ["entities: version 1"]


def test_iceberg_is_read_as_it_was_when_the_run_began(tmp_path: Path) -> None:
    file, catalog = catalog_file(tmp_path)
    table = catalog.create_table("lake.entities", ROWS.schema)
    table.append(ROWS)
    pinned = iceberg_tables(file, "lake", "gravitino")
    table.append(MORE)
    assert names(pinned) == ["lk"]
    assert names(iceberg_tables(file, "lake", "gravitino")) == ["lk", "lk:c"]
    with table.update_schema() as update:
        update.rename_column("name", "title")
    with pytest.raises(BadInput, match="columns"):
        iceberg_tables(file, "lake", "gravitino")
    catalog.create_namespace("other")
    catalog.create_table("other.entitys", ROWS.schema)
    with pytest.raises(BadInput, match="is no table"):
        iceberg_tables(file, "other", "gravitino")
    catalog.close()


def test_tables_whose_rows_are_not_those_of_their_files_are_refused(tmp_path: Path) -> None:
    for name, options in (
        ("partitioned", {"partition_by": "type"}),
        ("deleting", {"configuration": {"delta.enableDeletionVectors": "true"}}),
    ):
        folder = tmp_path / name
        write_deltalake(folder / "entities", ROWS, **options)
        with pytest.raises(BadInput, match="compacted copy"):
            delta_tables(folder, "gravitino")


def test_folders_without_tables_and_misspelt_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected `entities`"):
        delta_tables(tmp_path, "gravitino")
    write_deltalake(tmp_path / "entitys", ROWS)
    with pytest.raises(BadInput, match="is no table"):
        delta_tables(tmp_path, "gravitino")


def test_a_snapshot_whose_files_are_gone_is_not_read(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "entities", ROWS)
    for uri in DeltaTable(tmp_path / "entities").file_uris():
        Path(uri.removeprefix("file://")).unlink()
    with pytest.raises(Unavailable, match="cannot be read"):
        delta_tables(tmp_path, "gravitino")
