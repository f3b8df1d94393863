"""Traces of the gateway: the contents of a call's span, and what it must not contain.

A server in this process replaces Spark.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import grpc
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import base_pb2_grpc as stubs
from structlog.testing import capture_logs

from lakewarden.authn.authenticator import Authenticator
from lakewarden.gateway.backend import SERVICE, Address, Backend
from lakewarden.gateway.call_record import CallRecord
from lakewarden.gateway.server import Listening, Server
from lakewarden.gateway.service import Gateway
from lakewarden.telemetry.span_sender import SpanSender
from tests.app.otlp_collector import Collector, attributes, collector
from tests.gateway.estate import NAMES, REALM, Estate

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SESSION = "00000000-0000-0000-0000-0000000000a1"
BACKEND_TOKEN = "hidden-token-of-spark"
ANSWERS = 2


class _Spark(grpc.GenericRpcHandler):  # type: ignore[misc]  # untyped library
    """Answers settings and plans; it knows no statuses."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method.endswith("/Config"):
            return grpc.unary_unary_rpc_method_handler(lambda *_: b"")
        if details.method.endswith("/ExecutePlan"):
            return grpc.unary_stream_rpc_method_handler(lambda *_: iter([b""] * ANSWERS))
        return None


@dataclass
class Client:
    """Calls the gateway as one of its users."""

    stub: stubs.SparkConnectServiceStub
    token: str

    def config(self, *more: tuple[str, str], token: str = "") -> None:
        request = base.ConfigRequest(session_id=SESSION)
        request.operation.get.keys.append("spark.sql.session.timeZone")
        self.stub.Config(request, metadata=self._metadata(token, *more))

    def status(self) -> None:
        self.stub.GetStatus(base.GetStatusRequest(session_id=SESSION), metadata=self._metadata(""))

    def read(self, table: str) -> None:
        request = base.AnalyzePlanRequest(session_id=SESSION)
        request.schema.plan.root.read.named_table.unparsed_identifier = table
        self.stub.AnalyzePlan(request, metadata=self._metadata(""))

    def execute(self) -> int:
        request = base.ExecutePlanRequest(session_id=SESSION)
        request.plan.root.range.end, request.plan.root.range.step = 3, 1
        return len(list(self.stub.ExecutePlan(request, metadata=self._metadata(""))))

    def _metadata(self, token: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {token or self.token}"), *more)


@contextmanager
def client(estate: Estate, spans: SpanSender | None) -> Iterator[Client]:
    spark = grpc.server(ThreadPoolExecutor(4), handlers=(_Spark(),))
    port = spark.add_insecure_port("127.0.0.1:0")
    spark.start()
    backend = Backend(Address(f"127.0.0.1:{port}"), BACKEND_TOKEN)
    authenticator = Authenticator("token", "root")
    gateway = Gateway(estate.service, authenticator, backend, REALM, NAMES, spans)
    server = Server(gateway, Listening("127.0.0.1", 0))
    try:
        with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            stub = stubs.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
            yield Client(stub, estate.tokens["bo"])
    finally:
        server.stop()
        backend.channel.close()
        spark.stop(None)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.address)
        yield running


def about(span: Span) -> dict[str, object]:
    return attributes(list(span.attributes))


def test_calls_are_spans_that_name_what_is_called_and_nobody(
    estate: Estate, collected: Collector
) -> None:
    spans = SpanSender("warden-of-tests")
    with client(estate, spans) as calls:
        calls.config(("traceparent", f"00-{TRACE}-{PARENT}-01"))
        assert calls.execute() == ANSWERS
        with pytest.raises(grpc.RpcError):
            calls.read("hr.people")
        with pytest.raises(grpc.RpcError):
            calls.config(token="hidden-token")
        with pytest.raises(grpc.RpcError):
            calls.status()
    spans.close()
    everything = collected.spans()
    found = [span for span in everything if span.kind == Span.SPAN_KIND_SERVER]
    methods = ["Config", "ExecutePlan", "AnalyzePlan", "Config", "GetStatus"]
    assert [span.name for span in found] == [f"{SERVICE}/{method}" for method in methods]
    assert (found[0].trace_id.hex(), found[0].parent_span_id.hex()) == (TRACE, PARENT)
    settings, executed, denied, unknown, failed = map(about, found)
    assert isinstance(settings.pop("lakewarden.revision"), int)
    assert settings == {
        "rpc.system": "grpc",
        "rpc.service": SERVICE,
        "rpc.method": "Config",
        "rpc.grpc.status_code": 0,
        "lakewarden.dialect": "spark",
        "lakewarden.realm": REALM,
        "lakewarden.model": "gravitino",
        "lakewarden.outcome": "done",
    }
    assert (executed["lakewarden.plan"], executed["lakewarden.outcome"]) == ("root", "done")
    assert denied["lakewarden.outcome"] == "denied"
    assert denied["lakewarden.plan"] == "schema"
    assert str(denied["lakewarden.operation"]).startswith("spark.")
    assert denied["rpc.grpc.status_code"] == grpc.StatusCode.PERMISSION_DENIED.value[0]
    assert unknown["lakewarden.outcome"] == "unauthenticated"
    assert (failed["lakewarden.outcome"], failed["error.type"]) == ("failed", "UNIMPLEMENTED")
    errors = [span.name for span in found if span.status.code == span.status.STATUS_CODE_ERROR]
    assert errors == [f"{SERVICE}/GetStatus"]
    steps = [
        {each.name for each in everything if each.parent_span_id == span.span_id} for span in found
    ]
    assert "call Spark" in steps[0]
    assert "stream the answer" in steps[1]
    assert "call Spark" not in steps[2]
    sent = b"".join(collected.bodies)
    for hidden in ("people", "hidden", '"bo"', estate.tokens["bo"], SESSION, "timeZone"):
        assert hidden.encode() not in sent


def test_a_client_that_leaves_is_no_error(collected: Collector) -> None:
    spans = SpanSender("warden-of-tests")
    record = CallRecord("ExecutePlan", None)

    def answers() -> Generator[int]:
        with record.streaming():
            yield from range(3)

    taken = answers()
    next(taken)
    taken.close()
    record.send(spans, REALM, _Context())
    spans.close()
    (span,) = collected.spans()
    assert about(span)["lakewarden.outcome"] == "cancelled"
    assert span.status.code == span.status.STATUS_CODE_UNSET


class _Context:
    def invocation_metadata(self) -> tuple[()]:
        return ()

    def code(self) -> None: ...


def test_a_failure_of_the_library_fails_no_call(
    estate: Estate, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no span")

    monkeypatch.setattr(SpanSender, "record", fail)
    spans = SpanSender("warden-of-tests")
    with capture_logs() as logged, client(estate, spans) as calls:
        calls.config()
        assert calls.execute() == ANSWERS
    spans.close()
    assert [line["event"] for line in logged] == ["call not traced"] * 2


def test_calls_are_not_recorded_where_traces_are_off(
    estate: Estate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("sent")

    monkeypatch.setattr(CallRecord, "send", never)
    with client(estate, None) as calls:
        calls.config()
        assert calls.execute() == ANSWERS
