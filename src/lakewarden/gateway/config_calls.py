"""Settings of a session that users may read and set."""

from __future__ import annotations

from pyspark.sql.connect.proto import base_pb2 as base

from lakewarden.gateway import permitted
from lakewarden.gateway.errors import Denied


def check_config(operation: base.ConfigRequest.Operation) -> None:
    """Raises `Denied` for a setting that users may not read, or not set."""
    lists = permitted.load()
    match operation.WhichOneof("op_type"):
        case "set":
            may, names = lists.may_set, [pair.key for pair in operation.set.pairs]
        case "unset":
            may, names = lists.may_set, list(operation.unset.keys)
        case "get":
            may, names = lists.may_get, list(operation.get.keys)
        case "get_option":
            may, names = lists.may_get, list(operation.get_option.keys)
        case "get_with_default":
            may, names = lists.may_get, [pair.key for pair in operation.get_with_default.pairs]
        case "is_modifiable":
            may, names = lists.may_get, list(operation.is_modifiable.keys)
        case _:
            raise Denied("this question about settings is not permitted")
    for name in names:
        if not may(name):
            raise Denied(f"setting `{name[:200]}` is not permitted")
