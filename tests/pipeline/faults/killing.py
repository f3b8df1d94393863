"""Kills or suspends a process of a cluster in the middle of every job of the pipeline.

    python -m tests.pipeline.faults.killing --trials 20

A trial runs one job on its own cluster, from one edition of an estate to the next. At a random
time, a fault occurs:

    worker     one of the two is killed with its executor, and restarted
    executor   the process of an executor is killed; its worker starts a new one
    slow       all executors of a worker are suspended for some seconds
    driver     the submitted process is killed
    server     the Connect server of the job is killed

In the first three cases, the job must succeed anyway. In the others, the published version must be
the old or the new one; then the job is run again. In the end, the tables must have the digests of
undisturbed runs. Trials use all jobs in turn, including `stream`. Prints each trial and every
fault; the exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from lakewarden.cli.outcome import COULD_NOT_TELL
from tests.pipeline.cluster import launch, machines, runs
from tests.pipeline.cluster.machines import WORKERS, Cluster, Process
from tests.pipeline.faults import estate
from tests.pipeline.faults.estate import JOBS, tables

KINDS: Final = ("worker", "executor", "slow", "driver", "server")
_OUTLIVED: Final = ("worker", "executor", "slow")
"""The faults that a job must survive."""

_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"
_STILL: Final = 4.0
"""Seconds for which executors are suspended."""

_STREAM: Final = "stream"


class Task(NamedTuple):
    """A job of a trial: its arguments for a place, its output folder, and its inputs.

    `before` is a place with all its inputs, and `after` the tables of its output.
    """

    name: str
    words: tuple[str, ...]
    out: str
    before: Path
    after: Mapping[str, Any]

    def at(self, place: Path) -> list[str]:
        """The command-line arguments, in a copy of the place."""
        return [word.replace(str(self.before), str(place)) for word in self.words]


def tasks(folder: Path) -> list[Task]:
    """Every job with its inputs; all of them are made on this machine."""
    state, found = folder / "state", list[Task]()
    estate.write(state, 1)
    for job in JOBS:
        _launch(job.arguments(state))
    estate.write(state, 2)
    for number, job in enumerate(JOBS):
        before = folder / f"before-{number}"
        shutil.copytree(state, before, symlinks=True)
        _launch(job.arguments(state))
        words = tuple(job.arguments(before))
        found.append(Task(job.out, words, job.out, before, tables(state / job.out)))
    return [*found, _stream(folder)]


def _stream(folder: Path) -> Task:
    lake, made, before = folder / runs.LAKE, folder / "followed-made", folder / "before-stream"
    for place in (made, before):
        place.mkdir()
        runs.ready(place, lake, runs.STREAM)
    _launch(runs.commands(made, lake, runs.STREAM))
    words = tuple(runs.commands(before, lake, runs.STREAM))
    return Task(_STREAM, words, _STREAM, before, tables(made / _STREAM))


def _launch(words: list[str]) -> None:
    assert launch.run(words) in (0, 1), words


class Trial(NamedTuple):
    """The result of a trial: the exit code of the disturbed run, and the faults."""

    task: str
    after: float
    early: bool
    code: int
    faults: list[str]


@dataclass
class Trials:
    """Trials on a cluster; `seconds` is the approximate duration of each task there."""

    cluster: Cluster
    rng: random.Random
    seconds: dict[str, float]

    def one(self, kind: str, task: Task, folder: Path) -> Trial:
        """One trial, in a copy of the task's inputs."""
        place = folder / "place"
        shutil.copytree(task.before, place, symlinks=True)
        after = self.rng.uniform(1.0, self.seconds.get(task.name, 15.0))
        began = time.monotonic()
        with ExitStack() as ends:
            run, server = self._started(kind, task, place, ends)
            with suppress(subprocess.TimeoutExpired):
                run.process.wait(after)
            early = run.process.poll() is not None
            if not early:
                self._disturb(kind, run, server)
            code = runs.ended(run)
        if early:
            self.seconds[task.name] = min(after, time.monotonic() - began)
        faults = list(self._faults(kind, task, place, code, run, early=early))
        return Trial(task.name, after, early, code, faults)

    def _started(
        self, kind: str, task: Task, place: Path, ends: ExitStack
    ) -> tuple[Process, Process | None]:
        log = place.with_suffix(".log")
        words = task.at(place)
        if kind != "server":
            command = self.cluster.submit(runs.LAUNCH, *words)
            return Process.started(command, log, self.cluster.environment), None
        address, server = ends.enter_context(self.cluster.connect_server())
        command = [sys.executable, runs.LAUNCH, *words, "--remote", address]
        return Process.started(command, log, machines.unconfigured()), server

    def _disturb(self, kind: str, run: Process, server: Process | None) -> None:
        number = self.rng.randrange(WORKERS)
        if kind == "worker":
            self.cluster.kill_worker(number)
            self.cluster.start_worker(number)
        elif kind == "executor":
            _signal(self.cluster.workers[number], signal.SIGKILL)
        elif kind == "slow":
            _signal(self.cluster.workers[number], signal.SIGSTOP)
            time.sleep(_STILL)
            _signal(self.cluster.workers[number], signal.SIGCONT)
        elif server is not None:
            server.kill()
        else:
            run.kill()

    def _faults(
        self, kind: str, task: Task, place: Path, code: int, run: Process, *, early: bool
    ) -> Iterator[str]:
        out = place / task.out
        if early or kind in _OUTLIVED:
            if code not in (0, 1):
                yield f"ended with {code}: {run.text()[-3_000:]}"
        elif kind == "server" and code not in (0, 1, COULD_NOT_TELL):
            yield f"ended with {code}, not {COULD_NOT_TELL}: {run.text()[-3_000:]}"
        elif tables(out) not in (tables(task.before / task.out), task.after):
            yield f"neither the old nor the new version: {tables(out)}"
        if tables(out) != task.after:
            again = Process.started(
                self.cluster.submit(runs.LAUNCH, *task.at(place)),
                place.with_suffix(".log"),
                self.cluster.environment,
            )
            if (code := runs.ended(again)) not in (0, 1):
                yield f"the run after it ended with {code}: {again.text()[-3_000:]}"
        if tables(out) != task.after:
            yield f"{tables(out)}, not {task.after}"


def _signal(worker: Process, number: signal.Signals) -> None:
    """Sends a signal to the executors of a worker."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            is_executor = _EXECUTOR in (folder / "cmdline").read_bytes()
            if is_executor and os.getpgid(int(folder.name)) == worker.process.pid:
                os.kill(int(folder.name), number)


def trials(kind: str, count: int, known: Trials, all_tasks: list[Task], place: Path) -> int:
    """Runs trials of a kind, prints each result, and returns the number of trials with a fault."""
    done = bad = turn = 0
    while done < count:
        task = all_tasks[turn % len(all_tasks)]
        with tempfile.TemporaryDirectory(dir=place) as folder:
            one = known.one(kind, task, Path(folder))
        bad += bool(one.faults)
        done += not one.early
        turn += not one.early or bool(one.faults)
        came = "was over before" if one.early else f"ended with {one.code}"
        print(f"{kind} {done}: {one.task} + {one.after:.1f} s, {came}", flush=True)
        for fault in one.faults:
            print(f"    {fault}", flush=True)
    return bad


def main() -> int:
    """Runs the trials; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakewarden-") as name, ExitStack() as ends:
        place = Path(name)
        found = ends.enter_context(machines.cluster(place / "cluster"))
        known = Trials(found, random.Random(given.seed), {})
        all_tasks = tasks(place)
        bad = {kind: trials(kind, given.trials, known, all_tasks, place) for kind in given.kinds}
    for kind, count in bad.items():
        print(f"{kind}: {count} of {given.trials} trials with a fault, seed {given.seed}")
    return int(any(bad.values()))


if __name__ == "__main__":
    sys.exit(main())
