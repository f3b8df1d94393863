"""Kills a batch of a stream in the middle; the next run must produce the undisturbed result.

    python -m tests.pipeline.stream.killing --trials 20

In a trial, an index follows a feed, by the command in its own process. At a random time between
Spark's start of the checkpoint and the batch's commit in it, the process gets SIGKILL: in every
second trial alone, so its Java must detect that, otherwise with all its children. The command is
run again and must succeed; then the index must have the tables, the facts and the versions of an
undisturbed one. Prints each trial and every fault; the exit code is 1 if there was one.
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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.index.index import KIND, open_index
from lakewarden.pipeline.product import Manifest, check_files
from lakewarden.pipeline.stream.run import CHECKPOINT
from lakewarden.testing.world_draft import NOW
from tests.pipeline.stream.followed import write_followed

_SECONDS: Final = 300
_PAUSE: Final = 0.01
_SIGN, _COMMITTED = "spark", "spark/commits/0"
_SETTINGS: Final = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Compiling a query takes longer than any query here.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Run:
    """The running command, in a process that leads its own group."""

    process: subprocess.Popen[bytes]
    index: Path
    log: Path

    @classmethod
    def started(cls, feed: Path, index: Path) -> Run:
        """Starts to follow the feed."""
        words = [sys.executable, "-m", "lakewarden.cli", "pipeline", "stream", str(feed)]
        words += ["--index", str(index), "--now", str(NOW)]
        log = index.with_suffix(f"{index.suffix}.log")
        with log.open("ab") as output:
            process = subprocess.Popen(
                words,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env=_environment(feed.with_name("conf")),
                start_new_session=True,
            )
        return cls(process, index, log)

    def reaches(self, name: str) -> bool:
        """Waits until the checkpoint has a file; whether it came before the run was over."""
        place = self.index / CHECKPOINT / name
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            if place.exists():
                return True
            if self.process.poll() is not None:
                return place.exists()
            time.sleep(_PAUSE)
        return False

    def ended(self) -> int:
        """Its exit code, once it is over."""
        try:
            return self.process.wait(_SECONDS)
        finally:
            self.end_group()

    def end_group(self) -> None:
        """Kills it and all its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _environment(settings: Path) -> dict[str, str]:
    """The environment of the command: Spark is configured by its own file, for few rows."""
    settings.mkdir(exist_ok=True)
    lines = "".join(f"{name} {value}\n" for name, value in _SETTINGS.items())
    (settings / "spark-defaults.conf").write_text(lines)
    names = ("SPARK_", "PYSPARK_", "PYTHON")
    inherited = {n: v for n, v in os.environ.items() if not n.startswith(names) and n != "MASTER"}
    return inherited | {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(settings)}


class Undisturbed(NamedTuple):
    """The result of an undisturbed run, and the span in seconds for a kill."""

    manifest: Manifest
    seconds: float


class Trial(NamedTuple):
    """The result of a trial.

    `version` is the published version when the process was dead, `committed` whether the batch was
    committed by then.
    """

    after: float
    alone: bool
    version: int
    committed: bool
    faults: list[str]


def undisturbed(given: Path, folder: Path) -> Undisturbed:
    """Follows the feed below `given` in a new folder, from beginning to end."""
    run = Run.started(given / "feed", copied(given, folder))
    try:
        assert run.reaches(_SIGN), run.log.read_text("utf-8")
        began = time.monotonic()
        assert run.reaches(_COMMITTED), run.log.read_text("utf-8")
        seconds = time.monotonic() - began
    finally:
        code = run.ended()
    assert code == 0, run.log.read_text("utf-8")
    return Undisturbed(open_index(run.index).manifest, seconds)


def copied(given: Path, folder: Path) -> Path:
    """The index below `given`, in a new folder."""
    folder.mkdir(parents=True)
    return Path(shutil.copytree(given / KIND, folder / KIND))


def trial(given: Path, good: Undisturbed, folder: Path, after: float, *, alone: bool) -> Trial:
    """One trial, in a new folder: killed `after` seconds after the checkpoint's start."""
    run = Run.started(given / "feed", copied(given, folder))
    try:
        run.reaches(_SIGN)
        time.sleep(after)
        os.kill(run.process.pid, signal.SIGKILL) if alone else run.end_group()
        run.process.wait()
        version = open_index(run.index).manifest.version
        committed = (run.index / CHECKPOINT / _COMMITTED).exists()
        again = Run.started(given / "feed", run.index)
        code = again.ended()
    finally:
        run.end_group()
    faults = [f"the run after it ended with {code}: {again.log.read_text('utf-8')}"] if code else []
    return Trial(after, alone, version, committed, [*faults, *_faults(run.index, good)])


def _faults(out: Path, good: Undisturbed) -> Iterator[str]:
    try:
        found = open_index(out).manifest
        check_files(out, found)
    except BadInput as error:
        yield str(error)
        return
    for name, content in good.manifest.tables.items():
        if found.tables.get(name) != content:
            yield f"{name}: {found.tables.get(name)}, not {content}"
    if not found.says_as(good.manifest):
        yield "the manifest says something else"
    versions = sorted(folder.name for folder in out.glob("versions/*"))
    if versions != [str(number + 1) for number in range(good.manifest.version)]:
        yield f"versions: {versions}"
    if not (out / CHECKPOINT / _COMMITTED).exists():
        yield "the batch is not noted as done"


def trials(given: Path, count: int, rng: random.Random, folder: Path) -> int:
    """Runs trials, prints each result, and returns the number of trials with a fault."""
    good = undisturbed(given, folder / "good")
    bad = 0
    for number in range(count):
        after = rng.uniform(0, good.seconds)
        one = trial(given, good, folder / str(number), after, alone=bool(number % 2))
        who = "alone" if one.alone else "with all"
        came = f"version {one.version}, {'noted' if one.committed else 'not noted'} as done"
        print(f"{number}: {who} after {after:.2f} of {good.seconds:.2f} s, {came}", flush=True)
        for fault in one.faults:
            print(f"    {fault}", flush=True)
        bad += bool(one.faults)
    return bad


def main() -> int:
    """Runs the trials; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakewarden-") as name:
        write_followed(Path(name, "given"))
        rng = random.Random(given.seed)
        bad = trials(Path(name, "given"), given.trials, rng, Path(name, "trials"))
    print(f"{bad} of {given.trials} trials with a fault, seed {given.seed}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
