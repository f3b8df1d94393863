"""Requests as spans of OpenTelemetry.

A span is created after its request is answered, from the same data as metrics and log. It names the
route by its template, never the path: paths and queries contain names of objects and tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakewarden.app import log
from lakewarden.app.request_context import RequestContext
from lakewarden.app.routing import REALMS
from lakewarden.telemetry import environment

if TYPE_CHECKING:
    from lakewarden.telemetry.span_sender import SpanIds, SpanSender

_METHODS: Final = frozenset(
    {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
)
_OTHER: Final = "_OTHER"
_SERVER_ERROR: Final = 500


def span_sender(service: str) -> SpanSender | None:
    """The sender of this process's spans; logs why a configured one is missing."""

    def warn(why: str) -> None:
        log.get().warning("traces are not sent", why=why)

    return environment.span_sender(service, warn)


def tracing(service: str) -> Tracing | None:
    """The tracing of requests in this process; None if nothing configures it."""
    sender = span_sender(service)
    return None if sender is None else Tracing(sender)


class Tracing:
    """Records requests as spans."""

    def __init__(self, sender: SpanSender) -> None:
        self._sender = sender

    def record(self, context: RequestContext, status: int) -> SpanIds | None:
        """Records an answered request; None if the library failed, which is logged."""
        own = context.own or {}
        try:
            return self._sender.record(
                _name(context),
                _attributes(context, status),
                {name.decode("latin-1"): value.decode("latin-1") for name, value in own.items()},
                context.begun,
                context.steps,
            )
        except Exception as error:  # noqa: BLE001 — the request is already answered
            log.get().error("request not traced", request_id=context.request_id, exc_info=error)
            return None

    def close(self) -> None:
        """Sends the remaining spans; see `SpanSender.close`."""
        self._sender.close()


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


def _operation(context: RequestContext) -> str:
    """The operation of the route; without one, the operation that was denied last."""
    exchange = context.exchange
    return context.operation or ("" if exchange is None else exchange.denied_operation)


def _attributes(context: RequestContext, status: int) -> dict[str, str | int]:
    """The attributes of a request, named by the semantic conventions where these have a name."""
    attributes: dict[str, str | int] = {
        "http.request.method": _method(context),
        "http.response.status_code": status,
        "lakewarden.dialect": context.wire,
    }
    if status >= _SERVER_ERROR:
        attributes["error.type"] = str(status)
    if context.match is not None:
        attributes["http.route"] = _route(context)
        attributes["lakewarden.operation"] = _operation(context)
    if context.model and context.realm is not None:  # else it may not exist
        attributes["lakewarden.realm"] = context.realm
        attributes["lakewarden.model"] = context.model
    if context.revision is not None:
        attributes["lakewarden.revision"] = context.revision
    return attributes
