"""The table of measurements: each rival in each set-up, and how it is queried."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.http import CHECK, _headers, _wait_until_idle
from bench.rivals import build, servers
from bench.rivals.world import Truth, truth, write
from bench.text import say
from lakewarden.testing.workload import Workload, draw

CONNECTIONS: Final = "1,8,32"
PATIENCE: Final = 4
"""As in `go/measure.go`, for machines that are also used by others."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The amount of work: tables in a schema, limits of each part, of a list and of a rival.

    Limits of parts and lists are CPU time, with a wall clock limit `PATIENCE` times as long; the
    limit of a rival is wall clock time.
    """

    tables: int
    seconds: float
    list_seconds: float
    limit_s: float


FULL: Final = Effort(tables=100, seconds=8, list_seconds=40, limit_s=2_400)
QUICK: Final = Effort(tables=10, seconds=1, list_seconds=8, limit_s=900)


@dataclass(frozen=True, slots=True)
class Bench:
    """Workload W, its files, its truth, and the effort."""

    workload: Workload
    folder: Path
    truth: Truth
    effort: Effort

    def driver(self, engine: str, *more: str) -> dict[str, Any]:
        """The Go driver's figures of an engine."""
        effort = self.effort
        limits = ["-seconds", str(effort.seconds), "-list-seconds", str(effort.list_seconds)]
        world = ["-engine", engine, "-world", str(self.folder / "world.jsonl")]
        return self.run([str(build.driver()), *world, *limits, *more])

    def served(self, engine: str, on: servers.Running, *more: str) -> dict[str, Any]:
        """The Go driver's figures of an engine that is a server."""
        processes = ["-server", str(on.pid), "-store", str(on.store)]
        processes += ["-warm", str(self.effort.seconds)]
        return self.driver(engine, "-address", on.address, *processes, *more)

    def run(self, command: Sequence[str]) -> dict[str, Any]:
        """The JSON that a program prints; raises `RuntimeError` with its output if it fails."""
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=self.effort.limit_s, check=False
        )
        if ended.returncode:
            raise RuntimeError(ended.stderr.strip()[-500:] or f"ended with {ended.returncode}")
        measured: dict[str, Any] = json.loads(ended.stdout)
        return measured


@contextmanager
def prepared(effort: Effort) -> Iterator[Bench]:
    """Draws W, writes it for the drivers, and answers it literally."""
    workload = draw(effort.tables)
    right = truth(workload)
    with tempfile.TemporaryDirectory(prefix="lakewarden-rivals-") as folder:
        write(workload, list(right.tables), Path(folder))
        yield Bench(workload, Path(folder), right, effort)


@dataclass(frozen=True, slots=True)
class Row:
    """One rival in one set-up. `version` names it in `build.versions`, empty for lakewarden."""

    name: str
    title: str
    version: str
    served: bool
    measure: Callable[[Bench], dict[str, Any]]


def _ours(bench: Bench) -> dict[str, Any]:
    arguments = [str(bench.effort.tables), ",".join(bench.truth.tables)]
    return bench.run([sys.executable, "-m", "bench.rivals.ours", *arguments])


def _cedar(bench: Bench) -> dict[str, Any]:
    files = [str(bench.folder / name) for name in ("policy.cedar", "entities.json", "world.jsonl")]
    effort = bench.effort
    limits = [str(effort.seconds * PATIENCE), str(effort.list_seconds * PATIENCE)]
    return bench.run([str(build.cedar()), *files, *limits])


def _ours_served(bench: Bench) -> dict[str, Any]:
    build.driver()
    taken: list[float] = []
    with servers.lakewarden(bench.workload, taken) as running:
        _wait_until_idle(running.pid)  # precomputing would count as query time
        word = _headers(servers.ADMIN)[0].partition(": ")[2]
        path = CHECK.rpartition("/")[0]
        more = ["-authorization", word, "-path", path, "-connections", CONNECTIONS]
        return {**bench.served("authzen", running, *more), "load_s": taken[0]}


def _opa_served(bench: Bench) -> dict[str, Any]:
    program, driver = build.server("opa"), build.driver()
    files = ["-engine", "opa-files", "-folder", str(bench.folder)]
    subprocess.run([driver, *files, "-world", bench.folder / "world.jsonl"], check=True)
    begun = time.monotonic()
    with servers.opa(program, bench.folder) as running:
        load_s = time.monotonic() - begun
        measured = bench.served("opa-served", running, "-connections", CONNECTIONS)
        return {**measured, "load_s": load_s}


def _openfga(bench: Bench) -> dict[str, Any]:
    program = build.server("openfga")
    build.driver()
    longest = bench.effort.list_seconds * PATIENCE
    patient = [f"--listObjects-deadline={longest:.0f}s", "--listObjects-max-results=0"]
    patient += [f"--request-timeout={longest + 10:.0f}s"]
    with servers.openfga(program, [*servers.OPENFGA_CACHES, *patient]) as running:
        measured = bench.served("openfga", running, "-connections", CONNECTIONS)
        say("  the same lists by OpenFGA as shipped")
        with servers.openfga(program, (), running.database) as shipped:
            alone = ["-loaded", measured["loaded"], "-singles=false", "-batches=false"]
            same = shipped._replace(store=running.store)
            as_shipped = bench.served("openfga", same, *alone)
    return {**measured, "lists_as_shipped": as_shipped["lists"]}


def _spicedb(bench: Bench) -> dict[str, Any]:
    program = build.server("spicedb")
    build.driver()
    with servers.spicedb(program) as running:
        return bench.served("spicedb", running, "-connections", CONNECTIONS, "-key", running.key)


ROWS: Final = (
    Row("lakewarden", "lakewarden", "", False, _ours),
    Row("cedar", "Cedar, Rust", "cedar", False, _cedar),
    Row("opa", "OPA, Go", "opa", False, lambda bench: bench.driver("opa")),
    Row("casbin", "Casbin, Go", "casbin", False, lambda bench: bench.driver("casbin")),
    Row("lakewarden-served", "lakewarden, HTTP", "", True, _ours_served),
    Row("opa-served", "OPA, HTTP", "opa", True, _opa_served),
    Row("openfga", "OpenFGA, gRPC", "openfga", True, _openfga),
    Row("spicedb", "SpiceDB, gRPC", "spicedb", True, _spicedb),
)
