"""GraphQL over HTTP: one document in a JSON object, and its reply.

An invalid request gets 400, an unauthenticated one 401, a caller who is not admitted 403, and
everything else 200. SOURCE: datahub reference 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSyntaxError,
    MiddlewareManager,
    execute_sync,
)

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.http.sign_in import keep_alive
from lakewarden.http.strict_json import read
from lakewarden.kernel.errors import WardenError
from lakewarden.service.actor import ANONYMOUS
from lakewarden.systems.datahub.http.graphql import budget
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad, entry, failure_of, invalid
from lakewarden.systems.datahub.http.graphql.schema import schema
from lakewarden.systems.datahub.http.graphql.valid_documents import InvalidDocument, ValidDocuments
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.datahub.use_cases.account_status import SAYING, is_known_user, refusal_of

_documents = ValidDocuments()


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """The request in a body."""

    query: str
    variables: dict[str, Any]
    operation: str | None


def serve(exchange: Exchange) -> Reply:
    """Executes the document of the body."""
    call = Call(exchange)
    try:
        query = _read_request(exchange.body)
    except WardenError as error:
        return _reply({"data": None, "errors": [entry(failure_of(error))]}, status=400)
    reason = _refusal(call)
    if reason:
        failure = Failure(403, reason)
        return _reply({"data": None, "errors": [entry(failure)]}, status=failure.code)
    keep_alive(exchange)
    try:
        document = _documents.valid(query.query, introspects=_introspects(exchange))
    except InvalidDocument as error:
        return _reply({"data": None, "errors": [entry(fault) for fault in error.faults]})
    except Failure as failure:
        return _reply({"data": None, "errors": [entry(failure)]})
    except GraphQLSyntaxError as error:
        return _reply({"data": None, "errors": [entry(error)]})
    except RecursionError:
        return _reply({"data": None, "errors": [entry(invalid("the document nests too deep"))]})
    try:
        return _execute(call, document, query)
    finally:
        call.end()


def unauthenticated(why: str) -> Reply:
    """401, with a body for GraphQL clients, and for clients that only read its `message`."""
    failure = Failure(401, why)
    return _reply({"data": None, "errors": [entry(failure)], "message": why}, status=401)


def _refusal(call: Call) -> str:
    """The reason why the caller is not admitted; empty for an admitted one."""
    user = call.actor
    is_stored = not call.exchange.services.of(DataHubSettings).existence or is_known_user(
        call.state, user.name
    )
    return refusal_of(user.name, *(call.aspect(user, name) for name in SAYING), is_there=is_stored)


def _introspects(exchange: Exchange) -> bool:
    """Whether the caller may query the schema itself, by the settings."""
    allowed = exchange.services.of(DataHubSettings).graphql_introspection
    is_proven = exchange.actor.credential != ANONYMOUS
    return allowed == "all" or (allowed == "authenticated" and is_proven)


def _read_request(body: bytes) -> GraphQLRequest:
    value = read(body)
    if isinstance(value, list):
        raise invalid("several requests in one are not allowed")
    if not isinstance(value, dict):
        raise invalid("expected a JSON object")
    query, variables = value.get("query"), value.get("variables")
    operation = value.get("operationName")
    if not isinstance(query, str):
        raise invalid("expected a `query`, a string")
    if variables is not None and not isinstance(variables, dict):
        raise invalid("expected `variables` to be an object")
    if operation is not None and not isinstance(operation, str):
        raise invalid("expected `operationName` to be a string")
    return GraphQLRequest(query, variables or {}, operation)


def _execute(call: Call, document: DocumentNode, query: GraphQLRequest) -> Reply:
    try:
        result = execute_sync(
            schema(),
            document,
            context_value=call,
            variable_values=query.variables,
            # Some clients send an empty name for none.
            operation_name=query.operation or None,
            middleware=MiddlewareManager(budget.FieldCounter()),
        )
    except RecursionError:
        return _reply({"data": None, "errors": [entry(invalid("the variables nest too deep"))]})
    except budget.BudgetExceeded as error:
        return _reply({"data": None, "errors": [entry(bad(str(error)))]})
    except GraphQLError as error:
        result = ExecutionResult(None, [error])
    answer: dict[str, Any] = {"data": result.data}
    if result.errors:
        answer["errors"] = [entry(error) for error in result.errors]
    return _reply(answer)


def _reply(answer: Mapping[str, Any], status: int = 200) -> Reply:
    return Reply(status, msgspec.json.encode(answer))
