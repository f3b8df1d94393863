"""The record of a call for the metrics and, if traces are on, for a span of OpenTelemetry.

A span names the call, its kind of plan and its outcome: no user, no name of a table, no statement,
no error message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import grpc
import structlog
from prometheus_client import Counter
from pyspark.sql.connect.proto import base_pb2 as base

from lakewarden.gateway.access import ENGINE
from lakewarden.gateway.backend import SERVICE
from lakewarden.service.steps import Steps

if TYPE_CHECKING:
    from lakewarden.telemetry.span_sender import SpanSender

CALLS: Final = Counter(
    "lakewarden_gateway_calls_total", "Calls of Spark Connect by outcome", ["call", "outcome"]
)
DONE: Final = "done"
CANCELLED: Final = "cancelled"
_ERRORS: Final = frozenset({"undecided", "failed", "error"})
_CALLER: Final = ("traceparent", "tracestate")
_log = structlog.get_logger("lakewarden.gateway")


@dataclass(slots=True)
class CallRecord:
    """One call of `method`; without `steps` it is not traced.

    `operation` is the operation of a denied call, `revision` the revision by which it was decided.
    """

    method: str
    steps: Steps | None
    outcome: str = CANCELLED
    model: str = ""
    revision: int | None = None
    request: Any = None
    operation: str = ""
    begun: float = field(default_factory=time.perf_counter)

    def end(self, outcome: str) -> None:
        """Counts the outcome of the call, or the start of a stream."""
        self.outcome = outcome
        CALLS.labels(self.method, outcome).inc()

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """Wraps the responses of a stream: it is done when all were consumed."""
        self.outcome = CANCELLED
        step = None if self.steps is None else self.steps.begin("stream the answer", "spark")
        failed = False
        try:
            yield
            self.outcome = DONE
        except Exception:
            failed = True
            raise
        finally:
            if self.steps is not None and step is not None:
                self.steps.end(step, failed=failed)

    def send(self, sender: SpanSender, realm: str, context: grpc.ServicerContext) -> None:
        """Sends the span of the finished call; an error of the library is only logged."""
        try:
            headers = {
                key: value
                for key, value in context.invocation_metadata()
                if key in _CALLER and isinstance(value, str)
            }
            name = f"{SERVICE}/{self.method}"
            sender.record(
                name, self._attributes(realm, context.code()), headers, self.begun, self.steps
            )
        except Exception as error:  # noqa: BLE001 — the call was answered all the same
            _log.error("call not traced", exc_info=error)

    def _attributes(self, realm: str, code: grpc.StatusCode | None) -> dict[str, str | int]:
        """The span's attributes, with names of the semantic conventions where there are any."""
        code = code or grpc.StatusCode.OK
        attributes: dict[str, str | int] = {
            "rpc.system": "grpc",
            "rpc.service": SERVICE,
            "rpc.method": self.method,
            "rpc.grpc.status_code": code.value[0],
            "lakewarden.dialect": ENGINE,
            "lakewarden.realm": realm,
            "lakewarden.outcome": self.outcome,
        }
        if self.outcome in _ERRORS and code is not grpc.StatusCode.CANCELLED:
            attributes["error.type"] = self.outcome if self.outcome != "failed" else code.name
        if self.revision is not None:
            attributes["lakewarden.model"] = self.model
            attributes["lakewarden.revision"] = self.revision
        if plan := _plan(self.request):
            attributes["lakewarden.plan"] = plan
        if self.operation:
            attributes["lakewarden.operation"] = self.operation
        return attributes


def _plan(request: Any) -> str:
    """Spark Connect's kind of the executed or analyzed plan; "" for other requests."""
    kind: str | None = None
    if isinstance(request, base.ExecutePlanRequest):
        kind = request.plan.WhichOneof("op_type")
        if kind == "command":
            kind = request.plan.command.WhichOneof("command_type")
    elif isinstance(request, base.AnalyzePlanRequest):
        kind = request.WhichOneof("analyze")
    return kind or ""
