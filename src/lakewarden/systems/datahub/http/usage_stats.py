"""Usage of datasets in the older interface: `/usageStats`.

SOURCE: datahub-project/datahub:metadata-service/restli-api/src/main/idl/
com.linkedin.usage.usageStats.restspec.json@1d4c082b.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service import timeseries
from lakewarden.service.timeseries import FIRST, LAST, Window
from lakewarden.systems.datahub.aspects import usage
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http.actions import Actions, action_route
from lakewarden.systems.datahub.http.authorization import allow, put_proposals
from lakewarden.systems.datahub.http.bodies import entity, fields, object_list, value, whole_number
from lakewarden.systems.datahub.use_cases.proposals import Proposal

_VIEW: Final = "dataset.usage.view"


def batch_ingest(exchange: Exchange) -> Reply:
    """Writes buckets atomically."""
    buckets = object_list(fields(exchange), "buckets")
    put_proposals(exchange, [_proposal(bucket) for bucket in buckets])
    return Reply(200)


def _proposal(bucket: Fields) -> Proposal:
    dataset = entity(bucket.text("resource"), "dataset")
    return Proposal(dataset, usage.ASPECT, Change.PUT, usage.value_of(bucket), {}, bucket.where)


def query(exchange: Exchange) -> Reply:
    """The buckets of one duration in a window, and their sums."""
    body = fields(exchange)
    window = Window(whole_number(body, "startTime", FIRST), whole_number(body, "endTime", LAST))
    most = whole_number(body, "maxBuckets", exchange.services.page_rows)
    return _answer(exchange, body, window, most)


def query_range(exchange: Exchange) -> Reply:
    """As `query`, for a range that ends now."""
    body = fields(exchange)
    range_name = body.text("rangeFromEnd")
    if range_name not in usage.RANGES:
        expected = ", ".join(usage.RANGES)
        raise BadInput(f"expected one of: {expected}", where=body.at("rangeFromEnd"))
    back = usage.RANGES[range_name]
    now = int(exchange.now * 1_000)
    first = FIRST if back is None else now - back
    return _answer(exchange, body, Window(first, LAST), exchange.services.page_rows)


def _answer(exchange: Exchange, body: Fields, window: Window, most: int) -> Reply:
    dataset = entity(body.text("resource"), "dataset")
    duration = usage.duration_of(body)
    allow(exchange, _VIEW, dataset)
    values = _values(exchange, dataset, duration, window)[: max(most, 0)]
    values.reverse()
    buckets = [usage.bucket_of(value, dataset.name, duration) for value in values]
    return value({"buckets": buckets, "aggregations": usage.aggregate(values)})


def _values(
    exchange: Exchange, dataset: Entity, duration: str, window: Window
) -> list[usage.Value]:
    with exchange.service.reading() as reading:
        stored = timeseries.values(reading, exchange.realm, dataset, usage.ASPECT, window)
    return [value.value for value in stored if usage.has_duration(value.value, duration)]


ACTIONS: Final[Actions] = {
    "batchIngest": ("entity.update", batch_ingest),
    "query": (_VIEW, query),
    "queryRange": (_VIEW, query_range),
}
"""The values of `?action=`, and their operations."""

ROUTES: Final = (action_route("/usageStats", ACTIONS),)
