"""Tables of Delta and Iceberg on an object store as a source: one snapshot for the whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.cli import main
from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.ingest.pinned_tables import PinnedTables, delta_tables, iceberg_tables
from lakewarden.pipeline.storage.parquet import read_table
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline import spared
from tests.pipeline.storage.table_readers import catalog_file

ENTITIES = "type,name\nmetalake,lk\ncatalog,lk:c\n"
MORE = "schema,lk:c.s\n"


def names_in(pinned: PinnedTables) -> list[str]:
    files = pinned.tables()["entities"]
    return sorted(name for file in files for name in read_table(file.path)["name"].to_pylist())


@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_directory_is_read_back_from_its_tables(
    kind: str, tables_folder: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared.spare(monkeypatch)
    catalog = catalog_file(tmp_path, tables_folder)
    lake, copy = tables_folder / "lake", tables_folder / "copy"

    def run(*words: object) -> None:
        ingest = ("--quiet", "pipeline", "ingest", "--model", "gravitino")
        assert main([*ingest, *map(str, words)]) == 0

    def ingested(text: str) -> None:
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / "entities.csv").write_text(text, "utf-8")
        named = ("--table-catalog", catalog) if kind == "iceberg" else ()
        source = (tmp_path / "in", "--source", "csv", "--out", lake)
        run(*source, "--table-format", kind, *named)

    def opened() -> PinnedTables:
        if kind == "delta":
            return delta_tables(lake / "delta", "gravitino")
        return iceberg_tables(catalog, "directory", "gravitino")

    ingested(ENTITIES)
    pinned = opened()
    place = (lake / "delta",) if kind == "delta" else (catalog, "--namespace", "directory")
    run(*place, "--source", kind, "--out", copy)
    copied = read_table(copy / "versions/1/entities")
    assert copied == read_table(lake / "versions/1/entities")
    ingested(ENTITIES + MORE)
    assert names_in(pinned) == ["lk", "lk:c"]
    assert names_in(opened()) == ["lk", "lk:c", "lk:c.s"]
    for file in opened().tables()["entities"]:
        assert isinstance(file.path, RemotePath)
        file.path.unlink()
    with pytest.raises(Unavailable, match="cannot be read"):
        opened()
