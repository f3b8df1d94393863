"""Schedules of applications: stored, resumed and suspended; they start nothing.

An application's schedules are in the member `schedules` of its document; each starts one of its
programs. Adding, changing and deleting is authorized on the application and not on the program
(K22). Everything else is authorized on the program, which only the schedule names. So a missing
schedule is 404 before any check on a program, for callers to whom the application or a program in
it is visible. All other callers are refused, whether or not it exists, as if the application were
not visible, and learn of no program; their list is empty.
SOURCE: cdap reference 2.5, 2.12 (K16, K22), 4.7; cdapio/cdap, ScheduleDetail at v5.1.2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import MAX_USER_CHARACTERS, WORD, quoted
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    allow,
    contents,
    is_allowed,
    is_stored,
    may,
    require,
    shown,
    write,
    write_all,
)
from lakewarden.systems.cdap.http.bodies import Body, Json, empty_reply, ok, present, read
from lakewarden.systems.cdap.http.deploying import latest
from lakewarden.systems.cdap.http.errors import bad, conflict, exists, not_found
from lakewarden.systems.cdap.http.history import PATH as PROGRAM
from lakewarden.systems.cdap.http.ids import application, last, namespace_of, program
from lakewarden.systems.cdap.http.object_store import METADATA
from lakewarden.systems.cdap.http.scheduled import (
    ProgramBody,
    id_of,
    program_named,
    put,
    schedule_named,
    schedules_in,
    schedules_of,
    started_by,
)
from lakewarden.systems.cdap.http.versions import UNVERSIONED

PATH: Final = "/v3/namespaces/{namespace}/apps/{app}/schedules"
ONE: Final = f"{PATH}/{{schedule}}"

SUSPENDED: Final = "SUSPENDED"
SCHEDULED: Final = "SCHEDULED"

SCHEDULABLE: Final = ("MAPREDUCE", "SPARK", "WORKFLOW")
"""Types of programs that schedules can start."""

MOST: Final = 1_000
"""The maximum number of schedules of an application."""

TIMEOUT: Final = 24 * 60 * 60 * 1_000
"""The default timeout, in milliseconds."""

_TIME: Final = "TIME"


class ScheduleBody(Body, rename="camel"):
    """The body of a new schedule, or of a change."""

    name: str | None = None
    description: str | None = None
    program: ProgramBody | None = None
    properties: dict[str, str] | None = None
    trigger: Json | None = None
    constraints: list[Json] | None = None
    timeout_millis: int | None = None


def add(exchange: Exchange) -> Reply:
    """Creates a schedule, suspended."""
    app, name = application(exchange), exchange.params["schedule"]

    def add_schedule(transaction: WriteTransaction) -> None:
        body = _body(exchange)
        if not name or len(name) > MAX_USER_CHARACTERS or set(name) - WORD - {"-"}:
            raise bad(f"{quoted(name)} is no name of a schedule")
        if body.program is None or body.trigger is None:
            raise bad("expected a `program` and a `trigger`")
        started = program_named(app, body.program)
        if not is_stored(transaction.realm(exchange.realm), started):
            raise not_found(started)
        schedules = schedules_in(transaction, exchange.realm, app)
        if name in schedules:
            raise exists(id_of(app, name))
        if len(schedules) >= MOST:
            raise bad(f"an application has at most {MOST} schedules")
        new = {"properties": {}, "constraints": [], "timeoutMillis": TIMEOUT, "status": SUSPENDED}
        put(transaction, exchange.realm, app, {**schedules, name: {**new, **_stored_members(body)}})

    write(exchange, "schedule.add", app, add_schedule, details={"schedule": name})
    return empty_reply()


def update(exchange: Exchange) -> Reply:
    """Changes a schedule: members that are not given stay, and so does the program."""
    app, name = application(exchange), exchange.params["schedule"]

    def put_schedule(transaction: WriteTransaction) -> None:
        body = _body(exchange)
        schedules = schedules_in(transaction, exchange.realm, app)
        before = schedule_named(app, schedules, name)
        if body.program is not None and program_named(app, body.program) != started_by(app, before):
            raise bad("the program of a schedule cannot be changed")
        put(
            transaction,
            exchange.realm,
            app,
            {**schedules, name: {**before, **_stored_members(body)}},
        )

    write(exchange, "schedule.update", app, put_schedule, details={"schedule": name})
    return empty_reply()


def delete(exchange: Exchange) -> Reply:
    """Deletes a schedule."""
    app, name = application(exchange), exchange.params["schedule"]

    def delete_schedule(transaction: WriteTransaction) -> None:
        schedules = schedules_in(transaction, exchange.realm, app)
        schedule_named(app, schedules, name)
        remaining = {other: schedule for other, schedule in schedules.items() if other != name}
        put(transaction, exchange.realm, app, remaining)

    write(exchange, "schedule.delete", app, delete_schedule, details={"schedule": name})
    return empty_reply()


def resume(exchange: Exchange) -> Reply:
    """Resumes a suspended schedule."""
    return _set(exchange, "schedule.resume", SCHEDULED)


def suspend(exchange: Exchange) -> Reply:
    """Suspends a schedule."""
    return _set(exchange, "schedule.suspend", SUSPENDED)


def _set(exchange: Exchange, operation: str, status: str) -> Reply:
    app, name = application(exchange), exchange.params["schedule"]

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        state, listing = transaction.realm(exchange.realm), Requirement("schedule.list", app)
        if not is_allowed(exchange, state, listing, transaction.now):
            return [listing]
        schedule = schedules_in(transaction, exchange.realm, app).get(name)
        if schedule is None:
            if not _is_shown(exchange, state, app, transaction.now):
                return [Requirement(_SHOWN, app)]
            require(state, app)
            raise not_found(id_of(app, name))
        asked = Requirement(operation, started_by(app, schedule))
        knows = is_allowed(exchange, state, asked, transaction.now)
        if not knows and not _is_shown(exchange, state, app, transaction.now):
            return [Requirement(_SHOWN, app)]
        return [asked]

    def set_status(transaction: WriteTransaction) -> None:
        schedules = schedules_in(transaction, exchange.realm, app)
        if schedules[name]["status"] == status:
            state = "resumed" if status == SCHEDULED else "suspended"
            raise conflict(f"'{id_of(app, name)}' is already {state}")
        put(
            transaction,
            exchange.realm,
            app,
            {**schedules, name: {**schedules[name], "status": status}},
        )

    write_all(exchange, requirements, set_status, details={"schedule": name})
    return ok("OK")


def get(exchange: Exchange) -> Reply:
    """One schedule."""
    app = application(exchange)
    schedule = _schedule(exchange, "schedule.get", app)
    version = latest(object_store.document(exchange, app)).get("version")
    return ok(_schedule_body(app, exchange.params["schedule"], schedule, version))


def status(exchange: Exchange) -> Reply:
    """Whether a schedule is suspended."""
    schedule = _schedule(exchange, "schedule.status", application(exchange))
    return ok({"status": schedule["status"]})


def _schedule(exchange: Exchange, operation: str, app: Entity) -> Json:
    """A schedule that the caller may know; raises `Failure` 403 or 404."""
    state, name = allow(exchange, "schedule.list", app, missing=None), exchange.params["schedule"]
    schedule = schedules_of(object_store.document(exchange, app)).get(name)
    started = None if schedule is None else started_by(app, schedule)
    knows = started is not None and may(exchange, operation, started)
    if not knows and not _is_shown(exchange, state, app, exchange.now):
        allow(exchange, _SHOWN, app)
    require(state, app)
    if schedule is None or started is None:
        raise not_found(id_of(app, name))
    allow(exchange, operation, started)
    return schedule


_SHOWN: Final = "application.get"
"""The operation with which callers are refused to whom an application is not visible."""


def _is_shown(exchange: Exchange, state: RealmState, app: Entity, now: float) -> bool:
    """Whether the application, or a program in it, is visible to the caller."""
    programs = contents(state, app, ["program"])
    asks = (
        Requirement(_SHOWN, app),
        Requirement("application.list.filter", app),
        *(Requirement("program.list.filter", program) for program in programs),
    )
    return any(is_allowed(exchange, state, ask, now) for ask in asks)


def listed_all(exchange: Exchange) -> Reply:
    """The schedules of an application whose programs are visible to the caller."""
    app = application(exchange)
    state = allow(exchange, "schedule.list", app, missing=None)
    if _is_shown(exchange, state, app, exchange.now):
        require(state, app)
    return _visible_schedules(exchange, app, shown(exchange, state, "schedule.list", app))


def listed_of_program(exchange: Exchange) -> Reply:
    """The schedules that start a program."""
    target = program(exchange)
    allow(exchange, "schedule.list.filter", target)
    return _visible_schedules(exchange, application(exchange), [target])


def _visible_schedules(exchange: Exchange, app: Entity, programs: Collection[Entity]) -> Reply:
    body, visible_programs = object_store.document(exchange, app), frozenset(programs)
    version = latest(body).get("version")
    schedules = sorted(schedules_of(body).items())
    return ok(
        [
            _schedule_body(app, name, schedule, version)
            for name, schedule in schedules
            if started_by(app, schedule) in visible_programs
        ]
    )


def _body(exchange: Exchange) -> ScheduleBody:
    """The request's body; raises `Failure` 400."""
    body = read(exchange, ScheduleBody)
    if body.name is not None and body.name != exchange.params["schedule"]:
        raise bad(f"the schedule is called otherwise in the path than {quoted(body.name)}")
    if body.timeout_millis is not None and body.timeout_millis < 0:
        raise bad("expected `timeoutMillis` to be 0 or more")
    if body.program is not None and body.program.program_type not in SCHEDULABLE:
        type, expected = quoted(body.program.program_type), ", ".join(SCHEDULABLE)
        raise bad(f"programs of type {type} have no schedules; expected one of: {expected}")
    if body.trigger is not None:
        _check_trigger(body.trigger)
    return body


def _check_trigger(trigger: Json) -> None:
    type, cron = trigger.get("type"), trigger.get("cronExpression")
    if not isinstance(type, str):
        raise bad("expected the `type` of the trigger")
    if type == _TIME and not (isinstance(cron, str) and cron.strip()):
        raise bad("expected the `cronExpression` of a trigger in time")


def _stored_members(body: ScheduleBody) -> Json:
    """The members of a body in their stored form."""
    started = body.program
    return present(
        description=body.description,
        program=None
        if started is None
        else {"programName": started.program_name, "programType": started.program_type},
        properties=body.properties,
        trigger=body.trigger,
        constraints=body.constraints,
        timeoutMillis=body.timeout_millis,
    )


def _schedule_body(app: Entity, name: str, schedule: Json, version: object) -> Json:
    return {
        "namespace": last(namespace_of(app)),
        "application": last(app),
        "applicationVersion": version or UNVERSIONED,
        "name": name,
        "description": "",
        **{member: value for member, value in schedule.items() if member != METADATA},
    }


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "schedule.list", listed_all),
    Route("GET", ONE, "schedule.get", get),
    Route("GET", f"{ONE}/status", "schedule.status", status),
    Route("PUT", ONE, "schedule.add", add),
    Route("POST", f"{ONE}/update", "schedule.update", update),
    Route("DELETE", ONE, "schedule.delete", delete),
    *(
        Route("POST", f"{ONE}/{segment}", "schedule.resume", resume)
        for segment in ("resume", "enable")
    ),
    *(
        Route("POST", f"{ONE}/{segment}", "schedule.suspend", suspend)
        for segment in ("suspend", "disable")
    ),
    Route("GET", f"{PROGRAM}/schedules", "schedule.list.filter", listed_of_program),
)
