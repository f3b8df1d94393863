"""The Spark session that every job runs in.

A `Deferred` session is started by the first job that has work for it, and stopped with the block
that it belongs to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.spark_failure import errors_of_spark, reason_of_failure
from lakewarden.pipeline.spark_session import (
    Conf,
    check_place,
    is_local,
    is_tuned_here,
    limit_retries,
    spark_session,
    without_pyspark,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Session = SparkSession

Place = tuple[str | None, str | None, Path | None, Conf]
"""Where a session should run: master, remote, event log, settings."""

_ANYWHERE: Final[Place] = (None, None, None, ())

_OPEN: ContextVar[tuple[SparkSession, Place] | None] = ContextVar("open", default=None)
"""The session of the surrounding block, and its place."""


@contextmanager
def session(
    name: str,
    master: str | None = None,
    remote: str | None = None,
    event_log: Path | None = None,
    conf: Conf = (),
) -> Iterator[SparkSession]:
    """A session for jobs, see `spark_session`; stopped at the end if it was started here.

    The first job that has work for Spark starts it, and says so on standard error. Jobs on small
    estates have no such work, and need no PySpark. A nested session reuses the outer one; raises
    `BadInput` if the two should run in different places. Any failure of Spark is raised as
    `Unavailable` with the first line of its message; so is a conflict with another process that
    works in the same folder.
    """
    around, place = _OPEN.get(), (master, remote, event_log, conf)
    try:
        if around is None:
            with _new_session(name, place) as spark:
                yield spark
        elif place in (_ANYWHERE, around[1]):
            yield around[0]
        else:
            raise BadInput("the jobs of one run share one session: name one master or remote")
    except Conflict as error:  # the caller can retry
        raise Unavailable(str(error)) from error
    except errors_of_spark() as error:
        raise Unavailable(f"spark failed: {reason_of_failure(error)}") from error


@contextmanager
def _new_session(name: str, place: Place) -> Iterator[SparkSession]:
    master, remote, event_log, _ = place
    check_place(master, remote, event_log)
    has_pyspark = find_spec("pyspark") is not None
    if not has_pyspark and (master or remote):
        raise without_pyspark(remote)
    is_shared = has_pyspark and _is_active()

    def start() -> SparkSession:
        if not has_pyspark:
            raise without_pyspark(remote)
        print("starting Spark …", file=sys.stderr)
        try:
            return spark_session(name, *place, rows=spark.rows)
        except errors_of_spark():
            if not is_shared:
                _stop_half_started()
            raise

    spark = Deferred(start, is_here=is_tuned_here(master or remote))
    token = _OPEN.set((cast("SparkSession", spark), place))
    try:
        yield cast("SparkSession", spark)
    finally:
        _OPEN.reset(token)
        if spark.started is not None and not is_shared:
            _stop(spark.started)


def _stop_half_started() -> None:
    """Stops a Connect session that could not be configured.

    Its client would ask the server for more when the process ends, and may block there for ever.
    """
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        _stop(active)


def _stop(session: SparkSession) -> None:
    if is_remote(session):
        limit_retries(session, 0)  # do not wait for a server that is gone
    # A session that is already lost must not hide why the job failed.
    with suppress(ConnectionError, *errors_of_spark()):
        session.stop()


def _is_active() -> bool:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


def is_lost(spark: SparkSession | Deferred) -> bool:
    """Whether a session that was started no longer works, even for a small job.

    Its Java has ended, or its Connect server is gone. Starts no session.
    """
    started = spark.started if isinstance(spark, Deferred) else spark
    try:
        return started is not None and started.range(1).count() != 1
    except Exception:  # noqa: BLE001 — a lost session raises many kinds of errors
        return True


class Deferred:
    """Stands for a session, which is started when any attribute is read.

    A job that finishes without Spark, as on small estates, therefore starts no Java. `start` makes
    the session; `is_here` says whether its tasks will run on this machine alone. `rows` is the size
    of the largest input so far, see `expect`.
    """

    def __init__(self, start: Callable[[], SparkSession], *, is_here: bool) -> None:
        self._start = start
        self._session: SparkSession | None = None
        self._stage: tuple[str, str] | None = None
        self.is_here = is_here
        self.rows = 0

    @property
    def started(self) -> SparkSession | None:
        """The session, if it was started."""
        return self._session

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # lookups by copy and pickle must not start Java
            raise AttributeError(name)
        return getattr(self.begin(), name)

    def begin(self) -> SparkSession:
        """The session; starts it if needed."""
        if self._session is None:
            self._session = self._start()
            _mark(self._session, self._stage)
        return self._session

    def mark(self, stage: tuple[str, str] | None) -> None:
        """See `stage_of`; a session that is not started yet is marked when it starts."""
        self._stage = stage
        if self._session is not None:
            _mark(self._session, stage)


def begin(spark: SparkSession | Deferred) -> None:
    """Starts a session that work would start anyway, while other steps run in parallel."""
    if isinstance(spark, Deferred):
        spark.begin()


def expect(spark: SparkSession | Deferred, rows: int) -> None:
    """Says how many rows the session will process: if it is not started yet, its Java fits them."""
    if isinstance(spark, Deferred):
        spark.rows = max(spark.rows, rows)


@contextmanager
def stage_of(spark: SparkSession, job: str, stage: str) -> Iterator[None]:
    """While the block runs, Spark's work is labelled with the name of the stage of a job.

    In Spark's UI and its event log, the label is the description of Spark's jobs and stages, in the
    job group `lakewarden JOB`; on Connect it is a tag of the operations. Starts no session.
    """
    _mark(spark, (job, stage))
    try:
        yield
    finally:
        _mark(spark, None)


def _mark(spark: SparkSession | Deferred, stage: tuple[str, str] | None) -> None:
    if isinstance(spark, Deferred):
        spark.mark(stage)
    elif is_remote(spark):
        spark.clearTags()
        if stage is not None:
            spark.addTag(f"lakewarden {stage[0]}: {stage[1]}")
    else:
        job, name = (None, None) if stage is None else (f"lakewarden {stage[0]}", ": ".join(stage))
        for key, value in (("spark.jobGroup.id", job), ("spark.job.description", name)):
            # None removes a property; the declared type omits None.
            spark.sparkContext.setLocalProperty(key, value)  # type: ignore[arg-type]


def is_remote(spark: SparkSession | Deferred) -> bool:
    """Whether the session belongs to a Spark Connect server. Starts it if needed."""
    session = spark.begin() if isinstance(spark, Deferred) else spark
    return type(session).__module__.startswith("pyspark.sql.connect")


def runs_locally(spark: SparkSession | Deferred) -> bool:
    """Whether the tasks of a session run on this machine alone. Starts no session."""
    if isinstance(spark, Deferred):
        return spark.is_here
    return not is_remote(spark) and is_local(spark.conf.get("spark.master", None))
