"""Grant to visible: one process writes a grant; the time until another process allows.

    python -m bench.grant_visible [--engine sqlite|postgres] [--rounds N] [--save [FILE]]

The estate is workload W. The writer records the time before the write, and the time of the
response; the reader checks continuously and records the first check that shows the change. On
SQLite both use the shared revision, as the workers of a server do; on PostgreSQL every check
queries the database, as workers on several hosts do.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from bench.result import kept, machine, rounded
from bench.start import REALM, fresh_store, written
from bench.text import say
from bench.timing import quantile
from lakewarden.app.shared_revision import shared_revision_of
from lakewarden.kernel.change import MembershipChanged, StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect as Change
from lakewarden.store import open_store
from lakewarden.testing.workload import METALAKE, TABLES_W

ID = "bench"
READER = Principal(USER, "besides0")


@contextmanager
def opened(url: str) -> Iterator[DecisionService]:
    """A decision service, configured as in a worker of a server."""
    shared_revision = shared_revision_of(url)
    with open_store(url) as store:
        service = DecisionService(store, shared_revision=shared_revision)
        service.open()
        yield service


def asked(service: DecisionService, request: Request) -> bool:
    """A worker's answer, on the newest state."""
    state = service.current(service.clock()) or service.catch_up()
    return state.realm(REALM).matrix.decide(request).allow


def reader(url: str, requests: Connection) -> None:
    """Repeats each request until the answer is as expected; sends when, and the time of checks."""
    with opened(url) as service:
        requests.send(None)
        while (told := requests.recv()) is not None:
            request, expected = told
            requests.send(None)
            checks = 0
            begun = time.monotonic()
            while asked(service, request) is not expected:
                checks += 1
            requests.send((time.monotonic(), (time.monotonic() - begun) / (checks + 1)))


def measured(engine: str, rounds: int) -> dict[str, float]:
    """The figures of one engine."""
    context = get_context("spawn")
    with fresh_store(engine) as url:
        say(f"writing W, {engine}")
        with context.Pool(1) as pool:
            pool.apply(written, (url, TABLES_W))
        here, there = context.Pipe()
        process = context.Process(target=reader, args=(url, there), daemon=True)
        process.start()
        with opened(url) as service:
            here.recv()
            say(f"{rounds} grants and revocations, {engine}")
            begun, answered, idle = _rounds(service, here, rounds)
            here.send(None)
        process.join()
    return {
        "write_to_visible_ms_p50": quantile(begun, 0.5),
        "write_to_visible_ms_p99": quantile(begun, 0.99),
        "answer_to_visible_ms_p50": quantile(answered, 0.5),
        "answer_to_visible_ms_p99": quantile(answered, 0.99),
        "check_ms_p50": quantile(idle, 0.5),
        "rounds": rounds,
    }


def _rounds(
    service: DecisionService, here: Connection, rounds: int
) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds from the start of the write, from its response, and of a check meanwhile."""
    request = _request(service)
    begun, answered, idle = [], [], []
    for number in range(-4, rounds):
        gives = number % 2 == 0
        here.send((request, gives))
        here.recv()
        time.sleep(0.02)
        start = time.monotonic()
        change = _change(request, gives)
        service.write(SYSTEM, lambda t, c=change: t.change(REALM, c))  # type: ignore[misc]
        answer = time.monotonic()
        seen, check = here.recv()
        if number >= 0:
            begun.append((seen - start) * 1e3)
            answered.append((seen - answer) * 1e3)
            idle.append(check * 1e3)
    return begun, answered, idle


def _request(service: DecisionService) -> Request:
    """A request that is denied before the grant and allowed after it."""
    uses = frozenset({"USE_CATALOG", "USE_SCHEMA"})
    lake = Entity("metalake", METALAKE)
    allow = Statement("uses", Effect.ALLOW, uses, On(lake), frozenset({READER}))
    member = MembershipChanged(MembershipRow(READER, members_of(METALAKE)), True)
    service.write(
        SYSTEM, lambda transaction: transaction.change(REALM, member, StatementAdded(allow))
    )
    snapshot = service.state.realm(REALM).matrix.snapshot
    stored = snapshot.of_type("table")
    table = snapshot.coded.tree.entity(stored[len(stored) // 2])
    return Request(READER, "table.load", table, service.clock())


def _grant(user: Principal, table: Entity) -> Statement:
    return Statement(ID, Effect.ALLOW, frozenset({"SELECT_TABLE"}), On(table), frozenset({user}))


def _change(request: Request, gives: bool) -> Change:
    return (
        StatementAdded(_grant(request.principal, request.target)) if gives else StatementRemoved(ID)
    )


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=["sqlite", "postgres"], action="append")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    result: dict[str, Any] = machine()
    for engine in given.engine or ["sqlite", "postgres"]:
        result[engine] = measured(engine, given.rounds)
    result = rounded(result)
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "grant_visible", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
