"""Usage of datasets: one value per time window, and sums over several windows.

The older interface writes and reads windows as buckets, whose member names differ from those of the
aspect `datasetUsageStatistics`. SOURCE: records UsageAggregation, UsageQueryResult and
DatasetUsageStatistics of DataHub.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.fields import Fields

Value = Mapping[str, Any]

ASPECT: Final = "datasetUsageStatistics"

DURATIONS: Final = ("YEAR", "MONTH", "WEEK", "DAY", "HOUR")
"""The durations of buckets."""

_DAY: Final = 86_400_000
RANGES: Final[Mapping[str, int | None]] = {
    "HOUR": 3_600_000,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
    "MONTH": 31 * _DAY,
    "QUARTER": 92 * _DAY,
    "HALF_YEAR": 183 * _DAY,
    "YEAR": 366 * _DAY,
    "ALL": None,
}
"""Milliseconds before now; None: unlimited."""


def duration_of(body: Fields) -> str:
    """The duration in a body. Raises `BadInput`."""
    duration = body.text("duration")
    if duration not in DURATIONS:
        raise BadInput(f"expected one of: {', '.join(DURATIONS)}", where=body.at("duration"))
    return duration


def value_of(bucket: Fields) -> dict[str, object]:
    """A bucket as a value of the aspect. Raises `BadInput`."""
    metrics = bucket.object_or_none("metrics") or Fields({}, bucket.at("metrics"))
    value: dict[str, object] = {
        "timestampMillis": bucket.raw("bucket"),
        "eventGranularity": {"unit": duration_of(bucket), "multiple": 1},
    }
    for name in ("uniqueUserCount", "totalSqlQueries", "topSqlQueries"):
        if name in metrics:
            value[name] = metrics.raw(name)
    if "users" in metrics:
        value["userCounts"] = [dict(count.everything()) for count in metrics.objects("users")]
    if "fields" in metrics:
        value["fieldCounts"] = [
            {"fieldPath": count.text("fieldName"), "count": count.raw("count") or 0}
            for count in metrics.objects("fields")
        ]
    return value


def has_duration(value: Value, duration: str) -> bool:
    """Whether the value has a window of this duration."""
    granularity = value.get("eventGranularity")
    return isinstance(granularity, Mapping) and granularity.get("unit") == duration


def bucket_of(value: Value, resource: str, duration: str) -> dict[str, object]:
    """A value of the aspect as a bucket."""
    metrics: dict[str, object] = {
        name: value[name]
        for name in ("uniqueUserCount", "totalSqlQueries", "topSqlQueries")
        if value.get(name) is not None
    }
    if value.get("userCounts") is not None:
        metrics["users"] = value["userCounts"]
    if value.get("fieldCounts") is not None:
        metrics["fields"] = [
            {"fieldName": fieldCount.get("fieldPath"), "count": fieldCount.get("count", 0)}
            for fieldCount in value["fieldCounts"]
        ]
    return {
        "bucket": value["timestampMillis"],
        "duration": duration,
        "resource": resource,
        "metrics": metrics,
    }


def aggregate(values: Sequence[Value]) -> dict[str, object]:
    """The sums of the values: users and fields with their counts, most used first."""
    users = _sums(values, "userCounts", "user")
    mails = {
        count.get("user"): count.get("userEmail")
        for value in values
        for count in _objects(value.get("userCounts"))
        if count.get("userEmail")
    }
    fields = _sums(values, "fieldCounts", "fieldPath")
    return {
        "uniqueUserCount": len(users),
        "totalSqlQueries": sum(_integer(value.get("totalSqlQueries")) for value in values),
        "users": [
            {"user": user, "count": count, **({"userEmail": mails[user]} if user in mails else {})}
            for user, count in _sort_by_count(users)
        ],
        "fields": [{"fieldName": name, "count": count} for name, count in _sort_by_count(fields)],
    }


def _sums(values: Iterable[Value], list: str, key: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for value in values:
        for count in _objects(value.get(list)):
            counts[str(count.get(key))] += _integer(count.get("count"))
    return counts


def _sort_by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))


def _objects(members: object) -> list[Value]:
    return (
        [member for member in members if isinstance(member, Mapping)]
        if isinstance(members, list)
        else []
    )


def _integer(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
