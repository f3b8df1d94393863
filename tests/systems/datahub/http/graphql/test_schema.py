"""The executable schema is built once: by a ready server, or by earlier requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from graphql import GraphQLSchema

from lakewarden.service.decision_service import DecisionService
from lakewarden.store import open_store
from lakewarden.systems.datahub import first_start
from lakewarden.systems.datahub.http.graphql import schema as schemas
from tests.systems.datahub.http.wire import Wire

ASKERS = 4


def test_the_schema_is_built_once_for_concurrent_requests(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_server_that_is_ready_makes_it_where_there_is_a_realm_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[GraphQLSchema] = []

    def make() -> GraphQLSchema:
        made.append(GraphQLSchema())
        return made[-1]

    monkeypatch.setattr(schemas, "_schema", make)
    monkeypatch.setattr(first_start, "prepare", lambda _: None)  # searches have their own test
    with open_store(f"sqlite:///{tmp_path}/empty.db") as store:
        first_start.FIRST_START.ready(DecisionService(store))
    assert not made
    with Wire(tmp_path) as wire:
        first_start.FIRST_START.ready(wire.service)
    assert len(made) == 1
