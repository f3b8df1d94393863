"""F-10: a schema migration is killed in the middle; no row is lost, in one schema or the other.

    python -m tests.reliability.migrating --rows 100000 --trials 20 --engine sqlite

A process migrates the store down and up in an endless loop and gets SIGKILL at a random time. Then
the store must have one schema, with exactly the rows and indexes of an undisturbed store; at last
it is migrated up, down and up once more. Prints the number of trials and every fault; the exit
code is 1 if there was one. With `--torn`, the steps run without a transaction, which is the
protection: then the exit code is 1 unless a fault is found.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import cycle
from multiprocessing.connection import Connection

import sqlalchemy as sa

from lakewarden.kernel.change import AttributeChanged, EntityAdded, OwnerChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import OwnerRow
from lakewarden.service.effect import RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.store import SqlStore, open_store, upgrade
from lakewarden.store.backup import rows_digest
from lakewarden.store.engine import create, exclusive
from lakewarden.store.migrations.versions.m0002_indexes import INDEXES
from tests import forkserver
from tests.reliability.estate import CATALOG, LAKE, OWNER, REALM, SCHEMA, table
from tests.reliability.linearizable import stores

LOWER, UPPER = "0001", "0002"
STEPS = (LOWER, UPPER)

Shape = tuple[str, frozenset[str]]
"""The digest of all rows, and the names of the indexes."""


def fill(store: SqlStore, rows: int) -> None:
    """A realm with `rows` entities, every tenth with an owner and an attribute."""
    tables = [table(number) for number in range(rows)]
    places: list[tuple[Entity, Entity | None]] = [
        *((LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG)),
        *((entity, SCHEMA) for entity in tables),
    ]
    with store.writing() as writing:
        writing.apply(
            REALM,
            [
                RealmChanged(REALM, Realm(REALM, "gravitino")),
                *(EntityAdded(entity, parent) for entity, parent in places),
                *(OwnerChanged(OwnerRow(entity, OWNER), True) for entity in tables[::10]),
                *(AttributeChanged(entity, "tier", ("high",)) for entity in tables[::10]),
            ],
        )
        writing.commit(())


def shape(engine: sa.Engine) -> tuple[str | None, Shape]:
    """The schema of the store and its contents, once nobody is changing it."""
    with exclusive(engine.connect()) as connection, connection.begin():
        upgrade._lock(connection)
        found = sa.inspect(connection)
        indexes = {str(i["name"]) for t in found.get_table_names() for i in found.get_indexes(t)}
        return upgrade.current(connection), (rows_digest(connection), frozenset(indexes))


def shapes(engine: sa.Engine) -> Mapping[str | None, Shape]:
    """The undisturbed contents of each schema."""
    upgrade.downgrade(engine, LOWER)
    lower = shape(engine)
    upgrade.upgrade(engine)
    return dict((lower, shape(engine)))


def wander(url: str, there: Connection) -> None:
    """Migrates down and up forever, each in one transaction."""
    _wander(url, there, _step)


def wander_torn(url: str, there: Connection) -> None:
    """Migrates down and up forever, in many transactions."""
    _wander(url, there, _torn_step)


def _wander(url: str, there: Connection, step: Callable[[sa.Engine, str], None]) -> None:
    engine = create(url)
    with engine.connect() as connection:
        found = upgrade.current(connection)
    there.send(None)
    for target in cycle(STEPS if found == UPPER else STEPS[::-1]):
        step(engine, target)


def _step(engine: sa.Engine, target: str) -> None:
    if target == UPPER:
        upgrade.upgrade(engine)
    else:
        upgrade.downgrade(engine, target)


def _torn_step(engine: sa.Engine, target: str) -> None:
    for name, (of, columns) in INDEXES.items():
        said = f"drop index if exists {name}"
        if target == UPPER:
            said = f"create index if not exists {name} on {of} ({', '.join(columns)})"
        with engine.begin() as connection:
            connection.exec_driver_sql(said)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"update alembic_version set version_num = '{target}'")


def trials(
    url: str, rows: int, count: int, rng: random.Random, *, torn: bool = False
) -> Iterator[list[str]]:
    """The faults after each kill, and after a final undisturbed migration down and up."""
    with open_store(url) as store:
        fill(store, rows)
        before = time.monotonic()
        expected = shapes(store.engine)
        longest = time.monotonic() - before
    for _ in range(count):
        killed(wander_torn if torn else wander, url, rng.uniform(0, longest))
        with closing(SqlStore(create(url))) as store:
            version, found = shape(store.engine)
            yield _faults(version, found, expected)
    with closing(SqlStore(create(url))) as store:
        try:
            upgrade.upgrade(store.engine)
            again = shapes(store.engine)
        except WardenError as error:
            yield [f"the way up is blocked: {error}"]
        else:
            yield [] if again == expected else ["rows differ after up, down and up"]


def _faults(version: str | None, found: Shape, expected: Mapping[str | None, Shape]) -> list[str]:
    if version not in expected:
        return [f"the schema is `{version}`"]
    rows, indexes = expected[version]
    faults = [] if found[0] == rows else [f"the rows of schema `{version}` differ"]
    if found[1] != indexes:
        faults.append(f"schema `{version}` has other indexes: {sorted(found[1] ^ indexes)}")
    return faults


def killed(job: Callable[[str, Connection], None], url: str, seconds: float) -> None:
    """Runs a job on a store in a process, and kills it `seconds` after its start signal."""
    context = forkserver.context()
    here, there = context.Pipe()
    walker = context.Process(target=job, args=(url, there), daemon=True)
    walker.start()
    here.recv()
    time.sleep(seconds)
    died = not walker.is_alive()
    walker.kill()
    walker.join()
    walker.close()
    if died:
        raise AssertionError("the process ended by itself")


def main() -> int:
    """Runs the trials; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--torn", action="store_true", help="the negative control")
    given = parser.parse_args()
    bad = 0
    with stores(given.engine) as fresh, fresh() as url:
        rng = random.Random(given.seed)
        for number, found in enumerate(trials(url, given.rows, given.trials, rng, torn=given.torn)):
            bad += bool(found)
            for fault in found:
                print(f"trial {number + 1}: {fault}", flush=True)
    print(
        f"{given.engine}: {given.rows:,} entities, {given.trials} kills, {bad} with a fault,"
        f" seed {given.seed}"
    )
    return int((bad == 0) is given.torn)


if __name__ == "__main__":
    sys.exit(main())
