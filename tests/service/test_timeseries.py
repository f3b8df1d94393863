"""Time series: equal values, their maximum number, and removals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service import timeseries
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.timeseries import KEPT, Window
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from tests.service.opened_services import LAKE, opened

ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
PROFILE = "datasetProfile"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path, "datahub") as one:
        yield one


def write(service: DecisionService, *values: dict[str, Any] | None, kept: int = KEPT) -> None:
    writes = [Write(ORDERS, PROFILE, value) for value in values]
    service.write(
        SYSTEM, lambda transaction: aspects.write(transaction, LAKE, writes, "x", values=kept)
    )


def times(service: DecisionService) -> list[int]:
    with service.reading() as reading:
        return [one.time for one in timeseries.values(reading, LAKE, ORDERS, PROFILE)]


def test_the_entity_is_there_with_its_first_value_and_decides_nothing(
    service: DecisionService,
) -> None:
    write(service, {"timestampMillis": 7})
    snapshot = service.state.realm(LAKE).matrix.snapshot
    assert aspects.exists(ORDERS, snapshot)
    with service.reading() as reading:
        assert set(aspects.read(reading, service.state.realm(LAKE), [ORDERS])[ORDERS]) == {
            "datasetKey"
        }


def test_values_differ_by_message_granularity_and_partition(service: DecisionService) -> None:
    plain: dict[str, Any] = {"timestampMillis": 1}
    others = [
        {**plain, "messageId": "a"},
        {**plain, "messageId": "b"},
        {**plain, "eventGranularity": {"unit": "DAY", "multiple": 1}},
        {**plain, "partitionSpec": {"partition": "p", "type": "PARTITION"}},
    ]
    write(service, plain, *others, *others, {**plain, "rowCount": 3})
    assert times(service) == [1] * 5


def test_the_oldest_go_beyond_so_many(service: DecisionService) -> None:
    write(service, *({"timestampMillis": time} for time in (3, 1, 2, 5, 4)), kept=3)
    assert times(service) == [5, 4, 3]
    write(service, {"timestampMillis": 1}, kept=3)
    assert times(service) == [5, 4, 3]


def test_what_is_deleted_is_gone_wholly_or_in_a_window(service: DecisionService) -> None:
    write(service, *({"timestampMillis": time} for time in range(5)))
    count = service.write(
        SYSTEM,
        lambda transaction: timeseries.dropped(transaction, LAKE, ORDERS, PROFILE, Window(1, 2)),
    )
    assert (count, times(service)) == (2, [4, 3, 0])
    write(service, None, {"timestampMillis": 9})
    assert times(service) == [9]


def test_a_value_without_its_time_leaves_nothing(service: DecisionService) -> None:
    with pytest.raises(BadInput, match="timestampMillis"):
        write(service, {"timestampMillis": 1}, {"rowCount": 3})
    assert times(service) == []
