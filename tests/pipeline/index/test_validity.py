"""Notes about an index that is not valid now, or not forever."""

from __future__ import annotations

import pytest

from lakewarden.pipeline.index.validity import currency, end_of, outside

PAST, FUTURE, MILLISECONDS = 1_700_000_000.0, 4_000_000_000.0, 1_800_000_000_000.0


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (None, None, ""),
        (PAST, None, ""),
        (PAST, FUTURE, ""),
        (None, PAST, "the index holds until 2023-11-14T22:13:20+00:00, "),
        (FUTURE, None, "the index holds from 2096-10-02T07:06:40+00:00, "),
        (MILLISECONDS, None, "the index holds from second 1,800,000,000,000, "),
    ],
)
def test_an_index_that_does_not_hold_now_is_told(
    start: float | None, end: float | None, said: str
) -> None:
    found = currency({"from": start, "until": end})
    assert bool(found) is bool(said)
    assert found.get("not_current", "").startswith(said)


def test_the_end_of_an_interval_is_behind_it() -> None:
    assert outside((0.0, 60.0), 59.9) == ""
    assert "until 1970-01-01T00:01:00" in outside((0.0, 60.0), 60.0)


def test_readers_are_told_when_an_index_ends() -> None:
    assert end_of({"until": None}) == ""
    assert end_of({"until": PAST}).startswith("It holds until 2023-11-14T22:13:20+00:00: ")
    assert end_of({"until": MILLISECONDS}).startswith("It holds until second 1,800,000,000,000: ")
