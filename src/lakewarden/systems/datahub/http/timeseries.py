"""Timeseries aspects: read in windows, scrolled by type, deleted, measured.

SOURCE: datahub reference 5.4 and 7.1; datahub-project/datahub:metadata-service/restli-api/src/
main/idl/com.linkedin.entity.aspects.restspec.json@06ffbee8; TimeseriesController of its OpenAPI.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.service import timeseries
from lakewarden.service.effect import ValuePlace
from lakewarden.service.timeseries import FIRST, LAST, TimedValue, Window
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.aspects.record_names import is_timed
from lakewarden.systems.datahub.http.actions import Actions
from lakewarden.systems.datahub.http.authorization import allow, related, write
from lakewarden.systems.datahub.http.bodies import (
    entity,
    fields,
    milliseconds,
    ok,
    page_size,
    value,
    whole_number,
)
from lakewarden.systems.datahub.http.value_filter import matches, sort_values

_MOST: Final = 10_000
_CHUNK: Final = 500
_BYTES: Final = 2**20


def load(exchange: Exchange) -> Reply:
    """An entity's values of an aspect in a window, newest first by default."""
    body = fields(exchange)
    of = entity(body.text("urn"), body.text_or_none("entity") or "")
    name = body.text("aspect")
    allow(exchange, "timeseries.read", of)
    limit = 1 if body.flag("latestValue") else min(whole_number(body, "limit", _MOST), _MOST)
    restricted = body.object_or_none("filter"), body.object_or_none("sort")
    window = _window(body)
    with exchange.service.reading() as reading:
        read = limit if restricted == (None, None) else _MOST
        values = timeseries.values(reading, exchange.realm, of, name, window, read)
    values = sort_values(
        [value for value in values if matches(value.value, restricted[0])], restricted[1]
    )[:limit]
    answer: dict[str, object] = {"entityName": of.type, "aspectName": name, "limit": limit}
    for key in ("startTimeMillis", "endTimeMillis", "filter"):
        if key in body:
            answer[key] = body.whole(key)
    return value({**answer, "values": [_envelope(value) for value in values]})


def _window(body: Fields) -> Window:
    return Window(_time(body, "startTimeMillis", FIRST), _time(body, "endTimeMillis", LAST))


def _time(body: Fields, key: str, otherwise: int) -> int:
    time = body.raw(key)
    if time is None:
        return otherwise
    if isinstance(time, bool) or not isinstance(time, int) or not FIRST <= time <= LAST:
        raise BadInput("expected milliseconds since the epoch", where=body.at(key))
    return time


def _envelope(value: TimedValue) -> dict[str, object]:
    text = msgspec.json.encode(value.value).decode()
    content = {"contentType": "application/json", "value": text}
    return {"aspect": content, "systemMetadata": value.system}


def _check_timed(name: str, where: str) -> None:
    if not is_timed(name):
        raise BadInput(f"{quoted(name)} is not an aspect of values in time", where=where)


def scroll(exchange: Exchange) -> Reply:
    """A page of the values of all entities of a type that the caller may read."""
    type, name = exchange.params["type"], exchange.params["aspect"]
    _check_timed(name, "aspect")
    count = page_size(exchange)
    times = {key: milliseconds(exchange, key) for key in ("startTimeMillis", "endTimeMillis")}
    window, after = _window(Fields(times, "query")), _read_scroll_id(exchange.one("scrollId"))
    newest: list[TimedValue] = []
    is_over = False
    with exchange.service.reading() as reading:
        while len(newest) < count and not is_over:
            chunk = timeseries.of_type(
                reading, exchange.realm, type, name, window, after, max(count, _CHUNK)
            )
            is_over = len(chunk) < max(count, _CHUNK)
            allowed = set(_readable_entities(exchange, chunk))
            for value in chunk:
                after = ValuePlace(value.time, value.entity.name, value.mark)
                if value.entity in allowed:
                    newest.append(value)
                if len(newest) == count:
                    is_over = is_over and value is chunk[-1]
                    break
    results = [_generic_aspect(value, exchange) for value in newest]
    return ok({"scrollId": None if is_over else _scroll_id(after), "results": results})


def _readable_entities(exchange: Exchange, values: Sequence[TimedValue]) -> list[Entity]:
    entities = list(dict.fromkeys(value.entity for value in values))
    return related(exchange, "timeseries.read", entities)


def _generic_aspect(value: TimedValue, exchange: Exchange) -> dict[str, object]:
    body: dict[str, object] = {
        "urn": value.entity.name,
        "messageId": value.value.get("messageId") or value.mark,
        "timestampMillis": value.time,
        "event": value.value,
    }
    if exchange.one("systemMetadata", "false").lower() == "true":
        body["systemMetadata"] = value.system
    return body


def _scroll_id(place: ValuePlace | None) -> str | None:
    return None if place is None else urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _read_scroll_id(scroll_id: str) -> ValuePlace | None:
    if not scroll_id:
        return None
    try:
        parts: Any = msgspec.json.decode(urlsafe_b64decode(scroll_id), type=tuple[int, str, str])
    except ValueError:
        raise BadInput("expected the id of a page that was given", where="scrollId") from None
    place = ValuePlace(*parts)
    if not FIRST <= place.time <= LAST:
        raise BadInput("expected the id of a page that was given", where="scrollId")
    return place


def delete(exchange: Exchange, of: Entity, name: str, body: Fields) -> Reply:
    """Deletes the values of an aspect of an entity in a window."""
    _check_timed(name, body.at("aspectName"))
    window = _window(body)

    def drop(transaction: WriteTransaction) -> int:
        return timeseries.dropped(transaction, exchange.realm, of, name, window)

    def details(count: int) -> dict[str, object]:
        return {"aspect": name, "values": count}

    count = write(exchange, "timeseries.delete", of, drop, details=details)
    return value({"urn": of.name, "rows": 0, "timeseriesRows": count})


def sizes(exchange: Exchange) -> Reply:
    """The stored size of each timeseries aspect."""
    rows = [{**row, "sizeInMb": size} for row, size in _sizes(exchange)]
    return value({"indexSizes": rows})


def sizes_plain(exchange: Exchange) -> Reply:
    """As `sizes`, in the format of the newer interface."""
    return ok({"sizes": [{**row, "sizeMb": size} for row, size in _sizes(exchange)]})


def _sizes(exchange: Exchange) -> list[tuple[dict[str, object], float]]:
    allow(exchange, "system.timeseries.sizes")
    with exchange.service.reading() as reading:
        sizes = reading.value_sizes(exchange.realm)
    return [
        (
            {
                "aspectName": size.aspect,
                "entityName": size.type,
                "indexName": f"{size.type.lower()}_{size.aspect.lower()}aspect_v1",
            },
            size.size / _BYTES,
        )
        for size in sizes
    ]


def truncate(exchange: Exchange) -> Reply:
    """Deletes the values of an aspect before a timestamp, for all entities of a type.

    Only counts them unless `dryRun` is false.
    """
    body = fields(exchange)
    type, name = body.text("entityType"), body.text("aspect")
    _check_timed(name, body.at("aspect"))
    window = Window(FIRST, _time(body, "endTimeMillis", LAST))
    if body.flag("dryRun", default=True):
        allow(exchange, _TRUNCATE)
        with exchange.service.reading() as reading:
            rows = reading.values_of(exchange.realm, type, name, *window, None)
            count = sum(1 for _ in rows)
        return value(f"would delete {count} values of {name} of {type}; nothing was deleted")

    def truncate_values(transaction: WriteTransaction) -> int:
        return timeseries.truncated(transaction, exchange.realm, type, name, window)

    def details(count: int) -> dict[str, object]:
        return {"type": type, "aspect": name, "values": count}

    count = write(exchange, _TRUNCATE, NO_RESOURCE, truncate_values, details=details)
    return value(f"deleted {count} values of {name} of {type}")


_TRUNCATE: Final = "system.timeseries.truncate"

ACTIONS: Final[Actions] = {
    "getIndexSizes": ("system.timeseries.sizes", sizes),
    "truncateTimeseriesAspect": (_TRUNCATE, truncate),
}
"""The actions of `/operations` on timeseries values."""

ROUTES: Final = (
    Route("GET", "/openapi/v2/timeseries/{type}/{aspect}", "timeseries.read", scroll),
    Route(
        "GET",
        "/openapi/operations/elasticSearch/getIndexSizes",
        "system.timeseries.sizes",
        sizes_plain,
    ),
)
