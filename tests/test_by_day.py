"""Only some of the many rows of a test run by day."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from tests.by_day import leave_rest_to_the_night


@dataclass
class Row:
    """The attributes of a test that `tests.by_day` reads."""

    nodeid: str
    marker: pytest.Mark | None = None
    added: list[str] = field(default_factory=list)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marker if name == "by_day" else None

    def add_marker(self, name: str) -> None:
        self.added.append(name)


def by_day(rows: list[Row]) -> list[str]:
    leave_rest_to_the_night(cast(list[pytest.Item], rows))
    assert {mark for row in rows for mark in row.added} <= {"nightly"}
    return [row.nodeid for row in rows if not row.added]


@pytest.mark.parametrize(
    ("there", "wanted", "places"),
    [(8, 2, [0, 4]), (7, 3, [0, 2, 4]), (3, 3, [0, 1, 2]), (2, 5, [0, 1]), (1, 1, [0])],
)
def test_the_rows_left_by_day_come_from_the_whole_table(
    there: int, wanted: int, places: list[int]
) -> None:
    marker = pytest.mark.by_day(wanted).mark
    rows = [Row(f"tests/test_a.py::test_b[{n}]", marker) for n in range(there)]
    assert by_day(rows) == [f"tests/test_a.py::test_b[{n}]" for n in places]


def test_each_test_has_its_own_and_others_keep_all() -> None:
    marker = pytest.mark.by_day(1).mark
    rows = [
        *(Row(f"a.py::test_b[{n}]", marker) for n in range(3)),
        *(Row(f"a.py::test_c[{n}]", marker) for n in range(3)),
        *(Row(f"a.py::test_d[{n}]") for n in range(3)),
    ]
    assert by_day(rows) == [
        *("a.py::test_b[0]", "a.py::test_c[0]"),
        *("a.py::test_d[0]", "a.py::test_d[1]", "a.py::test_d[2]"),
    ]


def test_where_tests_of_a_file_take_turns_each_begins_a_row_later() -> None:
    marker = pytest.mark.by_day(2, turns=True).mark
    names = ("a.py::test_b", "a.py::test_c", "a.py::test_d", "b.py::test_e")
    rows = [Row(f"{name}[{n}]", marker) for name in names for n in range(4)]
    assert by_day(rows) == [
        *("a.py::test_b[0]", "a.py::test_b[2]", "a.py::test_c[1]", "a.py::test_c[3]"),
        *("a.py::test_d[0]", "a.py::test_d[2]", "b.py::test_e[0]", "b.py::test_e[2]"),
    ]
