"""The source of change events: a folder of files, or a queue such as Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.storage.location import Location, read_from
from lakewarden.pipeline.stream.events import Line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES: Final = "files"
KAFKA: Final = "kafka"

_AT_ONCE: Final = 1_000
"""How many files a micro-batch reads at most."""

_AGE: Final = "36500d"
"""How much older than the newest file a file may be. By default, Spark silently ignores files that
are more than a week older: wrong clocks, or a copied file, would lose events."""

_PACKAGES: Final = {KAFKA: "org.apache.spark:spark-sql-kafka-0-10_2.13"}
_OURS: Final = {KAFKA: {"subscribe", "subscribePattern", "assign"}}


@dataclass(frozen=True, slots=True)
class Feed:
    """The source to read: `kind` is `FILES`, in the folder `place`, or `KAFKA`, with `options`."""

    kind: str = FILES
    place: Location | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all lines of a stretch arrive together."""
        return self.kind == FILES

    def read(self, spark: SparkSession) -> DataFrame:
        """A stream of `place` and `text`, in bytes: one row per file, or per event of a queue.

        Raises `BadInput` if an option is missing, `Unavailable` if Spark lacks the source.
        """
        return self._files(spark) if self.kind == FILES else self._kafka(spark)

    def _files(self, spark: SparkSession) -> DataFrame:
        if self.place is None or not self.place.is_dir():
            raise BadInput("expected a folder of change events", where=str(self.place or "EVENTS"))
        if self.options:
            raise BadInput("options are for a queue: --source kafka", where="--option")
        options = {"maxFilesPerTrigger": str(_AT_ONCE), "maxFileAge": _AGE, "wholetext": "true"}
        stream = spark.readStream.options(**options)
        files = stream.option("pathGlobFilter", "*.jsonl").text(read_from(self.place))
        # As bytes: text that is not UTF-8 is rejected with its place.
        text = F.col("value").cast("binary").alias("text")
        return files.select(F.col("_metadata.file_name").alias("place"), text)

    def _kafka(self, spark: SparkSession) -> DataFrame:
        if self.place is not None:
            raise BadInput("a queue is named by --option, not by a folder", where=str(self.place))
        if "kafka.bootstrap.servers" not in self.options:
            expected = "--option kafka.bootstrap.servers=HOST:PORT"
            raise BadInput(f"expected {expected}", where="--option")
        if not _OURS[KAFKA] & self.options.keys():
            raise BadInput("expected --option subscribe=TOPIC", where="--option")
        check_source(spark, KAFKA)
        stream = spark.readStream.format(KAFKA).option("startingOffsets", "earliest")
        rows = stream.options(**self.options).load()
        place = F.concat_ws(":", "topic", "partition", "offset")
        return rows.select(place.alias("place"), F.col("value").cast("binary").alias("text"))


def check_source(spark: SparkSession, kind: str) -> None:
    """Raises `Unavailable`, with the missing package, if this Spark lacks a source of that kind."""
    from pyspark.errors import AnalysisException

    # A stream without a server address fails either way: an existing source rejects its options, a
    # missing one is not found. So there is no need to know how Spark was started.
    try:
        _ = spark.readStream.format(kind).load().schema
    except AnalysisException as error:
        if not is_missing(error):
            return
        package = f"{_PACKAGES[kind]}:{spark.version}"
        message = f"this Spark has no source `{kind}`; start it with spark-submit --packages"
        raise Unavailable(f"{message} {package}") from None
    except Exception:  # noqa: BLE001 — a source that complains about its options is there
        return


def is_missing(error: BaseException) -> bool:
    """Whether the error says that a source was not found."""
    message = str(error).lower()
    return "data source" in message and ("not found" in message or "failed to find" in message)


def lines(batch: DataFrame, *, numbered: bool) -> list[Line]:
    """The lines of a micro-batch with their places, in any order; `numbered`: it is from files.

    Raises `BadInput` for a line that is not UTF-8.
    """
    numbered_lines = []
    table = batch.select("place", "text").toArrow()
    for place, content in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if content is None:
            continue
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(f"not UTF-8 at byte {error.start}", where=place) from None
        lines_of_file = enumerate(text.split("\n"), 1)
        if numbered:
            numbered_lines += [
                Line(f"{place}: line {n}", line) for n, line in lines_of_file if line.strip()
            ]
        else:
            numbered_lines.append(Line(place, text))
    return numbered_lines
