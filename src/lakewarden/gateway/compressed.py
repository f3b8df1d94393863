"""Compressed plans of clients: they are decompressed to be checked, and forwarded like that."""

from __future__ import annotations

import zstandard
from google.protobuf.message import Message
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import commands_pb2 as commands
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway.errors import Denied, Malformed
from lakewarden.gateway.inspection import MAX_BYTES, parsed, parts


def decompress(message: Message) -> None:
    """Replaces every compressed operation in the message by the decompressed one."""
    if isinstance(message, base.Plan) and message.WhichOneof("op_type") == "compressed_operation":
        _decompress_plan(message)
        return
    if isinstance(message, relations.Relation):
        return
    for part in parts(message):
        decompress(part)


def _decompress_plan(plan: base.Plan) -> None:
    operation = plan.compressed_operation
    if operation.compression_codec != base.COMPRESSION_CODEC_ZSTD:
        raise Denied("this compression is not known here")
    data = _decompressed(operation.data)
    if operation.op_type == base.Plan.CompressedOperation.OP_TYPE_RELATION:
        plan.root.CopyFrom(parsed(relations.Relation, data))
    elif operation.op_type == base.Plan.CompressedOperation.OP_TYPE_COMMAND:
        plan.command.CopyFrom(parsed(commands.Command, data))
    else:
        raise Denied("what is compressed is not known here")


def _decompressed(data: bytes) -> bytes:
    reader = zstandard.ZstdDecompressor(max_window_size=MAX_BYTES).stream_reader(data)
    try:
        plain: bytes = reader.read(MAX_BYTES + 1)
    except zstandard.ZstdError:
        raise Malformed("the compressed plan cannot be read") from None
    if len(plain) > MAX_BYTES:
        raise Malformed(f"the compressed plan is larger than {MAX_BYTES} bytes")
    return plain
