"""Object container files of Avro: the records in them, each as the bytes that it has there.

    found = read(body, Bounds(records=10_000, bytes=4_194_304))
    found.records        # in the order of the file
    found.schema         # the text that the file brings along

A file is taken whole or not at all: magic, metadata, sync marks, counts and sizes must agree, and
each block must end where its last record does. Codecs are `null` and `deflate`, those that every
implementation has. Both bounds hold for what is decompressed.

Read here rather than by a library: what is wanted are the bytes of each record, where libraries
give decoded values, which need not become the same bytes again; and nothing else here needs one.
SOURCE: Apache Avro 1.11 specification: object container files; cdapio/cdap,
AvroStreamBodyConsumer at 483b4e8bef18cd88d4554166c49aa1b7e9e20016.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from lakewarden.http import strict_json
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.names.canonical import quoted
from lakewarden.systems.cdap.http.avro_schema import Data, Shape, shape_of

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_SCHEMA: Final = "avro.schema"
_CODEC: Final = "avro.codec"
_NULL: Final = b"null"
_DEFLATE: Final = b"deflate"
_MOST_METADATA: Final = 100
_RAW: Final = -15


class Bounds(NamedTuple):
    """How many records a file has at most, and how many bytes they are together."""

    records: int
    bytes: int


class Container(NamedTuple):
    """What is in a file: the schema as it is written there, and the records."""

    schema: str
    records: list[bytes]


class _Header(NamedTuple):
    schema: bytes
    codec: bytes
    sync: bytes


def read(file: bytes, bounds: Bounds) -> Container:
    """The records of a file; raises `BadInput`, or `LimitExceeded` beyond the bounds."""
    data = Data(file)
    header = _header(data)
    shape = shape_of(strict_json.read(header.schema))
    records: list[bytes] = []
    limit = bounds.bytes
    while data.at < len(file):
        count, block = _block(data, header, limit)
        limit -= len(block)
        if len(records) + count > bounds.records:
            raise LimitExceeded(f"a file has {bounds.records} records at most")
        records += _records(block, count, shape)
    return Container(header.schema.decode("utf-8"), records)


def _header(data: Data) -> _Header:
    if data.take(len(_MAGIC)) != _MAGIC:
        raise BadInput("the body is no container file of Avro")
    metadata = dict(_metadata(data))
    schema, codec = metadata.get(_SCHEMA), metadata.get(_CODEC, _NULL)
    if schema is None:
        raise BadInput("the file brings no schema along")
    if codec not in (_NULL, _DEFLATE):
        name = quoted(codec.decode("utf-8", "replace"))
        raise BadInput(f"the codec {name} is not known; expected one of: null, deflate")
    return _Header(schema, codec, data.take(_SYNC_BYTES))


def _metadata(data: Data) -> Iterator[tuple[str, bytes]]:
    """The metadata of a file, a map of bytes; no key comes twice."""
    keys: set[str] = set()
    while count := data.long():
        if count < 0:
            count = -count
            data.long()
        if len(keys) + count > _MOST_METADATA:
            raise BadInput(f"a file has {_MOST_METADATA} metadata at most")
        for _ in range(count):
            key = data.take(data.long()).decode("utf-8", "replace")
            if key in keys:
                raise BadInput(f"the metadata {quoted(key)} comes twice")
            keys.add(key)
            yield key, data.take(data.long())


def _block(data: Data, header: _Header, most: int) -> tuple[int, bytes]:
    """The next block: how many records it says that it has, and their bytes."""
    count, size = data.long(), data.long()
    if count < 0:
        raise BadInput("a block has a negative count")
    content = data.take(size)
    if data.take(_SYNC_BYTES) != header.sync:
        raise BadInput("a block does not end with the mark of its file")
    block = _decompressed(content, most) if header.codec == _DEFLATE else content
    if len(block) > most:
        raise LimitExceeded("the records of the file are too long together")
    return count, block


def _decompressed(content: bytes, most: int) -> bytes:
    """What was compressed, or the first bytes of it where it is too long."""
    inflater = zlib.decompressobj(_RAW)
    try:
        block = inflater.decompress(content, most + 1)
    except zlib.error:
        raise BadInput("a block cannot be decompressed") from None
    if len(block) <= most and (not inflater.eof or inflater.unused_data):
        raise BadInput("a block cannot be decompressed")
    return block


def _records(block: bytes, count: int, shape: Shape) -> Iterator[bytes]:
    data = Data(block)
    for _ in range(count):
        start = data.at
        shape.walk(data, 0)
        yield block[start : data.at]
    if data.at != len(block):
        raise BadInput("a block holds more than its records")
