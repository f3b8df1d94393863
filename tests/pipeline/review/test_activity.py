"""Inactive users: read from the result of the job `unused` on the same index."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import USER, Principal
from lakewarden.pipeline.index.index import open_index
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import Content, Input, Manifest, draft
from lakewarden.pipeline.review.activity import use_of
from tests.pipeline.index import worlds
from tests.pipeline.review.whole import compiled, some

SINCE = "2030-06-01"

Access = tuple[str, bool, str]
"""The user, whether access was allowed, and the last day."""


def unused(index: Path, out: Path, accesses: Iterable[Access], realm: str | None = None) -> Path:
    """A result of the job `unused`, with the parts that a review reads."""
    opened = open_index(index)
    columns = zip(*accesses, strict=True)
    rows = pa.table(dict(zip(("principal", "allowed", "last"), columns, strict=True)))
    with draft(out, "unused", "0" * 8, silent) as one:
        (one.folder / "accesses").mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, one.folder / "accesses" / "part-00000.parquet")
        tables = {"accesses": Content(len(rows), "0")}
        facts = {"realm": realm or opened.realm}
        inputs = (opened.input, Input("csv:log", 0, "0"))
        one.finish(Manifest("unused", 0, inputs, {"since": SINCE}, facts, tables), {})
    return out


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (world,) = some("cdap", 40, 1)
    worlds.index(tmp_path / "index", compiled(world), world.system, world.facts.statements)
    return tmp_path / "index"


def test_the_last_day_that_counts_is_that_of_what_was_allowed(index: Path, tmp_path: Path) -> None:
    accesses = [
        *(("user:a", True, "2030-05-01"), ("user:a", True, "2030-06-02")),
        *(("user:b", True, "2030-05-31"), ("user:b", False, "2030-07-01")),
        *(("user:c", False, "2030-07-01"), ("group:d", True, "2030-07-01")),
        ("user:e", True, SINCE),
    ]
    opened = open_index(index)
    use = use_of(unused(index, tmp_path / "less", accesses), opened, opened.input)
    assert [use.reason(Principal(USER, name)) for name in "abcde"] == [
        *("", "no use since 2030-05-31", "no use recorded", "no use recorded", ""),
    ]
    assert use.since == SINCE


def test_what_is_of_another_realm_or_another_index_is_refused(index: Path, tmp_path: Path) -> None:
    opened = open_index(index)
    other = unused(index, tmp_path / "other", [("user:a", True, SINCE)], realm="elsewhere")
    with pytest.raises(BadInput, match=r"--used.*realm `elsewhere`"):
        use_of(other, opened, opened.input)
    less = unused(index, tmp_path / "less", [("user:a", True, SINCE)])
    with pytest.raises(BadInput, match=r"--used.*another index"):
        use_of(less, opened, opened.input._replace(sha256="1"))
    with pytest.raises(BadInput, match="is missing"):
        use_of(tmp_path / "nothing", opened, opened.input)
