"""Rows in responses of the gateway itself, and rows that it reads from Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import relations_pb2 as relations

_TYPES: Final = {bool: pa.bool_(), str: pa.string()}


def local(columns: Mapping[str, type], rows: Sequence[Sequence[object]]) -> relations.Relation:
    """A relation with these rows; `columns` are strings or booleans."""
    schema = pa.schema([(name, _TYPES[type]) for name, type in columns.items()])
    cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
    arrays = [pa.array(column, field.type) for column, field in zip(cells, schema, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.record_batch(arrays, schema=schema))
    plan = relations.Relation()
    plan.local_relation.data = sink.getvalue().to_pybytes()
    return plan


def read(answers: Any) -> list[dict[str, Any]]:
    """The rows in the responses to a plan; raises as the call does."""
    rows: list[dict[str, Any]] = []
    for data in answers:
        answer = base.ExecutePlanResponse()
        answer.ParseFromString(data)
        if answer.HasField("arrow_batch"):
            rows += pa.ipc.open_stream(answer.arrow_batch.data).read_all().to_pylist()
    return rows
