"""Programs: started, stopped, shown, and their numbers of instances.

Nothing is executed: `start` and `debug` set a program to running, `stop` to stopped, and each start
is a run (`runs`). Runtime arguments are stored apart from preferences, which more people may read.
SOURCE: cdap reference 2.5, 4.7, 4.10 (P3), K9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, cast

import msgspec

from lakewarden.http.exchange import Exchange, Handler, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import MAX_USER_CHARACTERS, WORD, quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store, runs
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.authorization import listed as listed_in
from lakewarden.systems.cdap.http.bodies import (
    Body,
    Json,
    empty_reply,
    ok,
    read,
    read_optional,
    texts,
)
from lakewarden.systems.cdap.http.errors import Failure, bad, not_found
from lakewarden.systems.cdap.http.history import PATH, RUN
from lakewarden.systems.cdap.http.ids import (
    BY_WORD,
    SHOWN,
    application,
    last,
    namespace,
    of_application,
    program,
    program_type,
)
from lakewarden.systems.cdap.http.running import RUNNING, STOPPED

ARGUMENTS: Final = "runtimeArgs"
INSTANCES: Final = "instances"
FLOWLETS: Final = "flowlets"

DEBUGGABLE: Final = ("flow", "service", "worker")

SCALED: Final = ("service", "worker")
"""Types of programs that have instances; for a flow, its flowlets have."""

FLOW: Final = "flow"

MOST_FLOWLETS: Final = 100
"""The maximum number of flowlets of a flow with their own number of instances."""

_FLOWLET: Final = "/v3/namespaces/{namespace}/apps/{app}/flows/{flow}/flowlets/{flowlet}/instances"


class InstancesBody(Body):
    """The wanted number of instances."""

    instances: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


def start(exchange: Exchange) -> Reply:
    """Starts a program; the body contains arguments for this run."""
    return _start(exchange, "program.start")


def debug(exchange: Exchange) -> Reply:
    """Starts a program for debugging; 501 for a type that does not support it."""
    if program_type(program(exchange)) not in DEBUGGABLE:
        raise Failure(501, f"programs of type '{exchange.params['kind']}' cannot be debugged")
    return _start(exchange, "program.debug")


def _start(exchange: Exchange, operation: str) -> Reply:
    target = program(exchange)

    def begin_run(transaction: WriteTransaction) -> None:
        arguments = read_optional(exchange, dict[str, str])
        begin(exchange, transaction, target, arguments)

    write(exchange, operation, target, begin_run)
    return empty_reply()


def begin(
    exchange: Exchange, transaction: WriteTransaction, target: Entity, arguments: dict[str, str]
) -> str:
    """Starts a program with its own and the given arguments, and returns the id of the run."""
    own = texts(object_store.document_in(transaction, exchange.realm, target).get(ARGUMENTS))
    return runs.begin(transaction, exchange.realm, target, own | arguments)


def stop(exchange: Exchange) -> Reply:
    """Stops all runs of a program."""
    target = program(exchange)
    write(
        exchange,
        "program.stop",
        target,
        lambda transaction: runs.end(transaction, exchange.realm, target),
    )
    return empty_reply()


def stop_run(exchange: Exchange) -> Reply:
    """Stops one run of a program."""
    target, run = program(exchange), exchange.params["run"]

    def end_run(transaction: WriteTransaction) -> None:
        runs.end(transaction, exchange.realm, target, run)

    write(exchange, "program.stop", target, end_run, details={"run": run})
    return empty_reply()


def status(exchange: Exchange) -> Reply:
    """Whether a program runs."""
    target = program(exchange)
    allow(exchange, "program.get_status", target)
    return ok({"status": status_of(object_store.document(exchange, target))})


def status_of(body: Json) -> str:
    """The status of the program with this document."""
    return RUNNING if runs.is_running(body) else STOPPED


def specification(exchange: Exchange) -> Reply:
    """The specification of a program; its code is not known."""
    target = program(exchange)
    allow(exchange, "program.get_specification", target)
    description = object_store.document(exchange, target).get("description") or ""
    names = {"className": "", "name": last(target), "description": description}
    return ok({**names, "properties": {}})


def listed(segment: str) -> Handler:
    """A handler that lists the visible programs of one type in a namespace."""

    def handler(exchange: Exchange) -> Reply:
        visible_programs = listed_in(exchange, "program.list", namespace(exchange))
        fitting = [
            program for program in visible_programs if program_type(program) == BY_WORD[segment]
        ]
        bodies = object_store.documents(exchange, fitting)
        return ok([_row(program, body) for program, body in zip(fitting, bodies, strict=True)])

    return handler


def _row(target: Entity, body: Json) -> Json:
    return {
        "type": SHOWN[program_type(target)],
        "app": target.name.split(".")[1],
        "name": last(target),
        "description": body.get("description") or "",
    }


def arguments(exchange: Exchange) -> Reply:
    """The arguments that every start of a program uses."""
    target = program(exchange)
    allow(exchange, "program.get_runtime_args", target)
    return ok(texts(object_store.document(exchange, target).get(ARGUMENTS)))


def set_arguments(exchange: Exchange) -> Reply:
    """Replaces all of these arguments."""
    target = program(exchange)

    def put_arguments(transaction: WriteTransaction) -> None:
        arguments = read_optional(exchange, dict[str, str])
        object_store.put(transaction, exchange.realm, target, **{ARGUMENTS: arguments})

    write(exchange, "program.set_runtime_args", target, put_arguments)
    return empty_reply()


def instances(exchange: Exchange) -> Reply:
    """The number of instances of a service or worker."""
    target = program(exchange)
    allow(exchange, "program.get_instances", target)
    _check_scaled(target)
    requested, provisioned = instances_of(object_store.document(exchange, target))
    return ok({"instances": requested, "requested": requested, "provisioned": provisioned})


def set_instances(exchange: Exchange) -> Reply:
    """Sets the number of instances of a service or worker."""
    target = program(exchange)

    def put_instances(transaction: WriteTransaction) -> None:
        _check_scaled(target)
        body = read(exchange, InstancesBody)
        object_store.put(transaction, exchange.realm, target, **{INSTANCES: body.instances})

    write(exchange, "program.set_instances", target, put_instances)
    return empty_reply()


def flowlet_instances(exchange: Exchange) -> Reply:
    """The number of instances of a flowlet."""
    flow = _flow(exchange)
    allow(exchange, "program.get_instances", flow)
    flowlet = _flowlet(exchange)
    requested, _ = instances_of(object_store.document(exchange, flow), flowlet)
    return ok({"instances": requested})


def set_flowlet_instances(exchange: Exchange) -> Reply:
    """Sets the number of instances of a flowlet."""
    flow = _flow(exchange)

    def put_instances(transaction: WriteTransaction) -> None:
        flowlet = _flowlet(exchange)
        body = read(exchange, InstancesBody)
        stored = flowlets_of(object_store.document_in(transaction, exchange.realm, flow))
        if flowlet not in stored and len(stored) >= MOST_FLOWLETS:
            raise bad(f"a flow has at most {MOST_FLOWLETS} flowlets")
        after = {**stored, flowlet: body.instances}
        object_store.put(transaction, exchange.realm, flow, **{FLOWLETS: after})

    write(
        exchange,
        "program.set_instances",
        flow,
        put_instances,
        details={"flowlet": exchange.params["flowlet"]},
    )
    return empty_reply()


def instances_of(body: Json, flowlet: str | None = None) -> tuple[int, int]:
    """The wanted and the current number of instances; the latter is 0 while stopped."""
    if flowlet is None:
        requested = cast("int", body.get(INSTANCES) or 1)
    else:
        requested = flowlets_of(body).get(flowlet, 1)
    return requested, requested if runs.is_running(body) else 0


def flowlets_of(body: Json) -> dict[str, int]:
    """The flowlets whose number of instances was set; any other has one."""
    return dict(cast("dict[str, int]", body.get(FLOWLETS) or {}))


def _check_scaled(target: Entity) -> None:
    """Raises `Failure` 404 for a type of programs without instances."""
    if program_type(target) not in SCALED:
        raise not_found(f"program:{target.name}/instances")


def _flow(exchange: Exchange) -> Entity:
    return of_application(application(exchange), FLOW, exchange.params["flow"])


def _flowlet(exchange: Exchange) -> str:
    name = exchange.params["flowlet"]
    check_flowlet(name)
    return name


def check_flowlet(name: str) -> None:
    """Raises `Failure` 400 for an invalid name of a flowlet."""
    if not name or len(name) > MAX_USER_CHARACTERS or set(name) - WORD - {"-"}:
        raise bad(f"{quoted(name)} is no name of a flowlet")


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "program.get_specification", specification),
    Route("GET", f"{PATH}/status", "program.get_status", status),
    Route("POST", f"{PATH}/start", "program.start", start),
    Route("POST", f"{PATH}/debug", "program.debug", debug),
    Route("POST", f"{PATH}/stop", "program.stop", stop),
    Route("POST", f"{RUN}/stop", "program.stop", stop_run),
    Route("GET", f"{PATH}/runtimeargs", "program.get_runtime_args", arguments),
    Route("PUT", f"{PATH}/runtimeargs", "program.set_runtime_args", set_arguments),
    Route("GET", f"{PATH}/instances", "program.get_instances", instances),
    Route("PUT", f"{PATH}/instances", "program.set_instances", set_instances),
    Route("GET", _FLOWLET, "program.get_instances", flowlet_instances),
    Route("PUT", _FLOWLET, "program.set_instances", set_flowlet_instances),
    *(
        Route("GET", f"/v3/namespaces/{{namespace}}/{segment}", "program.list", listed(segment))
        for segment in BY_WORD
    ),
)
