"""Requests as spans of OpenTelemetry.

A span is made once its request was answered, from what metrics and log are told of it. It names
the route by its template, never the path: names of objects and tokens are in paths and queries.
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
    """What sends the spans of this process; the log says why there is none that is asked for."""

    def warn(why: str) -> None:
        log.get().warning("traces are not sent", why=why)

    return environment.span_sender(service, warn)


def tracing(service: str) -> Tracing | None:
    """What records requests as spans in this process; None where nothing asks for it."""
    sender = span_sender(service)
    return None if sender is None else Tracing(sender)


class Tracing:
    """Records requests as spans."""

    def __init__(self, sender: SpanSender) -> None:
        self._sender = sender

    def record(self, context: RequestContext, status: int) -> SpanIds | None:
        """Records an answered request; None where the library failed, which the log says."""
        own = context.own or {}
        try:
            return self._sender.record(
                _name(context),
                _attributes(context, status),
                {name.decode("latin-1"): value.decode("latin-1") for name, value in own.items()},
                context.begun,
                context.steps,
            )
        except Exception as error:  # noqa: BLE001 — the request was answered, that is what counts
            log.get().error("request not traced", request_id=context.request_id, exc_info=error)
            return None

    def close(self) -> None:
        """Sends what is left; see `SpanSender.close`."""
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
    """The operation of the route; of one that has none, what was denied last."""
    exchange = context.exchange
    return context.operation or ("" if exchange is None else exchange.denied_operation)


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
        attributes["lakewarden.operation"] = _operation(context)
    if context.model and context.realm is not None:  # else nobody knows whether there is such a one
        attributes["lakewarden.realm"] = context.realm
        attributes["lakewarden.model"] = context.model
    if context.revision is not None:
        attributes["lakewarden.revision"] = context.revision
    return attributes
