"""Every field of the schema that reads or writes is guarded, and has its own denial test."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import cast

import pytest
from graphql import GraphQLObjectType

from lakewarden import models
from lakewarden.systems.datahub.http import graphql
from lakewarden.systems.datahub.http.graphql.routes import routes
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.http.lock_spy import only_recorded
from tests.systems.datahub.http.graphql.census import OPEN, REFUSED
from tests.systems.datahub.http.graphql.wire import FORBIDDEN, Wire


def fields(root: str) -> set[str]:
    return set(cast(GraphQLObjectType, schema().type_map[root]).fields)


def test_every_field_of_the_roots_is_guarded_or_open() -> None:
    assert fields("Query") | fields("Mutation") == REFUSED.keys() | OPEN
    assert OPEN.isdisjoint(REFUSED)


def test_every_operation_is_declared() -> None:
    operations = {asked.operation for asked in REFUSED.values()}
    assert operations <= set(models.load("datahub").operations)


def test_every_route_says_why_it_has_no_operation() -> None:
    assert all(route.why and not route.operation and not route.public for route in routes())


@pytest.mark.parametrize("field", sorted(REFUSED))
def test_a_stranger_is_refused(wire: Wire, field: str) -> None:
    wire.close()
    before = wire.service.state.revision
    asked = REFUSED[field]
    with only_recorded(wire.service):
        assert wire.bad(asked.query, "eve", **asked.variables) == FORBIDDEN
    assert wire.service.state.revision == before
    if field in fields("Mutation"):
        who, operation, _, outcome = wire.audit()[-1]
        assert (who, operation, outcome) == ("eve", asked.operation, "deny")


def test_only_the_guard_decides() -> None:
    """Only `authorization` queries the kernel for decisions, or writes without a check."""
    words = ("matrix.decide", "matrix.check", ".allowed(", "transaction.decide", "exchange.write(")
    for module in pkgutil.walk_packages(graphql.__path__, f"{graphql.__name__}."):
        if module.name.endswith(".authorization"):
            continue
        source = inspect.getsource(import_module(module.name))
        assert not any(word in source for word in words), module.name


def test_everything_of_the_schema_that_is_resolved_is_there() -> None:
    """A root field without a resolver would always be null."""
    for root in ("Query", "Mutation"):
        type = cast(GraphQLObjectType, schema().type_map[root])
        assert all(field.resolve is not None for field in type.fields.values()), root
