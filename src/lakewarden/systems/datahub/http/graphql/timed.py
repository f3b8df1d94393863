"""Timeseries values as records: those of one entity in a window, the newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.service import timeseries
from lakewarden.service.timeseries import EVER, FIRST, LAST, Window
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad


def window(arguments: Mapping[str, Any]) -> Window:
    """The window of the arguments `startTimeMillis` and `endTimeMillis`; unlimited without them."""
    first, last = arguments.get("startTimeMillis"), arguments.get("endTimeMillis")
    return Window(FIRST if first is None else first, LAST if last is None else last)


def limit(call: Call, arguments: Mapping[str, Any], default: int) -> int:
    """The argument `limit`; raises `Failure` 400 if it exceeds the maximum page size."""
    value, most = arguments.get("limit"), call.exchange.services.page_rows
    value = default if value is None else value
    if not 0 <= value <= most:
        raise bad(f"expected a `limit` of 0 to {most}")
    return int(value)


def may_read(call: Call, entity: Entity) -> bool:
    """Whether the caller may read the timeseries values of an entity."""
    return authorization.is_allowed(call, "timeseries.read", entity)


def values(
    call: Call, entity: Entity, aspect: str, most: int | None = None, within: Window = EVER
) -> list[Record]:
    """The values of an aspect; without `most`, up to the maximum page size."""
    most = call.exchange.services.page_rows if most is None else most
    with call.exchange.service.reading() as reading:
        stored = timeseries.values(reading, call.exchange.realm, entity, aspect, within, most)
    return [Record(entity, value.value) for value in stored]
