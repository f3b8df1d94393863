"""A job: a list of stages that run one after the other and make a version of a folder.

A stage has a function that writes its outputs to an empty folder and returns counts. It names the
stages whose folders it reads. After an interrupted run, the next run reuses the stages that had
finished; `lakewarden.pipeline.product` keeps them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job_spans import stage_span
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import (
    Content,
    FinishedStage,
    Input,
    Manifest,
    VersionDraft,
    check_present,
    draft,
    key_of,
    place,
    remove_tables_of_old_versions,
)
from lakewarden.pipeline.session import stage_of
from lakewarden.pipeline.storage.files import identity_of
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import folder_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Counts = dict[str, Any]
"""The JSON object that a stage returns; its message is formatted with it."""

Context = TypeVar("Context")
"""What the stages of one job share: its inputs and its question."""


@dataclass(frozen=True, slots=True)
class Stage(Generic[Context]):
    """A stage of a job.

    `inputs` are the stages whose folders `function` reads. `outputs` are the tables and files of
    its own folder that go into the version. `message` is a format of the counts.
    """

    name: str
    inputs: Sequence[str]
    function: Callable[[Context, Location], Counts]
    outputs: Sequence[str]
    message: str


Made = TypeVar("Made")
Report = TypeVar("Report")


class RunResult(NamedTuple, Generic[Made, Report]):
    """The current manifest, the run report, and whether the run made a new version."""

    manifest: Made
    report: Report
    is_new: bool


Result = RunResult[Manifest, Mapping[str, Any]]
"""The result of a job on an index."""


@dataclass(slots=True)
class Job:
    """One run of a job, which makes the next version of the folder `out`.

    `tables` are those of the version, in the order of the report. `key` identifies the run;
    default: its inputs and options. `memory_bytes` is the memory use measured before. `most_rows`
    limits the total number of rows that this process digests (None: the size in bytes decides). A
    job `without_spark` digests tables of any size here. `reads` are the versions that the stages
    read and that another process may remove meanwhile (`stream --keep`).
    """

    kind: str
    out: Location
    tables: Sequence[str]
    spark: SparkSession
    inputs: tuple[Input, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = silent
    key: str = ""
    memory_bytes: int = 0
    most_rows: int | None = None
    without_spark: bool = False
    reads: Sequence[tuple[Location, Manifest]] = ()
    _draft: VersionDraft | None = None
    _earlier: dict[str, FinishedStage] = field(default_factory=dict)
    _readable: Sequence[str] | None = None

    def run(
        self,
        stages: Iterable[Stage[Context]],
        context: Context,
        *,
        facts: Callable[[], Mapping[str, Any]],
        report: Callable[[], Mapping[str, Any]] = dict,
        publish_more: Callable[[Location], None] | None = None,
        keep: int | None = None,
    ) -> Result:
        """Runs the stages, and publishes their outputs.

        `facts` are for the manifest and `report` is for the run report; both are called after the
        last stage. `publish_more` writes further files into the folder of the version. The tables
        of the last `keep` versions are kept, by default all. Raises `BadInput` if `out` holds
        something else, `Conflict` if another process works on it or removed a version of `reads`.
        """
        key = self.key or key_of(self.inputs, self.options)
        with draft(self.out, self.kind, key, self.progress) as self._draft, peak() as memory:
            self._draft.stages.update(self._earlier)
            for stage in stages:
                self._run_stage(stage, context)
            if publish_more is not None:
                publish_more(self.version_folder)
            manifest = Manifest(self.kind, 0, self.inputs, self.options, facts(), self._contents())
            for place_read, version in self.reads:
                check_present(place_read, version)
            memory.measure()
            measured = {"peak_bytes": max(self.memory_bytes, memory.bytes)}
            spark = None if self.without_spark else self.spark
            finished = self._draft.finish(manifest, {**report(), **measured}, spark)
            result: Result = RunResult(*finished)
            if keep is not None:
                remove_tables_of_old_versions(self.out, result.manifest, keep)
            return result

    def _run_stage(self, stage: Stage[Context], context: Context) -> None:
        self._readable = stage.inputs
        with stage_of(self.spark, self.kind, stage.name), stage_span(stage.name) as span:
            span.counts = self.draft.stage(
                stage.name, lambda folder: stage.function(context, folder), stage.message
            )
            span.reused = self.draft.stages[stage.name].reused
        self._readable = None
        for name in stage.outputs:
            place(self.draft.stage_folder(stage.name) / name, self.version_folder / name)

    def _contents(self) -> dict[str, Content]:
        """Rows and digest of each table; those of the previous version if files are equal."""
        previous, known = self.draft.previous, dict[str, Content]()
        if previous is not None:
            before = folder_of(self.out, previous)
            known = {
                name: previous.tables[name]
                for name in set(self.tables) & previous.tables.keys()
                if parquet_output.is_comparable(previous.tables[name])
                and _files(self.version_folder / name) == _files(before / name)
            }
        others = [name for name in self.tables if name not in known]
        if self.without_spark:
            contents = {
                n: parquet_output.content_without_spark(self.version_folder / n) for n in others
            }
        else:
            contents = parquet_output.contents_of(
                self.version_folder, others, self.spark, self.most_rows
            )
        return {name: known.get(name) or contents[name] for name in self.tables}

    @property
    def draft(self) -> VersionDraft:
        """The version that is being made; only while the job runs."""
        assert self._draft is not None  # noqa: S101 — INVARIANT: only stages use it, within `run`
        return self._draft

    @property
    def version_folder(self) -> Location:
        """The folder that the version is written to."""
        return self.draft.folder

    def folder(self, stage: str) -> Location:
        """The folder of a finished stage; a stage may only read those that it declares."""
        if self._readable is not None and stage not in self._readable:
            raise KeyError(f"`{stage}` is not among the inputs of the stage")
        return self.draft.stage_folder(stage)

    def counts(self, stage: str) -> Mapping[str, Any]:
        """What a finished stage returned."""
        return self.draft.stages[stage].counts

    def keep_in_memory(self, stage: str, began: float, message: str) -> None:
        """Reports a stage that the caller ran, since `began`, and that no later run reuses."""
        done = FinishedStage({}, round(time.monotonic() - began, 3), reused=False)
        (self._earlier if self._draft is None else self._draft.stages)[stage] = done
        with stage_span(stage, began):
            self.progress(stage, 1, 1, message)


def _files(folder: Location) -> dict[str, int | str]:
    return {file.name: identity_of(file) for file in folder.glob("*")}


def names_of(*jobs: Iterable[Stage[Any]]) -> tuple[str, ...]:
    """The names of stages, once each and in order, for a progress display."""
    return tuple(dict.fromkeys(stage.name for stages in jobs for stage in stages))
