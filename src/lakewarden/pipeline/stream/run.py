"""The job that makes an index follow the change feed, with Spark's Structured Streaming.

Each micro-batch makes one version of the index (`lakewarden.pipeline.stream.batch`). Spark's
checkpoint records which files, or offsets, were read. The manifest of the index records which
revisions it has, so repeated events change nothing. Events that wait for others of their stretch
are kept beside the checkpoint.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, WardenError
from lakewarden.pipeline import package
from lakewarden.pipeline.index import index
from lakewarden.pipeline.index.guests import relations_read
from lakewarden.pipeline.index.index import open_index
from lakewarden.pipeline.index.validity import interval_of, outside
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.product import Manifest, read_manifest
from lakewarden.pipeline.session import is_remote
from lakewarden.pipeline.storage.files import remove_tree, write_atomically
from lakewarden.pipeline.storage.location import Location, location, on_this_machine, written_to
from lakewarden.pipeline.stream.batch import apply
from lakewarden.pipeline.stream.events import Line, check_begun
from lakewarden.pipeline.stream.source import Feed, lines
from lakewarden.pipeline.version_folder import REPORT, folder_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CHECKPOINT: Final = ".stream"
"""The default checkpoint folder, inside the folder of the index."""

_SPARKS, _WAITING, _REFUSED = "spark", "waiting.json", "refused.json"
_OTHERS: Final = {error.__name__: error for error in (Conflict, Unavailable)}


def _commit_nothing() -> None:
    """Commits no tables beside the Parquet files."""


def follow(  # noqa: PLR0913 — each is an option of the verb
    feed: Feed,
    out: Location,
    *,
    spark: SparkSession,
    checkpoint: Location | None = None,
    every: float | None = None,
    now: float | None = None,
    keep: int | None = None,
    progress: Progress = silent,
    commit: Callable[[], None] = _commit_nothing,
) -> Result:
    """Makes the index in the folder `out` follow the feed.

    Reads the available events, or with `every` polls after so many seconds until it is interrupted.
    An expired index is renewed, even without events. `checkpoint` is a folder (default: in `out`),
    `now` and `keep` are as in `apply`. `commit` commits the tables of the current version; it is
    called after each version, except of a Connect server, which makes versions by itself. Raises
    `BadInput` for input that cannot be applied, with its place, and for a queue whose events begin
    after the index; `Conflict` if another process works on `out`; `Unavailable` if Spark lacks the
    source. Versions that were already current, or were applied before the error, stay current.
    """
    before = open_index(out)
    if before.manifest.facts.get("relations") != sorted(relations_read(before.system.model)):
        # Its blocks lack the targets of relations that today's statements may read.
        raise BadInput("was made by an earlier release; rebuild the index", where=str(out))
    place = checkpoint or out / CHECKPOINT
    place.mkdir(parents=True, exist_ok=True)
    _retry_rejected(feed, place)
    stream = feed.read(spark)
    step = _Step(out, place, whole=feed.is_whole, now=now, keep=keep)
    # The progress display cannot be sent to a Connect server, which then runs the steps.
    is_far = is_remote(spark)
    handler = step.portable(_shared(place)) if is_far else step.with_progress(progress, commit)
    trigger = {"availableNow": True} if every is None else {"processingTime": f"{every} seconds"}
    writer = stream.writeStream.foreachBatch(handler).trigger(**trigger)
    writer = writer.option("checkpointLocation", written_to(place / _SPARKS))
    with _without_py4j_log(), suppress(KeyboardInterrupt):
        while _is_to_renew(writer.start(), step, every):
            step.renew(spark, progress, commit)
    if every is None and not feed.is_whole:
        check_begun(step.deferred(), open_index(out, check=False))
    manifest = read_manifest(out, index.KIND)
    versions = _reports(out, before.manifest, manifest)
    return Result(manifest, _summed(manifest, versions), bool(versions))


def _is_to_renew(query: StreamingQuery, step: _Step, every: float | None) -> bool:
    """Whether the query ended, or paused, with an expired index.

    With `every`, the query is then stopped between two micro-batches, which only events start.
    """
    try:
        if every is None:
            query.awaitTermination()
            return step.is_over()
        while not query.awaitTermination(max(1, ceil(every))):
            if step.is_over() and not query.status["isTriggerActive"]:
                query.stop()
                return True
    except KeyboardInterrupt:
        query.stop()
        raise
    except Exception:
        _raise_refusal(step.place)
        raise
    return False


def _retry_rejected(feed: Feed, place: Location) -> None:
    """Lets files that a run rejected be read again, with those that were added since.

    Spark would otherwise retry the same files, without those the caller wrote to fill a gap. Events
    that the index already has are skipped. For a queue, the offsets are kept.
    """
    refused = place / _REFUSED
    if feed.is_whole and refused.exists():
        remove_tree(place / _SPARKS, ignore_errors=True)
    refused.unlink(missing_ok=True)


@contextmanager
def _without_py4j_log() -> Iterator[None]:
    """Keeps py4j from printing a step's exception, which the end of the query reports, too."""
    logger = logging.getLogger("py4j.clientserver")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _raise_refusal(place: Location) -> None:
    """Raises the original error of a step, which Spark wraps in a message of its own."""
    try:
        refusal = json.loads((place / _REFUSED).read_text("utf-8"))
    except OSError:
        return
    if refusal["error"] == BadInput.__name__:
        raise BadInput(refusal["message"], where=refusal["where"])
    raise _OTHERS[refusal["error"]](refusal["message"])


def _reports(out: Location, before: Manifest, after: Manifest) -> list[Mapping[str, Any]]:
    """The reports of the versions after one up to another, in order."""
    newest_last: list[Mapping[str, Any]] = []
    number = after.version
    while number > before.version:
        file = folder_of(out, after).with_name(str(number)) / REPORT
        report = json.loads(file.read_text("utf-8"))
        made_of = report["inputs"][0]
        if made_of["name"] != index.KIND:
            break  # the index job made this one meanwhile
        newest_last.insert(0, report)
        number = made_of["version"]
    return newest_last


def _summed(manifest: Manifest, versions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """All versions together: rows and blocks of the last one, sums of events and seconds."""
    seconds: dict[str, float] = {}
    events: dict[str, int] = {}
    for version in versions:
        for name, more in version["seconds"].items():
            seconds[name] = round(seconds.get(name, 0.0) + more, 3)
        for name, count in version["events"].items():
            events[name] = events.get(name, 0) + count
    return {
        "version": manifest.version,
        "revision": manifest.facts["revision"],
        "rows": {name: content.rows for name, content in manifest.tables.items()},
        "versions": len(versions),
        "events": events,
        "blocks": versions[-1].get("blocks", {}) if versions else {},
        "seconds": seconds,
        "reused": [],
        "peak_bytes": max((version["peak_bytes"] for version in versions), default=0),
    }


@dataclass(frozen=True, slots=True)
class _Step:
    """The step for a micro-batch; can be sent to another process."""

    out: Location
    place: Location
    whole: bool
    now: float | None
    keep: int | None

    def with_progress(
        self, progress: Progress, commit: Callable[[], None]
    ) -> Callable[[DataFrame, int], None]:
        """The step, with a progress display and commits of tables."""
        return lambda batch, _: self.apply(batch, progress, commit)

    def portable(self, archive: Path) -> Callable[[DataFrame, int], None]:
        """The step as plain code, for a process that has this package only in the archive.

        A Connect server sends a session's artifacts to the tasks, but not to this process.
        """
        # That process runs in another working folder.
        path, out, place = (str(one.resolve()) for one in (archive, self.out, self.place))
        whole, now, keep = self.whole, self.now, self.keep

        # It is sent as code with these values: it must not refer to any name of this module.
        def apply(batch: DataFrame, _: int) -> None:
            import sys

            if path not in sys.path:
                sys.path.insert(1, path)
            from lakewarden.pipeline.stream.run import apply_remotely

            apply_remotely(batch, out, place, whole=whole, now=now, keep=keep)

        return apply

    def apply(
        self, batch: DataFrame, progress: Progress, commit: Callable[[], None] = _commit_nothing
    ) -> None:
        """Applies the events of a micro-batch, and earlier ones that had to wait."""
        try:
            all_lines = [*self.deferred(), *lines(batch, numbered=self.whole)]
            if all_lines:
                self._apply(all_lines, batch.sparkSession, progress, commit)
        except WardenError as error:
            write_atomically(self.place / _REFUSED, json.dumps(_refusal(error), ensure_ascii=False))
            raise

    def is_over(self) -> bool:
        """Whether the index has expired, because statements started or ended."""
        now = time.time() if self.now is None else self.now
        return bool(outside(interval_of(read_manifest(self.out, index.KIND).facts), now))

    def renew(self, spark: SparkSession, progress: Progress, commit: Callable[[], None]) -> None:
        """Makes a version of the index that is valid now, without new events."""
        self._apply(self.deferred(), spark, progress, commit)

    def _apply(
        self,
        lines: Sequence[Line],
        spark: SparkSession,
        progress: Progress,
        commit: Callable[[], None],
    ) -> None:
        applied = apply(
            lines,
            self.out,
            spark,
            whole=self.whole,
            now=self.now,
            keep=self.keep,
            progress=progress,
        )
        self._defer(applied.waiting)
        if applied.report is not None:
            commit()

    def deferred(self) -> list[Line]:
        """The lines that wait for others."""
        try:
            return [Line(*line) for line in json.loads((self.place / _WAITING).read_text("utf-8"))]
        except OSError:
            return []

    def _defer(self, lines: Sequence[Line]) -> None:
        if lines:
            text = json.dumps([list(line) for line in lines], ensure_ascii=False)
            write_atomically(self.place / _WAITING, text)
        else:
            (self.place / _WAITING).unlink(missing_ok=True)


def apply_remotely(
    batch: DataFrame, out: str, place: str, *, whole: bool, now: float | None, keep: int | None
) -> None:
    """Applies a micro-batch in a process of a Connect server."""
    _Step(location(out), location(place), whole, now, keep).apply(batch, silent)


def _shared(checkpoint: Location) -> Path:
    """An archive of this package beside the checkpoint, where a Connect server can read it."""
    place = on_this_machine(checkpoint)  # Python cannot import from an object store
    with TemporaryDirectory(prefix=".package-", dir=place) as folder:
        archive = package.archived(Path(folder))
        for older in set(place.glob("lakewarden-*.zip")) - {place / archive.name}:
            older.unlink()
        return archive.replace(place / archive.name)


def _refusal(error: WardenError) -> dict[str, str]:
    kind = type(error).__name__
    if isinstance(error, BadInput):
        return {"error": BadInput.__name__, "message": error.message, "where": error.where}
    known = kind if kind in _OTHERS else BadInput.__name__
    return {"error": known, "message": str(error), "where": ""}
