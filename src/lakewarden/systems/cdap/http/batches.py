"""Calls about many programs of a namespace at once, each checked as a single call.

Calls that only read a history or instances report a denial in the element, with status 200. Calls
that read a status, or start or stop programs, are refused as a whole at the first denial, and
nothing is done. Programs that do not exist, already run or do not run are reported as the error of
their element in either case.
SOURCE: cdap reference 2.5 (batch calls), 4.7; cdapio/cdap, ProgramLifecycleHttpHandler at v5.1.2.
AMBIGUOUS: CDAP has already started the programs before the first denial; here the call is atomic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store, programs, runs
from lakewarden.systems.cdap.http.authorization import Requirement, allow, require, write_all
from lakewarden.systems.cdap.http.bodies import Body, Json, ok, present, read
from lakewarden.systems.cdap.http.errors import Failure, bad
from lakewarden.systems.cdap.http.history import run_bodies
from lakewarden.systems.cdap.http.ids import (
    SHOWN,
    inside,
    last,
    namespace,
    of_application,
    program_type,
)

PATH: Final = "/v3/namespaces/{namespace}"

_DENIED: Final = 403


class Element(Body, rename="camel"):
    """A program, and the parameters of some calls: a flowlet, or arguments to start with."""

    app_id: str
    program_type: str
    program_id: str
    runnable_id: str | None = None
    runtimeargs: dict[str, str] | None = None


class BatchItem(NamedTuple):
    """An element of a call, and the program that it names."""

    element: Element
    program: Entity


Outcome = Json | Failure
"""The response for an element."""


def statuses(exchange: Exchange) -> Reply:
    """Whether each of the programs runs."""

    def status(_: BatchItem, body: Json) -> Json:
        return {"status": programs.status_of(body)}

    return _read(exchange, "program.get_status", status, denials_shown=False)


def instances(exchange: Exchange) -> Reply:
    """How many instances each service, worker or flowlet has."""

    def counted(item: BatchItem, body: Json) -> Json:
        type, flowlet = program_type(item.program), item.element.runnable_id
        if type == programs.FLOW:
            if flowlet is None:
                raise bad("expected the flowlet of a flow as `runnableId`")
            programs.check_flowlet(flowlet)
        elif type not in programs.SCALED:
            raise bad(f"programs of type '{SHOWN[type]}' have no instances")
        requested, provisioned = programs.instances_of(
            body, flowlet if type == programs.FLOW else None
        )
        return {"requested": requested, "provisioned": provisioned}

    return _read(exchange, "program.get_instances", counted)


def counts(exchange: Exchange) -> Reply:
    """How many times each of the programs was started."""
    return _read(exchange, "program.get_history", lambda _, body: {"runCount": runs.count(body)})


def histories(exchange: Exchange) -> Reply:
    """The newest run of each of the programs."""

    def newest_of(item: BatchItem, _: Json) -> Json:
        with exchange.service.reading() as reading:
            newest = runs.latest(reading, exchange.realm, item.program)
        return {"runs": run_bodies(exchange, item.program, newest)}

    return _read(exchange, "program.get_history", newest_of)


def start(exchange: Exchange) -> Reply:
    """Starts each of the programs."""

    def started(transaction: WriteTransaction, item: BatchItem) -> Json:
        arguments = item.element.runtimeargs or {}
        return {"runId": programs.begin(exchange, transaction, item.program, arguments)}

    return _write(exchange, "program.start", started)


def stop(exchange: Exchange) -> Reply:
    """Stops each of the programs."""

    def stopped(transaction: WriteTransaction, item: BatchItem) -> Json:
        runs.end(transaction, exchange.realm, item.program)
        return {}

    return _write(exchange, "program.stop", stopped)


def _read(
    exchange: Exchange,
    operation: str,
    answer: Callable[[BatchItem, Json], Json],
    *,
    denials_shown: bool = True,
) -> Reply:
    """The outcome of each element; `denials_shown` includes a denial instead of ending the call."""
    items = _items(exchange)
    refused = {
        item.program: _refusal(exchange, operation, item.program, denials_shown) for item in items
    }
    allowed = [program for program, failure in refused.items() if failure is None]
    bodies = dict(zip(allowed, object_store.documents(exchange, allowed), strict=True))
    rows = []
    for item in items:
        try:
            outcome: Outcome = refused[item.program] or answer(item, bodies[item.program])
        except Failure as failure:
            outcome = failure
        rows.append(_row(item, outcome))
    return ok(rows)


def _refusal(
    exchange: Exchange, operation: str, program: Entity, denials_shown: bool
) -> Failure | None:
    try:
        allow(exchange, operation, program)
    except Failure as failure:
        if failure.status == _DENIED and not denials_shown:
            raise
        return failure
    return None


def _write(
    exchange: Exchange, operation: str, act: Callable[[WriteTransaction, BatchItem], Json]
) -> Reply:
    """Does something with each element, if it is allowed for all of them."""
    items = _items(exchange)
    if not items:
        return ok([])

    def perform_each(transaction: WriteTransaction) -> list[Json]:
        return [_row(item, _outcome(transaction, item)) for item in items]

    def _outcome(transaction: WriteTransaction, item: BatchItem) -> Outcome:
        try:
            require(transaction.realm(exchange.realm), item.program)
            return act(transaction, item)
        except Failure as failure:
            return failure

    requirements = [
        Requirement(operation, program) for program in dict.fromkeys(item.program for item in items)
    ]
    return ok(write_all(exchange, requirements, perform_each, ahead=True))


def _items(exchange: Exchange) -> Sequence[BatchItem]:
    """The elements of the call; raises `Failure` 400, or `BadInput`."""
    space = namespace(exchange)
    elements = read(exchange, list[Element])
    most = exchange.services.batch_rows
    if len(elements) > most:
        raise bad(f"expected at most {most} programs")
    return [
        BatchItem(element, of_application(app, element.program_type, element.program_id))
        for element in elements
        for app in [inside(space, "application", element.app_id)]
    ]


def _row(item: BatchItem, outcome: Outcome) -> Json:
    element, program = item
    named = present(
        appId=element.app_id,
        programType=SHOWN[program_type(program)],
        programId=last(program),
        runnableId=element.runnable_id,
    )
    members: Mapping[str, object]
    if isinstance(outcome, Failure):
        members = {"statusCode": outcome.status, "error": outcome.message}
    else:
        members = {"statusCode": 200, **outcome}
    return {**named, **members}


ROUTES: Final[Sequence[Route]] = (
    Route("POST", f"{PATH}/status", "program.get_status", statuses),
    Route("POST", f"{PATH}/start", "program.start", start),
    Route("POST", f"{PATH}/stop", "program.stop", stop),
    Route("POST", f"{PATH}/instances", "program.get_instances", instances),
    Route("POST", f"{PATH}/runs", "program.get_history", histories),
    Route("POST", f"{PATH}/runcount", "program.get_history", counts),
)
