"""The `lakewarden` command for `spark-submit`, with blocks small enough for many tasks.

    launch.py pipeline index LAKE --out INDEX then pipeline review INDEX --out REVIEW

Several commands run in sequence in one session. Each reports on standard error the master on which
it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from lakewarden.cli import main
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.session import Place
from lakewarden.pipeline.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BITS: Final = 5
THEN: Final = "then"
RUNS_ON: Final = "runs on: "


def _small(source: Path, out: Path, *, spark: SparkSession, **options: Any) -> Result:
    return make_index(source, out, spark=spark, bits=BITS, **options)


def _with_progress(name: str, *place: *Place, rows: int) -> SparkSession:
    found = spark_session(name, *place, rows=rows)
    print(f"{RUNS_ON}{found.conf.get('spark.master')}", file=sys.stderr)
    return found


def run(words: Sequence[str]) -> int:
    """Runs the commands; returns the exit code of the first that fails, or 0."""
    commands = [list(own) for is_then, own in groupby(words, THEN.__eq__) if not is_then]
    if len(commands) > 1 and "--remote" not in words:
        spark_session("lakewarden")
    with (
        patch("lakewarden.pipeline.index.run.make_index", _small),
        patch("lakewarden.pipeline.session.spark_session", _with_progress),
    ):
        return next((code for code in map(main, commands) if code), 0)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
