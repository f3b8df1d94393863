"""A worker or the driver is killed in the midst of a job; what comes of it is as if nothing had.

    python -m tests.pipeline.cluster.killing --trials 20

A trial makes an access index on a cluster of its own processes. At a random moment, anywhere in
the stages of the job or while its version is published, it kills

    worker    one of the two, with its executor; it is started again. In one half of the trials the
              job is submitted, in the other it is a Connect client's
    driver    the process that was submitted
    both      the driver, and in the run after it a worker
    client    the client of a Connect server, which goes on with what it was doing

and runs the job again if it did not end well. Then the tables have the digests of a run that
nobody disturbed, nothing else is left, and what was finished was not done again. If the job was
over before anything was killed, the trial does not count. Prints each trial and every fault; the
exit code is 1 if there was one.
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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.index import KIND, MATCHES, open_index
from lakewarden.pipeline.product import Manifest, read_manifest
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from tests.pipeline.cluster import machines, runs
from tests.pipeline.cluster.machines import WORKERS, Cluster, Process
from tests.pipeline.cluster.runs import Job

SUBMIT, CONNECT = "submit", "connect"
KINDS: Final = {
    "worker": (SUBMIT, CONNECT),
    "driver": (SUBMIT,),
    "both": (SUBMIT,),
    "client": (CONNECT,),
}
"""What is killed, and how the jobs of its trials are run."""
_PUBLISH: Final = "publish"
_DONE: Final = ".done.json"
_NEW: Final = ".new"
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

    `early` says that the run was over before anything was killed. `code` is the exit code of the
    run that was disturbed; `finished` are the stages that it had behind it, if it did not end
    well; `last` is the run that came to the end.
    """

    stage: str
    after: float
    early: bool
    code: int
    finished: frozenset[str]
    faults: list[str]
    last: Process


def undisturbed(lake: Path, index: Path) -> Undisturbed:
    """An index that was made of the directory."""
    return Undisturbed(lake, read_manifest(index, KIND), paced(index))


def paced(index: Path) -> dict[str, float]:
    """The seconds that the stages of a run took, and its end: until the version counted."""
    matched = folder_of(index, read_manifest(index, KIND)) / MATCHES
    begun = max(file.stat().st_mtime for file in matched.iterdir())
    publish = (index / MANIFEST).stat().st_mtime - begun
    return {**runs.report(index, KIND)["seconds"], _PUBLISH: max(0.0, publish)}


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials of one kind: what starts the job, so that it writes below a folder, and what dies.

    `later` is what dies in the run after the one that was disturbed, if anything does.
    """

    good: Undisturbed
    start: Start
    kill: Kill
    later: Kill | None = None

    def one(self, folder: Path, rng: random.Random) -> Trial:
        """One trial, in a folder of its own, at a random moment."""
        return self.at(folder, *_moment(self.good.seconds, rng), rng)

    def at(self, folder: Path, stage: str, after: float, rng: random.Random) -> Trial:
        """One trial, in a folder of its own, so many seconds after the stage begins."""
        out = folder / KIND
        run = self.start(folder)
        early, code = _disturbed(run, out, stage, after, self.kill)
        if not code:
            return Trial(stage, after, early, code, frozenset(), list(self._faults(out)), run)
        finished = _finished(out)
        again = self.start(folder)
        if self.later is not None:
            ahead = {s: length for s, length in self.good.seconds.items() if s not in finished}
            last = _disturbed(again, out, *_moment(ahead, rng), self.later)[1]
        else:
            last = runs.ended(again)
        faults = [f"the run after it ended with {last}"] if last else []
        reused = frozenset(re.findall(rf"{KIND}: (\w+): done by an earlier run", again.text()))
        if reused != finished:
            faults.append(f"finished: {sorted(finished)}, taken over: {sorted(reused)}")
        return Trial(stage, after, early, code, finished, [*faults, *self._faults(out)], again)

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


def _disturbed(run: Process, out: Path, stage: str, after: float, kill: Kill) -> tuple[bool, int]:
    """Kills something so long after a stage began; whether it was too late, and the exit code."""
    try:
        _wait_for(out, stage, run)
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(after)
        early = run.process.poll() is not None
        kill(run)
    finally:
        code = runs.ended(run)
    return early, code


def _wait_for(out: Path, stage: str, run: Process) -> None:
    """Waits until a run that has just been started begins with a stage, or is over."""
    sign = f".work/*/{stage}.*"
    if stage == _PUBLISH:
        sign = _NEW if "match" in _finished(out) else f".work/*/match{_DONE}"
    before = _times(out, sign)
    deadline = time.monotonic() + runs.SECONDS
    while time.monotonic() < deadline and run.process.poll() is None:
        if _times(out, sign) - before:
            return
        time.sleep(_PAUSE)


def _times(out: Path, sign: str) -> set[tuple[Path, int]]:
    """What there is of a pattern; what is made anew is another thing."""
    found = set()
    for path in out.glob(sign):
        with suppress(FileNotFoundError):
            found.add((path, path.stat().st_ctime_ns))
    return found


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
def of_kind(
    kind: str, way: str, cluster: Cluster, good: Undisturbed, rng: random.Random
) -> Iterator[Trials]:
    """Trials of a kind, in one of its ways: see `KINDS`."""
    worker = worker_of(cluster, rng)
    kill = worker if kind == "worker" else Process.kill
    later = worker if kind == "both" else None
    if way == SUBMIT:
        yield Trials(good, submitting(cluster, good.lake), kill, later)
    else:
        with cluster.connect() as address:
            yield Trials(good, connecting(address, good.lake), kill, later)


def trials(
    kind: str, count: int, cluster: Cluster, good: Undisturbed, rng: random.Random, place: Path
) -> int:
    """Makes trials of a kind, prints what came of each, and returns how many had a fault."""
    ways, bad = KINDS[kind], 0
    for place_of, way in enumerate(ways):
        with of_kind(kind, way, cluster, good, rng) as known:
            share = len(range(count)[place_of :: len(ways)])
            bad += _trials(f"{kind}, {way}", share, known, rng, place)
    return bad


def _trials(name: str, count: int, known: Trials, rng: random.Random, place: Path) -> int:
    done = bad = 0
    pace: dict[str, float] = {}
    while done < count:
        folder = Path(tempfile.mkdtemp(dir=place))
        began = time.monotonic()
        one = known.one(folder, rng)
        bad += bool(one.faults)
        done += not one.early
        came = f"ended with {one.code}, finished: {len(one.finished)} stages"
        came = "was over before" if one.early else came
        took = f"{time.monotonic() - began:.0f} s in all"
        print(f"{name} {done}: {one.stage} + {one.after:.1f} s, {came}, {took}", flush=True)
        for fault in one.faults:
            print(f"    {fault}", flush=True)
        if not one.faults:  # no stage takes longer than it took so far: soon all is warm
            seconds = paced(folder / KIND)
            pace = {
                stage: min(pace.get(stage, length), length) for stage, length in seconds.items()
            }
            known = replace(known, good=known.good._replace(seconds=pace))
    return bad


def main() -> int:
    """The figure."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=tuple(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="lakewarden-") as name, ExitStack() as ends:
        place = Path(name)
        (place / "local").mkdir()
        runs.write_lake(place / runs.LAKE)
        local = runs.commands(place / "local", place / runs.LAKE, runs.INDEX)
        made = machines.cluster(place / "cluster", [runs.LAUNCH, *local])
        found = ends.enter_context(made)
        good = undisturbed(place / runs.LAKE, place / "local" / KIND)
        bad = {kind: trials(kind, given.trials, found, good, rng, place) for kind in given.kinds}
    for kind, count in bad.items():
        print(
            f"{kind}: {count} of {given.trials} trials with a fault, seed {given.seed}", flush=True
        )
    return int(any(bad.values()))


if __name__ == "__main__":
    sys.exit(main())
