"""A job and its stages as OpenTelemetry spans, if OpenTelemetry's variables ask for traces.

A stage is sent as soon as it has ended: the trace of a job that is killed shows its finished
stages. Spans contain names of stages, counts and kinds of errors: no path, no name of a user, no
message. If sending fails, one warning is shown and the job continues.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lakewarden.pipeline.lineage import Warn, dataset
from lakewarden.pipeline.storage.location import Location
from lakewarden.telemetry import environment

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from lakewarden.telemetry.span_sender import SpanSender

SERVICE: Final = "lakewarden-pipeline"
"""The service name, unless a variable sets another one."""

SpanAttributes = dict[str, str | int]
"""The attributes of a span, by their names."""


@dataclass(slots=True)
class _Trace:
    """The open spans of a job, the innermost last; None: a span that could not be started."""

    sender: SpanSender
    warn: Warn
    going_on: list[Span | None] = field(default_factory=list)
    has_failed: bool = False

    def begin(self, name: str, ago: float) -> None:
        span = None
        try:
            span = self.sender.begin(name, self.going_on[-1] if self.going_on else None, ago=ago)
        except Exception as error:  # noqa: BLE001 — a trace must not fail the job
            self._fail(error)
        self.going_on.append(span)

    def end(self, attributes: SpanAttributes) -> None:
        span = self.going_on.pop()
        if span is None:
            return
        try:
            self.sender.end(span, attributes)
        except Exception as error:  # noqa: BLE001 — a trace must not fail the job
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self.has_failed:
            self.has_failed = True
            self.warn(f"the trace is not whole: {error}")


_current: ContextVar[_Trace | None] = ContextVar("trace", default=None)


@contextmanager
def traced(job: str, out: Location, run_id: str = "", *, warn: Warn) -> Iterator[None]:
    """Traces a job that makes a version of `out`; `run_id` is that of OpenLineage's events."""
    sender = environment.span_sender(SERVICE, lambda why: warn(f"no traces are sent: {why}"))
    if sender is None:
        yield
        return
    token = _current.set(_Trace(sender, warn))
    try:
        with _span(f"pipeline {job}") as attributes:
            attributes["lakewarden.job"] = job
            if run_id:
                attributes["openlineage.run_id"] = run_id
            yield
            with suppress(Exception):  # attributes that cannot be read are left out
                attributes.update(_output_attributes(out))
    finally:
        _current.reset(token)
        sender.close()


def _output_attributes(out: Location) -> SpanAttributes:
    """The current version of the output, and the number of rows of its tables."""
    made = dataset(out)
    if made.rows is None:
        return {}
    return {"lakewarden.version": int(made.version), "lakewarden.rows": made.rows}


@contextmanager
def _span(name: str, ago: float = 0.0) -> Iterator[SpanAttributes]:
    """A span around the block; yields its attributes."""
    attributes: SpanAttributes = {}
    trace = _current.get()
    if trace is None:
        yield attributes
        return
    trace.begin(name, ago)
    try:
        yield attributes
    except BaseException as error:
        attributes["error.type"] = type(error).__name__
        raise
    finally:
        trace.end(attributes)


@dataclass(slots=True)
class StageSpan:
    """The attributes of a finished stage; `reused`: an earlier run did it."""

    counts: Mapping[str, Any] = field(default_factory=dict)
    reused: bool = False


@contextmanager
def stage_span(name: str, began: float | None = None) -> Iterator[StageSpan]:
    """A span around a stage; or after it, if it `began` at that `time.monotonic`."""
    stage = StageSpan()
    with _span(name, 0.0 if began is None else time.monotonic() - began) as attributes:
        yield stage
        attributes["lakewarden.reused"] = stage.reused
        attributes.update({f"lakewarden.count.{key}": n for key, n in sums(stage.counts).items()})


def sums(counts: Mapping[str, Any]) -> dict[str, int]:
    """The counts that are numbers, and the sums of nested counts, whose keys may be names.

    >>> sums({"rows": 7, "here": True, "reasons": {"no type": 2, "no name": 3}, "missing": ["x"]})
    {'rows': 7, 'reasons': 5}
    """
    found = {}
    for key, value in counts.items():
        values = list(value.values()) if isinstance(value, Mapping) else [value]
        if all(type(number) is int for number in values):
            found[key] = sum(values)
    return found
