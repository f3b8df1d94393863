"""Errors of the Spark server in the form that users may see.

A message of the analyzer ends with the plan, which contains the filters and masks that the gateway
added. So only the part before the plan is shown.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import grpc
from google.rpc import error_details_pb2, status_pb2
from pyspark.sql.connect.proto import base_pb2 as base

FETCH: Final = "FetchErrorDetails"
_DETAILS: Final = "grpc-status-details-bin"
_PLAN: Final = (";\n'", ";\n")
_DENIAL: Final = "org.apache.spark.sql.AnalysisException"
_DOMAIN: Final = "org.apache.spark"
_MESSAGE: Final = 2_000
_SHOWN: Final = frozenset({"errorId", "errorClass", "sqlState", "classes"})
"""The metadata of an error that is shown."""


def shown(message: str) -> str:
    r"""The message without the plan.

    >>> shown("no such column `x`;\n'Project ['x]\n+- Filter (region = 'eu')")
    'no such column `x`'
    """
    for mark in _PLAN:
        message = message.split(mark, 1)[0]
    return message


def shown_details(data: bytes) -> bytes:
    """The response with the details of an error, without plans and stack traces."""
    answer = base.FetchErrorDetailsResponse()
    answer.ParseFromString(data)
    for error in answer.errors:
        error.message = shown(error.message)
        error.ClearField("stack_trace")
    shown_data: bytes = answer.SerializeToString()
    return shown_data


def end_with(context: Any, error: grpc.RpcError) -> None:
    """Ends a call with the status of the server's error, without the plan in it."""
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            context.set_trailing_metadata(((_DETAILS, _shown_status(value)),))
    context.abort(error.code(), shown(error.details() or ""))


def deny(context: Any, code: grpc.StatusCode, message: str) -> NoReturn:
    """Ends a call; Spark's clients show the message as an analysis error."""
    message = message[:_MESSAGE]  # it is sent in headers, whose size is limited
    info = error_details_pb2.ErrorInfo(reason=_DENIAL, domain=_DOMAIN)
    info.metadata["classes"] = f'["{_DENIAL}"]'
    status = status_pb2.Status(code=code.value[0], message=message)
    status.details.add().Pack(info)
    context.set_trailing_metadata(((_DETAILS, status.SerializeToString()),))
    context.abort(code, message)
    raise AssertionError  # `abort` raises


def _shown_status(data: bytes) -> bytes:
    status = status_pb2.Status()
    status.ParseFromString(data)
    kept = status_pb2.Status(code=status.code, message=shown(status.message))
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            for name in set(info.metadata) - _SHOWN:
                del info.metadata[name]
            kept.details.add().Pack(info)
    shown_data: bytes = kept.SerializeToString()
    return shown_data
