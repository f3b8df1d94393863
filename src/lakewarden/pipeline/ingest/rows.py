"""The normalised rows of a run: in Spark, or a small number in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import IMPLIED
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.ingest.report import Note, Share
from lakewarden.pipeline.ingest.row import SPARK_SCHEMA
from lakewarden.pipeline.ingest.version import DirectoryDraft
from lakewarden.pipeline.storage.location import Location, read_from, written_to
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE
from lakewarden.service.source_row import CELLS, DELETED, ERRORS, NOTES, PLACEMENTS, STATEMENTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Outcome(NamedTuple):
    """The number of rows of a table that passed (no reason), or were set aside for a reason."""

    table: str
    reason: str | None
    rows: int


class Rows(Protocol):
    """Normalised rows, see `lakewarden.service.source_row`."""

    def written(self, place: Location) -> Rows:
        """The same rows, written to a folder, to compute them only once."""
        ...

    def counts(self) -> dict[str, int]:
        """The number of rows of each table."""
        ...

    def errors(self) -> list[tuple[str, str]]:
        """Place and message of each error that makes the whole input invalid."""
        ...

    def checked(self, tables: Sequence[str], model: Model) -> Rows:
        """The rows of the tables after the checks, see `lakewarden.pipeline.check`."""
        ...

    def outcomes(self) -> list[Outcome]:
        """The outcomes of the checks."""
        ...

    def write(self, table: str, count: int, directory_draft: DirectoryDraft) -> Content:
        """Writes a table of a version from checked rows; `count` is the expected number of rows."""
        ...

    def statements(self) -> list[tuple[str, str]]:
        """Id and text of the statements that passed, by id."""
        ...

    def notes(self, limit: int) -> list[Note]:
        """The first items without a counterpart."""
        ...

    def deleted(self) -> set[str]:
        """The ids of statements that the source deleted."""
        ...

    def named_only(self) -> dict[str, int]:
        """By type: parents and targets of rows that passed which are not stored."""
        ...

    def owned(self) -> dict[str, Share]:
        """By type: the number of entities without an owner of their own, and of all."""
        ...

    def strangers(self) -> dict[str, int]:
        """By kind: owners, and names in memberships, that are not stored principals."""
        ...


class Distributed:
    """Rows in Spark. `owners` replace those of the rows if there are rules for owners."""

    def __init__(self, frame: DataFrame, owners: DataFrame | None = None) -> None:
        self.frame = frame
        self._owners = owners

    def written(self, place: Location) -> Distributed:
        """See `Rows`."""
        self.frame.write.partitionBy("table").parquet(written_to(place))
        return distributed(self.frame.sparkSession, place)

    def counts(self) -> dict[str, int]:
        """See `Rows`."""
        return {row["table"]: row["count"] for row in self.frame.groupBy("table").count().collect()}

    def errors(self) -> list[tuple[str, str]]:
        """See `Rows`."""
        error_rows = self.frame.filter(self.frame["table"] == ERRORS).select("place", "c0")
        return [(row[0], row[1]) for row in error_rows.collect()]

    def checked(self, tables: Sequence[str], model: Model) -> Distributed:
        """See `Rows`."""
        from lakewarden.pipeline.check import check

        return Distributed(check(self.frame.filter(self.frame["table"].isin(*tables)), model))

    def outcomes(self) -> list[Outcome]:
        """See `Rows`."""
        return [Outcome(*row) for row in self.frame.groupBy("table", "reason").count().collect()]

    def with_owners(self, owners: DataFrame) -> Distributed:
        """The same rows, with these owners."""
        return Distributed(self.frame, owners)

    @property
    def owners(self) -> DataFrame:
        """The owners that passed, or the result of the rules."""
        return self.table("owners") if self._owners is None else self._owners

    def table(self, name: str) -> DataFrame:
        """The rows of one table that passed, with the table's column names."""
        names = ["type", "name"] if name == "entities" else [c.name for c in COLUMNS[name]]
        return self.frame.filter(self._is(name)).select(*CELLS[: len(names)]).toDF(*names)

    def _is(self, name: str) -> Column:
        """Whether a row belongs to the table and passed."""
        return (self.frame["table"] == name) & self.frame["reason"].isNull()

    def write(self, table: str, count: int, directory_draft: DirectoryDraft) -> Content:
        """See `Rows`."""
        frames = {"entities": self._placed, QUARANTINE: self._quarantine}
        frame = self.owners if table == "owners" else frames.get(table, lambda: self.table(table))()
        return directory_draft.write(table, frame, count)

    def _placed(self) -> DataFrame:
        """The entities with their places."""
        places = self.frame.filter(self._is(PLACEMENTS)).select(*CELLS[:4])
        named = places.toDF("type", "name", "parent_type", "parent_name")
        return self.table("entities").join(named, ["type", "name"], "left")

    def _quarantine(self) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812 — the usual alias

        return self.frame.filter("reason is not null").select(
            "table",
            F.to_json(F.array_compact(F.array(*CELLS))).alias("row"),
            "reason",
            F.coalesce("detail", F.lit("")).alias("detail"),
            "place",
        )

    def statements(self) -> list[tuple[str, str]]:
        """See `Rows`."""
        rows = self.frame.filter(self._is(STATEMENTS))
        id_and_text = rows.select("c0", "c1").orderBy("c0").toArrow()
        return list(zip(*(column.to_pylist() for column in id_and_text.columns), strict=True))

    def notes(self, limit: int) -> list[Note]:
        """See `Rows`."""
        notes = self.frame.filter(self.frame["table"] == NOTES).select("c0", "c1")
        return [Note(row[0], row[1]) for row in notes.orderBy("c0", "c1").limit(limit).collect()]

    def deleted(self) -> set[str]:
        """See `Rows`."""
        rows = self.frame.filter(self.frame["table"] == DELETED).select("c0").collect()
        return {row[0] for row in rows}

    def named_only(self) -> dict[str, int]:
        """See `Rows`."""
        from pyspark.sql import functions as F  # noqa: N812 — the usual alias

        sound = self.frame.filter("reason is null")
        parents = sound.filter(F.col("table") == PLACEMENTS).select("c2", "c3")
        targets = sound.filter("table = 'relations'").select("c3", "c4")
        named = parents.union(targets).toDF("type", "name").distinct()
        lost = named.join(self.table("entities"), ["type", "name"], "left_anti")
        counted = lost.groupBy("type").count().orderBy("type")
        return {row["type"]: row["count"] for row in counted.collect()}

    def owned(self) -> dict[str, Share]:
        """See `Rows`."""
        from pyspark.sql import functions as F  # noqa: N812 — the usual alias

        having = self.owners.select("type", "name", F.lit(1).alias("has")).distinct()
        entities = self.table("entities").join(having, ["type", "name"], "left")
        counted = entities.groupBy("type").agg(
            F.count("*").alias("of"), F.count("has").alias("has")
        )
        shares = counted.orderBy("type").collect()
        return {row["type"]: Share(row["of"] - row["has"], row["of"]) for row in shares}

    def strangers(self) -> dict[str, int]:
        """See `Rows`."""
        memberships = self.table("memberships")
        named: DataFrame = (
            self.owners.select("owner_kind", "owner_name")
            .union(memberships.select("member_kind", "member_name"))
            .union(memberships.select("of_kind", "of_name"))
            .toDF("kind", "name")
            .distinct()
        )
        lost = named.filter(named["kind"] != IMPLIED)
        lost = lost.join(self.table("principals"), ["kind", "name"], "left_anti")
        return {row["kind"]: row["count"] for row in lost.groupBy("kind").count().collect()}


def distributed(spark: SparkSession, place: Location) -> Distributed:
    """Rows that Spark has written."""
    schema = spark.createDataFrame([], SPARK_SCHEMA).schema
    read = spark.read.schema(schema).parquet(read_from(place))
    return Distributed(read.select(*schema.names))
