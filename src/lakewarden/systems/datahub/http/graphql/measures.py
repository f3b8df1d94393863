"""Profiles of datasets, their operations, and their usage.

Each of the three has its own privilege; a page omits them for callers without it. Values for all
datasets of a list are read for the whole group at once.

SOURCE: datahub reference 3.2; timeseries records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service import timeseries
from lakewarden.service.timeseries import EVER, FIRST, LAST, TimedValue, Window
from lakewarden.systems.datahub.aspects import usage
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http.graphql import authorization, timed
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.references import entities_of_urns
from lakewarden.systems.datahub.http.graphql.resolving import Field, Info, Resolvers
from lakewarden.systems.datahub.http.value_filter import matches

_PROFILE: Final = "datasetProfile"
_OPERATION: Final = "operation"
_MAY_SEE: Final = {
    _PROFILE: "dataset.profile.view",
    _OPERATION: "dataset.operations.view",
    usage.ASPECT: "dataset.usage.view",
}
_USUAL: Final = 30
_TOP_USERS: Final = 5
_UNITS: Final = {
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 7 * 86_400_000,
    "MONTH": 30 * 86_400_000,
    "QUARTER": 91 * 86_400_000,
    "YEAR": 365 * 86_400_000,
}


def _read(call: Call, dataset: Entity, aspect: str, window: Window, limit: int) -> list[TimedValue]:
    """The values of a dataset, read together with those of its whole group."""
    group = call.group(dataset)

    def find() -> Mapping[Entity, list[TimedValue]]:
        allowed = [
            dataset
            for dataset in group
            if authorization.is_allowed_if_declared(call, _MAY_SEE[aspect], dataset)
        ]
        realm = call.exchange.realm
        call.start_list()
        with call.exchange.service.reading() as reading:
            values = {
                dataset: timeseries.values(reading, realm, dataset, aspect, window, limit)
                for dataset in allowed
            }
        count = sum(map(len, values.values()))
        call.end_list(looked_at=count + len(group), shown=count)
        return values

    return call.cached((id(group), aspect, window, limit), find).get(dataset, [])


def _values_in_window(aspect: str) -> Callable[..., list[Record]]:
    """The values of an aspect in a window that a filter accepts."""

    def resolve(dataset: Entity, info: Info, **arguments: Any) -> list[Record]:
        call: Call = info.context
        limit, filter = arguments.get("limit"), arguments.get("filter")
        most = _count(call, _USUAL if limit is None else limit)
        window = _window(arguments)
        picked = None if filter is None else Fields({"or": [_criteria(filter)]}, "filter")
        read = most if picked is None else call.exchange.services.page_rows
        values = _read(call, dataset, aspect, window, read)
        fitting = [value for value in values if matches(value.value, picked)]
        return [Record(dataset, value.value) for value in fitting[:most]]

    return resolve


def _window(arguments: Mapping[str, Any]) -> Window:
    for name in ("startTimeMillis", "endTimeMillis"):
        time = arguments.get(name)
        if time is not None and not FIRST <= time <= LAST:
            raise bad(f"`{name}`: expected milliseconds since the epoch")
    return timed.window(arguments)


def _count(call: Call, limit: int) -> int:
    if limit < 0:
        raise bad("`limit`: expected a number of things")
    return min(limit, call.exchange.services.page_rows)


def _criteria(filter: Mapping[str, Any]) -> Mapping[str, Any]:
    """A filter in the format of the other interfaces: null counts as absent."""
    own = ({k: v for k, v in criterion.items() if v is not None} for criterion in filter["and"])
    return {"and": list(own)}


def _profile_resolver(is_whole: bool) -> Callable[..., Record | None]:
    """The newest profile of the whole table, or of a part of it."""

    def resolve(dataset: Entity, info: Info) -> Record | None:
        most = info.context.exchange.services.page_rows
        for value in _read(info.context, dataset, _PROFILE, EVER, most):
            profile = Record(dataset, value.value)
            kind = profile.record_or_empty("partitionSpec").text("type")
            if (kind in (None, "FULL_TABLE")) is is_whole:
                return profile
        return None

    return resolve


def _usage(call: Call, dataset: Entity, since: int | None) -> list[usage.Value] | None:
    """Usage by days, the oldest first; None for callers who may not see it."""
    if not authorization.is_allowed_if_declared(call, _MAY_SEE[usage.ASPECT], dataset):
        return None
    first = FIRST if since is None else since
    read = _read(call, dataset, usage.ASPECT, Window(first, LAST), call.exchange.services.page_rows)
    return [value.value for value in reversed(read) if usage.has_duration(value.value, "DAY")]


def _usage_stats(dataset: Entity, info: Info, **arguments: Any) -> Mapping[str, Any] | None:
    """Days are UTC days, regardless of the caller's time zone."""
    since = _days_ago(info.context, usage.RANGES[arguments.get("range") or "MONTH"])
    if arguments.get("startTimeMillis") is not None:
        since = _window(arguments).first
    values = _usage(info.context, dataset, since)
    if values is None:
        return None
    buckets = [
        {"bucket": value["timestampMillis"], "duration": "DAY", "metrics": Record(dataset, value)}
        for value in values
    ]
    return {
        "buckets": [{**bucket, "resource": dataset.name} for bucket in buckets],
        "aggregations": Record(dataset, usage.aggregate(values)),
    }


def _days_ago(call: Call, span: int | None) -> int | None:
    return None if span is None else int(call.exchange.now * 1_000) - span


def _summary(dataset: Entity, info: Info) -> Mapping[str, Any] | None:
    values = _usage(info.context, dataset, _days_ago(info.context, 30 * _UNITS["DAY"]))
    if values is None:
        return None
    total = usage.aggregate(values)
    users: Any = total["users"]
    names = entities_of_urns((user["user"] for user in users), frozenset({"corpuser"}))
    return {
        "queryCountLast30Days": total["totalSqlQueries"],
        "uniqueUserCountLast30Days": total["uniqueUserCount"],
        "topUsersLast30Days": authorization.visible(info.context, names)[:_TOP_USERS],
    }


def _view_count_resolver(aspect: str) -> Field:
    """The platform's last report of all views; recent reports may be partial."""

    def resolve(asset: Entity, info: Info) -> Mapping[str, Any] | None:
        call: Call = info.context
        if not timed.may_read(call, asset):
            return None
        counts = (
            value.number("viewsCount")
            for value in timed.values(call, asset, aspect)
            if value.get("eventGranularity") is None
        )
        newest = next((count for count in counts if count is not None), None)
        return None if newest is None else {"viewCount": newest}

    return resolve


def _window_length(window: Record, _info: Info) -> int:
    size = window.record_or_empty("length")
    return _UNITS.get(size.text("unit") or "", 0) * (size.number("multiple") or 1)


RESOLVERS: Final[Resolvers] = {
    "Dataset": {
        "datasetProfiles": _values_in_window(_PROFILE),
        "latestFullTableProfile": _profile_resolver(is_whole=True),
        "latestPartitionProfile": _profile_resolver(is_whole=False),
        "operations": _values_in_window(_OPERATION),
        "usageStats": _usage_stats,
        "statsSummary": _summary,
    },
    "Chart": {"statsSummary": _view_count_resolver("chartUsageStatistics")},
    "Dashboard": {"statsSummary": _view_count_resolver("dashboardUsageStatistics")},
    "TimeWindow": {"durationMillis": _window_length},
}
