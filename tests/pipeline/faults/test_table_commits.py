"""If a store dies at any request of a commit of tables, readers see whole versions.

The commit fails with advice, and the next one repairs the tables.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Final

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats import delta
from lakewarden.pipeline.table_formats.target import TableFormat, Target
from tests.pipeline.faults.faulty_s3 import Fault, FaultyServer, at
from tests.pipeline.storage.test_table_kill import commits, read, words_of
from tests.pipeline.table_formats.products import in_parquet, make

pytestmark = pytest.mark.nightly

_FOREVER: Final = 3_600.0


def _commit(target: Target, out: RemotePath, server: FaultyServer, last: int, lose: bool) -> bool:
    """A commit during which the store dies at a request; whether it had so many requests."""
    reason = ""
    server.fails(at(last, Fault(away=_FOREVER, lose=lose)))
    try:
        target.commit(out)
    except Unavailable as error:
        reason = str(error)
    finally:
        server.heals()
    assert not reason or (out.root in reason and "run the command again" in reason), reason
    return server.failed > 0


@pytest.mark.parametrize("lose", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("format", ["iceberg", "delta", "duckdb"])
def test_a_store_that_dies_at_any_request_is_repaired(
    format: TableFormat,
    lose: bool,
    bucket: RemotePath,
    server: FaultyServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(delta._PATIENCE, "max_retries", "1")
    for last in count(1):
        folder, out = tmp_path / str(last), RemotePath(bucket.root, f"{bucket.key} {last}")
        folder.mkdir()
        target = Target(format, *words_of(format, folder, out)[2:])
        make(out, "apple")
        target.commit(out)
        before = in_parquet(out)
        make(out, "pear")
        after = in_parquet(out)
        is_over = not _commit(target, out, server, last, lose)
        for name, rows in read(format, folder, out).items():
            assert rows in (before[name], after[name]), last
        target.commit(out)
        assert read(format, folder, out) == after, last
        assert commits(format, folder, out) == {2}, last
        if is_over:
            break
    assert last > 5
