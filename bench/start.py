"""Cold start: the time until a server process can decide on a stored estate of a million tables.

    python -m bench.start [--engine sqlite|postgres] [--tables N] [--save [FILE]]

The estate is W-1M with 100,000 additional grants to single users and 8,000 additional users. One
process writes it and another loads it; the memory of the second is measured. Then another
connection writes single grants, and the process catches up. `…cpu_s` is the CPU time of the process
alone, for a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.memory import resident_mib
from bench.result import kept, machine, rounded
from bench.text import say
from bench.timing import median, timed
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.service.system import load_system
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.testing.workload import TABLES_W_1M, draw
from tests.servers import fresh_database, postgres

REALM = "lake"
GRANTS = 100_000
USERS_BESIDES = 8_000
CHANGES = 15
MUST_SECONDS, MUST_MIB = 10.0, 2048.0
"""F-07; loading from rows alone is P12."""


def estate(tables: int) -> Iterator[list[Any]]:
    """The changes that create the estate, in parts."""
    facts = draw(tables).facts()
    users = [p for p in facts.principals if p.kind == USER]
    users += [Principal(USER, f"besides{number}") for number in range(USERS_BESIDES)]
    yield [RealmChanged(REALM, Realm(REALM, "gravitino"))]
    yield [EntityAdded(*row) for row in facts.entities]
    yield [PrincipalChanged(p, True) for p in {*facts.principals, *users}]
    yield [MembershipChanged(row, True) for row in facts.memberships]
    yield [OwnerChanged(row, True) for row in facts.owners]
    yield [StatementAdded(statement) for statement in facts.statements]
    stored = [row.entity for row in facts.entities if row.entity.type == "table"]
    every = max(1, len(stored) // GRANTS)
    yield [
        StatementAdded(_grant(number, entity, users[number % len(users)]))
        for number, entity in enumerate(stored[::every][:GRANTS])
    ]


def _grant(number: int, entity: Entity, user: Principal) -> Statement:
    privileges = frozenset({"SELECT_TABLE"})
    return Statement(f"g{number}", Effect.ALLOW, privileges, On(entity), frozenset({user}))


def written(url: str, tables: int) -> dict[str, float]:
    """Writes the estate in one transaction; returns the time."""

    def bring(transaction: WriteTransaction) -> None:
        for part in estate(tables):
            transaction.change(REALM, *part)

    with open_store(url) as store:
        service = DecisionService(store)
        service.open()
        begun = time.perf_counter()
        with store.writing(late=True) as writing:
            transaction = WriteTransaction(SYSTEM, service.state, writing, time.time(), late=True)
            bring(transaction)
            writing.commit(transaction.events)
        return {"write_s": time.perf_counter() - begun, "effects": len(transaction.effects)}


def loaded(url: str) -> dict[str, float]:
    """Opens a decision service as a server does; returns the time and the memory."""
    load_system("gravitino")
    before = resident_mib()
    begun, busy = time.perf_counter(), time.process_time()
    with open_store(url) as store:
        service = DecisionService(store)
        service.open()
        ready, cpu = time.perf_counter() - begun, time.process_time() - busy
        state = service.state.realm(REALM)
        found = {
            "ready_s": ready,
            "ready_cpu_s": cpu,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "resident_mib": resident_mib() - before,
            "entities": len(state.matrix.snapshot.coded.tree.stored),
            "statements": len(state.matrix.snapshot.table.statements),
        }
        found |= _caught_up(url, service)
    return found


def _caught_up(url: str, service: DecisionService) -> dict[str, float]:
    """The time until single grants of another connection are visible."""
    tree = service.state.realm(REALM).matrix.snapshot.coded.tree
    tables = [e for e in map(tree.entity, tree.stored[:50_000]) if e.type == "table"]
    user = Principal(USER, "newcomer")
    took, right = [], 0
    with open_store(url) as other:
        for number in range(CHANGES):
            with other.writing() as writing:
                statement = _grant(number, tables[number], user)
                writing.apply(REALM, [StatementAdded(replace(statement, id=f"new{number}"))])
                writing.commit(())
            state, seconds = timed(service.catch_up)
            took.append(seconds * 1e3)
            matrix = state.realm(REALM).matrix
            asked = Request(user, "table.load", tables[number], time.time())
            matrix.decide(asked)
            right += f"new{number}" in matrix.snapshot.table.statements
    assert right == CHANGES
    return {"catch_up_ms_p50": median(took), "catch_up_ms_max": max(took)}


def read_and_built(url: str) -> dict[str, float]:
    """The two parts of loading, separately: decoding rows from the database, and compiling."""
    system = load_system("gravitino")
    with open_store(url) as store, store.reading() as reading:
        start = time.process_time()
        facts, read = timed(lambda: reading.facts(REALM, system))
        between = time.process_time()
        _, build = timed(
            lambda: compile(facts, system.model, system.spelling, now=time.time(), revision=1)
        )
        end = time.process_time()
    return {
        "read_s": read,
        "read_cpu_s": between - start,
        "build_s": build,
        "build_cpu_s": end - between,
    }


@contextmanager
def fresh_store(engine: str) -> Iterator[str]:
    """The URL of an empty store."""
    if engine == "sqlite":
        with tempfile.TemporaryDirectory(prefix="lakewarden-start-") as folder:
            yield f"sqlite:///{Path(folder) / 'lakewarden.db'}"
    else:
        with postgres() as server, fresh_database(server) as url:
            yield url


def measured(engine: str, tables: int) -> dict[str, float]:
    """The figures of one engine; each stage runs in its own process."""
    found: dict[str, float] = {}
    with fresh_store(engine) as url:
        for stage, args in ((written, (url, tables)), (read_and_built, (url,)), (loaded, (url,))):
            say(f"{stage.__name__.replace('_', ' ')}, {engine}")
            with get_context("spawn").Pool(1) as pool:
                found |= pool.apply(stage, args)
    return found


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=["sqlite", "postgres"], action="append")
    parser.add_argument("--tables", type=int, default=TABLES_W_1M, help="in each of 1,000 schemas")
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    result: dict[str, Any] = machine()
    for engine in given.engine or ["sqlite", "postgres"]:
        figures = measured(engine, given.tables)
        met = figures["ready_s"] <= MUST_SECONDS and figures["peak_mib"] <= MUST_MIB
        result[engine] = {**figures, "must_s": MUST_SECONDS, "must_mib": MUST_MIB, "met": met}
    result = rounded(result)
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "start", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
