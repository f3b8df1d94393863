"""Whether a process sends traces: the environment variables of OpenTelemetry say so.

Nothing of OpenTelemetry is imported before one of them asks for traces.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lakewarden.telemetry.span_sender import SpanSender

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where traces go; one of them switches them on."""

SERVER: Final = "lakewarden"
"""The name of the server as a service, unless a variable gives another one."""

_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTER: Final = "OTEL_TRACES_EXPORTER"
_DISABLED: Final = "OTEL_SDK_DISABLED"
_OTLP: Final = "otlp"
_PROTOBUF: Final = "http/protobuf"


def span_sender(service: str, warn: Callable[[str], None]) -> SpanSender | None:
    """What sends the spans of this process; None where nothing asks for it.

    `service` is the name of the service, unless a variable gives another one. Where traces are
    asked for and cannot be had, `warn` is told why, and the process goes on without.
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
        except Exception as error:  # noqa: BLE001 — traces are no reason not to work
            why = str(error)
    warn(why)
    return None


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether the variables ask for traces.

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
    """What the variables ask for and lakewarden does not have; empty: nothing.

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
    """The first of the variables that is not empty; an empty one is as none."""
    values = (environment.get(name, "").strip() for name in names)
    return next((value for value in values if value), "")
