"""Where change events come from: a folder of files, or a queue such as Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.storage.location import Location, read_from
from lakewarden.pipeline.stream.events import Line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES: Final = "files"
KAFKA: Final = "kafka"

_AT_ONCE: Final = 1_000
"""How many files a micro-batch takes at most."""

_AGE: Final = "36500d"
"""By how much a file may be older than the newest one. Spark passes over what is older, by default
than a week, and says nothing: clocks that disagree, or a copied file, would lose events."""

_PACKAGES: Final = {KAFKA: "org.apache.spark:spark-sql-kafka-0-10_2.13"}
_OURS: Final = {KAFKA: {"subscribe", "subscribePattern", "assign"}}


@dataclass(frozen=True, slots=True)
class Feed:
    """What is read: `kind` is `FILES`, in the folder `place`, or `KAFKA`, as its `options` say."""

    kind: str = FILES
    place: Location | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether lines that belong together come together."""
        return self.kind == FILES

    def read(self, spark: SparkSession) -> DataFrame:
        """A stream of `place` and `text`, in bytes: of files a row each, of a queue one per event.

        Raises `BadInput` where an option is missing, `Unavailable` where Spark lacks the source.
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
        # As bytes: what is no UTF-8 is refused with its place.
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
    """Raises `Unavailable` where this Spark has no source of that kind, and says what to add."""
    from pyspark.errors import AnalysisException

    # A stream that names no server is refused by a source that is there, for another reason, and
    # not found where there is none: so nobody has to know what Spark was started with.
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
    """Whether it says that a source was not found."""
    message = str(error).lower()
    return "data source" in message and ("not found" in message or "failed to find" in message)


def lines(batch: DataFrame, *, numbered: bool) -> list[Line]:
    """The lines of a micro-batch with their places, in no order; `numbered`: it is of files.

    Raises `BadInput` for one that is not UTF-8.
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
