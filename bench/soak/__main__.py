"""A soak: hours of reads, writes, imports and searches on two workers over PostgreSQL.

    python -m bench.soak [--minutes N] [--share F] [--plant] [--save [FILE]]

Each system has a realm. One client per realm reads and writes there and judges every answer by the
literal oracle over the rows that it wrote. A fourth client queries all realms about users whose
rows never change, while the others write. The same clients query a server that answers with a
constant, which shows the machine's part of a latency. A ramp determines the request rate: half of
what the mix reaches at full speed, and at most `--share` of one core for server, database and
clients.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.http import constant, server
from bench.result import kept, machine, rounded
from bench.soak.acts import Acts
from bench.soak.client import Connections, Tally
from bench.soak.estate import build
from bench.soak.gauges import Database, memory_mib, open_files, processor_s, workers
from bench.soak.judging import Rows, judged
from bench.text import say
from tests.servers import fresh_database, postgres

WINDOW_S: Final = 300.0
CONTROL_SHARE: Final = 0.1
"""One in ten requests of a client goes to the constant server, and one in fifty to `/healthz`."""
CONNECTIONS: Final = 4
SETTINGS: Final = {"LAKEWARDEN_WORKERS": "2", "LAKEWARDEN_LIMITS__REQUEST_SECONDS": "120"}
REALMS: Final = {
    "LAKEWARDEN_DATAHUB__BOOTSTRAP": "closed",
    "LAKEWARDEN_DATAHUB__VIEW": "true",
}
"""Other load on the machine may delay a request for longer than a server would wait by default."""
HALF: Final = 0.5
SHARES: Final = {"gravitino": 0.3, "datahub": 0.2, "cdap": 0.3, "still": 0.2}
"""Each client's share of all acts."""


class Course(NamedTuple):
    """The common schedule: first the ramp, which begins at `begin`, then the soak.

    `rate` is the number of all acts per second, 0 until the ramp has determined it; `start` is the
    time when the soak begins.
    """

    begin: float
    ramp: float
    seconds: float
    window: float
    rate: Any
    start: Any
    plant: bool


class Client:
    """One client: it acts on its realms, and records the results."""

    def __init__(self, name: str, soak: Soak, course: Course, number: int) -> None:
        self.name, self._course = name, course
        self._ask, self._control = (
            Connections(soak.server.address, CONNECTIONS),
            Connections(soak.fixed, 1),
        )
        self.tally = Tally(soak.folder / f"ramp-{name}.jsonl", course.begin, course.ramp)
        theirs = [each for each in soak.estates if name in (each.realm, "still")]
        seed = soak.seed + 1000 * number
        self._acts = [
            Acts(each, self._ask, self.tally, writes=name != "still", seed=seed + at)
            for at, each in enumerate(theirs)
        ]
        for each in self._acts:
            each.write_often(soak.writes)
        self._out = soak.folder / f"soak-{name}.jsonl"
        self._number = 0

    def run(self) -> None:
        """Runs the ramp at full speed, and the soak at the rate that follows from it."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        course = self._course
        self._until(course.begin + course.ramp, 0.0)
        self.tally.roll(last=True)
        while not course.start.value:
            time.sleep(0.2)
        begin = course.start.value
        self.tally.move(self._out, begin, course.window)
        time.sleep(max(0.0, begin - time.time()))
        rate = course.rate.value * SHARES[self.name]
        if course.plant and self.name != "still":
            self._until(begin + course.seconds / 3, rate)
            self._acts[0].plant()
        self._until(begin + course.seconds, rate)
        self.tally.roll(last=True)

    def _until(self, end: float, rate: float) -> None:
        due = time.time()
        while (now := time.time()) < end:
            if now < due:
                time.sleep(due - now)
            # A delay of more than a second is not caught up.
            due = max(due + 1 / rate, time.time() - 1.0) if rate else now
            self.tally.roll()
            try:
                self._one()
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                self.tally.failed(f"{self.name}.connection", repr(error))
                time.sleep(0.5)

    def _one(self) -> None:
        self._number += 1
        if self._number % 10 == 0:
            sent = {"action": {"name": "x"}}
            _, _, took = self._control.ask("POST", "/bare", sent, "admin")
            self.tally.took(f"control.{self.name}", took)
        elif self._number % 50 == 1:
            _, _, took = self._ask.ask("GET", "/healthz", None, "admin")
            self.tally.took(f"healthz.{self.name}", took)
        else:
            self._acts[self._number % len(self._acts)].step()


class Soak:
    """The servers and the clients of one soak."""

    def __init__(self, folder: Path, scale: int, seed: int, stack: ExitStack) -> None:
        self.folder, self.seed, self.writes = folder, seed, 1.0
        url = stack.enter_context(fresh_database(stack.enter_context(postgres())))
        with server(url, **REALMS):
            say("realms")
        self.estates = build(url, scale, seed)
        self.database = Database(url)
        stack.callback(self.database.close)
        self.server = stack.enter_context(server(url, folder / "server.log", **SETTINGS, **REALMS))
        self.fixed = stack.enter_context(constant())
        self.pids = workers(self.server.pid)
        say(f"workers {self.pids}")

    def run(self, given: argparse.Namespace) -> tuple[dict[str, Any], Rows, Rows]:
        """The result of the ramp, and the clients' rows and the gauges of the soak."""
        context = multiprocessing.get_context("fork")
        course = Course(
            begin=time.time() + 5,
            ramp=given.ramp,
            seconds=given.minutes * 60,
            window=given.window,
            rate=context.Value("d", 0.0),
            start=context.Value("d", 0.0),
            plant=given.plant,
        )
        processes = [
            context.Process(target=_run, args=(name, self, course, number))
            for number, name in enumerate(SHARES)
        ]
        for process in processes:
            process.start()
        try:
            figures = self._ramped(processes, course, given)
            gauges = self._watched(processes, course)
            for process in processes:
                process.join(300)
        finally:
            for process in processes:
                if process.is_alive():
                    process.terminate()
        return figures, self._told("soak"), gauges

    def _told(self, phase: str) -> Rows:
        outs = [self.folder / f"{phase}-{name}.jsonl" for name in SHARES]
        return [json.loads(line) for out in outs for line in out.read_text().splitlines()]

    def _ramped(
        self, processes: Sequence[Any], course: Course, given: argparse.Namespace
    ) -> dict[str, Any]:
        """Waits for the ramp and sets the rate of the soak."""
        clients = [each.pid for each in processes]
        time.sleep(max(0.0, course.begin + course.ramp / 2 - time.time()))
        before, begun = self._processor(clients), time.time()
        time.sleep(max(0.0, course.begin + course.ramp - time.time()))
        took = sum(self._processor(clients).values()) - sum(before.values())
        seconds = time.time() - begun
        end = time.time() + 300
        outs = [self.folder / f"ramp-{name}.jsonl" for name in SHARES]
        while not all(out.exists() for out in outs) and time.time() < end:
            time.sleep(0.5)
        time.sleep(1)
        capacity = acts_of(self._told("ramp")) / course.ramp
        cost = took / max(1.0, capacity * seconds)
        rate = min(max(given.least, HALF * capacity), given.share / cost)
        say(f"{capacity:.1f} acts/s, {cost * 1e3:.1f} ms of processor each: {rate:.1f} acts/s")
        course.rate.value = rate
        course.start.value = time.time() + 3
        return {
            "capacity_per_s": capacity,
            "cpu_ms_per_act": cost * 1e3,
            "rate_per_s": rate,
            "load_share": rate / capacity,
        }

    def _watched(self, processes: Sequence[Any], course: Course) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        begin, window = course.start.value, course.window
        clients = [each.pid for each in processes]
        before = self._processor(clients)
        for number in range(max(1, round(course.seconds / window))):
            time.sleep(max(0.0, begin + (number + 1) * window - time.time() - 1))
            after = self._processor(clients)
            found.append(
                {
                    "window": number,
                    "at_s": time.time() - begin,
                    "workers": [{**memory_mib(pid), "files": open_files(pid)} for pid in self.pids],
                    "postgres_pss": self.database.pss_mib(),
                    "store_mib": self.database.size_mib(),
                    "cpu_s": {key: after[key] - before[key] for key in after},
                    "load": os.getloadavg()[0],
                }
            )
            before = after
            with (self.folder / "soak-gauges.jsonl").open("a") as out:
                out.write(json.dumps(found[-1]) + "\n")
            say(json.dumps(rounded(found[-1])))
        return found

    def _processor(self, clients: Sequence[int]) -> dict[str, float]:
        return {
            "server": processor_s(self.pids),
            "postgres": processor_s(self.database.pids()),
            "clients": processor_s(list(clients)),
        }


def _run(name: str, soak: Soak, course: Course, number: int) -> None:
    Client(name, soak, course, number).run()


def acts_of(rows: Rows) -> int:
    """The total number of answered requests."""
    return sum(kind["asked"] for row in rows if "window" in row for kind in row["kinds"].values())


def main() -> int:
    """Prints the result as JSON; returns 1 if a bound was not kept."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--window", type=float, default=WINDOW_S, help="seconds")
    parser.add_argument("--ramp", type=float, default=60, help="seconds")
    parser.add_argument("--share", type=float, default=0.4, help="of one core, at most")
    parser.add_argument("--least", type=float, default=15, help="acts a second, if a share allows")
    parser.add_argument("--writes", type=float, default=1, help="so many times as often")
    parser.add_argument("--scale", type=int, default=100, help="tables of a schema")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", action="store_true", help="write what the oracle is not told")
    parser.add_argument("--dir", type=Path, help="where each window is kept as it ends")
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    about = machine()
    with ExitStack() as stack:
        folder = given.dir or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.jsonl"):
            old.unlink()
        soak = Soak(folder, given.scale, given.seed, stack)
        soak.writes = given.writes
        say(f"ramp of {given.ramp:g} s")
        ramped, rows, gauges = soak.run(given)
        tables = soak.database.tables()
    figures = {
        "minutes": given.minutes,
        "window_s": given.window,
        **ramped,
        "planted": given.plant,
        "entities": {e.realm: len(e.facts.entities) for e in soak.estates},
        "users": {e.realm: len(e.users) for e in soak.estates},
        "statements": {e.realm: len(e.facts.statements) for e in soak.estates},
        "tables_bytes": tables,
    }
    result = rounded({**figures, **judged(rows, gauges), **about})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "soak", given.save)
    return 0 if result["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
