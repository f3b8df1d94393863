"""What a source of metadata is to the pipeline, and how the pipeline says how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lakewarden.pipeline.directory import Input
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("read", "check", "own", "write")
"""The stages of a run, in order. Reading ends with normalised rows."""


class Progress(Protocol):
    """Told about every step: the stage, how many of its steps are done, and what was found."""

    def __call__(self, stage: str, done: int, total: int, message: str) -> None: ...


def silent(stage: str, done: int, total: int, message: str) -> None:
    """A progress that nobody sees."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source gave.

    `rows` has the schema of `lakewarden.pipeline.ingest.row` and can be computed again with
    the same result. `ignored` counts what was read and means nothing here, by what it is.
    `not_read` says what the source has and nobody looked at.
    """

    rows: DataFrame
    inputs: Sequence[Input]
    ignored: Mapping[str, int] = field(default_factory=dict)
    not_read: Sequence[str] = ()


class Source(Protocol):
    """Metadata of one kind at one place, under one of our models.

    `kind` is what the manifest calls it, `options` what the caller chose for it.
    """

    @property
    def kind(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def options(self) -> Mapping[str, str]: ...

    def read(
        self, spark: SparkSession, system: System, scratch: Path, progress: Progress
    ) -> Reading:
        """The normalised rows. `scratch` is a folder for what must be kept meanwhile.

        Raises `BadInput` for an error in what is read, with file, line or path, field and
        expectation, and `Unavailable` when it cannot be reached; nothing is then given.
        """
        ...
