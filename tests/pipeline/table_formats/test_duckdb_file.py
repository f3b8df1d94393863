"""One DuckDB file with the tables of the newest version, replaced atomically."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.export.schemas import VIEWS, sql
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import Content, Manifest, draft
from lakewarden.pipeline.table_formats.target import Target
from tests.pipeline.export.asked import WHO_CAN, asked, unrolled
from tests.pipeline.review.whole import compiled, some
from tests.pipeline.table_formats.products import KIND, TABLES, in_parquet, make, rows_of

DUCKDB = Target("duckdb")


def file_of(out: Path) -> Path:
    return out / "duckdb" / f"{KIND}.duckdb"


def check_equal(out: Path) -> None:
    with duckdb.connect(str(file_of(out)), read_only=True) as connection:
        for name, rows in in_parquet(out).items():
            assert rows_of(connection.table(name).to_arrow_table()) == rows


def test_the_file_has_the_newest_version(tmp_path: Path) -> None:
    out = tmp_path / "out [1], *"  # special characters elsewhere
    make(out, "apple")
    assert DUCKDB.commit(out) == (1, TABLES)
    check_equal(out)
    assert DUCKDB.commit(out) == (1, ())
    make(out, "pear", more=True)
    assert DUCKDB.commit(out) == (2, TABLES)
    check_equal(out)
    with duckdb.connect(str(file_of(out)), read_only=True) as connection:
        said = dict(connection.table("lakewarden").fetchall())
    assert (said["lakewarden.version"], said["lakewarden.revision"]) == ("2", "44")


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    DUCKDB.commit(out)
    file_of(out).write_bytes(b"no database")
    assert DUCKDB.commit(out) == (1, TABLES)
    check_equal(out)


def test_a_version_that_is_damaged_leaves_the_file_of_before(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make(out, "apple")
    DUCKDB.commit(out)
    make(out, "pear")
    for file in (out / "versions/2/rows").iterdir():
        file.write_bytes(b"no parquet")
    with pytest.raises(Unavailable, match="cannot be written"):
        DUCKDB.commit(out)
    with duckdb.connect(str(file_of(out)), read_only=True) as connection:
        assert ("lakewarden.version", "1") in connection.table("lakewarden").fetchall()


def test_the_file_of_an_export_has_the_views(tmp_path: Path) -> None:
    (world,) = some("gravitino", 9_000, 1)
    tables = unrolled(world, compiled(world))
    with draft(tmp_path, "export", "k", silent) as made:
        for name, table in tables.items():
            parquet_output.put_table(table, made.folder / name)
        (made.folder / VIEWS).write_text(sql()[VIEWS], "utf-8")
        contents = {name: Content(table.num_rows, name) for name, table in tables.items()}
        made.finish(Manifest("export", 0, (), {}, {"revision": 1}, contents), {})
    assert DUCKDB.commit(tmp_path) == (1, tuple(sorted(tables)))
    expected = set(asked(tables).execute(WHO_CAN).fetchall())
    with duckdb.connect(str(tmp_path / "duckdb" / "export.duckdb"), read_only=True) as connection:
        assert set(connection.execute(WHO_CAN).fetchall()) == expected
    assert expected
