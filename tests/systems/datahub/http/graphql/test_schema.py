"""The executable schema is made once, however many requests ask for it first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier
from typing import Any

import pytest
from graphql import GraphQLSchema

from lakewarden.systems.datahub.http.graphql import schema as schemas

ASKERS = 4


def test_it_is_made_once_for_all_who_ask_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[GraphQLSchema] = []
    together = Barrier(ASKERS)

    def make(*_: Any) -> GraphQLSchema:
        made.append(GraphQLSchema())
        return made[-1]

    def ask(_: int) -> GraphQLSchema:
        together.wait()
        return schemas.schema()

    monkeypatch.setattr(schemas, "make_executable_schema", make)
    monkeypatch.setattr(schemas, "_schema", cache(schemas._schema.__wrapped__))
    with ThreadPoolExecutor(ASKERS) as askers:
        asked = list(askers.map(ask, range(ASKERS)))
    assert [id(schema) for schema in asked] == [id(made[0])] * ASKERS
    assert len(made) == 1
