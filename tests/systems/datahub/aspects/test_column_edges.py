"""Patches of edges between columns: each edge is identified by its four parts."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.patch import apply

LIST = "fineGrainedLineages"
Json = dict[str, Any]


def add(path: str, **value: object) -> Json:
    return {"op": "add", "path": f"/{LIST}/{path}", "value": value}


def remove(path: str) -> Json:
    return {"op": "remove", "path": f"/{LIST}/{path}"}


def edge_record(down: str, *up: str, score: float = 1.0, by: str = "NONE", **more: object) -> Json:
    return {
        "confidenceScore": score,
        "upstreamType": "FIELD_SET",
        "downstreamType": "FIELD",
        "upstreams": list(up),
        "downstreams": [down],
        "transformOperation": by,
        **more,
    }


def patched(before: list[Json] | None, *operations: Json) -> Any:
    aspect = None if before is None else {LIST: before}
    found = apply(aspect, list(operations), "")
    assert isinstance(found, dict)
    return found[LIST]


def test_an_edge_is_added_to_those_of_its_column_or_to_none() -> None:
    made = add("NONE/d/NONE/u", confidenceScore=0.5)
    assert patched(None, made) == [edge_record("d", "u", score=0.5)]
    assert patched([edge_record("d", "v")], made) == [edge_record("d", "v", "u", score=0.5)]
    assert patched([edge_record("d", "u")], made) == [edge_record("d", "u", score=0.5)]
    by_query = add("COPY/d/urn:li:query:q/u")
    assert patched([edge_record("d", "u")], by_query) == [
        edge_record("d", "u"),
        edge_record("d", "u", by="COPY", query="urn:li:query:q"),
    ]


def test_edges_are_taken_away_by_some_of_their_parts() -> None:
    there = [edge_record("d", "u", "v"), edge_record("e", "u")]
    assert patched(there, remove("NONE/d/NONE/u")) == [edge_record("d", "v"), edge_record("e", "u")]
    assert patched(there, remove("NONE/d")) == [edge_record("e", "u")]
    assert patched(there, remove("NONE")) == []
    assert patched(there, remove("NONE/d/NONE/x")) == there


def test_a_list_written_otherwise_is_read_as_edges() -> None:
    plain = {"upstreams": {"array": ["u"]}, "downstreams": ["d", "e"]}
    assert patched([plain], add("NONE/d/NONE/v")) == [
        edge_record("d", "u", "v"),
        edge_record("e", "u"),
    ]
    whole = {"op": "replace", "path": f"/{LIST}", "value": [edge_record("x", "y")]}
    assert patched([edge_record("d", "u")], remove("NONE/d"), whole) == [edge_record("x", "y")]


@pytest.mark.parametrize("operation", [add("NONE/d/NONE"), add("NONE/d/NONE/u/more")])
def test_what_names_no_edge_is_refused(operation: Json) -> None:
    with pytest.raises(BadInput, match=LIST):
        patched([], operation)


def test_a_list_of_no_edges_is_refused() -> None:
    with pytest.raises(BadInput, match=LIST):
        apply({LIST: ["x"]}, [remove("NONE/d")], "")


def test_an_edge_to_the_same_end_is_replaced() -> None:
    edge = {"dataset": "a", "type": "VIEW"}
    value = [{"op": "add", "path": "/upstreams/a", "value": edge}]
    assert apply({"upstreams": [{"dataset": "a", "type": "COPY"}]}, value, "") == {
        "upstreams": [edge]
    }
