"""Requests as spans of OpenTelemetry, sent by OTLP over HTTP.

A span is made once its request was answered, from what metrics and log are told of it, and with it
those of the request's steps (`service.steps`), which were timed meanwhile. Spans wait in a queue
of this process that drops what it cannot hold; a thread sends them. A span names the route by its
template, never the path: names of objects and tokens are in paths and queries.
"""

from __future__ import annotations

import time
import uuid
from threading import Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lakewarden import __version__
from lakewarden.app import log
from lakewarden.app.routing import REALMS

if TYPE_CHECKING:
    from lakewarden.app.request_context import RequestContext
    from lakewarden.service.steps import Steps

SERVICE: Final = "lakewarden"
"""The name of the service, unless a variable gives another one."""

FLUSH_SECONDS: Final = 3.0
"""How long a process that ends waits until its last spans are sent."""

_METHODS: Final = frozenset(
    {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
)
_OTHER: Final = "_OTHER"
_SERVER_ERROR: Final = 500
_CONTEXT: Final = TraceContextTextMapPropagator()


class SpanIds(NamedTuple):
    """A span as the log names it, in hexadecimal digits."""

    trace_id: str
    span_id: str


class _Moments(NamedTuple):
    """One moment by the clock of spans (nanoseconds) and by that of steps (seconds)."""

    nanoseconds: int
    seconds: float

    def at(self, seconds: float) -> int:
        """A moment of a step in nanoseconds since the epoch."""
        return self.nanoseconds - int((self.seconds - seconds) * 1e9)


class Tracing:
    """Records requests as spans, by the environment variables of OpenTelemetry.

    Raises whatever the library raises for variables that it cannot read.
    """

    def __init__(self) -> None:
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(SERVICE, __version__)

    def record(self, context: RequestContext, status: int, seconds: float) -> SpanIds | None:
        """Records an answered request; None where the library failed, which the log says."""
        try:
            return self._recorded(context, status, seconds)
        except Exception as error:  # noqa: BLE001 — the request was answered, that is what counts
            log.get().error("request not traced", request_id=context.request_id, exc_info=error)
            return None

    def _recorded(self, context: RequestContext, status: int, seconds: float) -> SpanIds:
        end = time.time_ns()
        span = self._tracer.start_span(
            _name(context),
            context=_parent(context),
            kind=SpanKind.SERVER,
            attributes=_attributes(context, status),
            start_time=end - int(seconds * 1e9),
        )
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))
        if context.steps is not None and span.is_recording():
            self._record_steps(span, context.steps, _Moments(end, context.begun + seconds))
        span.end(end)
        ids = span.get_span_context()
        return SpanIds(f"{ids.trace_id:032x}", f"{ids.span_id:016x}")

    def _record_steps(self, request: Span, steps: Steps, moments: _Moments) -> None:
        """A span for each step that has ended, below what it is part of."""
        spans: list[Span | None] = []
        for step in [*steps.found]:  # a thread that nobody waits for any more may add to it
            within = request if step.parent is None else spans[step.parent]
            if step.ended is None or within is None:
                spans.append(None)
                continue
            span = self._tracer.start_span(
                step.name,
                context=set_span_in_context(within, Context()),
                kind=SpanKind.CLIENT if step.calls else SpanKind.INTERNAL,
                attributes={"peer.service": step.calls} if step.calls else {},
                start_time=moments.at(step.begun),
            )
            if step.count > 1:
                span.set_attribute("lakewarden.count", step.count)
            if step.failed:
                span.set_status(Status(StatusCode.ERROR))
            span.end(moments.at(step.ended))
            spans.append(span)
        if steps.dropped:
            request.set_attribute("lakewarden.steps_dropped", steps.dropped)

    def close(self) -> None:
        """Sends what is left, for `FLUSH_SECONDS` at most: the library would wait for longer."""
        closing = Thread(target=self._provider.shutdown, name="traces", daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)


def _resource() -> Resource:
    """What sends the spans: a process of this service."""
    own = {
        "service.name": SERVICE,
        "service.version": __version__,
        "service.instance.id": str(uuid.uuid4()),
    }
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})


def _parent(context: RequestContext) -> Context:
    """The span of the caller, if it sent a sound one."""
    own = context.own
    if not own:
        return Context()
    carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in own.items()}
    return _CONTEXT.extract(carrier, Context())


def _method(context: RequestContext) -> str:
    return context.method if context.method in _METHODS else _OTHER


def _route(context: RequestContext) -> str:
    """The template of the route; empty where there is none."""
    match = context.match
    if match is None:
        return ""
    return match.route.path if match.realm is None else f"/{REALMS}/{{realm}}{match.route.path}"


def _name(context: RequestContext) -> str:
    method = _method(context)
    return f"{'HTTP' if method == _OTHER else method} {_route(context)}".rstrip()


def _attributes(context: RequestContext, status: int) -> dict[str, str | int]:
    """What is told of a request, by the semantic conventions where these have a name for it."""
    attributes: dict[str, str | int] = {
        "http.request.method": _method(context),
        "http.response.status_code": status,
        "lakewarden.dialect": context.wire,
    }
    if status >= _SERVER_ERROR:
        attributes["error.type"] = str(status)
    if context.match is not None:
        attributes["http.route"] = _route(context)
        attributes["lakewarden.operation"] = context.operation
    if context.model and context.realm is not None:  # else nobody knows whether there is such a one
        attributes["lakewarden.realm"] = context.realm
        attributes["lakewarden.model"] = context.model
    if context.revision is not None:
        attributes["lakewarden.revision"] = context.revision
    return attributes
