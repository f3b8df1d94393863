"""Metadata files of DataHub: the output of the `datahub` command's file sink.

A file, or a folder of files (`.json`, `.jsonl`, `.ndjson`, also in subfolders). They are replayed
in the order of their names, and within a file in the order of its records. One task reads one file,
so a large export is best split into several files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import pyarrow as pa

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.files import (
    Batches,
    File,
    bytes_of,
    find,
    inputs_of,
    per_file,
    refuse_errors,
)
from lakewarden.pipeline.ingest.json_file import records
from lakewarden.pipeline.ingest.opener import Opener
from lakewarden.pipeline.ingest.row import SPARK_SCHEMA, batches
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, location, read_from, written_to
from lakewarden.service.source_row import Row, error_row
from lakewarden.service.system import System, load_system
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.ingest import replay
from lakewarden.systems.datahub.ingest.proposal import Write, writes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUFFIXES: Final = (".json", ".jsonl", ".ndjson")

_STEPS = 3

_SCHEMA = pa.schema(
    [
        ("file", pa.int32()),
        ("record", pa.int64()),
        ("part", pa.int32()),
        *((name, pa.string()) for name in Write._fields),
        ("ignored", pa.string()),
        ("error", pa.string()),
    ]
)
_SPARK_SCHEMA = (
    "file int, record long, part int, "
    + ", ".join(f"`{name}` string" for name in Write._fields)
    + ", ignored string, error string"
)


@dataclass(frozen=True, slots=True)
class DatahubFile:
    """The metadata files at a path."""

    kind: ClassVar[str] = "datahub-file"
    model: ClassVar[str] = "datahub"
    options: ClassVar[Mapping[str, str]] = {}
    path: Location

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return inputs_of(find(self.path, SUFFIXES))

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`. Each file is read once; its writes are meanwhile stored in `scratch`."""
        files = find(self.path, SUFFIXES)
        progress("read", 1, _STEPS, f"{len(files)} files")
        if local_mode.is_small_input(bytes_of(files), spark):
            return _read_small(files, system.model, progress)
        from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

        place = scratch / "writes"
        settings = tuple(sorted(system.model.settings.items()))
        per_file(spark, files, reader(files, settings), _SPARK_SCHEMA).write.parquet(
            written_to(place)
        )
        parsed = spark.read.schema(_SPARK_SCHEMA).parquet(read_from(place))
        refuse_errors(
            (row.place, row.error)
            for row in parsed.filter("error is not null")
            .orderBy("file", "record")
            .select("place", "error")
            .collect()
        )
        subject = F.coalesce("ignored", F.concat(F.lit("aspect "), "aspect"))
        meaningless = "ignored is not null or (value = '' and change <> 'delete' and problem = '')"
        ignored = {
            row["what"]: row["count"]
            for row in parsed.filter(meaningless).groupBy(subject.alias("what")).count().collect()
        }
        progress("read", 2, _STEPS, f"{sum(ignored.values())} aspects without meaning here")
        member = F.struct("file", "record", "part", *Write._fields)
        rows = (
            parsed.filter("ignored is null")
            .groupBy("urn")
            .agg(F.sort_array(F.collect_list(member)).alias("writes"))
            .select("writes")
            .mapInArrow(replayer(settings), SPARK_SCHEMA)
        )
        return Reading(rows, ignored=dict(sorted(ignored.items())))


def _read_small(files: Sequence[File], model: Model, progress: Progress) -> Reading:
    """Reads small files in this process."""
    lines = [line for number, file in enumerate(files) for line in _read(number, file, model)]
    refuse_errors((line.place, line.error) for line in lines if line.error is not None)
    ignored = Counter(_ignored_reason(line) for line in lines)
    del ignored[""]
    progress("read", 2, _STEPS, f"{ignored.total()} aspects without meaning here")
    by_urn: dict[str, list[Write]] = {}
    for line in lines:
        if line.write is not None:
            by_urn.setdefault(line.write.urn, []).append(line.write)
    rows: list[Row] = []
    for group in by_urn.values():
        try:
            rows += list(replay.rows(group, model))
        except BadInput as error:
            rows.append(error_row(error.message, error.where))
    return Reading(rows, ignored=dict(sorted(ignored.items())))


def _ignored_reason(line: _Line) -> str:
    """The reason why a line is ignored; empty for one that is read."""
    write = line.write
    if write is None:
        return line.ignored or ""
    is_ignored = not (write.value or write.problem) and write.change is not Change.DELETE
    return f"aspect {write.aspect}" if is_ignored else ""


@lru_cache(maxsize=4)
def _model(settings: tuple[tuple[str, str], ...]) -> Model:
    return load_system("datahub", dict(settings)).model


def reader(
    files: Sequence[File], settings: tuple[tuple[str, str], ...]
) -> Callable[[Batches], Batches]:
    """A function from file numbers to the files' writes; it runs in tasks."""

    def read(numbers: Batches) -> Batches:
        model = _model(settings)
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from _batches(_read(number, files[number], model))

    return read


class _Line(NamedTuple):
    """One row of the DataFrame of writes."""

    file: int
    record: int
    part: int
    write: Write | None = None
    ignored: str | None = None
    place: str = ""
    error: str | None = None


def _read(number: int, file: File, model: Model) -> Iterator[_Line]:
    """The writes of one file, followed by an error if there is one."""
    index = -1
    try:
        for index, record in enumerate(records(file.path, file.name)):
            for part, part_of_record in enumerate(writes(record, file.name, model)):
                if isinstance(part_of_record, str):
                    yield _Line(number, index, part, ignored=part_of_record)
                else:
                    yield _Line(number, index, part, part_of_record)
    except BadInput as error:
        yield _Line(number, index + 1, 0, place=error.where, error=error.message)


def _batches(lines: Iterable[_Line], size: int = 4_096) -> Batches:
    held: list[tuple[object, ...]] = []
    for line in lines:
        held.append(_row_values(line))
        if len(held) == size:
            yield _batch(held)
            held = []
    if held:
        yield _batch(held)


def _row_values(line: _Line) -> tuple[object, ...]:
    write = line.write or Write("", "", "", Change.PUT, "", line.place)
    texts = (*write[:3], write.change.value, *write[4:])
    return (line.file, line.record, line.part, *texts, line.ignored, line.error)


def _batch(rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def replayer(settings: tuple[tuple[str, str], ...]) -> Callable[[Batches], Batches]:
    """A function from lists of writes, one for each URN, to rows; it runs in tasks."""

    def run(groups: Batches) -> Batches:
        model = _model(settings)
        for batch in groups:
            yield from batches(_replay_groups(batch.column(0).to_pylist(), model))

    return run


def _replay_groups(groups: Iterable[Sequence[Mapping[str, Any]]], model: Model) -> Iterator[Row]:
    for group in groups:
        writes_in_order = [
            Write(
                **{name: member[name] for name in Write._fields if name != "change"},
                change=Change(member["change"]),
            )
            for member in group
        ]
        try:
            yield from list(replay.rows(writes_in_order, model))
        except BadInput as error:
            yield error_row(error.message, error.where)


SOURCE: Final = Opener(("datahub",), lambda place, _, __: DatahubFile(location(place)))
