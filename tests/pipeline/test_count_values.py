"""Non-null cells are counted without reading the column, if the files' metadata suffices."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.pipeline.storage import parquet
from lakewarden.pipeline.storage.parquet import count_values


@pytest.mark.parametrize("statistics", [True, False])
def test_cells_are_counted_whatever_files_say_of_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statistics: bool
) -> None:
    parents = pa.table({"type": ["a", "b", "c"], "parent_type": pa.array([None, "a", None])})
    for number in range(2):
        file = tmp_path / f"part-{number}.parquet"
        pq.write_table(parents, file, row_group_size=2, write_statistics=statistics)
    if statistics:
        monkeypatch.setattr(parquet, "read_table", None)  # the driver reads no column
    assert count_values(tmp_path, "parent_type") == 2
    assert count_values(tmp_path, "type") == 6
