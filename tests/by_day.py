"""Which rows of a test run by day, where all of them would say little more than some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest


def leave_rest_to_the_night(items: Sequence[pytest.Item]) -> None:
    """Marks as `nightly` what a test that is marked `by_day(n)` has beyond n rows.

    The rows that run by day are spread over the test's table, beginning with the first. With
    `turns=True` the next test of the file begins with its second row, and so on: where each of them
    runs in every form, they show all forms between them.
    """
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("by_day"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    turns: Counter[str] = Counter()
    for test, rows in tables.items():
        marker = rows[0].get_closest_marker("by_day")
        assert marker is not None
        (count,) = marker.args
        first = 0
        if marker.kwargs.get("turns"):
            file = test.partition("::")[0]
            first = turns[file]
            turns[file] += 1
        chosen = {(first + n * len(rows) // count) % len(rows) for n in range(count)}
        for place, item in enumerate(rows):
            if place not in chosen:
                item.add_marker("nightly")
