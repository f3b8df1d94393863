"""What a source of metadata is to the pipeline, and how the pipeline says how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lakewarden.models.own import ModelText
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.source_row import Row
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES = ("read", "check", "own", "write")
"""The stages of a run, in order. Reading ends with normalised rows."""


class Progress(Protocol):
    """Called for every step: the stage, how many of its steps are done, and a message."""

    def __call__(self, stage: str, done: int, total: int, message: str) -> None: ...


def silent(stage: str, done: int, total: int, message: str) -> None:
    """A progress that nobody sees."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source gave.

    `rows` are a frame of the schema of `lakewarden.pipeline.ingest.row`, which can be computed
    again with the same result, or those that are in this process, since they are few or came so.
    `inputs` is empty where the source's own `inputs` listed them before.
    `ignored` counts what was read and means nothing here, by what it is. `not_read` says what
    the source has and nobody looked at. `described` counts entities with and all entities that
    could have a description, by type, where the source knows them.
    """

    rows: DataFrame | Sequence[Row]
    inputs: Sequence[Input] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    not_read: Sequence[str] = ()
    described: Mapping[str, tuple[int, int]] = field(default_factory=dict)


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

    def inputs(self) -> Sequence[Input] | None:
        """What `read` would read now, by digest, or None where only reading it shows that.

        Raises `BadInput` when it cannot be read.
        """
        ...

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """The normalised rows. `scratch` is a folder for what must be kept meanwhile.

        Raises `BadInput` for an error in what is read, with file, line or path, field and
        expectation, and `Unavailable` when it cannot be reached; nothing is then given.
        """
        ...


@runtime_checkable
class OfModelText(Protocol):
    """A source under a model that may be one's own; None for a shipped one."""

    @property
    def model_text(self) -> ModelText | None: ...


def system_of(source: Source | Distant, settings: Mapping[str, str] | None = None) -> System:
    """The system under which a source is read. Raises `BadInput` or `Unknown`."""
    text = source.model_text if isinstance(source, OfModelText) else None
    return load_system(source.model, settings, text)


@runtime_checkable
class Distant(Protocol):
    """Metadata in a running system: copied into files first, which are then read.

    `place` says where it is and who asks, without any secret: a copy that is at hand is taken
    again only for the same place.
    """

    @property
    def kind(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def place(self) -> str: ...

    def fetch(self, folder: Location, progress: Progress) -> Sequence[str]:
        """Copies everything into the folder, which is empty; says what could not be had.

        Raises `BadInput` when the system refuses, `Unavailable` when it does not answer.
        """
        ...

    def copied(self, folder: Location, missing: Sequence[str]) -> Source:
        """The copy as a source; `missing` is what `fetch` said."""
        ...
