"""Runs of programs: nothing is executed, but each start creates a run, and a stop ends it.

A program's document contains whether it runs (`status`), the ids of its active runs (`active`), and
the number of runs ever (`runs`). The runs themselves are timeseries values; the newest are stored,
and all active ones. The id of a run, a UUID of version 1, contains its start time.
SOURCE: cdap reference 2.5, 4.7, 4.10 (P3); cdapio/cdap, RunIds and ProgramLifecycleService.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Final, cast
from uuid import UUID

from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import ValueChanged, ValueRow
from lakewarden.service.ports import Reading
from lakewarden.service.timeseries import FIRST, KEPT, LAST
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.bodies import Json, present, texts
from lakewarden.systems.cdap.http.errors import Failure, bad, conflict, not_found
from lakewarden.systems.cdap.http.ids import program_type
from lakewarden.systems.cdap.http.running import RUNNING, STATUS, STOPPED

ASPECT: Final = "run"
"""The aspect of runs."""

ACTIVE: Final = "active"
COUNT: Final = "runs"

KILLED: Final = "KILLED"
"""The status of a run that was stopped."""

STATUSES: Final = ("ALL", "COMPLETED", "FAILED", KILLED, RUNNING, "SUSPENDED")
"""The statuses by which runs can be requested."""

CONCURRENT: Final = ("mapreduce", "spark", "workflow")
"""Types of programs that may have several active runs."""

MOST_ACTIVE: Final = 100
"""The maximum number of active runs of a program."""

_MOST: Final = KEPT + MOST_ACTIVE

_EPOCH: Final = 0x01B21DD213814000
"""The epoch, in units of 100 ns since the start of UUID time."""

_STEPS: Final = 10_000


def new_id(time: int) -> str:
    """An id for a run that starts at this time, in milliseconds."""
    ticks = time * _STEPS + _EPOCH
    fields = (
        ticks & 0xFFFFFFFF,
        ticks >> 32 & 0xFFFF,
        ticks >> 48 & 0x0FFF | 0x1000,
        secrets.randbits(6) | 0x80,
        secrets.randbits(8),
        secrets.randbits(48),
    )
    return str(UUID(fields=fields))


def time_of(id: str) -> int | None:
    """When the run with this id started, in milliseconds; None for an invalid id.

    >>> time_of(new_id(1_700_000_000_123))
    1700000000123
    """
    try:
        parsed = UUID(id)
    except ValueError:
        return None
    return None if str(parsed) != id else (parsed.time - _EPOCH) // _STEPS


def is_running(body: Json) -> bool:
    """Whether the program with this document runs."""
    return body.get(STATUS) == RUNNING


def count(body: Json) -> int:
    """How many times the program with this document was started."""
    return cast("int", body.get(COUNT) or 0)


def begin(
    transaction: WriteTransaction, realm: str, program: Entity, arguments: Mapping[str, str]
) -> str:
    """Starts a program, and returns the id of the run; raises `Failure` 409 before any change."""
    body = object_store.document_in(transaction, realm, program)
    active = _active(body)
    id = cdap.format_id(program)
    if is_running(body) and program_type(program) not in CONCURRENT:
        raise conflict(f"'{id}' is already running")
    if len(active) >= MOST_ACTIVE:
        raise conflict(f"'{id}' is already running {MOST_ACTIVE} times")
    time = int(transaction.now * 1_000)
    run = new_id(time)
    active = [*active, run]
    members = {STATUS: RUNNING, ACTIVE: active, COUNT: count(body) + 1}
    object_store.put(transaction, realm, program, **members)
    value: Json = {"status": RUNNING, "arguments": dict(arguments)}
    transaction.change(realm, ValueChanged(program, ASPECT, time, run, value))
    for old in transaction.store.values(realm, program, ASPECT, FIRST, LAST, MOST_ACTIVE + 1, KEPT):
        if old.mark not in active:
            transaction.change(realm, ValueChanged(program, ASPECT, old.time, old.mark, None))
    return run


def end(transaction: WriteTransaction, realm: str, program: Entity, run: str | None = None) -> None:
    """Stops a program, or one of its runs; raises `Failure` 404 or 400 before any change."""
    body = object_store.document_in(transaction, realm, program)
    active = _active(body)
    if run is not None:
        require(transaction.store, realm, program, run)
        if run not in active:
            raise bad(f"the run '{run}' of '{cdap.format_id(program)}' is not running")
    elif not is_running(body):
        raise bad(f"'{cdap.format_id(program)}' is not running")
    ended = active if run is None else [run]
    still_active = [run for run in active if run not in ended]
    members = {STATUS: RUNNING if still_active else STOPPED, ACTIVE: still_active or None}
    object_store.put(transaction, realm, program, **members)
    for ended_run in ended:
        change(
            transaction,
            realm,
            program,
            ended_run,
            status=KILLED,
            end=int(transaction.now * 1_000),
            levels=None,
        )


def change(
    transaction: WriteTransaction, realm: str, program: Entity, run: str, **members: object
) -> None:
    """Sets members of a stored run; a None removes the member."""
    row = require(transaction.store, realm, program, run)
    value = present(**{**row.body, **members})
    transaction.change(realm, ValueChanged(program, ASPECT, row.time, run, value))


def require(reading: Reading, realm: str, program: Entity, run: str) -> ValueRow:
    """The stored data of a run; raises `Failure` 404."""
    time = time_of(run)
    if time is not None:
        for row in reading.values(realm, program, ASPECT, time, time, _MOST):
            if row.mark == run:
                return row
    raise missing(program, run)


def missing(program: Entity, run: str) -> Failure:
    """The failure for a run that does not exist."""
    return not_found(f"program_run:{program.name}.{run}")


def of_program(
    reading: Reading, realm: str, program: Entity, first: int = FIRST, last: int = LAST
) -> Sequence[ValueRow]:
    """The runs of a program that started in this period, in milliseconds, newest first."""
    return reading.values(realm, program, ASPECT, first, last, _MOST)


def latest(reading: Reading, realm: str, program: Entity) -> Sequence[ValueRow]:
    """The newest run of a program, if there is one."""
    return reading.values(realm, program, ASPECT, FIRST, LAST, 1)


def run_body(row: ValueRow, properties: Json) -> Json:
    """A run in a reply; `properties` are those of its start that the caller may read."""
    ended = cast("int | None", row.body.get("end"))
    return present(
        runid=row.mark,
        starting=row.time // 1_000,
        start=row.time // 1_000,
        end=None if ended is None else ended // 1_000,
        status=row.body["status"],
        properties=properties,
        logLevels=texts(row.body.get("levels")) or None,
    )


def _active(body: Json) -> list[str]:
    return list(cast("list[str]", body.get(ACTIVE) or []))
