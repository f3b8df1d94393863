"""Traces: the contents of spans, what they must not contain, and no change without traces."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from structlog.testing import capture_logs

from lakewarden import __version__
from lakewarden.app import request_pipeline, traces
from lakewarden.app.build import Application
from lakewarden.config.settings import Settings
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.service.steps import step
from lakewarden.telemetry import environment, span_sender
from tests import forkserver
from tests.app.asgi import AppClient, close
from tests.app.otlp_collector import Collector, attributes, collector
from tests.app.serving import server
from tests.app.stub import Stub
from tests.app.untraced import tell_imported

ROOT = "lw_root-token-of-these-tests-5Vq8Zt2LxW"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*environment.ENDPOINTS, "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def collected() -> Iterator[Collector]:
    with collector() as running:
        yield running


class _Calling(Stub):
    """A dialect whose only handler calls an unavailable service."""

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/called", "metalake.list", self._call),)

    def _call(self, exchange: Exchange) -> Reply:
        for _ in range(3):
            with suppress(OSError), step("call it", calls="there"):
                raise OSError
        return Reply(200, b"{}")


def _client(folder: Path, dialect: Stub | None = None) -> AppClient:
    settings = Settings(database=f"sqlite:///{folder}/store")
    application = Application(settings, [dialect or Stub()])
    application.open()
    return AppClient(application, asyncio.new_event_loop())


def _requests(collected: Collector) -> list[Span]:
    """The spans of requests, without those of their steps."""
    return [span for span in collected.spans() if span.kind == Span.SPAN_KIND_SERVER]


def _about(span: Span) -> dict[str, object]:
    return attributes(list(span.attributes))


@pytest.mark.slow
def test_requests_of_a_server_are_spans_that_name_routes_and_nobody(
    tmp_path: Path, collected: Collector
) -> None:
    environment = {
        "LAKEWARDEN_ROOT_TOKEN": ROOT,
        ENDPOINT: collected.address,
        "OTEL_SERVICE_NAME": "warden-of-tests",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=tests",
        "OTEL_BSP_SCHEDULE_DELAY": "3600000",  # only the final flush sends spans
    }
    arguments = ("--auth", "token", "--admin", "annabel", "--workers", "2", "--log-level", "debug")
    with server(tmp_path, *arguments, environment=environment, spawned=True) as served:
        made = {"name": "hidden_lake", "comment": "", "properties": {}}
        served.ask("POST", "/api/metalakes", made, token=ROOT)
        sent = {"traceparent": TRACEPARENT}
        for _ in range(3):  # a known head is handled differently from a new one
            served.ask("GET", "/api/metalakes/hidden_lake", None, sent, token=ROOT)
        served.ask("GET", "/r/hidden_realm/api/metalakes/hidden_lake", token=ROOT)
        served.ask("GET", f"/nowhere/hidden_lake?token={ROOT}")
        served.ask("PROPFIND", "/api/metalakes/hidden_lake", token=ROOT)
        assert not collected.bodies
        assert served.stop() == 0
        lines = [line for line in served.lines() if line["event"] == "request"]
    everything = collected.spans()
    spans = _requests(collected)
    assert collected.paths == {"/v1/traces"}
    assert [span.name for span in spans] == [
        "POST /api/metalakes",
        *["GET /api/metalakes/{metalake}"] * 3,
        "GET /r/{realm}/api/metalakes/{metalake}",
        "GET",
        "HTTP",
    ]
    got = spans[1:4]
    assert {(span.trace_id.hex(), span.parent_span_id.hex()) for span in got} == {(TRACE, PARENT)}
    assert len({span.span_id for span in spans}) == len(spans)
    assert not any(span.parent_span_id for span in (spans[0], *spans[4:]))
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    about = _about(got[0])
    assert isinstance(about.pop("lakewarden.revision"), int)
    assert about == {
        "http.request.method": "GET",
        "http.route": "/api/metalakes/{metalake}",
        "http.response.status_code": 200,
        "lakewarden.dialect": "gravitino",
        "lakewarden.operation": "metalake.load",
        "lakewarden.realm": "gravitino",
        "lakewarden.model": "gravitino",
    }
    assert _about(spans[-1])["http.request.method"] == "_OTHER"
    for hidden in ("hidden", ROOT, "annabel", "nowhere", "PROPFIND"):
        assert hidden.encode() not in b"".join(collected.bodies)
    own = {(span.trace_id.hex(), span.span_id.hex()) for span in spans}
    assert {(line["trace_id"], line["span_id"]) for line in lines} == own
    for resource in collected.resources():
        assert resource["service.name"] == "warden-of-tests"
        assert resource["service.version"] == __version__
        assert resource["deployment.environment.name"] == "tests"
    _check_steps(spans, [span for span in everything if span not in spans])
    processes = {resource["service.instance.id"] for resource in collected.resources()}
    assert len(processes) == len(collected.resources()) <= 2


def _check_steps(requests: list[Span], steps: list[Span]) -> None:
    """The steps of the requests are their child spans, and lie within them."""
    by_id = {span.span_id: span for span in (*requests, *steps)}
    for each in steps:
        within = by_id[each.parent_span_id]
        assert each.trace_id == within.trace_id
        assert within.start_time_unix_nano <= each.start_time_unix_nano
        assert each.end_time_unix_nano <= within.end_time_unix_nano
    made, read = (
        {each.name for each in steps if each.trace_id == of.trace_id} for of in requests[:2]
    )
    assert {"decide", "read the store", "write the store"} <= made
    assert "decide" in read
    assert "write the store" not in read
    kinds = {(each.name, each.kind) for each in steps}
    assert ("write the store", Span.SPAN_KIND_CLIENT) in kinds
    assert ("decide", Span.SPAN_KIND_INTERNAL) in kinds
    told = {name for each in steps for name in _about(each)}
    assert told <= {"peer.service", "lakewarden.count"}


def test_a_failed_call_is_an_error_of_its_step_alone(
    tmp_path: Path, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collected.address)
    client = _client(tmp_path, _Calling())
    assert client.ask("GET", "/called").status == 200
    close(client)
    (called,) = [span for span in collected.spans() if span.name == "call it"]
    assert _about(called) == {"peer.service": "there", "lakewarden.count": 3}
    assert called.status.code == called.status.STATUS_CODE_ERROR
    (request,) = _requests(collected)
    assert called.parent_span_id == request.span_id
    assert request.status.code == request.status.STATUS_CODE_UNSET


def test_where_traces_are_off_no_steps_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> None:
        raise AssertionError("recorded")

    monkeypatch.setattr(request_pipeline, "Steps", never)
    client = _client(tmp_path)
    assert {client.ask("GET", "/stub").status for _ in range(3)} == {200}
    close(client)


def test_an_error_of_the_server_is_an_error_of_the_span(
    tmp_path: Path, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collected.address)
    client = _client(tmp_path)
    client.application.parts.is_open = False
    assert client.ask("GET", "/stub").status == 503
    close(client)
    span = collected.spans()[0]
    assert span.status.code == span.status.STATUS_CODE_ERROR
    assert _about(span)["error.type"] == "503"
    assert collected.resources()[0]["service.name"] == "lakewarden"


@pytest.mark.parametrize(
    "traceparent", ["", "00-zz-zz-01", f"00-{'0' * 32}-{PARENT}-01", "x" * 300, "\xff"]
)
def test_an_unsound_parent_is_none(
    traceparent: str, tmp_path: Path, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collected.address)
    client = _client(tmp_path)
    assert client.ask("GET", "/stub", headers=[("traceparent", traceparent)]).status == 200
    close(client)
    assert {span.parent_span_id for span in _requests(collected)} == {b""}


def test_what_is_not_sampled_is_not_sent(
    tmp_path: Path, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, collected.address)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    client = _client(tmp_path)
    assert client.ask("GET", "/stub").status == 200
    assert client.ask("GET", "/stub", headers=[("traceparent", TRACEPARENT)]).status == 200
    close(client)
    assert {span.trace_id.hex() for span in collected.spans()} == {TRACE}


def test_a_collector_that_never_answers_delays_neither_answers_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
        monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "2")
        monkeypatch.setattr(span_sender, "FLUSH_SECONDS", 0.1)
        client = _client(tmp_path)
        assert {client.ask("GET", "/stub").status for _ in range(20)} == {200}
        close(client)


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "nonsense", "ftp://127.0.0.1/x"])
def test_a_wrong_address_of_the_collector_fails_no_request(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENDPOINT, endpoint)
    monkeypatch.setattr(span_sender, "FLUSH_SECONDS", 0.1)
    client = _client(tmp_path)
    assert client.ask("GET", "/stub").status == 200
    close(client)


def test_a_failure_of_the_library_fails_no_request(
    tmp_path: Path, collected: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> dict[str, str | int]:
        raise RuntimeError("no attributes")

    monkeypatch.setenv(ENDPOINT, collected.address)
    monkeypatch.setattr(traces, "_attributes", fail)
    client = _client(tmp_path)
    with capture_logs() as logged:
        assert client.ask("GET", "/stub").status == 200
    close(client)
    errors = {line["event"] for line in logged if line["log_level"] == "error"}
    assert errors == {"request not traced"}


@pytest.mark.parametrize(
    ("variables", "is_wanted"),
    [
        ({}, False),
        ({ENDPOINT: " "}, False),
        ({ENDPOINT: "http://c:4318", "OTEL_SDK_DISABLED": "True"}, False),
        ({ENDPOINT: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
    ],
)
def test_traces_are_off_unless_a_variable_asks_for_them(
    variables: dict[str, str], is_wanted: bool
) -> None:
    assert environment.is_wanted(variables) is is_wanted


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "not to `zipkin`"),
        ({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, "not by `grpc`"),
        ({ENDPOINT: "http://c", "OTEL_BSP_MAX_QUEUE_SIZE": "1"}, "queue_size"),
    ],
)
def test_what_cannot_be_had_is_logged_and_left_out(
    variables: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with capture_logs() as logged:
        assert traces.tracing(environment.SERVER) is None
    assert [line["event"] for line in logged] == ["traces are not sent"]
    assert why in logged[0]["why"]


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    monkeypatch.delitem(sys.modules, "lakewarden.telemetry.span_sender")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with capture_logs() as logged:
        assert traces.tracing(environment.SERVER) is None
    assert "lakewarden[telemetry]" in logged[0]["why"]


def test_nothing_of_the_library_is_imported_where_traces_are_off(tmp_path: Path) -> None:
    context = forkserver.context()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=tell_imported, args=(f"sqlite:///{tmp_path}/store", there))
    process.start()
    there.close()
    assert here.recv() == []
    process.join()
