"""Requests to run a recipe: stored for executors, which read them and write their results.

SOURCE: datahub-project/datahub:…/resolvers/ingest/execution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Change,
    Entities,
    by_urn,
    mutation,
    new_entity,
    reference,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import Listing
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

EXECUTOR: Final = "default"
"""The default executor."""

SOURCE: Final = "dataHubIngestionSource"

_TYPE: Final = "dataHubExecutionRequest"
_INPUT: Final = "dataHubExecutionRequestInput"
_RESULT: Final = "dataHubExecutionRequestResult"
_SIGNAL: Final = "dataHubExecutionRequestSignal"
_INFO: Final = "dataHubIngestionSourceInfo"
_MANAGE: Final = "ingestion.manage"
_SOURCE_URN: Final = "ingestionSourceUrn"


def _request_of(
    changes: AspectChanges, task: str, args: Mapping[str, str], source: Value, executor: str = ""
) -> Value:
    return {
        "task": task,
        "args": args,
        "executorId": executor or EXECUTOR,
        "source": source,
        "requestedAt": changes.now_ms,
        "actorUrn": changes.call.actor.name,
    }


def _run(changes: AspectChanges, request: Entity, input: Input) -> None:
    source = input[_SOURCE_URN]
    changes.check_exists(source)
    config = shapes.mapping(changes.value(source, _INFO).get("config"))
    args = {
        "recipe": shapes.text(config.get("recipe")) or "",
        "version": shapes.text(config.get("version")) or "",
        "debug_mode": "true" if config.get("debugMode") is True else "false",
    }
    origin = {"type": "MANUAL_INGESTION_SOURCE", "ingestionSource": source.name}
    executor = shapes.text(config.get("executorId")) or ""
    changes.put(request, _INPUT, _request_of(changes, "RUN_INGEST", args, origin, executor))


def _test_connection(changes: AspectChanges, request: Entity, input: Input) -> None:
    args = {"recipe": input["recipe"], "version": input.get("version") or ""}
    origin = {"type": "MANUAL_TEST_CONNECTION"}
    changes.put(request, _INPUT, _request_of(changes, "TEST_CONNECTION", args, origin))


def _cancel(changes: AspectChanges, request: Entity, input: Input) -> None:
    source = input[_SOURCE_URN]
    changes.check_exists(source, request)
    value = changes.value(request, _INPUT)
    if shapes.mapping(value.get("source")).get("ingestionSource") != source.name:
        raise bad(f"`executionRequestUrn` is not a run of `{source.name}`")
    executor = shapes.text(value.get("executorId")) or EXECUTOR
    signal = {"signal": "KILL", "createdAt": changes.stamp, "executorId": executor}
    changes.put(request, _SIGNAL, signal)


def _execution_write(entities: Entities, write: Change) -> AspectWrite:
    def requirements(_: AspectChanges, __: Entity, input: Input) -> list[Requirement]:
        return [Requirement("ingestion.execute", input[_SOURCE_URN])]

    reads = {_SOURCE_URN: reference(SOURCE)}
    return mutation(entities, requirements, write, reads=reads, audited_as="run")


def _new(_: Call, __: Input) -> list[Entity]:
    return [new_entity(_TYPE, None)]


_LIST: Final = Listing(
    *(_TYPE, _INPUT, "executionRequests", _MANAGE),
    searched=("urn", "task"),
    newest="requestedAt",
    where=lambda *_: lambda request: bool(request.value),
)


def _executions(source: Entity, info: Info, **arguments: Any) -> Mapping[str, Any]:
    """The runs of a source, newest first."""
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    runs, numbers = page(_runs(call, source), arguments, call.exchange.services.page_rows)
    return {**numbers, "executionRequests": runs}


def _latest_success(source: Entity, info: Info) -> Entity | None:
    """The newest successful run of a source."""
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    runs = _runs(call, source)
    return next((run for run in runs if call.aspect(run, _RESULT).get("status") == "SUCCESS"), None)


def _runs(call: Call, source: Entity) -> list[Entity]:
    """The runs of a source, newest first."""

    def find() -> dict[Entity | None, list[Entity]]:
        by_source: dict[Entity | None, list[Entity]] = {}
        for request in sorted(_LIST.records(call), key=_LIST.order):
            by_source.setdefault(_source_of(request), []).append(request.entity)
        return by_source

    return call.cached(_TYPE, find).get(source, [])


def _source_of(request: Record) -> Entity | None:
    return shapes.entity(request.record_or_empty("source").get("ingestionSource"), SOURCE)


def _source(request: Entity, info: Info) -> Entity | None:
    source = _source_of(aspect(info.context, request, _INPUT))
    return source if source is not None and is_known(info.context.state, source) else None


RESOLVERS: Final[Resolvers] = {
    "Query": {"listExecutionRequests": _LIST},
    "IngestionSource": {
        "executions": _executions,
        "latestSuccessfulExecution": _latest_success,
    },
    "Mutation": {
        "createIngestionExecutionRequest": _execution_write(_new, _run),
        "createTestConnectionRequest": mutation(
            _new, _MANAGE, _test_connection, about=NO_RESOURCE, audited_as="run"
        ),
        "cancelIngestionExecutionRequest": _execution_write(
            by_urn(_TYPE, of="executionRequestUrn"), _cancel
        ),
    },
    "ExecutionRequest": {"source": _source},
}
