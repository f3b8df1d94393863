"""Bodies, responses and errors of GraphQL over HTTP."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest
from graphql import GraphQLObjectType, build_client_schema, get_introspection_query

from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.datahub.http.graphql.pages import roots
from lakewarden.systems.datahub.http.graphql.routes import PATHS, routes
from lakewarden.systems.datahub.search.index import Index
from tests.systems.datahub.http.graphql.wire import REALM, ROOT, Wire, user

NAME = "query name($urn: String!) { corpUser(urn: $urn) { username } }"


@pytest.mark.parametrize("path", PATHS)
def test_every_path_answers_alike(wire: Wire, path: str) -> None:
    body = {"query": NAME, "variables": {"urn": user("ana")}, "operationName": "name"}
    reply = wire.send(body, path=path)
    assert reply.status == 200
    assert json.loads(reply.body) == {"data": {"corpUser": {"username": "ana"}}}


def test_only_post_is_served() -> None:
    assert {route.method for route in routes()} == {"POST"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'[{"query": "{ __typename }"}]',
        b'"{ __typename }"',
        b"{}",
        b'{"query": 1}',
        b'{"query": "{ __typename }", "variables": []}',
        b'{"query": "{ __typename }", "operationName": 1}',
        b'{"query": "{ __typename }", "query": "{ __typename }"}',
    ],
)
def test_what_is_no_request_is_refused(wire: Wire, body: bytes) -> None:
    reply = wire.send(body)
    answer = json.loads(reply.body)
    assert reply.status == 400
    assert answer["data"] is None
    assert _extensions(answer)["code"] == 400


@pytest.mark.parametrize(
    ("query", "classification"),
    [
        ("{", "InvalidSyntax"),
        ("{ a" * 5_000, "InvalidSyntax"),
        ("{ nothing }", "ValidationError"),
        ("{ corpUser { urn } }", "ValidationError"),
        (NAME, "ValidationError"),
        ("query a { __typename } query b { __typename }", "ValidationError"),
        ("{ ...f } fragment f on Query { ...f }", "ValidationError"),
    ],
)
def test_a_document_that_makes_no_sense_is_a_bad_request(
    wire: Wire, query: str, classification: str
) -> None:
    answer = wire.ask(query)
    assert answer["data"] is None
    assert _extensions(answer) == {
        "code": 400,
        "type": "BAD_REQUEST",
        "classification": classification,
    }


def test_an_error_says_where_it_is(wire: Wire) -> None:
    answer = wire.ask('{ corpUser(urn: "x") { urn } other: __typename }')
    assert answer["data"] == {"corpUser": None, "other": "Query"}
    (error,) = answer["errors"]
    assert error["path"] == ["corpUser"]
    assert error["locations"] == [{"line": 1, "column": 3}]
    assert error["message"].startswith("expected `urn:li:type:key`")


def test_an_unforeseen_error_tells_nothing(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("secret")

    monkeypatch.setattr(roots, "is_known", broken)
    answer = wire.ask(NAME, urn=user("ana"))
    assert answer["errors"][0]["message"] == "internal error"
    assert _extensions(answer)["code"] == 500
    assert _extensions(answer)["type"] == "SERVER_ERROR"
    assert "secret" not in json.dumps(answer)


def test_everybody_may_ask_for_the_schema(wire: Wire) -> None:
    answer = wire.ask(get_introspection_query(), "eve")
    assert "errors" not in answer
    schema = build_client_schema(answer["data"])
    assert isinstance(schema.type_map["Policy"], GraphQLObjectType)


@pytest.mark.parametrize(
    ("setting", "credential", "allowed"),
    [
        ("authenticated", "token:t1", True),
        ("authenticated", "anonymous", False),
        ("all", "anonymous", True),
        ("off", "token:t1", False),
    ],
)
def test_who_may_ask_for_the_schema_is_a_setting(
    wire: Wire, setting: str, credential: str, allowed: bool
) -> None:
    wire.configure(graphql_introspection=setting)
    wire.credential = credential
    for query in (
        get_introspection_query(),
        '{ __type(name: "Policy") { name } }',
        "query q { ...f } fragment f on Query { __schema { queryType { name } } }",
    ):
        assert ("errors" not in wire.ask(query, "eve")) is allowed
    # The type of an object is not a question about the schema.
    named = wire.ask("{ me { __typename corpUser { __typename urn } } }", "ana")
    assert "errors" not in named


def test_the_schema_is_not_asked_for_in_circles(wire: Wire) -> None:
    inner = "fields { type { " * 4 + "name" + " } }" * 4
    answer = wire.ask(f"{{ __schema {{ types {{ {inner} }} }} }}")
    assert _extensions(answer)["classification"] == "ValidationError"


def test_each_mutation_of_a_document_is_done_by_itself(wire: Wire) -> None:
    query = """mutation both($input: PolicyUpdateInput!) {
      one: createPolicy(input: $input)
      two: deletePolicy(urn: "urn:li:dataHubPolicy:none")
    }"""
    answer = wire.ask(
        query,
        input={
            "type": "PLATFORM",
            "name": "p",
            "state": "ACTIVE",
            "privileges": [],
            "actors": {"allUsers": False, "allGroups": False, "resourceOwners": False},
        },
    )
    assert answer["data"]["one"].startswith("urn:li:dataHubPolicy:")
    assert answer["data"]["two"] is None
    assert [error["path"] for error in answer["errors"]] == [["two"]]


def test_a_query_writes_nothing_but_that_it_was_refused(wire: Wire) -> None:
    revision, audit = wire.service.state.revision, wire.audit()
    wire.ask("{ listPolicies(input: {}) { total } }", ROOT)
    assert (wire.service.state.revision, wire.audit()) == (revision, audit)
    wire.ask("{ listPolicies(input: {}) { total } }", "eve")
    assert wire.service.state.revision == revision
    assert [(who, what, how) for who, what, _, how in wire.audit()[len(audit) :]] == [
        ("eve", "policy.list", "deny")
    ]


def test_what_was_asked_of_a_former_state_goes_with_it_without_the_collector(wire: Wire) -> None:
    """Otherwise each search after a write keeps a state: execution and index have no cycles."""
    query = """query found($input: SearchAcrossEntitiesInput!) {
      searchAcrossEntities(input: $input) { total searchResults { entity { urn } } }
    }"""
    tags = [EntityAdded(Entity("tag", f"urn:li:tag:{name}")) for name in ("one", "other")]
    # Other tests keep the first state.
    wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, tags[0]))
    former = weakref.ref(wire.service.state.realm(REALM).matrix)
    gc.disable()
    try:
        answer = wire.ask(query, ROOT, input={"query": "ana", "types": ["CORP_USER"]})
        assert "errors" not in answer
        index = weakref.ref(Index.of(wire.service.state.realm(REALM).matrix.snapshot))
        wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, tags[1]))
        assert (former(), index()) == (None, None)
    finally:
        gc.enable()


def _extensions(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["errors"][0]["extensions"]
    return found
