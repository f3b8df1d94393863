"""Whether a process sends traces, according to the environment variables of OpenTelemetry.

OpenTelemetry is imported only if the variables request traces.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lakewarden.telemetry.span_sender import SpanSender

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The endpoints of traces; setting either one enables traces."""

SERVER: Final = "lakewarden"
"""The service name of the server, unless a variable overrides it."""

_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTER: Final = "OTEL_TRACES_EXPORTER"
_DISABLED: Final = "OTEL_SDK_DISABLED"
_OTLP: Final = "otlp"
_PROTOBUF: Final = "http/protobuf"


def span_sender(service: str, warn: Callable[[str], None]) -> SpanSender | None:
    """The sender of this process's spans; None if traces are not requested.

    `service` is the service name, unless a variable overrides it. If traces are requested but not
    available, `warn` gets the reason, and the process continues without them.
    """
    if not is_wanted(os.environ):
        return None
    why = unsupported(os.environ)
    if not why:
        try:
            from lakewarden.telemetry.span_sender import SpanSender

            return SpanSender(service)
        except ModuleNotFoundError as error:
            why = f"`{error.name}` is not installed; run: pip install 'lakewarden[telemetry]'"
        except Exception as error:  # noqa: BLE001 — the process works without traces
            why = str(error)
    warn(why)
    return None


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether the variables request traces.

    >>> is_wanted({}), is_wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    (False, True)
    """
    if _value(environment, _DISABLED).lower() == "true":
        return False
    exporter = _value(environment, _EXPORTER)
    if exporter:
        return exporter != "none"
    return bool(_value(environment, *ENDPOINTS))


def unsupported(environment: Mapping[str, str]) -> str:
    """The requested option that lakewarden does not support, as a sentence; empty: none.

    >>> unsupported({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    'traces are sent by `http/protobuf`, not by `grpc`'
    """
    exporter = _value(environment, _EXPORTER) or _OTLP
    if exporter != _OTLP:
        return f"traces are sent to `{_OTLP}`, not to `{exporter}`"
    protocol = _value(environment, *_PROTOCOLS) or _PROTOBUF
    if protocol != _PROTOBUF:
        return f"traces are sent by `{_PROTOBUF}`, not by `{protocol}`"
    return ""


def _value(environment: Mapping[str, str], *names: str) -> str:
    """The first of the variables that is not empty; an empty one counts as unset."""
    values = (environment.get(name, "").strip() for name in names)
    return next((value for value in values if value), "")
