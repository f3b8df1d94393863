"""Writes Avro container files for tests."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any, Final

SYNC: Final = bytes(range(16))

PERSON: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Person",
    "namespace": "com.acme",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "name", "type": ["null", "string"]},
    ],
}


def long(number: int) -> bytes:
    """A number in Avro's encoding."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def text(value: str | bytes) -> bytes:
    """A string, or bytes."""
    raw = value.encode() if isinstance(value, str) else value
    return long(len(raw)) + raw


def person(id: int, name: str | None = None) -> bytes:
    """A record of `PERSON`."""
    return long(id) + (long(0) if name is None else long(1) + text(name))


def deflated(block: bytes) -> bytes:
    """A block, compressed with the codec `deflate`."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflater.compress(block) + deflater.flush()


def head(schema: object = PERSON, **metadata: bytes) -> bytes:
    """Magic, metadata and sync marker; a schema in bytes is written unchanged."""
    written = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    known = {"avro.schema": written, **{f"avro.{key}": value for key, value in metadata.items()}}
    pairs = b"".join(text(key) + text(value) for key, value in known.items())
    return b"Obj\x01" + long(len(known)) + pairs + long(0) + SYNC


def block(count: int, kept: bytes, sync: bytes = SYNC) -> bytes:
    """A block that declares `count` records."""
    return long(count) + text(kept) + sync


def file(*blocks: Sequence[bytes], schema: object = PERSON, codec: str = "") -> bytes:
    """A file with these records."""
    joined = [(len(records), b"".join(records)) for records in blocks]
    if codec == "deflate":
        joined = [(count, deflated(kept)) for count, kept in joined]
    metadata = {"codec": codec.encode()} if codec else {}
    return head(schema, **metadata) + b"".join(block(*one) for one in joined)
