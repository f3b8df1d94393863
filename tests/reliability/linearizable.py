"""F-04: grants, revocations and checks of many clients, checked as histories of registers.

    python -m tests.reliability.linearizable --histories 200 --engine postgres --sites 2

Prints the number of linearizable histories; the exit code is 1 unless all were. With `--stale`,
the planes have no protection: then the exit code is 1 unless a violation is found.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

from lakewarden.service.decision_service import DecisionService
from tests.reliability.estate import (
    Stale,
    add_tables,
    build,
    check,
    plane_of,
    put,
    sqlite_url,
    table,
)
from tests.reliability.history import Operation, violations
from tests.reliability.site import Site
from tests.servers import fresh_database, postgres

WRITES = 0.15
"""The share of operations that write."""


class Plan(NamedTuple):
    """The making of a history. `writing`: the number of sites that write; None: all."""

    clients: int = 8
    keys: int = 4
    operations: int = 200
    writing: int | None = None


def clients(
    service: DecisionService,
    keys: Sequence[str],
    numbers: Sequence[int],
    seed: int,
    count: int,
    share: float,
) -> list[Operation]:
    """The operations of the clients with these numbers, each a thread of this process."""
    together = Barrier(len(numbers))

    def client(number: int) -> list[Operation]:
        rng = random.Random(f"{seed} {number}")
        seen = []
        together.wait()
        for _ in range(count):
            key, is_write, value = rng.choice(keys), rng.random() < share, rng.random() < 0.5
            start = time.monotonic()
            if is_write:
                put(service, table(key), allowed=value)
            else:
                value = check(service, table(key))
            seen.append(Operation(key, number, start, time.monotonic(), is_write, value))
        return seen

    with ThreadPoolExecutor(len(numbers)) as pool:
        return [operation for seen in pool.map(client, numbers) for operation in seen]


def last_reads(service: DecisionService, keys: Sequence[str], number: int) -> list[Operation]:
    """The reads of every key by a client after all others are done."""
    seen = []
    for key in keys:
        start = time.monotonic()
        value = check(service, table(key))
        seen.append(Operation(key, number, start, time.monotonic(), False, value))
    return seen


def history(sites: Sequence[Site], name: int, plan: Plan, seed: int) -> list[Operation]:
    """One history over fresh keys, with the clients spread over the sites; each site reads last."""
    keys = [f"{name}_{key}" for key in range(plan.keys)]
    sites[0].call(add_tables, *map(table, keys))
    for place, site in enumerate(sites):
        numbers = range(place, plan.clients, len(sites))
        share = WRITES if plan.writing is None or place < plan.writing else 0.0
        site.start(clients, keys, numbers, seed, plan.operations, share)
    seen = [operation for site in sites for operation in site.result()]
    for place, site in enumerate(sites):
        seen += site.call(last_reads, keys, plan.clients + place)
    return seen


@contextmanager
def sites_on(
    url: str, count: int, kind: type[DecisionService] = DecisionService
) -> Iterator[list[Site]]:
    """Processes on a store with the realm of these tests."""
    with plane_of(url) as service:
        build(service)
    with ExitStack() as stack:
        sites = [stack.enter_context(Site(url, kind)) for _ in range(count)]
        for site in sites:
            site.call(last_reads, [], 0)  # returns once the stored state is loaded
        yield sites


@contextmanager
def stores(engine: str) -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """A function that opens empty stores, one URL at a time, for use without pytest."""
    if engine == "sqlite":
        yield _sqlite
    else:
        with postgres() as server:
            yield lambda: fresh_database(server, stores=True)


@contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="lakewarden-store-") as folder:
        yield sqlite_url(Path(folder))


def main() -> int:
    """Runs the histories; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--sites", type=int, default=2, help="processes that share the store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stale", action="store_true", help="the negative control")
    given = parser.parse_args()
    bad = 0
    kind = Stale if given.stale else DecisionService
    with (
        stores(given.engine) as fresh,
        fresh() as url,
        sites_on(url, given.sites, kind) as sites,
    ):
        for number in range(given.histories):
            found = violations(history(sites, number, Plan(), given.seed + number))
            bad += bool(found)
            for violation in found[:1]:
                print(f"history {number}: {violation}")
    print(f"{given.histories - bad} of {given.histories} histories linearizable, seed {given.seed}")
    return int((bad == 0) is given.stale)


if __name__ == "__main__":
    sys.exit(main())
