"""`lakewarden pipeline watch`: runs the jobs of a file repeatedly."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lakewarden.cli import duration
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, complain
from lakewarden.cli.pipeline.run import BoundJob, bind, each_run, read, session_of
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.session import is_lost

if TYPE_CHECKING:
    from lakewarden.pipeline.job_figures import JobFigures

Wait = Callable[[float], bool]
"""Waits some seconds; returns whether the watch should stop."""


def watching(
    jobfile: Annotated[Path, Parameter(help="TOML file with a table `[[job]]` for each job.")],
    /,
    *,
    every: Annotated[str, Parameter(help="Time from the begin of a round to the next one.")],
    metrics: Annotated[
        Path | None,
        Parameter(help="File for metrics, in the format of Prometheus; `.prom` for node exporter."),
    ] = None,
    push_gateway: Annotated[
        str | None, Parameter(help="Prometheus push gateway, `HOST:PORT`, that gets the metrics.")
    ] = None,
    rounds: Annotated[
        int | None, Parameter(help="End after so many rounds; default: run until stopped.")
    ] = None,
) -> int:
    """Runs the jobs of a file every so often, in one process with one Spark session.

    The file is that of `lakewarden pipeline run`. Rounds never overlap: one that takes longer than
    the interval is followed by the next at once, and the missed moments are counted. A job that
    fails ends its round, and the next round begins in time. On SIGINT or SIGTERM the job under way
    ends first; a second signal ends it, too. The exit code is that of the last round.

    For example:

        lakewarden pipeline watch nightly.toml --every 1h --metrics /var/lib/node/lakewarden.prom
    """
    from lakewarden.pipeline.job_figures import JobFigures

    interval = duration.seconds(every, "--every")
    if interval <= 0:
        raise BadInput("expected more than 0 seconds", where="--every")
    if rounds is not None and rounds < 1:
        raise BadInput("expected at least one round", where="--rounds")
    if metrics is not None and not metrics.parent.is_dir():
        raise BadInput(f"there is no folder `{metrics.parent}`", where="--metrics")
    jobs, figures = bind(read(jobfile)), JobFigures()

    def tell() -> None:
        _tell(figures, metrics, push_gateway)

    with session_of(jobs) as spark, _until_stopped() as wait:
        return watch(jobs, interval, figures, tell, wait, rounds, lambda: is_lost(spark))


def watch(
    jobs: Sequence[BoundJob],
    interval: float,
    figures: JobFigures,
    tell: Callable[[], None],
    wait: Wait,
    rounds: int | None = None,
    is_lost: Callable[[], bool] = lambda: False,
) -> int:
    """Runs rounds until `wait` says to stop, or for a given number; returns the last exit code.

    After a failed round it also ends if `is_lost` says that no job can succeed any more.
    """
    due, code, done = time.monotonic(), YES, 0
    while True:
        code = _round(jobs, figures, wait)
        done += 1
        due += interval
        late = max(0, int((time.monotonic() - due) // interval) + 1)
        due += max(0, late - 1) * interval
        figures.round_ended("failed" if code > NO else "succeeded", late)
        tell()
        if code == COULD_NOT_TELL and is_lost():
            complain("the Spark session is lost; start the watch again")
            return code
        if done == rounds or wait(0.0 if late else due - time.monotonic()):
            return code


def _round(jobs: Sequence[BoundJob], figures: JobFigures, wait: Wait) -> int:
    worst = YES
    for name, (bound_job, code, seconds) in zip(_names(jobs), each_run(jobs), strict=False):
        figures.ran(name, bound_job.out, code, seconds, time.time())
        worst = max(worst, code)
        if wait(0.0):
            break
    return worst


def _names(jobs: Sequence[BoundJob]) -> list[str]:
    """The label of each job: its verb and the name of its output folder, or the path if not unique.

    `index.lake`, or `index.eu/lake` and `index.us/lake`.
    """
    short = [job.verb if job.out is None else f"{job.verb}.{job.out.name}" for job in jobs]
    places: dict[str, set[str]] = {}
    for name, job in zip(short, jobs, strict=True):
        places.setdefault(name, set()).add(str(job.out))
    return [
        name if len(places[name]) == 1 else f"{job.verb}.{job.out}"
        for name, job in zip(short, jobs, strict=True)
    ]


def _tell(figures: JobFigures, metrics: Path | None, gateway: str | None) -> None:
    """Writes the metrics where they are configured; an error here stops no job."""
    try:
        if metrics is not None:
            figures.write(metrics)
        if gateway is not None:
            figures.push(gateway)
    except (OSError, Unavailable) as error:
        complain(f"metrics were not written: {error}")


@contextmanager
def _until_stopped() -> Iterator[Wait]:
    """A wait that a signal ends; a second signal has its default effect."""
    stopped = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}

    def stop(*_: Any) -> None:
        stopped.set()
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in signals:
        signal.signal(number, stop)
    try:
        yield stopped.wait
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
