"""Replies of a REST API stored in files, each beside the path of its request.

    [{"path": "/api/metalakes/lake/owners/table/a.b.c", "reply": {"code": 0, "owner": {…}}}, …]

The reply is the server's own JSON, unmodified. The path is needed because many replies do not say
what they are about; a query after the path is ignored. A fact that two replies state (a list and
its member) counts once. A path that no source knows makes the file invalid, because a misspelt path
must not be skipped silently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted, split_path
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest import identity
from lakewarden.pipeline.ingest.files import Batches, File, bytes_of, find, inputs_of, per_file
from lakewarden.pipeline.ingest.json_file import records
from lakewarden.pipeline.ingest.row import SCHEMA, SPARK_SCHEMA, batches
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, read_from, written_to
from lakewarden.service.source_row import CELLS, Row, error_row
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUFFIXES: Final = (".json", ".jsonl", ".ndjson")

_STEPS = 3

IGNORED: Final = "ignored"
"""The table of items that were read and have no effect here: its cell names the item."""


class Exchange(NamedTuple):
    """One reply: the decoded segments of its path, and the JSON path of the reply."""

    segments: tuple[str, ...]
    reply: object
    where: str

    def section(self) -> Section:
        """The reply, which must be an object."""
        if not isinstance(self.reply, Mapping):
            raise BadInput("expected an object", where=self.where)
        return Section(self.reply, self.where)

    def objects(self) -> list[Section]:
        """The reply, which must be a list of objects."""
        if not isinstance(self.reply, list):
            raise BadInput("expected a list of objects", where=self.where)
        return [Section(item, f"{self.where}[{i}]") for i, item in enumerate(self.reply)]


Reader = Callable[[Exchange, System], Iterator[Row]]
"""Translates the replies of one system to rows; raises `BadInput` for a malformed one."""


class Few(NamedTuple):
    """The content of small files, in this process: the rows, and the rest of the reading."""

    rows: list[Row]
    reading: Reading


class Read(NamedTuple):
    """The content of files, stored: the frame of rows, and the rest of the reading."""

    rows: DataFrame
    reading: Reading


def exchanges(file: Location, name: str) -> Iterator[Exchange]:
    """The exchanges of a file, called `name` in messages. Raises `BadInput`."""
    for record in records(file, name):
        index = f": {record.path}" if record.path else ""
        where = f"{name}: line {record.line}{index}"
        section = Section(record.value, where)
        path = section.text("path")
        if "reply" not in record.value:
            raise BadInput("expected the reply", where=section.at("reply"))
        reply = section.take("reply")
        section.close()
        try:
            segments = split_path(path.partition("?")[0], encoded_slash=True)
        except BadInput as error:
            raise BadInput(error.message, where=section.at("path")) from None
        yield Exchange(segments, reply, section.at("reply"))


def unknown(exchange: Exchange) -> BadInput:
    """The error for a path that the source does not know."""
    path = "/" + "/".join(exchange.segments)
    where = exchange.where.removesuffix("reply") + "path"
    return BadInput(f"no path whose reply is read: {quoted(path)}", where=where)


def inputs(path: Location) -> Sequence[Input]:
    """The files at `path`, as inputs of a manifest. Raises `BadInput`."""
    return inputs_of(find(path, SUFFIXES))


def read(
    path: Location,
    reader: Reader,
    spark: SparkSession,
    system: System,
    scratch: Location,
    progress: Progress,
) -> Read | Few:
    """Reads the files at `path`, one Spark task for each; small ones here. Raises `BadInput`."""
    files = find(path, SUFFIXES)
    progress("read", 1, _STEPS, f"{len(files)} files")
    if local_mode.is_small_input(bytes_of(files), spark):
        return _few(files, reader, system, progress)
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    place = scratch / "replies"
    key = (system.model.name, tuple(sorted(system.model.settings.items())))
    parsed = per_file(spark, files, _reading(files, reader, key), SPARK_SCHEMA)
    parsed.write.parquet(written_to(place))
    stored = spark.read.schema(SPARK_SCHEMA).parquet(read_from(place))
    others = [name for name in SCHEMA.names if name != "place"]
    distinct = stored.groupBy(*others).agg(F.min("place").alias("place")).select(*SCHEMA.names)
    meaningless = stored.filter(F.col("table") == IGNORED).groupBy("c0").count().collect()
    ignored = {row["c0"]: row["count"] for row in meaningless}
    progress("read", 2, _STEPS, f"{sum(ignored.values())} replies without meaning here")
    rows = distinct.filter(F.col("table") != IGNORED)
    return Read(rows, Reading(rows, ignored=dict(sorted(ignored.items()))))


def _few(files: list[File], reader: Reader, system: System, progress: Progress) -> Few:
    row_by_key: dict[tuple[object, ...], Row] = {}
    ignored = Counter[str]()
    for file in files:
        for row in rows(file.path, file.name, reader, system):
            if row.table == IGNORED:
                ignored[row.cells[0]] += 1
                continue
            key = (row.table, tuple(row.cells), row.reason, row.detail)
            known = row_by_key.get(key)
            if known is None or row.place < known.place:
                row_by_key[key] = row
    progress("read", 2, _STEPS, f"{ignored.total()} replies without meaning here")
    distinct_rows = list(row_by_key.values())
    return Few(distinct_rows, Reading(distinct_rows, ignored=dict(sorted(ignored.items()))))


Key = tuple[str, tuple[tuple[str, str], ...]]
"""A model's name and settings."""


@lru_cache(maxsize=4)
def _system(key: Key) -> System:
    name, settings = key
    return load_system(name, dict(settings))


def _reading(files: list[File], reader: Reader, key: Key) -> Callable[[Batches], Batches]:
    """A function from file numbers to the files' rows; runs in the tasks."""

    def run(numbers: Batches) -> Batches:
        system = _system(key)
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                file = files[number]
                yield from batches(rows(file.path, file.name, reader, system))

    return run


def rows(file: Location, name: str, reader: Reader, system: System) -> Iterator[Row]:
    """The rows of one file; an error ends them."""
    people = identity.People()
    try:
        for exchange in exchanges(file, name):
            if exchange.segments[:2] == ("scim", "v2"):
                people.add_reply(exchange.segments[2:], exchange.section())
            else:
                yield from _placed(reader(exchange, system), exchange)
        yield from people.rows(system)
    except BadInput as error:
        yield error_row(error.message, error.where)


def _placed(rows: Iterable[Row], exchange: Exchange) -> Iterator[Row]:
    for row in rows:
        yield row if row.place else row._replace(place=exchange.where)


def union(left: DataFrame, right: DataFrame) -> DataFrame:
    """Both frames of rows."""
    return left.select("table", *CELLS, "place", "reason", "detail").union(
        right.select("table", *CELLS, "place", "reason", "detail")
    )
