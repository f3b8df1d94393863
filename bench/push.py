"""The cost of a push to PostgreSQL or MariaDB, and of naive grants for each user and table.

    python -m bench.push [--kind KIND] [--tables N] [--users N] [--profiles N] [--quick]
                         [--save [FILE]]

1,000 users with five of 300 roles each; each role reads, changes or adds rows of some schemas and
tables. Prints the seconds of the first plan, of applying it, of a second plan and of drift, and
the statements and grants of the naive way. The server is the one that the tests use.
For `--kind ranger`, it is a stand-in for Ranger's admin with a Trino service: requests are counted.
For MariaDB, the default is 500 tables. `--quick` means fewer tables, and 100 users for MariaDB and
Ranger. With `--profiles N`, users share N choices of five roles; otherwise each user has its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Final, TypeVar

import psycopg
import sqlalchemy as sa

from bench.result import kept, machine, rounded
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import as_data
from lakewarden.service.push_target import RANGER, PushTarget
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from tests.pushdown.mariadb_estate import administrator, execute
from tests.pushdown.ranger.admin_server import serving
from tests.pushdown.ranger.worlds import ranger_of, told
from tests.servers import mariadb, postgres

T = TypeVar("T")

SCHEMAS, ROLES, ROLES_OF_A_USER = 100, 300, 5
PRIVILEGES = ("SELECT_TABLE", "SELECT_TABLE", "MODIFY_TABLE", "INSERT_ROWS")
SEED = 7


@dataclass(frozen=True, slots=True)
class Size:
    """Tables, users, grants of each role, and the number of different role sets (0: of each user).

    Users with the same roles share a role set.
    """

    tables: int
    users: int
    grants: int = 10
    profiles: int = 0


SIZES: Final[Mapping[str, Size]] = {
    "postgresql": Size(10_000, 1_000),
    "mysql": Size(500, 1_000),
    RANGER: Size(10_000, 1_000),
}
"""By kind of target."""

QUICK: Final[Mapping[str, Size]] = {
    "postgresql": Size(500, 1_000),
    "mysql": Size(200, 100),
    RANGER: Size(500, 100),
}
"""The same for `--quick`."""


def estate(size: Size, kind: str) -> RealmState:
    """The realm; deterministic."""
    settings = {kind: "on"}
    system, rng = load_system("gravitino", settings), random.Random(SEED)
    tables = [f"table:lk:c.s{n % SCHEMAS}.t{n}" for n in range(size.tables)]
    schemas = [f"schema:lk:c.s{n}" for n in range(SCHEMAS)]
    entities = [system.entity(name) for name in ("metalake:lk", "catalog:lk:c", *schemas, *tables)]
    roles = [Principal(ROLE, f"lk:r{n}") for n in range(ROLES)]
    users = [system.principal(f"u{n}") for n in range(size.users)]
    stated: list[dict[str, object]] = [
        {"id": one, "privileges": [one], "on": "catalog:lk:c", "to": ["members:lk"]}
        for one in ("USE_CATALOG", "USE_SCHEMA")
    ]
    for role in roles:
        for n in range(size.grants):
            on = rng.choice(schemas if n < 2 else tables)
            one = rng.choice(PRIVILEGES)
            stated.append(
                {"id": f"{role.name}-{n}", "privileges": [one], "on": on,
                 "to": [f"role:{role.name}"]}
            )  # fmt: skip
    chosen = [rng.sample(roles, ROLES_OF_A_USER) for _ in range(size.profiles or size.users)]
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        principals=[*users, *roles],
        memberships=[
            *(MembershipRow(user, members_of("lk")) for user in users),
            *(
                MembershipRow(user, role)
                for user, own in zip(users, cycle(chosen), strict=False)
                for role in own
            ),
        ],
        statements=read_statements(stated, system.model, system.spelling, "statements"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    return RealmState(Realm("lake", "gravitino", settings=settings), system, matrix, People())


def fill_postgres(url: str, count: int, user_count: int) -> None:
    """The schemas, tables and users of the estate."""
    with psycopg.connect(url, autocommit=True) as connection:
        for n in range(user_count):
            connection.execute(f"CREATE ROLE u{n} LOGIN")
        for n in range(SCHEMAS):
            connection.execute(f"CREATE SCHEMA s{n}")
        for n in range(count):
            connection.execute(f"CREATE TABLE s{n % SCHEMAS}.t{n} (a int)")


def fill_mariadb(url: str, count: int, user_count: int) -> None:
    """The same; the tables' storage engine does not affect the figures, so a fast one is used."""
    with administrator(url) as connection:
        users = ", ".join(f"u{n}" for n in range(user_count))
        execute(connection, f"CREATE USER {users}")
        for n in range(SCHEMAS):
            execute(connection, f"CREATE DATABASE s{n}")
        for n in range(count):
            execute(connection, f"CREATE TABLE s{n % SCHEMAS}.t{n} (a int) ENGINE = MyISAM")


Server = tuple[Callable[[], AbstractContextManager[str]], str, Callable[[str, int, int], None]]
SERVERS: Final[Mapping[str, Server]] = {
    "postgresql": (postgres, "postgresql", fill_postgres),
    "mysql": (mariadb, "mariadb", fill_mariadb),
}
"""By kind of target: the server, the scheme of its address, and the function that fills it."""


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """The time of the work in seconds, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measured(size: Size, kind: str) -> dict[str, Any]:
    """The figures."""
    realm = estate(size, kind)
    server_of, scheme, fill = SERVERS[kind]
    target = PushTarget("pg", "lake", kind, "lk", "c")
    with server_of() as server:
        url = sa.make_url(server).set(drivername=scheme)
        text = url.render_as_string(hide_password=False)
        fill(text, size.tables, size.users)
        address = Address(text, "pg")
        with push.CONNECT[kind](address) as database:
            plan_s, made = timed(lambda: push.plan(database, realm, target, 0.0))
        with push.CONNECT[kind](address) as database:
            apply_s, statements = timed(lambda: push.apply(database, made))
        done = made.target_after_push()
        with push.CONNECT[kind](address) as database:
            again_s, again = timed(lambda: push.plan(database, realm, done, 0.0))
            drift_s, drift = timed(lambda: push.drift(database, realm, done, 0.0))
    roles = made.desired.roles.values()
    return {
        "kind": kind,
        "users": size.users,
        "tables": size.tables,
        "roles_of_the_realm": ROLES,
        "grants_of_a_role": size.grants,
        "profiles": size.profiles,
        "plan_seconds": plan_s,
        "apply_seconds": apply_s,
        "second_plan_seconds": again_s,
        "second_plan_steps": len(again.steps),
        "drift_seconds": drift_s,
        "differences": len(drift.differences),
        "statements": statements,
        "roles": len(made.desired.roles),
        "grants": sum(len(role.grants) for role in roles),
        "memberships": sum(len(role.members) for role in roles),
        "naive_grants": sum(map(len, made.desired.holders().values())),
        "state_bytes": len(json.dumps(as_data(made.desired))),
    }


def measured_in_ranger(size: Size) -> dict[str, Any]:
    """The figures of a push to Ranger, without the rate limit for requests."""
    realm = estate(size, "trino")
    with serving(ranger_of("trino")) as ranger:
        one = told(ranger, "lk")
        plan_s, made = timed(lambda: one.plan(realm, 0.0))
        before = len(ranger.requests)
        push_s, changes = timed(lambda: one.push(realm, 0.0))
        requests = len(ranger.requests) - before
        again_s, again = timed(lambda: one.plan(realm, 0.0))
        drift_s, drift = timed(lambda: one.drift(realm, 0.0))
    return {
        "users": size.users,
        "tables": size.tables,
        "roles_of_the_realm": ROLES,
        "grants_of_a_role": size.grants,
        "policies": len(made.desired.policies),
        "roles": len(made.desired.roles),
        "plan_seconds": plan_s,
        "plan_and_apply_seconds": push_s,
        "changes": changes,
        "requests": requests,
        "second_plan_seconds": again_s,
        "second_plan_steps": len(again.steps),
        "drift_seconds": drift_s,
        "differences": len(drift.differences),
        "state_bytes": len(json.dumps(one.target.pushed)),
    }


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", choices=(*SERVERS, RANGER), default="postgresql")
    for field in dataclasses.fields(Size):
        parser.add_argument(f"--{field.name}", type=int)
    parser.add_argument("--quick", action="store_true", help="a first impression")
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    chosen = {field.name: getattr(given, field.name) for field in dataclasses.fields(Size)}
    size = dataclasses.replace(
        (QUICK if given.quick else SIZES)[given.kind],
        **{name: value for name, value in chosen.items() if value is not None},
    )
    figures = measured_in_ranger(size) if given.kind == RANGER else measured(size, given.kind)
    result = rounded({**machine(), **figures})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        name = "push" if given.kind == parser.get_default("kind") else f"push_{given.kind}"
        kept(result, name, given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
