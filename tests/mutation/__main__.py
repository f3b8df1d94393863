"""Change the kernel in one place, check whether a test fails, and repeat a few hundred times.

    make mutation ARGS="--sample 300 --seed 1"
    make mutation ARGS="--survivors FILE --stages lines"

A mutant first runs the fixed tests that cover its line, then all tests of kernel and models, then
the agreement with the oracle. The first failure kills it; a timeout counts as killed, because a
test run would not end. Survivors are printed with their changes.

Mutants in `equivalent.json`, listed with a reason, are equivalent to the original and not part of
the score. They run only the first stage; if it kills one, that mutant is not equivalent: it must
be removed from the list, and the exit code is 1. With `--survivors`, the mutants in the file are
tried again, and the file then holds the current survivors; a missing file is created from a drawn
sample.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import coverage
import hypothesis  # noqa: F401 - every trial needs it: imported once, before the trials fork
import pytest

from tests.mutation import survivors, trial
from tests.mutation.mutant import Mutant

SOURCE = Path("src/lakewarden/kernel")
OWN = ("tests/kernel", "tests/models", str(SOURCE))
TESTS_BY_STAGE = {"lines": OWN, "kernel": OWN, "agreement": ("tests/agreement",)}
TIMEOUTS_S = {"lines": 120, "kernel": 600, "agreement": 900}
NOT_NOTICED = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
SURVIVED = "survived"

LineTests = Mapping[Path, Mapping[int, frozenset[str]]]


@dataclass
class Trial:
    """A mutant and its remaining stages."""

    mutant: Mutant
    stages: list[str]
    started: float = 0.0


def main() -> int:
    """Print the score; return 1 if it is below the required one."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (0: every one)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--at-least", type=float, default=95.0, help="the score to reach, per cent")
    parser.add_argument(
        "--survivors", type=Path, metavar="FILE", help="those to try, and that survive"
    )
    parser.add_argument(
        "--stages",
        nargs="+",
        choices=TESTS_BY_STAGE,
        default=[*TESTS_BY_STAGE],
        metavar="STAGE",
        help=f"what a mutant meets ({', '.join(TESTS_BY_STAGE)})",
    )
    options = parser.parse_args()

    file: Path | None = options.survivors
    if file is not None and file.exists():
        drawn = survivors.load(file)
    else:
        drawn = _draw(options.sample, options.seed)
    if not drawn:
        print("no mutants are left")
        return 0
    print(f"{len(drawn)} mutants of {SOURCE}; reading which test runs which line", flush=True)
    tests = _tests_by_line()
    control = _unchanged(drawn[0])
    if _run_all({control: options.stages}, tests, 1) != {control: SURVIVED}:
        print("the tests fail without any change; run `make test` first", file=sys.stderr)
        return 2
    reasons = json.loads(Path(__file__).with_name("equivalent.json").read_text())
    stages = {m: options.stages[:1] if m.name in reasons else options.stages for m in drawn}
    ends = _run_all(stages, tests, options.workers)
    if file is not None:
        survivors.save(file, (m for m in drawn if ends[m] == SURVIVED and m.name not in reasons))
    return _report(ends, reasons, options.at_least)


def _report(ends: Mapping[Mutant, str], reasons: Mapping[str, str], at_least: float) -> int:
    """Print the survivors and the score; return the exit code."""
    survived = [mutant for mutant, end in ends.items() if end == SURVIVED]
    equivalent = [mutant for mutant in survived if mutant.name in reasons]
    killed = [m for m, end in ends.items() if end != SURVIVED and m.name in reasons]
    for mutant in (*survived, *killed):
        reason = reasons.get(mutant.name, "SURVIVED")
        if mutant in killed:
            reason = f"KILLED, though listed as equivalent: {reason}"
        print("\n".join((f"\n{mutant.module}:{mutant.line}: {reason}", *mutant.difference)))
    counted = len(ends) - len(equivalent)
    score = 100 * (1 - (len(survived) - len(equivalent)) / counted) if counted else 100.0
    print(f"\n{len(ends)} mutants, {len(survived)} survived, {len(equivalent)} are equivalent")
    print(f"score: {score:.1f} %")
    return 0 if score >= at_least and not killed else 1


def _draw(sample: int, seed: int) -> list[Mutant]:
    command = [
        os.environ.get("COSMIC_RAY", sys.executable),
        str(Path(trial.__file__).with_name("mutants.py")),
    ]
    command += ["--sample", str(sample), "--seed", str(seed)]
    modules = sorted(map(str, SOURCE.glob("*.py")))
    output = subprocess.run([*command, *modules], check=True, stdout=subprocess.PIPE).stdout
    return [Mutant(**table) for table in json.loads(output)["drawn"]]


def _unchanged(mutant: Mutant) -> Mutant:
    return replace(mutant, operator="unchanged", source=mutant.path.read_text())


def _tests_by_line() -> LineTests:
    """Return the names of the fixed tests that cover each line, by module and line."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "coverage"
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count())]
        command += ["-m", "coverage_gate and not nightly", "--cov", "--cov-context=test"]
        subprocess.run(
            [*command, "--cov-report=", *OWN],
            env={**os.environ, "COVERAGE_FILE": str(data)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        read = coverage.CoverageData(str(data))
        read.read()
        return {
            Path(file).resolve(): {
                line: frozenset(name.partition("|")[0] for name in names if name)
                for line, names in read.contexts_by_lineno(file).items()
            }
            for file in read.measured_files()
        }


def _run_all(
    stages: Mapping[Mutant, Sequence[str]], tests: LineTests, workers: int
) -> dict[Mutant, str]:
    """Run every mutant through its stages; return the stage that killed it, or `SURVIVED`."""
    waiting = [Trial(mutant, [*names]) for mutant, names in reversed([*stages.items()])]
    running: dict[int, Trial] = {}
    ends: dict[Mutant, str] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            one = waiting.pop()
            running[_start(one, tests)] = one
        time.sleep(0.05)
        for process, one in list(running.items()):
            is_killed = _is_killed(process, one)
            if is_killed is None:
                continue
            del running[process]
            stage = one.stages.pop(0)
            if not is_killed and one.stages:
                waiting.append(one)
                continue
            ends[one.mutant] = stage if is_killed else SURVIVED
            place = f"{one.mutant.path.name}:{one.mutant.line} {one.mutant.operator}"
            print(f"{len(ends)}/{len(stages)} {ends[one.mutant]:9} {place}", flush=True)
    return ends


def _start(one: Trial, tests: LineTests) -> int:
    """Fork a process that runs the trial's next stage; return its id."""
    one.started = time.monotonic()
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.setsid()
        status = _run(one.mutant, one.stages[0], tests)
    finally:
        os._exit(status)


def _run(mutant: Mutant, stage: str, tests: LineTests) -> int:
    chosen: frozenset[str] = frozenset()
    places: tuple[str, ...] = TESTS_BY_STAGE[stage]
    if stage == "lines":
        by_line = tests.get(mutant.path, {})
        span = range(mutant.line, mutant.end_line + 1)
        chosen = frozenset().union(*(by_line.get(line, frozenset()) for line in span))
        # A line that runs at import is covered by all of them.
        places = tuple(sorted({name.partition("::")[0] for name in chosen})) or places
    name = f"lakewarden.kernel.{mutant.path.stem}"
    return trial.run(name, mutant.path, mutant.source, places, chosen)


def _is_killed(process: int, one: Trial) -> bool | None:
    """Return whether the stage failed; None while it runs."""
    ended, status = os.waitpid(process, os.WNOHANG)
    if ended:
        return os.waitstatus_to_exitcode(status) not in NOT_NOTICED
    if time.monotonic() - one.started < TIMEOUTS_S[one.stages[0]]:
        return None
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


if __name__ == "__main__":
    sys.exit(main())
