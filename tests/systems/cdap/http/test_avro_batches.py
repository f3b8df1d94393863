"""Batches of Avro over the wire: an event for each record, or nothing at all."""

from __future__ import annotations

import json
from hashlib import md5
from typing import Any

import pytest

from lakewarden.systems.cdap.settings import CdapLimits
from tests.systems.cdap.http.avro_file import PERSON, block, file, head, person, text
from tests.systems.cdap.http.wire import BOSS, Wire, limit

SPACE = "namespaces/sales"
CLICKS = f"{SPACE}/streams/clicks"
BATCH = f"{CLICKS}/batch"
AVRO = {"Content-Type": "avro/binary"}


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace with the stream `clicks`, on which `BOSS` may do everything."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "stream:sales.clicks")
    wire.good("PUT", SPACE)
    wire.good("PUT", CLICKS)
    return wire


def events(wire: Wire) -> list[Any]:
    status, found = wire.ask("GET", f"{CLICKS}/events")
    return list(found) if status == 200 else []


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_each_record_is_an_event_with_the_schema_that_reads_it(space: Wire, codec: str) -> None:
    body = file([person(3, "Ana"), person(4)], [person(5, "Bob")], codec=codec)
    assert space.ask("POST", BATCH, body, headers=AVRO) == (200, "")
    found = events(space)
    assert [one["body"] for one in found] == [
        r"\x06\x02\x06Ana",
        r"\x08\x00",
        r"\x0A\x02\x06Bob",
    ]
    schema = json.dumps(PERSON)
    hash = md5(schema.encode(), usedforsecurity=False).hexdigest()
    assert all(one["headers"] == {"schema": schema, "schema.hash": hash} for one in found)


def test_headers_of_the_request_go_with_each_record(space: Wire) -> None:
    headers = {**AVRO, "clicks.source": "web"}
    space.good("POST", BATCH, file([person(1)]), headers=headers)
    (one,) = events(space)
    assert (one["headers"]["source"], set(one["headers"])) == (
        "web",
        {"source", "schema", "schema.hash"},
    )


def test_a_file_without_records_is_no_event(space: Wire) -> None:
    space.good("POST", BATCH, file(), headers=AVRO)
    assert events(space) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"1,Ana\n2,Bob\n",
        head() + block(1, person(1)) + block(2, person(2)),
        file([person(1, "Ana")], schema="string"),
        file([person(1)])[:-1],
        head(codec=b"snappy"),
    ],
)
def test_a_file_that_is_none_is_400_and_nothing_of_it_is_kept(space: Wire, body: bytes) -> None:
    space.good("POST", CLICKS, b"before")
    revision = space.service.state.revision
    status, why = space.ask("POST", BATCH, body, headers=AVRO)
    assert (status, bool(why)) == (400, True)
    assert [one["body"] for one in events(space)] == ["before"]
    assert space.service.state.revision == revision


@pytest.mark.parametrize(
    "limits",
    [
        CdapLimits(batch_events=1),
        CdapLimits(event_bytes=1_999),
        CdapLimits(avro_bytes=4_003),
        CdapLimits(batch_bytes=4_003),
        CdapLimits(batch_bytes=4_100),
    ],
)
def test_what_is_too_much_once_it_is_decompressed_is_413(space: Wire, limits: CdapLimits) -> None:
    limit(space, limits)
    body = file([text("x" * 2_000)] * 2, schema="string", codec="deflate")
    assert len(body) < 200
    assert space.status("POST", BATCH, body, headers=AVRO) == 413
    assert events(space) == []


def test_headers_are_counted_for_the_events_that_are_kept(space: Wire) -> None:
    limit(space, CdapLimits(stream_events=3, batch_bytes=1_000))
    space.good("POST", BATCH, file([person(1)] * 100), headers=AVRO)
    assert len(events(space)) == 3


def test_who_may_not_write_learns_nothing_of_the_file(space: Wire) -> None:
    assert space.status("POST", BATCH, b"no file", user="eve", headers=AVRO) == 403
    space.grant("dana", "stream:sales.none", "WRITE")
    path = f"{SPACE}/streams/none/batch"
    assert space.status("POST", path, b"no file", user="dana", headers=AVRO) == 404
