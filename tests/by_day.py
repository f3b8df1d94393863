"""Selects the rows of a test for daytime runs, if a few rows test nearly as much as all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest


def leave_rest_to_the_night(items: Sequence[pytest.Item]) -> None:
    """Marks as `nightly` all rows beyond n of each test that is marked `by_day(n)`.

    The daytime rows are spread evenly over the test's table, beginning with the first. With
    `turns=True`, the next test of the file begins with its second row, and so on. If the tests of
    a file share a table of forms, they cover all forms together.
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
