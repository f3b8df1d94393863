"""Jobs for a caller that knows nothing of Spark: a session, and what is run in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lakewarden.kernel.errors import Conflict, Unavailable
from lakewarden.pipeline.ingest.source import Progress, Source, silent
from lakewarden.pipeline.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakewarden.pipeline.ingest.run import Result


@dataclass(frozen=True, slots=True)
class Jobs:
    """A running session that takes jobs, one after the other."""

    _spark: SparkSession

    def ingest(
        self,
        source: Source,
        out: Path,
        *,
        realm: str = "",
        settings: Mapping[str, str] | None = None,
        ownership: Path | None = None,
        progress: Progress = silent,
    ) -> Result:
        """As `lakewarden.pipeline.ingest.run.ingest`; `Unavailable` while another works there."""
        from lakewarden.pipeline.ingest.run import ingest

        try:
            return ingest(
                source,
                out,
                spark=self._spark,
                realm=realm,
                settings=settings,
                ownership=ownership,
                progress=progress,
            )
        except Conflict as error:
            raise Unavailable(str(error)) from error


@contextmanager
def session(name: str, master: str | None = None, remote: str | None = None) -> Iterator[Jobs]:
    """A session for jobs, see `spark_session`; stopped at the end if it was started here.

    Whatever Spark fails at is `Unavailable`, told by the first line of what it says.
    """
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise Unavailable("pyspark is not installed; install `lakewarden[spark]`") from error
    is_shared = SparkSession.getActiveSession() is not None
    try:
        spark = spark_session(name, master, remote)
        try:
            yield Jobs(spark)
        finally:
            if not is_shared:
                spark.stop()
    except (PySparkException, Py4JError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Unavailable(f"spark failed: {lines[0]}") from error
