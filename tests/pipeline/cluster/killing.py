"""Kills a worker or the driver in the middle of a job; the result must be as if undisturbed.

    python -m tests.pipeline.cluster.killing --trials 20

A trial makes an access index on its own cluster. At a random time, in any stage of the job or
during the publication of its version, it kills

    worker    one of the two, with its executor; it is restarted. In half of the trials the job is
              submitted, in the other half a Connect client runs it
    driver    the submitted process
    both      the driver, and in the following run a worker
    client    the client of a Connect server, which continues its work

and runs the job again if it failed. Then the tables must have the digests of an undisturbed run,
no other files may remain, and completed stages must not have run again. If the job was over before
anything was killed, the trial does not count. Prints each trial and every fault; the exit code is
1 if there was one.
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
"""The killed process, and the ways to run the jobs of the trials."""
_PUBLISH: Final = "publish"
_DONE: Final = ".done.json"
_NEW: Final = ".new"
_PAUSE: Final = 0.02

Start = Callable[[Path], Process]
Kill = Callable[[Process], None]


class Undisturbed(NamedTuple):
    """The result of an undisturbed run on a directory, and its stages' durations in seconds."""

    lake: Path
    manifest: Manifest
    seconds: Mapping[str, float]


class Trial(NamedTuple):
    """The result of a trial: when something was killed, and the faults in the end.

    `early`: the run was over before anything was killed. `code` is the exit code of the disturbed
    run; `finished` are the stages that it had completed, if it failed; `last` is the run that
    completed.
    """

    stage: str
    after: float
    early: bool
    code: int
    finished: frozenset[str]
    faults: list[str]
    last: Process


def undisturbed(lake: Path, index: Path) -> Undisturbed:
    """The index of the directory."""
    return Undisturbed(lake, read_manifest(index, KIND), paced(index))


def paced(index: Path) -> dict[str, float]:
    """The durations of the stages of a run in seconds, including the end: until publication."""
    matched = folder_of(index, read_manifest(index, KIND)) / MATCHES
    begun = max(file.stat().st_mtime for file in matched.iterdir())
    publish = (index / MANIFEST).stat().st_mtime - begun
    return {**runs.report(index, KIND)["seconds"], _PUBLISH: max(0.0, publish)}


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials of one kind: the start of the job, writing below a folder, and the killed process.

    `later` is the process killed in the run after the disturbed one, if any.
    """

    good: Undisturbed
    start: Start
    kill: Kill
    later: Kill | None = None

    def one(self, folder: Path, rng: random.Random) -> Trial:
        """One trial, in its own folder, at a random time."""
        return self.at(folder, *_moment(self.good.seconds, rng), rng)

    def at(self, folder: Path, stage: str, after: float, rng: random.Random) -> Trial:
        """One trial, in its own folder, `after` seconds into the stage."""
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
    """A stage, and a time after its beginning: drawn evenly over all stages."""
    left = rng.uniform(0, sum(seconds.values()))
    for stage, length in seconds.items():
        if left <= length:
            return stage, left
        left -= length
    raise AssertionError("a moment behind the end")


def _disturbed(run: Process, out: Path, stage: str, after: float, kill: Kill) -> tuple[bool, int]:
    """Kills something `after` seconds into a stage; whether it was too late, and the exit code."""
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
    """Waits until a run that was just started begins a stage, or is over."""
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
    """The files of a pattern with their times; a recreated file counts as a new one."""
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
    """Kills a worker and restarts it."""

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
    """Runs trials of a kind, prints each result, and returns the number of trials with a fault."""
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
        if not one.faults:  # no stage takes longer than before: soon everything is warm
            seconds = paced(folder / KIND)
            pace = {
                stage: min(pace.get(stage, length), length) for stage, length in seconds.items()
            }
            known = replace(known, good=known.good._replace(seconds=pace))
    return bad


def main() -> int:
    """Runs the trials; returns the exit code."""
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
