"""Streams: created idempotently, configured, emptied and deleted.

An existing stream is not changed by creating it again, by any caller; only the owner must be the
same. Its contents are its events (`stream_events`); views are formats to read them
(`stream_views`).
SOURCE: cdap reference 2.6, 2.9, 2.11, 4.2, 4.8, 4.10 (P7), K25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import creating, object_store, owners, stream_events
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    allow,
    is_stored,
    listed,
    write,
    write_all,
)
from lakewarden.systems.cdap.http.bodies import (
    Body,
    Json,
    convert,
    empty_reply,
    ok,
    present,
    read,
    read_optional,
)
from lakewarden.systems.cdap.http.creating import PRINCIPAL, NewDataSettings
from lakewarden.systems.cdap.http.deleting import delete_all
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.ids import entity, last, namespace

PATH: Final = "/v3/namespaces/{namespace}/streams"
ONE: Final = f"{PATH}/{{stream}}"

TTL: Final = stream_events.TTL
FORMAT: Final = "format"
THRESHOLD: Final = "notification.threshold.mb"

FOREVER: Final = (2**63 - 1) // 1_000
"""The default number of seconds for which events are stored."""

FORMATS: Final = ("avro", "clf", "csv", "grok", "syslog", "text", "tsv")

TEXT: Final[Json] = {
    "name": "text",
    "schema": {
        "type": "record",
        "name": "stringBody",
        "fields": [{"name": "body", "type": "string"}],
    },
    "settings": {},
}
"""The default format of events."""

_OF_THRESHOLD: Final = 1_024


class StreamBody(Body):
    """The body of a stream."""

    ttl: int | None = None
    format: Json | None = None
    threshold: int | None = msgspec.field(default=None, name=THRESHOLD)
    description: str | None = None
    principal: str | None = None

    def properties(self) -> Json:
        """The given properties; raises `Failure` 400 for invalid ones."""
        if self.ttl is not None and not 0 <= self.ttl <= FOREVER:
            raise bad(f"`{TTL}` is not a number of seconds from 0 to {FOREVER}")
        if self.threshold is not None and self.threshold <= 0:
            raise bad(f"`{THRESHOLD}` is not a number above 0")
        if self.format is not None:
            check_format(self.format)
        values = {TTL: self.ttl, FORMAT: self.format, THRESHOLD: self.threshold}
        return present(**values)


def check_format(format: Json) -> None:
    """Raises `Failure` 400 for a format with an unknown name."""
    if format.get("name") not in FORMATS:
        raise bad(f"the name of a format is one of {', '.join(FORMATS)}")


def listed_all(exchange: Exchange) -> Reply:
    """The streams of a namespace that are visible to the caller."""
    return ok(
        [{"name": last(stream)} for stream in listed(exchange, "stream.list", namespace(exchange))]
    )


def create(exchange: Exchange) -> Reply:
    """Creates a stream; an existing one is not changed, and nobody gets grants on it."""
    stream = entity(exchange, "stream")
    body = read_optional(exchange, StreamBody, longs=True)
    settings = NewDataSettings(body.properties(), body.description, body.principal)

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        owner = owners.effective(transaction.realm(exchange.realm), stream, body.principal)
        return [Requirement("stream.create", stream), *owners.requirements(owner)]

    def create_stream(transaction: WriteTransaction) -> None:
        if is_stored(transaction.realm(exchange.realm), stream):
            _check_owner(exchange, transaction, "stream.create", stream, body.principal)
        else:
            creating.put_stream(exchange, transaction, "stream.create", stream, settings)

    write_all(exchange, requirements, create_stream, missing=None)
    return empty_reply()


def get(exchange: Exchange) -> Reply:
    """The properties of a stream."""
    stream = entity(exchange, "stream")
    allow(exchange, "stream.get", stream)
    return ok(_stream_body(object_store.document(exchange, stream)))


def update(exchange: Exchange) -> Reply:
    """Changes properties; those that are not given stay as they are. Owners must be repeated."""
    stream = entity(exchange, "stream")
    body = read(exchange, StreamBody, longs=True)
    changed = body.properties()

    def put_properties(transaction: WriteTransaction) -> None:
        _check_owner(exchange, transaction, "stream.update_properties", stream, body.principal)
        known = object_store.document_in(transaction, exchange.realm, stream)
        new_description = body.description
        description = known.get("description") if new_description is None else new_description
        properties = {**properties_of(known), **changed}
        object_store.put(
            transaction, exchange.realm, stream, properties=properties, description=description
        )

    write(exchange, "stream.update_properties", stream, put_properties)
    return empty_reply()


def truncate(exchange: Exchange) -> Reply:
    """Removes all events of a stream."""
    stream = entity(exchange, "stream")

    def drop_events(transaction: WriteTransaction) -> None:
        stream_events.clear(transaction, exchange.realm, stream)

    write(exchange, "stream.truncate", stream, drop_events)
    return empty_reply()


def delete(exchange: Exchange) -> Reply:
    """Deletes a stream with its events and views."""
    stream = entity(exchange, "stream")

    def drop_stream(transaction: WriteTransaction) -> None:
        object_store.drop(exchange, transaction, "stream.delete", stream)

    write(exchange, "stream.delete", stream, drop_stream)
    return empty_reply()


def drop_all(exchange: Exchange) -> Reply:
    """Deletes all streams of a namespace."""
    return delete_all(exchange, "stream.drop_all", namespace(exchange), "stream")


def properties_of(body: Json) -> Json:
    """The given properties of a stream."""
    return convert(body.get("properties") or {}, Json)


def _check_owner(
    exchange: Exchange,
    transaction: WriteTransaction,
    operation: str,
    stream: Entity,
    principal: str | None,
) -> None:
    """Raises `Failure` 403 if the stream would get another owner."""
    body = object_store.document_in(transaction, exchange.realm, stream)
    owners.check_same(transaction.realm(exchange.realm), operation, stream, body, principal)


def _stream_body(body: Json) -> Json:
    defaults = {TTL: FOREVER, FORMAT: TEXT, THRESHOLD: _OF_THRESHOLD, **properties_of(body)}
    more = present(description=body.get("description"), principal=body.get(PRINCIPAL))
    return {**defaults, **more}


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "stream.list", listed_all),
    Route("DELETE", PATH, "stream.drop_all", drop_all),
    Route("PUT", ONE, "stream.create", create),
    Route("GET", ONE, "stream.get", get),
    Route("DELETE", ONE, "stream.delete", delete),
    Route("PUT", f"{ONE}/properties", "stream.update_properties", update),
    Route("POST", f"{ONE}/truncate", "stream.truncate", truncate),
)
