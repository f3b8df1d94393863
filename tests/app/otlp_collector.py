"""A local server that accepts traces by OTLP over HTTP, like a collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """The address for `OTEL_EXPORTER_OTLP_ENDPOINT`, and the received bodies."""

    address: str
    paths: set[str] = field(default_factory=set)
    bodies: list[bytes] = field(default_factory=list)

    def spans(self) -> list[Span]:
        """All spans so far, in the order of their start."""
        found = [
            span
            for request in self._requests()
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    def resources(self) -> list[dict[str, object]]:
        """The senders: the attributes of each request's resource."""
        return [
            attributes(resource.resource.attributes)
            for request in self._requests()
            for resource in request.resource_spans
        ]

    def _requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in self.bodies]


def attributes(pairs: Iterator[KeyValue] | list[KeyValue]) -> dict[str, object]:
    """Attributes as a mapping of plain values."""
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collected.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            collected.paths.add(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collected = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield collected
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
