"""Creates OpenTelemetry spans and sends them by OTLP over HTTP.

The span of a call is created once the call is answered, together with the spans of its steps
(`service.steps`), which were timed meanwhile. Work that takes minutes begins and ends its own
spans. Spans wait in a queue of this process, which drops spans when it is full; a thread sends
them.

A span with the attribute `error.type` marks a failure.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from threading import Thread
from typing import Final, NamedTuple

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lakewarden import __version__
from lakewarden.service.steps import Steps

FLUSH_SECONDS: Final = 3.0
"""How long an ending process waits for its last spans to be sent."""

ERROR: Final = "error.type"
Attributes = Mapping[str, str | int]

_TRACER: Final = "lakewarden"
_CONTEXT: Final = TraceContextTextMapPropagator()


class SpanIds(NamedTuple):
    """The ids of a span for the log, in hexadecimal digits."""

    trace_id: str
    span_id: str


class _Moments(NamedTuple):
    """One moment on the clock of spans (nanoseconds) and on that of steps (seconds)."""

    nanoseconds: int
    seconds: float

    def at(self, seconds: float) -> int:
        """The time of a step in nanoseconds since the epoch."""
        return self.nanoseconds - int((self.seconds - seconds) * 1e9)


class SpanSender:
    """Sends the spans of one service, by the environment variables of OpenTelemetry.

    Raises what the library raises for invalid variables; so do its methods.
    """

    def __init__(self, service: str) -> None:
        self._provider = TracerProvider(resource=_resource(service), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(_TRACER, __version__)

    def record(
        self,
        name: str,
        attributes: Attributes,
        headers: Mapping[str, str],
        begun: float,
        steps: Steps | None,
    ) -> SpanIds:
        """Records a call that ends now, and began at `begun` of `time.perf_counter`.

        `headers` may name the caller's span, as `traceparent`.
        """
        now = _Moments(time.time_ns(), time.perf_counter())
        span = self._tracer.start_span(
            name,
            context=_CONTEXT.extract(headers, Context()) if headers else Context(),
            kind=SpanKind.SERVER,
            attributes=attributes,
            start_time=now.at(begun),
        )
        if ERROR in attributes:
            span.set_status(Status(StatusCode.ERROR))
        if steps is not None and span.is_recording():
            self._record_steps(span, steps, now)
        span.end(now.nanoseconds)
        ids = span.get_span_context()
        return SpanIds(f"{ids.trace_id:032x}", f"{ids.span_id:016x}")

    def _record_steps(self, call: Span, steps: Steps, moments: _Moments) -> None:
        """Records a span for each finished step, below its parent."""
        spans: list[Span | None] = []
        for step in [*steps.found]:  # an abandoned thread may still add to it
            within = call if step.parent is None else spans[step.parent]
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
            call.set_attribute("lakewarden.steps_dropped", steps.dropped)

    def begin(self, name: str, within: Span | None = None, *, ago: float = 0.0) -> Span:
        """Starts a span, dated back by `ago` seconds, which lasts until `end`."""
        return self._tracer.start_span(
            name,
            context=Context() if within is None else set_span_in_context(within, Context()),
            start_time=time.time_ns() - int(ago * 1e9),
        )

    def end(self, span: Span, attributes: Attributes) -> None:
        """Ends a span of `begin`."""
        span.set_attributes(attributes)
        if ERROR in attributes:
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def close(self) -> None:
        """Sends the remaining spans, within `FLUSH_SECONDS`: the library would wait longer."""
        closing = Thread(target=self._provider.shutdown, name="traces", daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)


def _resource(service: str) -> Resource:
    """The sender of the spans: a process of this service."""
    own = {
        "service.name": service,
        "service.version": __version__,
        "service.instance.id": str(uuid.uuid4()),
    }
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})
