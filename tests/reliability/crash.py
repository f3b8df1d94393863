"""F-01: a writer is killed at a random time; confirmed acts are stored, and none is torn.

    python -m tests.reliability.crash --trials 500 --engine sqlite

Two writers in one process perform numbered acts (create, grant, ingest, rename, drop); the process
gets SIGKILL up to 50 ms after the response to a drawn number of acts. Prints the number of trials
and acts, and every fault; the exit code is 1 if there was one. With `--torn`, an act is two
transactions, without the protection: then the exit code is 1 unless a fault is found.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lakewarden.service.decision_service import DecisionService
from lakewarden.store import SqlStore, open_store
from tests.reliability import acts, whole
from tests.reliability.estate import build
from tests.reliability.linearizable import stores
from tests.reliability.site import Site

MOST_ACTS = 8
"""The maximum number of confirmed acts before a kill."""
LONGEST_SECONDS = 0.05
"""The maximum delay of a kill after the last of them."""
PATIENCE_SECONDS = 120
TRIALS_OF_A_STORE = 25
"""A store is reused after a crash, but not forever: checking all of it takes time."""


class Trial(NamedTuple):
    """The result of one trial: confirmed acts, and faults.

    `outlived`: the database committed something after its client was dead.
    """

    answered: int
    faults: list[str]
    outlived: bool


def trials(
    url: str,
    count: int,
    rng: random.Random,
    *,
    torn: bool = False,
) -> Iterator[Trial]:
    """Trials one after the other on one store."""
    with open_store(url) as store, tempfile.TemporaryDirectory() as folder:
        watching = DecisionService(store)
        watching.open()
        build(watching)
        for number in range(count):
            writers = [f"a{number}", f"b{number}"]
            answers = Path(folder, str(number))
            with Site(url) as site:
                site.call(ready)
                site.start(acts.write_until_killed, writers, str(answers), torn=torn)
                _wait_for(rng.randint(0, MOST_ACTS), writers, answers)
                time.sleep(rng.uniform(0, LONGEST_SECONDS))
                site.kill()
            yield _judged(store, watching, writers, answers)


def _wait_for(count: int, writers: list[str], answers: Path) -> None:
    """Waits until so many acts are confirmed, however slow the machine is."""
    until = time.monotonic() + PATIENCE_SECONDS
    while sum(acts.answered(answers, writer) for writer in writers) < count:
        if time.monotonic() > until:
            raise TimeoutError(f"fewer than {count} acts were answered")
        time.sleep(0.001)


def ready(service: DecisionService) -> bool:
    """Returns once the process has loaded the stored state."""
    return service.state.revision > 0


def _judged(store: SqlStore, watching: DecisionService, writers: list[str], answers: Path) -> Trial:
    outlived = _settled(store)
    found = whole.faults(store, behind=watching)
    held = acts.held(store, watching, writers)
    told = {writer: acts.answered(answers, writer) for writer in writers}
    for writer in writers:
        good = [acts.expected(writer, told[writer] + more) for more in (0, 1)]
        if held[writer] not in good:
            found.append(f"{writer}: {_difference(held[writer], good)}")
    return Trial(sum(told.values()), found, outlived)


def _settled(store: SqlStore) -> bool:
    """Waits until the dead process has no pending write: a server may still run its last commit.

    A commit holds the lock, so it is over once the lock is acquired. Returns whether there was one.
    """
    before = store.revision()
    with store.writing() as writing:
        return writing.revision != before


def _difference(held: acts.Held, good: list[acts.Held]) -> str:
    answered, one_more = good
    if len(held.recorded) < len(answered.recorded) or answered.tables - held.tables - (
        answered.tables - one_more.tables
    ):
        return f"lost what act {len(answered.recorded) - 1} or an earlier one was answered"
    return f"act {len(answered.recorded)} is there in part"


def main() -> int:
    """Runs the trials; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--torn", action="store_true", help="the negative control")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    done = bad = answered = outlived = 0
    with stores(given.engine) as fresh:
        while done < given.trials:
            count = min(TRIALS_OF_A_STORE, given.trials - done)
            with fresh() as url:
                for trial in trials(url, count, rng, torn=given.torn):
                    done += 1
                    answered += trial.answered
                    outlived += trial.outlived
                    bad += bool(trial.faults)
                    for fault in trial.faults:
                        print(f"trial {done}: {fault}", flush=True)
    bound = f"; below {3 / done:.2%} at 95 %" if not bad else ""
    print(
        f"{given.engine}: {bad} of {done} trials with a fault{bound}; {answered} acts answered,"
        f" {outlived} committed after the client's death, seed {given.seed}"
    )
    return int((bad == 0) is given.torn)


if __name__ == "__main__":
    sys.exit(main())
