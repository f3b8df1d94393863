"""Every document that fits the schema is answered, never with an internal error."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from graphql import IntValueNode, print_schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import from_schema

from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.systems.datahub.http.graphql.wire import ROOT, Wire

LONG = st.integers(0, 9).map(lambda number: IntValueNode(value=str(number)))
# Deferred, because reading the schema takes seconds and every worker imports this file.
DOCUMENTS = st.deferred(lambda: from_schema(print_schema(schema()), custom_scalars={"Long": LONG}))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with Wire(tmp_path_factory.mktemp("realm")) as wire:
        yield wire


@settings(max_examples=settings().max_examples // 4, suppress_health_check=list(HealthCheck))
@given(document=DOCUMENTS, by=st.sampled_from([ROOT, "eve"]))
def test_no_document_meets_an_unforeseen_error(shared: Wire, document: str, by: str) -> None:
    answer = json.loads(shared.send({"query": document}, by).body)
    codes = {error["extensions"]["code"] for error in answer.get("errors", ())}
    assert codes <= {400, 403, 404, 409}
