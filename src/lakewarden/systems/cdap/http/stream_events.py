"""Events of streams: really stored, in order of arrival, and read oldest first.

An event is a timeseries value of its stream. Its body is stored byte for byte (in Base64); its mark
counts the events of the stream backwards, so of two events in the same millisecond the later one is
the newer. If the clock goes back, an event gets the time of the previous one. The newest events of
each stream are stored; their number, and the maximum size of a request, are settings
(`CdapLimits`).

A batch is several events: the lines of a text, or the records of an Avro file, each with its schema
as the header `schema`, and the MD5 of the schema as `schema.hash`. A batch is stored atomically.
SOURCE: cdap reference 2.6, 4.8; cdapio/cdap, AvroStreamBodyConsumer, StreamFetchHandler.
"""

from __future__ import annotations

import string
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import md5
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.service import timeseries
from lakewarden.service.effect import ValueChanged, ValueRow
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import avro, object_store
from lakewarden.systems.cdap.http.authorization import GUARD, is_stored, may, write
from lakewarden.systems.cdap.http.bodies import ANY_TYPE, Json, ok, texts
from lakewarden.systems.cdap.http.errors import TEXT, Failure, bad
from lakewarden.systems.cdap.http.ids import entity, last
from lakewarden.systems.cdap.http.moments import relative_seconds
from lakewarden.systems.cdap.settings import CdapSettings

ONE: Final = "/v3/namespaces/{namespace}/streams/{stream}"

ASPECT: Final = "events"
"""The aspect of a stream's events."""

TTL: Final = "ttl"
"""The property with the number of seconds after which an event is no longer read."""

AVRO: Final = "avro/binary"

SCHEMA: Final = "schema"
HASH: Final = "schema.hash"
"""Headers of an event that was an Avro record."""

_STEPS: Final = 10
_FIRST_MARK: Final = 2**60
_PRINTABLE: Final = frozenset(
    string.ascii_letters + string.digits + " `~!@#$%^&*()-_=+[]{}\\|;:'\",.<>/?"
)


class Events(NamedTuple):
    """The events of one request: their bodies, and their common headers."""

    bodies: Sequence[bytes]
    headers: Mapping[str, str]


class Span(NamedTuple):
    """The range of events to read: from `start` to before `end`, in milliseconds, oldest first."""

    start: int
    end: int
    limit: int


def enqueue(exchange: Exchange) -> Reply:
    """Adds one event, with the unchanged body."""
    return _store_events(exchange, "stream.enqueue", 200)


def enqueue_later(exchange: Exchange) -> Reply:
    """As `enqueue`, for callers who do not wait; the event is still stored immediately."""
    return _store_events(exchange, "stream.async_enqueue", 202)


def batch(exchange: Exchange) -> Reply:
    """Adds several events: one for each line of a text, or for each record of an Avro file."""
    return _store_events(exchange, "stream.batch", 200)


def read(exchange: Exchange) -> Reply:
    """The events of a stream, oldest first; 204 if there is none."""
    stream = entity(exchange, "stream")
    stored_events = exchange.services.of(CdapSettings).limits.stream_events
    with GUARD.reading(exchange, "stream.read_events", stream) as reading:
        span = _span(exchange)
        (body,) = object_store.documents_in(reading, exchange.realm, [stream])
        ttl = texts(body.get("properties")).get(TTL)
        now = int(exchange.now * 1_000)
        start = span.start if ttl is None else max(span.start, now - int(ttl) * 1_000)
        until = min(span.end - 1, timeseries.LAST)
        rows = reading.values(
            exchange.realm,
            stream,
            ASPECT,
            min(start, until + 1),
            until,
            stored_events + _trim_interval(stored_events),
        )
    events = [_event_body(row) for row in reversed(rows)][: span.limit]
    return ok(events) if events else Reply(204, b"", TEXT)


def clear(transaction: WriteTransaction, realm: str, stream: Entity) -> None:
    """Removes all events of a stream."""
    timeseries.dropped(transaction, realm, stream, ASPECT)


def _store_events(exchange: Exchange, operation: str, status: int) -> Reply:
    """Stores the events in the request.

    If the caller may and the stream exists, the events are read before the write begins, so no
    other write waits for it; errors in them are reported after a missing authorization.
    """
    stream = entity(exchange, "stream")
    is_ready = is_stored(exchange.realm_state, stream) and may(exchange, operation, stream)
    ready = _events(exchange, operation, stream) if is_ready else None

    def append_events(transaction: WriteTransaction) -> None:
        events = ready or _events(exchange, operation, stream)
        _append(
            transaction,
            exchange.realm,
            stream,
            events,
            exchange.services.of(CdapSettings).limits.stream_events,
        )

    write(exchange, operation, stream, append_events)
    return Reply(status, b"", TEXT)


def _events(exchange: Exchange, operation: str, stream: Entity) -> Events:
    """The events in the request; raises `Failure` 400, 406 or 413, or `BadInput`."""
    limits = exchange.services.of(CdapSettings).limits
    events = Events([exchange.body], _headers(exchange, stream))
    if operation == "stream.batch":
        events = _batch(exchange, events.headers)
        if len(events.bodies) > limits.batch_events:
            raise Failure(413, f"a batch has {limits.batch_events} events at most")
        remaining = events._replace(bodies=events.bodies[-limits.stream_events :])
        if _size(remaining) > limits.batch_bytes:
            raise Failure(413, f"the events of a batch have {limits.batch_bytes} bytes at most")
    if max(map(len, events.bodies), default=0) > limits.event_bytes:
        raise Failure(413, f"an event has {limits.event_bytes} bytes at most")
    return events


def _batch(exchange: Exchange, headers: Mapping[str, str]) -> Events:
    header = exchange.headers.get("content-type", "")
    type = header.partition(";")[0].strip().lower()
    if type == AVRO:
        return _of_avro(exchange, headers)
    if not type.startswith("text/"):
        raise Failure(406, f"a batch is sent as `text/*` or `{AVRO}`")
    lines = (line.removesuffix(b"\r") for line in exchange.body.split(b"\n"))
    return Events([line for line in lines if line], headers)


def _of_avro(exchange: Exchange, headers: Mapping[str, str]) -> Events:
    limits = exchange.services.of(CdapSettings).limits
    try:
        decoded = avro.read(exchange.body, avro.Bounds(limits.batch_events, limits.avro_bytes))
    except LimitExceeded as error:
        raise Failure(413, str(error)) from None
    hash = md5(decoded.schema.encode(), usedforsecurity=False).hexdigest()
    return Events(decoded.records, {**headers, SCHEMA: decoded.schema, HASH: hash})


def _size(events: Events) -> int:
    """The size of the events in bytes, each with its headers."""
    of_headers = sum(len(name) + len(value.encode()) for name, value in events.headers.items())
    return sum(map(len, events.bodies)) + of_headers * len(events.bodies)


def _headers(exchange: Exchange, stream: Entity) -> dict[str, str]:
    """The request's headers for the event: those that begin with the stream's name."""
    prefix = f"{last(stream)}.".lower()
    headers = exchange.headers.items()
    return {name.removeprefix(prefix): value for name, value in headers if name.startswith(prefix)}


def _append(
    transaction: WriteTransaction, realm: str, stream: Entity, events: Events, most: int
) -> None:
    """Adds events after the existing ones; of too many at once, the last ones."""
    rows = transaction.store.values(realm, stream, ASPECT, timeseries.FIRST, timeseries.LAST, 1)
    number = _number(rows[0]) + 1 if rows else 0
    time = max([int(transaction.now * 1_000), *(row.time for row in rows)])
    bodies, step = events.bodies[-most:], _trim_interval(most)
    if number // step != (number + len(bodies)) // step:
        timeseries.trimmed(transaction, realm, stream, ASPECT, most - len(bodies))
    transaction.change(realm, *_values(stream, time, number, bodies, events.headers))


def _trim_interval(most: int) -> int:
    """The number of new events after which old ones are removed."""
    return max(1, most // _STEPS)


def _values(
    stream: Entity, time: int, number: int, bodies: Sequence[bytes], headers: Mapping[str, str]
) -> Iterator[ValueChanged]:
    for at, body in enumerate(bodies, number):
        value = {"headers": dict(headers), "body": b64encode(body).decode("ascii")}
        yield ValueChanged(stream, ASPECT, time, f"{_FIRST_MARK - at:016x}", value)


def _number(row: ValueRow) -> int:
    """The number of earlier events of its stream."""
    return _FIRST_MARK - int(row.mark, 16)


def _event_body(row: ValueRow) -> Json:
    headers, body = texts(row.body.get("headers")), b64decode(str(row.body.get("body", "")))
    return {"timestamp": row.time, "headers": headers, "body": printable(body)}


def printable(body: bytes) -> str:
    r"""Bytes as a text: bytes that are not printable are written as `\xHH`.

    >>> print(printable(b"caf\xc3\xa9"))
    caf\xC3\xA9
    """
    return "".join(chr(byte) if chr(byte) in _PRINTABLE else f"\\x{byte:02X}" for byte in body)


def _span(exchange: Exchange) -> Span:
    """The requested range of events; raises `Failure` 400 for an invalid time."""
    span = Span(
        _moment_of(exchange, "start", 0),
        _moment_of(exchange, "end", 2**63 - 1),
        _number_of(exchange, "limit", 2**31 - 1),
    )
    if span.start < 0 or span.end < 0:
        raise bad("`start` and `end` are not negative")
    if span.start >= span.end:
        raise bad("`start` is before `end`")
    if span.limit <= 0:
        raise bad("`limit` is above 0")
    return span


def _moment_of(exchange: Exchange, parameter: str, otherwise: int) -> int:
    """A timestamp in milliseconds: a number, or relative to now (`now-1h`)."""
    seconds = relative_seconds(exchange.one(parameter), exchange.now)
    if seconds is None:
        return _number_of(exchange, parameter, otherwise)
    return seconds * 1_000 + int(exchange.now * 1_000) % 1_000


def _number_of(exchange: Exchange, parameter: str, otherwise: int) -> int:
    text = exchange.one(parameter)
    if not text:
        return otherwise
    if len(text) > len(str(2**63)) or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise bad(f"`{parameter}` is not a number")
    return int(text)


ROUTES: Final[Sequence[Route]] = (
    Route("POST", ONE, "stream.enqueue", enqueue, accepts=ANY_TYPE),
    Route("POST", f"{ONE}/async", "stream.async_enqueue", enqueue_later, accepts=ANY_TYPE),
    Route("POST", f"{ONE}/batch", "stream.batch", batch, accepts=ANY_TYPE),
    Route("GET", f"{ONE}/events", "stream.read_events", read),
)
