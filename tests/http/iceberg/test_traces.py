"""Traces of the guard: each request is a span, with the catalog call as its child."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from lakewarden.cli.iceberg_guard import SERVICE
from tests.app.otlp_collector import Collector, attributes, collector
from tests.http.iceberg.guarded import NEW_SCHEMA, ROOT, Guarded, guard_of
from tests.http.iceberg.rest_catalog import PREFIX, TOKEN, rest_catalog

TABLES = "shop/namespaces/sales/tables"
ROUTE = "/r/{realm}/iceberg/v1/{prefix}/namespaces/{namespace}/tables"
TABLE = f"{ROUTE}/{{table}}"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALL = "call the catalog"


@pytest.mark.slow
def test_requests_are_spans_with_the_call_to_the_catalog_below(tmp_path: Path) -> None:
    with collector() as collected:
        tokens = _session(tmp_path, collected)
    spans = collected.spans()
    loaded, denied, made, lost = [one for one in spans if one.kind == Span.SPAN_KIND_SERVER]
    assert [one.name for one in (loaded, made)] == [f"GET {TABLE}", f"POST {ROUTE}"]
    assert (loaded.trace_id.hex(), loaded.parent_span_id.hex()) == (TRACE, PARENT)
    about = _about(loaded)
    assert isinstance(about.pop("lakewarden.revision"), int)
    assert about == {
        "http.request.method": "GET",
        "http.route": TABLE,
        "http.response.status_code": 200,
        "lakewarden.dialect": "iceberg",
        "lakewarden.operation": "",
        "lakewarden.realm": "gravitino",
        "lakewarden.model": "gravitino",
    }
    assert _about(denied)["lakewarden.operation"] == "iceberg.loadTable"
    assert [_about(one)["http.response.status_code"] for one in (denied, lost)] == [403, 502]
    assert _about(lost)["error.type"] == "502"
    steps = [_steps(spans, of) for of in (loaded, denied, made, lost)]
    assert [CALL in names for names in steps] == [True, False, True, True]
    assert all("decide" in names for names in steps)
    assert "write the store" in steps[2]
    calls = [one for one in spans if one.name == CALL]
    assert {_about(one)["peer.service"] for one in calls} == {"iceberg"}
    assert [one.status.code for one in calls] == [0, 0, Span().status.STATUS_CODE_ERROR]
    assert {resource["service.name"] for resource in collected.resources()} == {SERVICE}
    told = str([*collected.resources(), *((one.name, _about(one)) for one in spans)])
    for hidden in ("orders", "fresh", "sales", "shop", "ana", "eve", TOKEN, ROOT, *tokens):
        assert hidden not in told, hidden


def _session(folder: Path, collected: Collector) -> list[str]:
    """Loads, is denied, creates, loads while the catalog disconnects; returns the users' tokens."""
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collected.address,
        "OTEL_BSP_SCHEDULE_DELAY": "3600000",  # only the final flush sends spans
    }
    with rest_catalog(folder / "catalog") as catalog:
        catalog.tables.create_namespace("sales")
        catalog.tables.create_table(("sales", "orders"), pa.schema([("id", pa.int64())]))
        opened = guard_of(folder, catalog.address, PREFIX, variables=variables)
        with opened as (served, tokens):
            guard = Guarded(served, catalog, tokens)
            traced = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            new = {"name": "fresh", "schema": NEW_SCHEMA}
            statuses = [
                guard.ask("ana", "GET", f"{TABLES}/orders", **traced).status,
                guard.ask("eve", "GET", f"{TABLES}/orders").status,
                guard.ask("sam", "POST", TABLES, new).status,
            ]
            catalog.override = _hang_up
            statuses.append(guard.ask("ana", "GET", f"{TABLES}/orders").status)
            assert served.stop() == 0
    assert statuses == [200, 403, 200, 502]
    return [*tokens.values()]


def _hang_up(method: str, path: str) -> None:
    """A catalog that disconnects."""
    raise ConnectionResetError(method, path)


def _about(span: Span) -> dict[str, object]:
    return attributes(list(span.attributes))


def _steps(spans: list[Span], of: Span) -> set[str]:
    """The names of a request's child spans."""
    return {one.name for one in spans if one.trace_id == of.trace_id and one is not of}
