"""The progress of a pipeline run: bars on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakewarden.cli.outcome import complain
from lakewarden.cli.pipeline.spark_options import Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.status_line import bars, is_quiet
from lakewarden.kernel.errors import Conflict, Unavailable
from lakewarden.names.canonical import escaped
from lakewarden.pipeline.ingest.source import STAGES, Progress, silent
from lakewarden.pipeline.job_spans import traced
from lakewarden.pipeline.lineage import recorded
from lakewarden.pipeline.session import session
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from lakewarden.pipeline.session import Session
    from lakewarden.pipeline.table_formats.target import Target

_STAGE_TITLES = {"read": "reading", "check": "checking", "own": "owners", "write": "writing"}


@contextmanager
def running(
    verb: str,
    spark: Spark,
    stages: Sequence[str] = STAGES,
    *,
    reads: Sequence[str | Location],
    out: Location,
    title: str = "",
    tables: TableOptions = AS_FILES,
) -> Iterator[tuple[Session, Progress]]:
    """A session for a job of `lakewarden pipeline VERB`, and the progress of its `stages`.

    Lineage records that the job reads from the places `reads` and writes to `out`; traces record
    the job as a span. The current version is committed in the format of `tables` after the job, and
    also before it, because an earlier run may have been killed before its commit.
    """
    target = tables.target()
    with (
        recorded(verb, reads, out, warn=complain) as run_id,
        traced(verb, out, run_id, warn=complain),
    ):
        commit(verb, target, out)
        with (
            session(
                f"lakewarden {verb}", spark.master, spark.remote, spark.event_log, spark.conf
            ) as running_session,
            shown(title or verb, stages) as progress,
        ):
            yield running_session, progress
        commit(verb, target, out)


def commit(verb: str, target: Target, out: Location) -> None:
    """Commits the current version, if it is not, and says so.

    Raises `Unavailable` while another process works on the folder, as a session does.
    """
    try:
        committed = target.commit(out)
    except Conflict as error:  # a retry may succeed
        raise Unavailable(str(error)) from error
    if committed is not None and committed.tables and not is_quiet():
        what = f"version {committed.version} in {len(committed.tables)} tables"
        print(f"{verb}: {target.format}: {what}", file=sys.stderr)


@contextmanager
def shown(title: str, stages: Sequence[str] = STAGES) -> Iterator[Progress]:
    """A progress for one run of the pipeline.

    `title` says what runs; `stages` are its stages in order.
    """
    if is_quiet():
        yield silent
    elif sys.stderr.isatty():
        with _bars(title, stages) as progress:
            yield progress
    else:
        yield _lines(title)


def _lines(title: str) -> Progress:
    def tell(stage: str, done: int, total: int, message: str) -> None:
        if done == total:
            print(f"{escaped(title)}: {stage}: {escaped(message)}", file=sys.stderr)

    return tell


@contextmanager
def _bars(title: str, stages: Sequence[str]) -> Iterator[Progress]:
    from rich.markup import escape

    with bars(transient=False) as shown_bars:
        bar = shown_bars.add_task(escape(title), total=len(stages), stage="starting")

        def tell(stage: str, done: int, total: int, message: str) -> None:
            completed = stages.index(stage) + done / max(total, 1)
            stage_text = f"{_STAGE_TITLES.get(stage, stage)}: {escape(escaped(message))}"
            shown_bars.update(bar, completed=completed, stage=stage_text)

        yield tell
        shown_bars.update(bar, completed=len(stages))
