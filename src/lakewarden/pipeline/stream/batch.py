"""The next version of an index from the current one and a batch of events, stage by stage.

read      check the current version against its manifest; find the events that it lacks
plan      compute the effect of the events: ids, guests, affected blocks
gather    write the rows of changed blocks; the files of the others stay
match     judge affected blocks again; reuse the matches of the others
publish   make the version the current one
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from pyspark.sql import functions as F  # noqa: N812 — the usual alias

from lakewarden.kernel.errors import Conflict
from lakewarden.pipeline import local_mode, parquet_output
from lakewarden.pipeline.index import index
from lakewarden.pipeline.index.block import ROWS
from lakewarden.pipeline.index.hosts import pair_frame
from lakewarden.pipeline.index.id_space import block_number
from lakewarden.pipeline.index.index import Index, open_index
from lakewarden.pipeline.index.matching import MATCHES, matches
from lakewarden.pipeline.index.task_context import blocks_of, each_block
from lakewarden.pipeline.index.validity import outside
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Stage
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.parquet_output import union
from lakewarden.pipeline.product import Input, Manifest, key_of, place, sha256_of
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.stream import reused_matches
from lakewarden.pipeline.stream.events import EventRange, Line, empty_range_after, events_after
from lakewarden.pipeline.stream.plan import Plan, plan
from lakewarden.pipeline.stream.policy import text_of
from lakewarden.pipeline.stream.row_changes import MOVED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Applied(NamedTuple):
    """The result of a batch: the current manifest, the report, and the lines that must wait.

    `report` is None if the index already had all events.
    """

    manifest: Manifest
    report: Mapping[str, Any] | None
    waiting: Sequence[Line]


def apply(
    lines: Iterable[Line],
    out: Location,
    spark: SparkSession,
    *,
    whole: bool = True,
    now: float | None = None,
    keep: int | None = None,
    progress: Progress = silent,
) -> Applied:
    """Makes the next version of the index in the folder `out`, from the events in the lines.

    An expired index gets a next version even without new events, because other statements are in
    force. `whole`: all lines of a stretch arrive together; otherwise some may have to wait.
    Statements are in force as of `now` (default: the clock). The tables of the last `keep` versions
    are kept, by default all. Raises `BadInput` for a damaged index, and for events that are
    malformed, do not follow the index or do not fit it; `LimitExceeded` for more entities than
    there are ids; `Conflict` if another process works on `out`. `out` is then unchanged.
    """
    progress("read", 0, 1, "")
    known = open_index(out, spark=spark)
    batch = events_after(lines, known, whole=whole)
    events = sum(len(event_range.events) for event_range in batch.stretches)
    progress("read", 1, 1, f"{events:,} events, {len(batch.waiting):,} lines wait for others")
    moment = time.time() if now is None else now
    stretches = batch.stretches
    if not stretches:
        if not outside(known.interval, moment):
            return Applied(known.manifest, None, batch.waiting)
        stretches = [empty_range_after(known)]
    read_counts = {
        "events": {"applied": events, "passed": batch.passed, "waiting": len(batch.waiting)}
    }
    manifest, report = _version(known, stretches, spark, moment, read_counts, keep, progress)
    return Applied(manifest, report, batch.waiting)


def _version(
    known: Index,
    stretches: Sequence[EventRange],
    spark: SparkSession,
    now: float,
    read_counts: Mapping[str, Any],
    keep: int | None,
    progress: Progress,
) -> tuple[Manifest, Mapping[str, Any]]:
    changes = sha256_of("".join(event_range.sha256 for event_range in stretches))
    inputs = (
        known.input._replace(name=index.KIND),
        Input("changes", stretches[-1].until, changes),
    )
    began = time.monotonic()
    progress("plan", 0, 1, "")
    with peak() as planning:
        new_plan = plan(known, stretches, spark, now)
    key = key_of(
        inputs, {"from": str(new_plan.facts["from"]), "until": str(new_plan.facts["until"])}
    )
    job = Job(
        index.KIND,
        known.out,
        index.TABLES,
        spark,
        inputs,
        progress=progress,
        key=key,
        memory_bytes=planning.bytes,
        most_rows=local_mode.ROWS,
    )
    job.keep_in_memory("plan", began, f"{len(new_plan.dirty):,} blocks reached")
    batch = _Batch(job, known, new_plan)
    manifest, report, _ = job.run(
        batch.stages(),
        batch,
        facts=lambda: new_plan.facts,
        report=lambda: {**read_counts, **_reuse_report(new_plan)},
        publish_more=batch.publish,
        keep=keep,
    )
    return manifest, report


def _reuse_report(executed: Plan) -> dict[str, Any]:
    moved = executed.rewritten - executed.dirty
    return {
        "ids": "shifted" if executed.is_shifted else "kept",
        "blocks": {
            "all": executed.context.blocks,
            "judged": len(executed.dirty),
            "moved": len(moved),
            "kept": executed.context.blocks - len(executed.dirty | executed.rewritten),
        },
        "scopes": {"carried": len(executed.reused_scopes), "anew": len(executed.anew)},
    }


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the stages share: the index that they start from, and the plan."""

    job: Job
    known: Index
    plan: Plan

    def stages(self) -> Iterator[Stage[_Batch]]:
        """The stages, if the plan was made for the index that is still current."""
        if self.job.draft.previous != self.known.manifest:
            raise Conflict(f"another process made a version of `{self.known.out}`; run again")
        yield from STAGES

    def gather(self, folder: Location) -> Counts:
        executed = self.plan
        target = folder / index.BLOCKS
        if executed.rewritten:
            ordered = self._rows().repartitionById(executed.context.blocks, "block")
            parquet_output.write(ordered.sortWithinPartitions("block", "what", "id"), target)
        target.mkdir(exist_ok=True)
        for file in executed.untouched:
            place(file, target / file.name)
        return {"blocks": len(executed.rewritten), "kept": len(executed.untouched)}

    def _rows(self) -> DataFrame:
        """The rows of the blocks to write, as in `block_rows.rows`."""
        executed, space = self.plan, self.plan.context.space
        pairs, home = executed.pairs, block_number("id", space.bits)
        known = blocks_of(self.known, self.job.spark)
        own = known.where(home == F.col("block"))
        if not executed.is_shifted:
            pairs = pairs[np.isin(pairs.blocks, sorted(executed.rewritten))]
            homes = np.unique(pairs.ids >> space.bits).tolist()
            own = reused_matches.in_blocks(own, executed.rewritten.union(homes))
        translate = executed.translation
        rows = own.mapInArrow(translate.moved, space.width.columns(MOVED))
        if len(executed.new_rows):
            rows = rows.unionByName(self.job.spark.createDataFrame(executed.new_rows))
        numbered = rows.withColumn("block", home)
        if not executed.is_shifted:
            numbered = reused_matches.in_blocks(numbered, executed.rewritten)
        hosts = F.broadcast(pair_frame(self.job.spark, pairs, space.width))
        return numbered.unionByName(rows.join(hosts, "id")).select("block", *rows.columns)

    def _blocks(self) -> DataFrame:
        blocks = self.job.folder("gather") / index.BLOCKS
        columns = self.plan.context.space.width.columns(ROWS)
        return parquet_output.read(self.job.spark, blocks, columns)

    def match(self, folder: Location) -> Counts:
        executed = self.plan
        target = folder / index.MATCHES
        if self._is_matched_as_before():
            place(self.known.folder / index.MATCHES, target)
        else:
            parquet_output.write(union(list(self._matches())), target)
        return {"judged": len(executed.dirty)}

    def _is_matched_as_before(self) -> bool:
        executed = self.plan
        same = all(before == now for before, now in executed.reused_scopes.items())
        return same and not (
            executed.dirty or executed.anew or executed.is_shifted or executed.loses
        )

    def _matches(self) -> Iterable[DataFrame]:
        executed = self.plan
        before = parquet_output.read(self.job.spark, self.known.folder / index.MATCHES, MATCHES)
        if executed.is_shifted:
            yield reused_matches.moved(
                before, executed.reused_scopes, executed.shift, executed.clean, executed.context
            )
        else:
            clean = reused_matches.in_blocks(before, executed.clean)
            yield reused_matches.renumbered(clean, executed.reused_scopes)
        if executed.dirty:
            blocks = reused_matches.in_blocks(self._blocks(), executed.dirty)
            yield each_block(blocks, executed.context, matches, MATCHES)
        if executed.anew and executed.clean:
            blocks = reused_matches.in_blocks(self._blocks(), executed.clean)
            context = replace(executed.context, statements=executed.stated_anew)
            yield each_block(blocks, context, reused_matches.only(executed.anew), MATCHES)

    def publish(self, folder: Location) -> None:
        """Writes the files that no stage writes."""
        (folder / index.STATEMENTS).write_text(text_of(self.plan.policy.stated()), "utf-8")
        index.write_people(self.plan.context.memberships, folder)


STAGES: Final = (
    Stage(
        "gather",
        (),
        _Batch.gather,
        (index.BLOCKS,),
        "{blocks:,} blocks written, {kept:,} files stay",
    ),
    Stage("match", ("gather",), _Batch.match, (index.MATCHES,), "{judged:,} blocks judged"),
)
"""The stages after reading and planning, which determine whether there is anything to do."""
