"""Usage: counted by day, and no count is lost on the way to the store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.service import usage as usages
from lakewarden.service.usage import Usage
from lakewarden.store import SqlStore, open_store

TABLE = Entity("table", "lk:c.s.t")
NOON = 1_700_000_000.0  # 2023-11-14
ACT = ("lake", "ana", "table.load", "table", "lk:c.s.t")
KEY = (*ACT[:3], TABLE)


def test_acts_are_counted_by_utc_day_and_added_up_in_the_store(tmp_path: Path) -> None:
    usage = Usage()
    with open_store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        for _ in range(2):
            usage.count(*ACT, NOON)
            usage.count(*ACT, NOON + 86_400)
            usage.write(store)
        with store.reading() as reading:
            assert sorted(reading.usage("lake", "2023-11-14")) == [
                ("2023-11-14", "ana", "table.load", TABLE, 2),
                ("2023-11-15", "ana", "table.load", TABLE, 2),
            ]
    assert not list(usage.pending())


def test_a_name_that_cannot_be_stored_takes_no_other_count_with_it(tmp_path: Path) -> None:
    usage = Usage()
    usage.count(*ACT, NOON)
    usage.count("lake", "ana\0", *ACT[2:], NOON)
    with open_store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        usage.write(store)
        with store.reading() as reading:
            assert [row[1] for row in reading.usage("lake", "2023-11-14")] == ["ana"]
    assert usage.lost == 1


def test_many_threads_lose_no_count() -> None:
    usage = Usage()

    def work(_: int) -> None:
        for _ in range(500):
            usage.count(*ACT, NOON)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert list(usage.pending()) == [("2023-11-14", KEY, 4_000)]


def test_what_could_not_be_written_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = Usage()
    usage.count(*ACT, NOON)
    usage.count(*ACT, NOON + 86_400)

    def away(*_: object) -> None:
        raise Unavailable("the store is away")

    with open_store(f"sqlite:///{tmp_path / 'x.db'}") as store:
        with monkeypatch.context() as patch:
            patch.setattr(SqlStore, "add_usage", away)
            with pytest.raises(Unavailable):
                usage.write(store)
        usage.count(*ACT, NOON)
        assert [number for _, _, number in usage.pending()] == [2, 1]
        usage.write(store)
        with store.reading() as reading:
            assert sum(row[-1] for row in reading.usage("lake", "2023-11-14")) == 3


def test_counts_of_use_are_limited_and_lost_ones_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(usages, "MOST", 2)
    usage = Usage()
    for name in ("a", "b", "c", "a"):
        usage.count("lake", "ana", "table.load", "table", name, NOON)
    assert len(list(usage.pending())) == 2
    assert usage.lost == 1
