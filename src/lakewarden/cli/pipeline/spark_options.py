"""The options of every pipeline verb that say where its job runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.question import Texts, pair
from lakewarden.pipeline.spark_session import Conf


@Parameter("*")
@dataclass(frozen=True)
class Spark:
    """Where the job runs."""

    master: Annotated[
        str | None, Parameter(help="Spark master, such as `local[4]` or `spark://host:7077`.")
    ] = None
    remote: Annotated[
        str | None, Parameter(help="Or a Spark Connect server, such as `sc://host`.")
    ] = None
    event_log: Annotated[
        Path | None,
        Parameter(help="A folder for Spark's event log, which its history server shows."),
    ] = None
    spark_conf: Annotated[
        Texts, Parameter(help="A setting of Spark, `NAME=VALUE`; repeatable.")
    ] = ()

    @property
    def conf(self) -> Conf:
        """The settings. Raises `BadInput` for one without a value."""
        return tuple(pair(text, "--spark-conf") for text in self.spark_conf)


LOCAL: Final = Spark()
