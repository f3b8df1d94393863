"""Usage: buckets and values of the aspect are equivalent, and several add up."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects import usage
from lakewarden.systems.datahub.aspects.fields import Fields

BUCKET: dict[str, Any] = {
    "bucket": 7,
    "duration": "DAY",
    "resource": "urn:li:dataset:x",
    "metrics": {
        "uniqueUserCount": 1,
        "users": [{"user": "urn:li:corpuser:a", "count": 2}],
        "fields": [{"fieldName": "id", "count": 3}],
        "totalSqlQueries": 4,
    },
}


def test_a_bucket_is_the_same_after_it_was_a_value() -> None:
    value = usage.value_of(Fields(BUCKET, "bucket"))
    assert usage.has_duration(value, "DAY")
    assert not usage.has_duration(value, "WEEK")
    assert usage.bucket_of(value, BUCKET["resource"], "DAY") == BUCKET


def test_a_bucket_without_metrics_is_empty() -> None:
    value = usage.value_of(Fields({**BUCKET, "metrics": None}, "bucket"))
    assert usage.bucket_of(value, BUCKET["resource"], "DAY")["metrics"] == {}


@pytest.mark.parametrize("duration", ["", "AGE", 7])
def test_a_bucket_has_one_of_the_known_durations(duration: object) -> None:
    with pytest.raises(BadInput, match="duration"):
        usage.value_of(Fields({**BUCKET, "duration": duration}, "bucket"))


def test_together_users_and_columns_are_summed_and_ordered() -> None:
    a = {"userCounts": [{"user": "a", "count": 1}, {"user": "b", "count": 5, "userEmail": "b@x"}]}
    b = {"userCounts": [{"user": "a", "count": 6}], "totalSqlQueries": 2}
    found = usage.aggregate([a, b, {"userCounts": "x", "totalSqlQueries": True}])
    assert found["users"] == [
        {"user": "a", "count": 7},
        {"user": "b", "count": 5, "userEmail": "b@x"},
    ]
    assert (found["uniqueUserCount"], found["totalSqlQueries"], found["fields"]) == (2, 2, [])
