"""Reports an answered request to the metrics, the traces and the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from lakewarden.app import log, metrics
from lakewarden.app.client_address import Network, client_address
from lakewarden.app.request_context import RequestContext
from lakewarden.app.traces import Tracing


def report(
    context: RequestContext, status: int, proxies: Sequence[Network], tracing: Tracing | None
) -> None:
    """Counts, traces and logs an answered request."""
    seconds = time.perf_counter() - context.begun
    metrics.count(
        context.wire, context.rate_class, context.operation, status, context.model, seconds
    )
    if context.stale is not None:
        metrics.STALE.inc()
    span = None if tracing is None else tracing.record(context, status)
    level = logging.INFO if status >= 400 else logging.DEBUG
    if log.is_enabled(level):
        log.get().log(
            level,
            "request",
            method=context.method,
            path=context.path,
            status=status,
            seconds=round(seconds, 6),
            wire=context.wire,
            operation=context.operation,
            realm=context.realm,
            revision=context.revision,
            user=None if context.actor is None else context.actor.user,
            credential_kind=None if context.actor is None else context.actor.credential,
            client=client_address(context.peer, context.forwarded, proxies),
            request_id=context.request_id,
            **({} if span is None else span._asdict()),
        )
