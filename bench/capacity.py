"""A server's resources: realms × entities × users × writes per second → memory, CPU time, store.

    python -m bench.capacity [--seconds N] [--save [FILE]]

Each point of a small grid has its own PostgreSQL with realms of Gravitino's model (schemas of a
hundred tables, a role for every 25 users, grants on schemas and tables) and one worker of
`lakewarden serve`. Memory is the worker's private memory, first when idle, then after the writes.
Writes are statements through the API, each accompanied by five checks. CPU time is that of the
worker, minus what it uses when idle. Formulas are fitted to all points by least squares, and
published with the error of the worst point.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from bench.http import _wait_until_idle, server
from bench.result import kept, machine, rounded
from bench.soak.client import Connections
from bench.soak.gauges import Database, memory_mib, processor_s
from bench.text import say
from lakewarden.cli import main as lakewarden
from lakewarden.cli.admin_target import opened, operator
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.actor import SYSTEM
from lakewarden.service.effect import RealmChanged
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from tests.servers import fresh_database, postgres

TABLES: Final = 100
"""Tables per schema."""
USERS_OF_ROLE: Final = 25
CHECKS: Final = 5
"""Checks per write."""
AT_REST_S: Final = 4.0


class Point(NamedTuple):
    """A point of the grid: realms, entities per realm, users in total, writes per second."""

    realms: int
    entities: int
    users: int
    writes: float


GRID: Final = (
    Point(1, 1_000, 1_000, 1.0),
    Point(1, 10_000, 100, 1.0),
    Point(1, 10_000, 1_000, 1.0),
    Point(1, 10_000, 1_000, 4.0),
    Point(1, 10_000, 5_000, 1.0),
    Point(1, 50_000, 1_000, 1.0),
    Point(4, 10_000, 1_000, 1.0),
    Point(4, 10_000, 5_000, 2.0),
)

Row = Mapping[str, float]
Terms = Mapping[str, Callable[[Row], float]]

FORMULAS: Final[Mapping[str, Terms]] = {
    "memory_mib": {
        "base": lambda _: 1.0,
        "per_100k_entities": lambda row: row["realms"] * row["entities"] / 1e5,
        "per_1k_users_and_realm": lambda row: row["realms"] * row["users"] / 1e3,
    },
    "cpu_ms_per_write": {
        "base": lambda _: 1.0,
        "per_100k_entities_of_realm": lambda row: row["entities"] / 1e5,
        "per_1k_users": lambda row: row["users"] / 1e3,
    },
    "store_mib": {
        "base": lambda _: 1.0,
        "per_100k_entities": lambda row: row["realms"] * row["entities"] / 1e5,
        "per_1k_users_and_realm": lambda row: row["realms"] * row["users"] / 1e3,
    },
}
"""The figures, each with the terms of its sum."""


def facts(lake: str, entities: int, users: int) -> Facts:
    """The rows of one realm."""
    metalake, catalog = Entity("metalake", lake), Entity("catalog", f"{lake}:c")
    count = max(1, entities // (TABLES + 1))
    schemas = [Entity("schema", f"{lake}:c.s{number:04}") for number in range(count)]
    rows = [EntityRow(metalake, None), EntityRow(catalog, metalake)]
    for schema in schemas:
        rows.append(EntityRow(schema, catalog))
        tables = (Entity("table", f"{schema.name}.t{number:03}") for number in range(TABLES))
        rows += [EntityRow(each, schema) for each in tables]
    people = [Principal(USER, f"u{number:05}") for number in range(users)]
    roles = [
        Principal(ROLE, f"{lake}:r{number:04}") for number in range(max(1, users // USERS_OF_ROLE))
    ]
    inside = members_of(lake)
    memberships = [MembershipRow(each, inside) for each in people]
    memberships += [
        MembershipRow(each, roles[(number + step) % len(roles)])
        for number, each in enumerate(people)
        for step in ((0, 1) if len(roles) > 1 else (0,))
    ]
    draw = random.Random(1)
    statements = []
    for role in roles:
        uses = frozenset({"USE_CATALOG", "USE_SCHEMA"})
        statements.append(_allow(f"uses {role.name}", uses, catalog, role))
        for number in range(4):
            on = draw.choice(schemas) if number < 2 else draw.choice(rows).entity
            reads = frozenset({"SELECT_TABLE"})
            statements.append(_allow(f"{role.name} {number}", reads, on, role))
    return Facts(
        entities=rows,
        principals=(*people, *roles),
        memberships=memberships,
        statements=statements,
    )


def _allow(id: str, privileges: frozenset[str], on: Entity, to: Principal) -> Statement:
    return Statement(id, Effect.ALLOW, privileges, On(on), frozenset({to}))


def build(url: str, point: Point) -> None:
    """Writes the realms of the point into an empty database."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        if lakewarden(["init", "--admin", "admin", "--database", url]):
            raise RuntimeError("the store could not be made")
    names = [f"lake{number}" for number in range(point.realms)]
    with opened(url) as service:
        service.write(SYSTEM, partial(_add_realms, names))
        system = service.state.realm("gravitino").system
        for name in names:
            rows = facts(name, point.entities, point.users)
            done = load_rows(service, operator(service), name, system, rows)
            if not isinstance(done, LoadResult):
                raise RuntimeError(f"{name} was refused: {done}")


def _add_realms(names: Sequence[str], transaction: WriteTransaction) -> None:
    for name in names:
        transaction.change(name, RealmChanged(name, Realm(name, "gravitino")))


def measured(point: Point, postgres_url: str, seconds: float) -> dict[str, float]:
    """The figures of one point."""
    with fresh_database(postgres_url) as url:
        build(url, point)
        database = Database(url)
        try:
            with server(url) as worker:
                _wait_until_idle(worker.pid)
                before = memory_mib(worker.pid)["uss"], database.size_mib()
                rest = _cpu_of(worker.pid, AT_REST_S)
                written, took, spent = _driven(worker.address, worker.pid, point, seconds)
                # Work that a write defers counts towards the write.
                began = processor_s([worker.pid])
                waited = time.monotonic()
                _wait_until_idle(worker.pid)
                after = processor_s([worker.pid]) - began
                spent += after - rest * (time.monotonic() - waited)
                figures = {
                    "memory_mib": before[0],
                    "memory_after_mib": memory_mib(worker.pid)["uss"],
                    "store_mib": before[1],
                    "store_kib_per_write": (database.size_mib() - before[1]) * 1024 / written,
                    "rest_cpu_percent": rest * 100,
                    "cpu_ms_per_write": (spent - rest * took) / written * 1e3,
                    "written": written,
                    "written_per_s": written / took,
                }
        finally:
            database.close()
    return {**point._asdict(), **figures}


def _cpu_of(pid: int, seconds: float) -> float:
    before = processor_s([pid])
    time.sleep(seconds)
    return (processor_s([pid]) - before) / seconds


def _driven(address: str, pid: int, point: Point, seconds: float) -> tuple[int, float, float]:
    """Performs writes with their checks: their number, the seconds, and the CPU time."""
    connections = Connections(address, 2)
    draw = random.Random(2)
    schemas = max(1, point.entities // (TABLES + 1))
    before, begun, written = processor_s([pid]), time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        due = written / point.writes
        if due > passed:
            time.sleep(min(due - passed, seconds - passed))
            continue
        realm = f"lake{draw.randrange(point.realms)}"
        user = f"u{draw.randrange(point.users):05}"
        schema = f"{realm}:c.s{draw.randrange(schemas):04}"
        body = {"privileges": ["SELECT_TABLE"], "to": [f"user:{user}"], "on": f"schema:{schema}"}
        path = f"/api/v1/realms/{realm}/statements/w{draw.randrange(50)}"
        _good(connections.ask("PUT", path, body, "admin"))
        for _ in range(CHECKS):
            asked = {
                "subject": {"type": "user", "id": f"u{draw.randrange(point.users):05}"},
                "action": {"name": "table.load"},
                "resource": {"type": "table", "id": f"{schema}.t{draw.randrange(TABLES):03}"},
            }
            _good(connections.ask("POST", f"/r/{realm}/access/v1/evaluation", asked, "admin"))
        written += 1
    return written, time.monotonic() - begun, processor_s([pid]) - before


def _good(answered: tuple[int, bytes, float]) -> None:
    status, text, _ = answered
    if status >= 300:
        raise ConnectionError(f"the server answered {status}: {text[:300]!r}")


def fitted(rows: Sequence[Row], figure: str, terms: Terms) -> dict[str, Any]:
    """The coefficients of the terms, all nonnegative, and the worst error over the rows."""
    chosen = dict(terms)
    while True:
        matrix = np.array([[term(row) for term in chosen.values()] for row in rows])
        values = np.array([row[figure] for row in rows])
        solved, *_ = np.linalg.lstsq(matrix, values, rcond=None)
        lowest = int(np.argmin(solved))
        if solved[lowest] >= 0 or len(chosen) == 1:
            break
        del chosen[list(chosen)[lowest]]  # indistinguishable from noise
    off = np.abs(matrix @ solved / values - 1)
    found = {name: float(value) for name, value in zip(chosen, solved, strict=True)}
    return {**found, "worst_error": float(off.max())}


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="of writes at each point")
    parser.add_argument("--points", type=int, default=len(GRID), help="only the first ones")
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    about = machine()
    rows = []
    with postgres() as url:
        for point in GRID[: given.points]:
            rows.append(measured(point, url, given.seconds))
            say(json.dumps(rounded(rows[-1])))
    formulas = {figure: fitted(rows, figure, terms) for figure, terms in FORMULAS.items()}
    result = rounded({"rows": rows, "formulas": formulas, **about})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "capacity", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
