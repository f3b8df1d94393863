"""A worker or the driver is killed in the midst of a job; what comes of it is as if nothing had.

    python -m tests.pipeline.cluster.killing --trials 20

A trial makes an access index on a cluster of its own processes. At a random moment, anywhere in
the stages of the job, it kills

    worker    one of the two, with its executor; it is started again
    driver    the process that was submitted
    client    the client of a Connect server, which goes on with what it was doing

and runs the job again if it did not end well. Then the tables have the digests of a run that
nobody disturbed, nothing else is left, and what was finished was not done again. Prints each
trial and every fault; the exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.index import KIND, open_index
from lakewarden.pipeline.product import Manifest, read_manifest
from lakewarden.pipeline.session import spark_session
from tests.pipeline.cluster import launch, machines, runs
from tests.pipeline.cluster.machines import WORKERS, Cluster, Process
from tests.pipeline.cluster.runs import Job

KINDS: Final = ("worker", "driver", "client")
_DONE: Final = ".done.json"
_PAUSE: Final = 0.02

Start = Callable[[Path], Process]
Kill = Callable[[Process], None]


class Undisturbed(NamedTuple):
    """What a run that nobody kills makes of a directory, and the seconds that its stages take."""

    lake: Path
    manifest: Manifest
    seconds: Mapping[str, float]


class Trial(NamedTuple):
    """What came of one: when something was killed, and what was wrong in the end.

    `code` is the exit code of the run that was disturbed; `finished` are the stages that it had
    behind it, if it did not end well; `last` is the run that came to the end.
    """

    stage: str
    after: float
    code: int
    finished: frozenset[str]
    faults: list[str]
    last: Process


def undisturbed(lake: Path, index: Path) -> Undisturbed:
    """An index that was made of the directory."""
    return Undisturbed(lake, read_manifest(index, KIND), runs.report(index, KIND)["seconds"])


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials of one kind: what starts the job, so that it writes below a folder, and what dies."""

    good: Undisturbed
    start: Start
    kill: Kill

    def one(self, folder: Path, rng: random.Random) -> Trial:
        """One trial, in a folder of its own."""
        stage, after = _moment(self.good.seconds, rng)
        out = folder / KIND
        run = self.start(folder)
        try:
            _wait_for(out, stage, run)
            with suppress(subprocess.TimeoutExpired):
                run.process.wait(after)
            self.kill(run)
        finally:
            code = runs.ended(run)
        if not code:
            return Trial(stage, after, code, frozenset(), list(self._faults(out)), run)
        finished = _finished(out)
        again = self.start(folder)
        last = runs.ended(again)
        faults = [f"the run after it ended with {last}"] if last else []
        reused = frozenset(re.findall(rf"{KIND}: (\w+): done by an earlier run", again.text()))
        if reused != finished:
            faults.append(f"finished: {sorted(finished)}, taken over: {sorted(reused)}")
        return Trial(stage, after, code, finished, [*faults, *self._faults(out)], again)

    def _faults(self, out: Path) -> Iterator[str]:
        try:
            found = open_index(out).manifest
        except BadInput as error:
            yield str(error)
            return
        for name, content in self.good.manifest.tables.items():
            if found.tables.get(name) != content:
                yield f"{name}: {found.tables.get(name)}, not {content}"
        if not found.says_as(self.good.manifest):
            yield "the manifest says something else"
        versions = [folder.name for folder in out.glob("versions/*")]
        if versions != ["1"]:
            yield f"versions: {sorted(versions)}"
        if (out / ".new").exists() or any(out.glob(".work/*")):
            yield "something is left of what was being made"


def _moment(seconds: Mapping[str, float], rng: random.Random) -> tuple[str, float]:
    """A stage, and how long after its beginning: any moment of all stages is as likely."""
    left = rng.uniform(0, sum(seconds.values()))
    for stage, length in seconds.items():
        if left <= length:
            return stage, left
        left -= length
    raise AssertionError("a moment behind the end")


def _wait_for(out: Path, stage: str, run: Process) -> None:
    """Waits until a stage has begun, or the run is over."""
    deadline = time.monotonic() + runs.SECONDS
    while time.monotonic() < deadline and run.process.poll() is None:
        if any(out.glob(f".work/*/{stage}.*")):
            return
        time.sleep(_PAUSE)


def _finished(out: Path) -> frozenset[str]:
    marks = out.glob(f".work/*/*{_DONE}")
    return frozenset(mark.name.removesuffix(_DONE) for mark in marks)


def submitting(cluster: Cluster, lake: Path, jobs: tuple[Job, ...] = runs.INDEX) -> Start:
    """The jobs, by `spark-submit`."""
    return partial(runs.submitted, cluster, lake, jobs)


def connecting(address: str, lake: Path, jobs: tuple[Job, ...] = runs.INDEX) -> Start:
    """The jobs, by a client of a Connect server."""
    return partial(runs.connected, address, lake, jobs)


def worker_of(cluster: Cluster, rng: random.Random) -> Kill:
    """A worker is lost and comes back."""

    def kill(_: Process) -> None:
        number = rng.randrange(WORKERS)
        cluster.kill_worker(number)
        cluster.start_worker(number)

    return kill


@contextmanager
def of_kind(kind: str, cluster: Cluster, good: Undisturbed, rng: random.Random) -> Iterator[Trials]:
    """Trials of a kind, one of `KINDS`."""
    match kind:
        case "worker":
            yield Trials(good, submitting(cluster, good.lake), worker_of(cluster, rng))
        case "driver":
            yield Trials(good, submitting(cluster, good.lake), Process.kill)
        case _:
            with cluster.connect() as address:
                yield Trials(good, connecting(address, good.lake), Process.kill)


def paced(cluster: Cluster, lake: Path, folder: Path) -> Mapping[str, float]:
    """The seconds that the stages take on the cluster when nobody is killed."""
    code = runs.ended(runs.submitted(cluster, lake, runs.INDEX, folder))
    assert code == 0, (folder / "0.log").read_text("utf-8")
    seconds: Mapping[str, float] = runs.report(folder / KIND, KIND)["seconds"]
    return seconds


def trials(
    kind: str, count: int, cluster: Cluster, good: Undisturbed, rng: random.Random, place: Path
) -> int:
    """Makes trials of a kind, prints what came of each, and returns how many had a fault."""
    bad = 0
    with of_kind(kind, cluster, good, rng) as known:
        for number in range(count):
            folder = place / f"{kind}-{number}"
            folder.mkdir()
            one = known.one(folder, rng)
            came = f"ended with {one.code}, finished: {len(one.finished)} stages"
            bad += bool(one.faults)
            print(f"{kind} {number}: {one.stage} + {one.after:.1f} s, {came}", flush=True)
            for fault in one.faults:
                print(f"    {fault}", flush=True)
    return bad


def main() -> int:
    """The figure."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="lakewarden-") as name, ExitStack() as ends:
        place = Path(name)
        for folder in ("local", "pace"):
            (place / folder).mkdir()
        runs.write_lake(place / runs.LAKE)
        session = spark_session("lakewarden", master="local[2]")
        words = runs.commands(place / "local", place / runs.LAKE, runs.INDEX)
        assert launch.run(words) == 0
        session.stop()
        good = undisturbed(place / runs.LAKE, place / "local" / KIND)
        found = ends.enter_context(machines.cluster(place / "cluster"))
        good = good._replace(seconds=paced(found, good.lake, place / "pace"))
        bad = {kind: trials(kind, given.trials, found, good, rng, place) for kind in given.kinds}
    for kind, count in bad.items():
        print(f"{kind}: {count} of {given.trials} trials with a fault, seed {given.seed}")
    return int(any(bad.values()))


if __name__ == "__main__":
    sys.exit(main())
