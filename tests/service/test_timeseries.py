"""Values in time: what is the same, how many are kept, and what goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service import aspects, timeseries
from lakewarden.service.actor import SYSTEM
from lakewarden.service.aspects import Write
from lakewarden.service.plane import Plane
from lakewarden.service.timeseries import KEPT, Window
from tests.service.planes import LAKE, opened

ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
PROFILE = "datasetProfile"


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    with opened(tmp_path, "datahub") as one:
        yield one


def write(plane: Plane, *values: dict[str, Any] | None, kept: int = KEPT) -> None:
    writes = [Write(ORDERS, PROFILE, value) for value in values]
    plane.write(SYSTEM, lambda desk: aspects.write(desk, LAKE, writes, "x", values=kept))


def times(plane: Plane) -> list[int]:
    with plane.reading() as reading:
        return [one.time for one in timeseries.values(reading, LAKE, ORDERS, PROFILE)]


def test_the_entity_is_there_with_its_first_value_and_decides_nothing(plane: Plane) -> None:
    write(plane, {"timestampMillis": 7})
    snapshot = plane.state.realm(LAKE).matrix.snapshot
    assert aspects.is_there(ORDERS, snapshot)
    with plane.reading() as reading:
        assert set(aspects.read(reading, plane.state.realm(LAKE), [ORDERS])[ORDERS]) == {
            "datasetKey"
        }


def test_values_differ_by_message_granularity_and_partition(plane: Plane) -> None:
    plain: dict[str, Any] = {"timestampMillis": 1}
    others = [
        {**plain, "messageId": "a"},
        {**plain, "messageId": "b"},
        {**plain, "eventGranularity": {"unit": "DAY", "multiple": 1}},
        {**plain, "partitionSpec": {"partition": "p", "type": "PARTITION"}},
    ]
    write(plane, plain, *others, *others, {**plain, "rowCount": 3})
    assert times(plane) == [1] * 5


def test_the_oldest_go_beyond_so_many(plane: Plane) -> None:
    write(plane, *({"timestampMillis": time} for time in (3, 1, 2, 5, 4)), kept=3)
    assert times(plane) == [5, 4, 3]
    write(plane, {"timestampMillis": 1}, kept=3)
    assert times(plane) == [5, 4, 3]


def test_what_is_deleted_is_gone_wholly_or_in_a_window(plane: Plane) -> None:
    write(plane, *({"timestampMillis": time} for time in range(5)))
    count = plane.write(
        SYSTEM, lambda desk: timeseries.dropped(desk, LAKE, ORDERS, PROFILE, Window(1, 2))
    )
    assert (count, times(plane)) == (2, [4, 3, 0])
    write(plane, None, {"timestampMillis": 9})
    assert times(plane) == [9]


def test_a_value_without_its_time_leaves_nothing(plane: Plane) -> None:
    with pytest.raises(BadInput, match="timestampMillis"):
        write(plane, {"timestampMillis": 1}, {"rowCount": 3})
    assert times(plane) == []
