"""Avro object container files: their records, each as its original bytes.

    found = read(body, Bounds(records=10_000, bytes=4_194_304))
    found.records        # in the order of the file
    found.schema         # the schema's text in the file

A file is accepted or rejected as a whole: magic, metadata, sync marks, counts and sizes must agree,
and each block must end where its last record does. The codecs are `null` and `deflate`, which every
implementation has. Both limits apply to the decompressed data.

Not read with a library: the original bytes of each record are needed, but libraries return decoded
values, which may encode to different bytes; and nothing else here needs such a library.
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
    """The maximum number of records in a file, and their maximum total size in bytes."""

    records: int
    bytes: int


class Container(NamedTuple):
    """The content of a file: the unchanged schema, and the records."""

    schema: str
    records: list[bytes]


class _Header(NamedTuple):
    schema: bytes
    codec: bytes
    sync: bytes


def read(file: bytes, bounds: Bounds) -> Container:
    """The records of a file; raises `BadInput`, or `LimitExceeded` beyond the limits."""
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
    """The metadata of a file, a map of bytes without duplicate keys."""
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
    """The next block: its declared number of records, and their bytes."""
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
    """The decompressed content, or its first bytes if it is too long."""
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
