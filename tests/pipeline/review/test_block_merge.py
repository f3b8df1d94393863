"""Rows of all blocks are merged without holding all of them in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lakewarden.pipeline.review import block_merge
from lakewarden.pipeline.review.block_merge import grouped

BLOCKS, ROWS, KEYS = 40, 50, 30


def _written(folder: Path) -> list[tuple[int, str, int, int]]:
    """A file for each block; nearly all of its keys occur in other blocks, too."""
    random = Random(1)
    rows = []
    for block in range(BLOCKS):
        part = [
            (random.randrange(2), f"k{random.randrange(KEYS)}", random.randrange(9), block)
            for _ in range(ROWS)
        ]
        columns = dict(zip(("what", "key", "n", "id"), zip(*part, strict=True), strict=True))
        pq.write_table(pa.table({**columns}), folder / f"part-{block:05}.parquet")
        rows += part
    return rows


def test_groups_are_those_of_all_rows_and_few_rows_wait_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _written(tmp_path)
    held: list[int] = []
    put_together = block_merge._grouped

    def watched(parts: Sequence[pa.Table], by: Sequence[str], aggregates: dict[str, str]) -> object:
        held.append(sum(map(len, parts)))
        return put_together(parts, by, aggregates)

    monkeypatch.setattr(block_merge, "_WAITING", ROWS)
    monkeypatch.setattr(block_merge, "_grouped", watched)
    blocks = ds.dataset(tmp_path, format="parquet")
    found = grouped(blocks, ds.field("what") == 1, ["key"], {"n": "sum", "id": "min"})
    expected: dict[str, tuple[int, int]] = {}
    for what, key, n, id in rows:
        if what:
            total, first = expected.get(key, (0, id))
            expected[key] = total + n, min(first, id)
    assert found.column("key").to_pylist() == list(expected)
    assert [tuple(row.values())[1:] for row in found.to_pylist()] == list(expected.values())
    assert max(held) <= KEYS + 2 * ROWS


def test_no_rows_are_no_groups(tmp_path: Path) -> None:
    _written(tmp_path)
    found = grouped(ds.dataset(tmp_path, format="parquet"), ds.field("what") == 7, ["key"], {})
    assert (found.num_rows, found.column_names) == (0, ["key"])
