"""Jobs for a caller that knows nothing of Spark: a session, and what is run in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.ingest.source import Distant, Progress, Source, silent
from lakewarden.pipeline.review.question import CLASSES, CLASSES_FOR_SQL
from lakewarden.pipeline.session import Deferred, spark_session, will_run_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakewarden.analysis.lint.finding import Rule
    from lakewarden.pipeline.diff.run import Result as Differing
    from lakewarden.pipeline.export.run import Result as Exported
    from lakewarden.pipeline.index.run import Result as Indexed
    from lakewarden.pipeline.ingest.run import Result
    from lakewarden.pipeline.link import Result as Linked
    from lakewarden.pipeline.lint.run import Result as Linted
    from lakewarden.pipeline.review.run import Result as Reviewed
    from lakewarden.pipeline.stream.run import Result as Followed
    from lakewarden.pipeline.stream.source import Feed
    from lakewarden.pipeline.unused.run import Asked as Use
    from lakewarden.pipeline.unused.run import Log as AccessLog
    from lakewarden.pipeline.unused.run import Result as Compared
    from lakewarden.service.policy import Part


@dataclass(frozen=True, slots=True)
class Jobs:
    """A running session that takes jobs, one after the other."""

    _spark: SparkSession

    def ingest(
        self,
        source: Source | Distant,
        out: Path,
        *,
        realm: str = "",
        settings: Mapping[str, str] | None = None,
        ownership: Path | None = None,
        fresh: bool = False,
        progress: Progress = silent,
    ) -> Result:
        """As `lakewarden.pipeline.ingest.run.ingest`; `Unavailable` while another works there."""
        from lakewarden.pipeline.ingest.run import ingest

        with _alone():
            return ingest(
                source,
                out,
                spark=self._spark,
                realm=realm,
                settings=settings,
                ownership=ownership,
                fresh=fresh,
                progress=progress,
            )

    def own(
        self,
        directory: Path,
        rules: Path,
        out: Path,
        *,
        semantics: str | None = None,
        fresh: bool = False,
        progress: Progress = silent,
    ) -> Result:
        """As `lakewarden.pipeline.ingest.owners.own`; `Unavailable` while another works there."""
        from lakewarden.pipeline.ingest.owners import own

        with _alone():
            return own(
                directory,
                rules,
                out,
                spark=self._spark,
                semantics=semantics,
                fresh=fresh,
                progress=progress,
            )

    def link(
        self, rules: Path, realms: Mapping[str, Path], out: Path, *, progress: Progress = silent
    ) -> Linked:
        """As `lakewarden.pipeline.link.link`; `Unavailable` while another works there."""
        from lakewarden.pipeline.link import link

        with _alone():
            return link(rules, realms, out, spark=self._spark, progress=progress)

    def index(
        self, source: Path, out: Path, *, now: float | None = None, progress: Progress = silent
    ) -> Indexed:
        """As `lakewarden.pipeline.index.run.make_index`; `Unavailable` as above."""
        from lakewarden.pipeline.index.run import make_index

        with _alone():
            return make_index(source, out, spark=self._spark, now=now, progress=progress)

    def review(  # noqa: PLR0913 — a parameter for each option
        self,
        source: Path,
        out: Path,
        *,
        privileges: Iterable[str] | None = None,
        operations: Iterable[str] | None = None,
        classes: int | None = CLASSES,
        used: Path | None = None,
        sensitive: Iterable[str] | None = None,
        progress: Progress = silent,
    ) -> Reviewed:
        """As `lakewarden.pipeline.review.run.make_review`; `Unavailable` as above."""
        from lakewarden.pipeline.review.run import make_review

        with _alone():
            return make_review(
                source,
                out,
                spark=self._spark,
                privileges=privileges,
                operations=operations,
                classes=classes,
                used=used,
                sensitive=sensitive,
                progress=progress,
            )

    def diff(
        self,
        source: Path,
        files: Sequence[Part],
        out: Path,
        *,
        only: bool = False,
        progress: Progress = silent,
    ) -> Differing:
        """As `lakewarden.pipeline.diff.run.difference_of_policies`; `Unavailable` as above."""
        from lakewarden.pipeline.diff.run import difference_of_policies

        with _alone():
            return difference_of_policies(
                source, files, out, spark=self._spark, only=only, progress=progress
            )

    def diff_times(
        self, earlier: Path, later: Path, out: Path, *, progress: Progress = silent
    ) -> Differing:
        """As `lakewarden.pipeline.diff.run.difference_of_times`; `Unavailable` as above."""
        from lakewarden.pipeline.diff.run import difference_of_times

        with _alone():
            return difference_of_times(earlier, later, out, spark=self._spark, progress=progress)

    def lint(
        self,
        source: Path,
        out: Path,
        *,
        rules: Sequence[Rule],
        origin: Path | None = None,
        progress: Progress = silent,
    ) -> Linted:
        """As `lakewarden.pipeline.lint.run.lint_index`; `Unavailable` as above."""
        from lakewarden.pipeline.lint.run import lint_index

        with _alone():
            return lint_index(
                source, out, spark=self._spark, rules=rules, origin=origin, progress=progress
            )

    def unused(
        self,
        source: Path,
        logs: Sequence[AccessLog],
        out: Path,
        asked: Use,
        *,
        mapping: Path | None = None,
        progress: Progress = silent,
    ) -> Compared:
        """As `lakewarden.pipeline.unused.run.find_unused`; `Unavailable` as above."""
        from lakewarden.pipeline.unused.run import find_unused

        with _alone():
            return find_unused(
                source, logs, out, asked, spark=self._spark, mapping=mapping, progress=progress
            )

    def export(
        self,
        source: Path,
        out: Path,
        *,
        privileges: Iterable[str] | None = None,
        operations: Iterable[str] | None = None,
        classes: int | None = CLASSES_FOR_SQL,
        progress: Progress = silent,
    ) -> Exported:
        """As `lakewarden.pipeline.export.run.make_export`; `Unavailable` as above."""
        from lakewarden.pipeline.export.run import make_export

        with _alone():
            return make_export(
                source,
                out,
                spark=self._spark,
                privileges=privileges,
                operations=operations,
                classes=classes,
                progress=progress,
            )

    def stream(
        self,
        feed: Feed,
        out: Path,
        *,
        checkpoint: Path | None = None,
        every: float | None = None,
        now: float | None = None,
        keep: int | None = None,
        progress: Progress = silent,
    ) -> Followed:
        """As `lakewarden.pipeline.stream.run.follow`; `Unavailable` as above."""
        from lakewarden.pipeline.stream.run import follow

        with _alone():
            return follow(
                feed,
                out,
                spark=self._spark,
                checkpoint=checkpoint,
                every=every,
                now=now,
                keep=keep,
                progress=progress,
            )


@contextmanager
def _alone() -> Iterator[None]:
    """Another process at work in the same folder is `Unavailable`: it can be tried again."""
    try:
        yield
    except Conflict as error:
        raise Unavailable(str(error)) from error


_OPEN: ContextVar[tuple[Jobs, str | None, str | None] | None] = ContextVar("open", default=None)
"""The session of the block around this one, and where it was asked to run."""


@contextmanager
def session(name: str, master: str | None = None, remote: str | None = None) -> Iterator[Jobs]:
    """A session for jobs, see `spark_session`; stopped at the end if it was started here.

    Spark is started by the first job that has work for it, which is said on standard error;
    jobs on small estates have none. A session inside another one is that one. Raises `BadInput`
    where they are to run in different places. Whatever Spark fails at is `Unavailable`, told by
    the first line of what it says.
    """
    around = _OPEN.get()
    if around is not None:
        if (master, remote) not in ((None, None), around[1:]):
            raise BadInput("the jobs of one run share one session: name one master or remote")
        yield around[0]
        return
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # theirs has none
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise Unavailable("pyspark is not installed; install `lakewarden[spark]`") from error
    if master and remote:
        raise BadInput(f"expected a master or a remote, got both: `{master}`, `{remote}`")
    is_shared = SparkSession.getActiveSession() is not None
    spark = Deferred(_starter(name, master, remote), is_here=will_run_here(master, remote))
    jobs = Jobs(cast("SparkSession", spark))
    token = _OPEN.set((jobs, master, remote))
    try:
        try:
            yield jobs
        finally:
            _OPEN.reset(token)
            if spark.started is not None and not is_shared:
                spark.started.stop()
    except (PySparkException, Py4JError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Unavailable(f"spark failed: {lines[0]}") from error


def _starter(name: str, master: str | None, remote: str | None) -> Callable[[], SparkSession]:
    def start() -> SparkSession:
        print("starting Spark …", file=sys.stderr)
        return spark_session(name, master, remote)

    return start
