"""Avro container files: their contents are decoded, and invalid files are refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.systems.cdap.http.avro import Bounds, Container, read
from tests.systems.cdap.http.avro_file import (
    PERSON,
    SYNC,
    block,
    deflated,
    file,
    head,
    long,
    person,
    text,
)

MANY = Bounds(1_000, 100_000)
LINKED = {
    "type": "record",
    "name": "Linked",
    "fields": [{"name": "next", "type": ["null", "Linked"]}],
}
NOTHING = {"type": "record", "name": "Nothing", "fields": []}


def found(*blocks: list[bytes], **how: Any) -> Container:
    return read(file(*blocks, **how), MANY)


@pytest.mark.parametrize("codec", ["", "null", "deflate"])
def test_records_are_told_apart_over_all_blocks(codec: str) -> None:
    people = [person(1, "Ana"), person(-2), person(2**31 - 1, "Zoë")]
    container = found(people[:2], people[2:], [], codec=codec)
    assert container.records == people
    assert '"Person"' in container.schema


@pytest.mark.parametrize(
    ("schema", "records"),
    [
        ("string", [text("a"), text("é")]),
        ("boolean", [b"\0", b"\1"]),
        ("long", [long(-(2**63)), long(2**63 - 1), long(0)]),
        ({"type": "long", "logicalType": "timestamp-millis"}, [long(1)]),
        (["float", "double"], [long(0) + struct.pack("<f", 1), long(1) + struct.pack("<d", 1)]),
        ({"type": "bytes"}, [text(b"\xff\0"), text(b"")]),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, [long(0), long(1)]),
        ({"type": "fixed", "name": "F", "size": 3}, [b"abc"]),
        ({"type": "array", "items": "int"}, [long(2) + long(7) + long(8) + long(0), long(0)]),
        ({"type": "array", "items": "int"}, [long(-1) + long(1) + long(7) + long(0)]),
        ({"type": "map", "values": "null"}, [long(1) + text("k") + long(0)]),
        (LINKED, [long(1) + long(1) + long(0), long(0)]),
        ("null", [b"", b"", b""]),
        (NOTHING, [b"", b""]),
        ({"type": "array", "items": NOTHING}, [long(2**62) + long(0)]),
        (
            {
                "type": "record",
                "name": "a.b.Pair",
                "fields": [
                    {"name": "one", "type": {"type": "fixed", "name": "Id", "size": 2}},
                    {"name": "two", "type": "Id"},
                    {"name": "three", "type": "a.b.Id"},
                ],
            },
            [b"aabbcc"],
        ),
    ],
)
def test_values_of_every_type_end_where_they_end(schema: object, records: list[bytes]) -> None:
    assert found(records, schema=schema).records == records


@pytest.mark.parametrize(
    "schema",
    [
        b"",
        b"{",
        b'{"type": "int", "type": "long"}',
        b"5",
        {},
        {"type": "array"},
        {"type": "map", "items": "int"},
        "Unknown",
        [],
        ["null", ["int"]],
        {"type": "record", "name": "R"},
        {"type": "record", "fields": []},
        {"type": "record", "name": "1st", "fields": []},
        {"type": "record", "name": "R", "namespace": "a b", "fields": []},
        {"type": "record", "name": "string", "fields": []},
        {"type": "record", "name": "R", "fields": [{"type": "int"}]},
        {"type": "record", "name": "R", "fields": [{"name": "f"}]},
        {"type": "record", "name": "R", "fields": [{"name": "f", "type": "int"}] * 2},
        {"type": "enum", "name": "E", "symbols": ["A", "A"]},
        {"type": "enum", "name": "E", "symbols": ["a.b"]},
        {"type": "fixed", "name": "F", "size": -1},
        {"type": "fixed", "name": "F", "size": True},
        [{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}],
    ],
)
def test_a_schema_that_is_none_is_refused(schema: object) -> None:
    with pytest.raises(BadInput):
        found([], schema=schema)


@pytest.mark.parametrize(
    ("schema", "record"),
    [
        ("boolean", b"\2"),
        ("int", long(2**31)),
        ("long", b"\xff" * 10 + b"\1"),
        ("long", b"\xff" * 9 + b"\x7f"),
        ("long", b"\x80"),
        ("string", text(b"\xff")),
        ("string", long(-1)),
        ("string", long(9) + b"short"),
        ("double", b"1234567"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, long(1)),
        (["null"], long(1)),
        (["null"], long(-1)),
        ({"type": "array", "items": "int"}, long(2) + long(1)),
        ({"type": "array", "items": "int"}, long(-1) + long(2) + long(1) + long(0)),
        (LINKED, long(1) * 100 + long(0)),
        ("null", b"x"),
    ],
)
def test_a_value_that_is_none_is_refused(schema: object, record: bytes) -> None:
    with pytest.raises(BadInput):
        found([record], schema=schema)


def test_a_record_that_holds_itself_without_end_is_refused() -> None:
    endless = {"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}
    with pytest.raises(BadInput, match="too deeply"):
        found([b"x"], schema=endless)


def test_records_without_bytes_are_not_walked_over() -> None:
    levels: list[Any] = [NOTHING]
    for level in range(60):
        below = levels[-1]["name"]
        fields = [{"name": name, "type": below} for name in "ab"]
        levels.append({"type": "record", "name": f"R{level}", "fields": fields})
    assert found([long(60)], schema=levels).records == [long(60)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Obj\x02" + head()[4:],
        b"id,name\n1,Ana\n",
        head()[:-1],
        head() + block(1, person(1))[:-1],
        head() + block(1, person(1), sync=bytes(16)),
        head() + block(1, person(1) + person(2)),
        head() + block(2, person(1)),
        head() + block(-1, person(1)),
        head() + long(1) + long(-1) + SYNC,
        head() + b"\n",
        head(codec=b"snappy"),
        head(codec=b"deflate") + block(1, person(1)),
        head(codec=b"deflate") + block(1, deflated(person(1)) + b"x"),
        head(codec=b"deflate") + block(1, deflated(person(1))[:-1]),
        b"Obj\x01" + long(1) + text("avro.codec") + text("null") + long(0) + SYNC,
        b"Obj\x01" + long(2) + 2 * (text("avro.schema") + text('"int"')) + long(0) + SYNC,
        b"Obj\x01" + long(2**40) + SYNC,
    ],
)
def test_a_file_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput):
        read(body, MANY)


def test_metadata_may_come_in_blocks_with_their_size() -> None:
    pair = text("avro.schema") + text('"int"')
    start = b"Obj\x01" + long(-1) + long(len(pair)) + pair + long(0) + SYNC
    assert read(start + block(1, long(4)), MANY).records == [long(4)]


def test_both_bounds_hold_for_what_is_decompressed() -> None:
    body = file([text("x" * 50_000)] * 2, schema="string", codec="deflate")
    assert len(body) < 1_000
    assert len(read(body, Bounds(2, 100_006)).records) == 2
    with pytest.raises(LimitExceeded, match="too long together"):
        read(body, Bounds(2, 100_005))
    with pytest.raises(LimitExceeded, match="1 records"):
        read(body, Bounds(1, 100_006))
    empty = head("null") + block(2**62, b"")
    with pytest.raises(LimitExceeded):
        read(empty, MANY)


def test_the_bound_on_bytes_is_that_of_all_blocks_together() -> None:
    people = [person(1, "Ana" * 10)]
    size = len(people[0])
    assert len(read(file(people, people), Bounds(9, 2 * size)).records) == 2
    with pytest.raises(LimitExceeded):
        read(file(people, people), Bounds(9, 2 * size - 1))


def test_every_cut_of_a_file_is_refused_or_shorter() -> None:
    whole = file([person(1, "Ana")], [person(2, "Bob")], codec="deflate")
    for end in range(len(whole)):
        try:
            records = read(whole[:end], MANY).records
        except BadInput:
            continue
        assert records == [person(1, "Ana")][: len(records)]
        assert end in (len(head(PERSON, codec=b"deflate")), len(whole) - len(tail(whole)))


def tail(whole: bytes) -> bytes:
    """The last block of a file."""
    return whole[whole[: -len(SYNC)].rindex(SYNC) + len(SYNC) :]
