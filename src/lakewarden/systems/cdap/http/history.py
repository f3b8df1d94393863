"""Runs of programs: single runs, their number, and the log levels of active runs.

Only callers who may read the program's arguments see the arguments of a run.
SOURCE: cdap reference 2.5, 4.7; cdapio/cdap, ProgramLifecycleHttpHandler at v5.1.2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from lakewarden.http import strict_json
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.effect import ValueRow
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import object_store, runs
from lakewarden.systems.cdap.http.authorization import allow, may, write
from lakewarden.systems.cdap.http.bodies import Json, convert, empty_reply, ok, read, texts
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.ids import program, program_type
from lakewarden.systems.cdap.http.running import RUNNING

PATH: Final = "/v3/namespaces/{namespace}/apps/{app}/{kind}/{program}"
RUN: Final = f"{PATH}/runs/{{run}}"

LEVELS: Final = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF")

LEVELLED: Final = ("flow", "service", "worker")
"""Types of programs whose log levels can be set while they run."""

_PAGE: Final = 100
_ALL: Final = "ALL"


def listed(exchange: Exchange) -> Reply:
    """The runs of a program, newest first, by status and time."""
    target = program(exchange)
    allow(exchange, "program.get_history", target)
    status = (exchange.one("status") or _ALL).upper()
    if status not in runs.STATUSES:
        expected = ", ".join(runs.STATUSES)
        raise bad(f"unknown status {quoted(exchange.one('status'))}; expected one of: {expected}")
    first, last = _seconds(exchange, "start", 0), _seconds(exchange, "end", _LATE)
    limit = _seconds(exchange, "limit", _PAGE)
    with exchange.service.reading() as reading:
        rows = runs.of_program(reading, exchange.realm, target, first * 1_000, last * 1_000 - 1)
    fitting = [row for row in rows if status in (_ALL, row.body["status"])]
    return ok(run_bodies(exchange, target, fitting[:limit]))


def one(exchange: Exchange) -> Reply:
    """One run."""
    target = program(exchange)
    allow(exchange, "program.get_history", target)
    with exchange.service.reading() as reading:
        row = runs.require(reading, exchange.realm, target, exchange.params["run"])
    return ok(run_bodies(exchange, target, [row])[0])


def count(exchange: Exchange) -> Reply:
    """How many times the program was started."""
    target = program(exchange)
    allow(exchange, "program.get_history", target)
    return ok(runs.count(object_store.document(exchange, target)))


def run_bodies(exchange: Exchange, target: Entity, rows: Sequence[ValueRow]) -> list[Json]:
    """The runs of a program, with the members that the caller may see."""
    if not may(exchange, "program.get_runtime_args", target):
        return [runs.run_body(row, {}) for row in rows]
    return [
        runs.run_body(row, {"runtimeArgs": json.dumps(texts(row.body.get("arguments")))})
        for row in rows
    ]


def set_levels(exchange: Exchange) -> Reply:
    """Sets the levels of some loggers of an active run."""

    def changed(levels: dict[str, str]) -> dict[str, str]:
        changed_levels = read(exchange, dict[str, str])
        unknown = [level for level in changed_levels.values() if level not in LEVELS]
        if unknown:
            raise bad(f"unknown level {quoted(unknown[0])}; expected one of: {', '.join(LEVELS)}")
        return levels | changed_levels

    return _levels(exchange, changed)


def reset_levels(exchange: Exchange) -> Reply:
    """Resets the levels of the named loggers, or of all."""

    def changed(levels: dict[str, str]) -> dict[str, str]:
        named = convert(strict_json.read(exchange.body or b"[]"), list[str])
        return {name: level for name, level in levels.items() if named and name not in named}

    return _levels(exchange, changed)


def _levels(exchange: Exchange, changed: Callable[[dict[str, str]], dict[str, str]]) -> Reply:
    target, run = program(exchange), exchange.params["run"]

    def put_levels(transaction: WriteTransaction) -> None:
        row = runs.require(transaction.store, exchange.realm, target, run)
        if program_type(target) not in LEVELLED:
            raise bad(f"the log levels of '{cdap.format_id(target)}' cannot be set")
        if row.body["status"] != RUNNING:
            raise bad(f"the run '{run}' of '{cdap.format_id(target)}' is not running")
        levels = changed(texts(row.body.get("levels")))
        runs.change(transaction, exchange.realm, target, run, levels=levels or None)

    write(exchange, "program.set_log_levels", target, put_levels, details={"run": run})
    return empty_reply()


_LATE: Final = 10**11


def _seconds(exchange: Exchange, name: str, otherwise: int) -> int:
    """A number of the query; raises `Failure` 400."""
    text = exchange.one(name)
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_LATE))):
        raise bad(f"expected a number as `{name}`, not {quoted(text)}")
    return min(int(text), _LATE)


ROUTES: Final[Sequence[Route]] = (
    Route("GET", f"{PATH}/runs", "program.get_history", listed),
    Route("GET", f"{PATH}/runcount", "program.get_history", count),
    Route("GET", RUN, "program.get_history", one),
    Route("PUT", f"{RUN}/loglevels", "program.set_log_levels", set_levels),
    Route("POST", f"{RUN}/resetloglevels", "program.set_log_levels", reset_levels),
)
