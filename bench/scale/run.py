"""Builds indexes in one process and prints the cost of each stage as JSON.

    python -m bench.scale.run CORES OUT WORLD:BITS ...

A block of a world holds 2 to the power of BITS entities.

Seconds are CPU time, which the load of the machine affects least. `driver_s` is that of the Python
process that runs the job; `tasks_s` that of Java and of the Python workers. Java's other work
(plans, compilation, garbage collection, sockets) belongs to the driver or to executors, which are
one process here: it counts towards the tasks.

Containers are numbered, guests followed, and tables digested in Spark, regardless of their number,
as in a large estate.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from bench.pipeline.measure import family
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index import containers, hosts, numbering
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.session import session
from lakewarden.pipeline.storage.files import remove_tree

EVENTS = "events"
ON_DRIVER = 200
"""The number of containers up to which the driver collects them without filtering small ones."""

_PROC = Path("/proc")
PUBLISH = "publish"
"""The work after the last stage: digests, and the switch of the manifest."""

Seconds = dict[str, float]


@dataclass
class Meter:
    """Records the resources used between a stage's beginning and its end."""

    ticks: float
    stages: dict[str, Seconds] = field(default_factory=dict)
    before: Seconds = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)
    stage: str = PUBLISH

    def progress(self, stage: str, done: int, total: int, message: str) -> None:
        """Receives the job's progress: a stage begins when `done` is 0."""
        del message
        self.take()
        self.stage = stage if done < total else PUBLISH

    def take(self) -> None:
        """Adds the resources used since the last call to the stage that has run."""
        now = self._used()
        known = self.stages.setdefault(self.stage, {})
        for name, value in now.items():
            known[name] = known.get(name, 0.0) + value - self.before.get(name, 0.0)
        self.before = now

    def _used(self) -> Seconds:
        for root, seconds in _by_family(self.ticks).items():
            self.seen[root] = max(self.seen.get(root, 0.0), seconds)
        return {"driver_s": time.process_time(), "tasks_s": sum(self.seen.values())}


def _by_family(ticks: float) -> dict[int, float]:
    """Seconds of Java, and of each daemon of Python workers with its workers, also ended ones."""
    found: dict[int, float] = {}
    stats = {}
    for process in family_below():
        with suppress(OSError, ValueError, IndexError):
            stats[process] = _stat(process)
    for process, (name, cells) in stats.items():
        parent = cells[0]
        is_worker = parent in stats and stats[parent][0] != "java"
        # An ended worker counts towards the daemon that has waited for it.
        used = sum(cells[10:12]) if is_worker or name == "java" else sum(cells[10:14])
        root = parent if is_worker else process
        found[root] = found.get(root, 0.0) + used / ticks
    return found


def family_below() -> set[int]:
    """The descendants of this process."""
    return family(os.getpid()) - {os.getpid()}


def _stat(process: int) -> tuple[str, list[int]]:
    """The name of a process, and the numbers after its state in Linux's `stat`."""
    before, _, behind = (_PROC / str(process) / "stat").read_text().rpartition(")")
    return before.partition("(")[2], [int(cell) for cell in behind.split()[1:]]


def measured(worlds: Sequence[tuple[Path, int]], out: Path, cores: int) -> list[dict[str, Any]]:
    """The cost of each stage, world by world, in one session; each world with its block bits.

    The first and the last world are built once before, uncounted, as a warm-up: Java compiles our
    queries then. The last world must have columns.
    """
    for module in (containers, numbering):
        vars(module)["ON_DRIVER"] = ON_DRIVER
    vars(hosts)["ON_DRIVER"] = vars(parquet_output)["_HERE"] = 0
    events = out / EVENTS
    readable = (("spark.eventLog.compress", "false"),)
    runs = []
    with session("scale", f"local[{cores}]", None, events, readable) as spark:
        for number, (world, bits) in enumerate((worlds[0], worlds[-1], *worlds)):
            meter, began = Meter(os.sysconf("SC_CLK_TCK")), time.time()
            meter.take()
            meter.stages.clear()
            place = out / str(number)
            make_index(world, place, spark=spark, now=0.0, bits=bits, progress=meter.progress)
            meter.take()
            runs.append((meter.stages, began, time.time(), _files(place)))
            remove_tree(place)
    told = [
        (stages, of_tasks(events, began, ended), files) for stages, began, ended, files in runs[2:]
    ]
    return [
        {"stages": {n: used | tasks.get(n, {}) for n, used in stages.items()}, **files}
        for stages, tasks, files in told
    ]


def of_tasks(events: Path, began: float = 0, ended: float = inf) -> dict[str, Seconds]:
    """The seconds of the tasks of each of our stages, from Spark's event log, in a time span."""
    names: dict[int, str] = {}
    found: dict[str, Counter[str]] = {}
    longest: dict[int, float] = {}
    for event in _events(events):
        if event["Event"] == "SparkListenerJobStart":
            if began <= event["Submission Time"] / 1e3 < ended:
                described = str(event["Properties"].get("spark.job.description", ""))
                ours = described.partition(": ")[2] or PUBLISH
                names |= dict.fromkeys(event["Stage IDs"], ours)
        elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in names:
            metrics, stage = event.get("Task Metrics"), event["Stage ID"]
            if metrics is not None:
                found.setdefault(names[stage], Counter()).update(_of_task(metrics))
                longest[stage] = max(longest.get(stage, 0.0), metrics["Executor Run Time"] / 1e3)
    waited = dict.fromkeys(found, 0.0)
    for stage, seconds in longest.items():
        waited[names[stage]] += seconds
    return {name: {**counted, "longest_s": waited[name]} for name, counted in found.items()}


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.iterdir()):
        with file.open() as lines:
            yield from map(json.loads, lines)


def _of_task(metrics: Mapping[str, Any]) -> Counter[str]:
    return Counter(
        {
            "tasks": 1,
            "shuffled": metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"],
            "spilled": metrics["Disk Bytes Spilled"],
            "read": metrics["Input Metrics"]["Bytes Read"],
            "written": metrics["Output Metrics"]["Bytes Written"],
        }
    )


def _files(out: Path) -> dict[str, int]:
    version = out / "versions" / "1"
    files = [file for file in version.rglob("*") if file.is_file()]
    return {"files": len(files), "bytes": sum(file.stat().st_size for file in files)}


if __name__ == "__main__":
    cores, out, *worlds = sys.argv[1:]
    cut = (world.rpartition(":") for world in worlds)
    told = measured([(Path(world), int(bits)) for world, _, bits in cut], Path(out), int(cores))
    print(json.dumps(told))
