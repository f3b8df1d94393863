"""The interface of a source of metadata, and how the pipeline reports progress."""

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
    """A progress that shows nothing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a source.

    `rows` are a frame with the schema of `lakewarden.pipeline.ingest.row`, which can be computed
    again with the same result, or rows in this process, because they are few or were read here.
    `inputs` is empty if the source's own `inputs` listed them before. `ignored` counts items that
    were read and have no effect here, by kind. `not_read` names items of the source that were not
    read. `described` is by type, if the source knows it: the number of entities with a description,
    and of all that could have one.
    """

    rows: DataFrame | Sequence[Row]
    inputs: Sequence[Input] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    not_read: Sequence[str] = ()
    described: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Source(Protocol):
    """Metadata of one kind at one place, under one of our models.

    `kind` is its name in the manifest, `options` are the caller's options.
    """

    @property
    def kind(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def options(self) -> Mapping[str, str]: ...

    def inputs(self) -> Sequence[Input] | None:
        """The inputs of `read` with their digests; None if only reading shows them.

        Raises `BadInput` if an input cannot be read.
        """
        ...

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """The normalised rows. `scratch` is a folder for temporary files.

        Raises `BadInput` for an error in the input, with file, line or path, field and expectation,
        and `Unavailable` if the source cannot be reached. No rows are returned then.
        """
        ...


@runtime_checkable
class OfModelText(Protocol):
    """A source whose model may be the user's own; None for a shipped one."""

    @property
    def model_text(self) -> ModelText | None: ...


def system_of(source: Source | Distant, settings: Mapping[str, str] | None = None) -> System:
    """The system under which a source is read. Raises `BadInput` or `Unknown`."""
    text = source.model_text if isinstance(source, OfModelText) else None
    return load_system(source.model, settings, text)


@runtime_checkable
class Distant(Protocol):
    """Metadata in a running system: copied to files first, which are then read.

    `place` identifies the address and the caller, without any secret: an existing copy is reused
    only for the same place.
    """

    @property
    def kind(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def place(self) -> str: ...

    def fetch(self, folder: Location, progress: Progress) -> Sequence[str]:
        """Copies everything to the folder, which is empty; returns what could not be read.

        Raises `BadInput` if the system refuses, `Unavailable` if it does not answer.
        """
        ...

    def copied(self, folder: Location, missing: Sequence[str]) -> Source:
        """The copy as a source; `missing` is the result of `fetch`."""
        ...
