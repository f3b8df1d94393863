"""The table of people is written in pages, and read page by page."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.pipeline.parquet_output import writer
from lakewarden.pipeline.review import people
from lakewarden.pipeline.review.people import columns_of, paged, rows_at
from lakewarden.pipeline.review.schemas import PEOPLE, SCHEMAS


def rows(first: int, count: int) -> pa.Table:
    found = [{"id": id, "name": f"t{id}", "read": ["ana"], "read_n": 1} for id in range(count)]
    for row in found:
        row["id"] = int(str(row["id"])) + first
    return pa.Table.from_pylist(found, SCHEMAS[PEOPLE])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(people, "PAGE", 4)
    with writer(SCHEMAS[PEOPLE], tmp_path / PEOPLE) as out:
        for part in paged([rows(0, 3), rows(3, 0), rows(3, 7)], SCHEMAS[PEOPLE]):
            out.write_table(part)
    return tmp_path / PEOPLE


def test_a_page_is_a_group_of_rows_whatever_the_parts_were(folder: Path) -> None:
    (file,) = folder.glob("*.parquet")
    about = pq.read_metadata(file)
    sizes = [about.row_group(n).num_rows for n in range(about.num_row_groups)]
    assert sizes == [4, 4, 2]
    assert columns_of(folder, "id").column("id").to_pylist() == list(range(10))


def test_only_the_pages_of_the_rows_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = pq.ParquetFile.read_row_group

    def counted(self: pq.ParquetFile, page: int) -> pa.Table:
        read.append(page)
        return whole(self, page)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    assert [row["id"] for row in rows_at(folder, [9, 0, 8, 3])] == [9, 0, 8, 3]
    assert read == [0, 2]
    assert rows_at(folder, []) == []
