"""The next version of an index from the newest one and a batch of events, stage by stage.

read      the newest version agrees with its manifest; which events it does not have yet
plan      what the events make of it: ids, guests, which blocks they reach
gather    rows of the blocks that change; the files of the others stay
match     the blocks that are reached are judged again, the matches of the others carried over
publish   the version counts
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.errors import Conflict
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.index import guests, index
from lakewarden.pipeline.index.block import ROWS
from lakewarden.pipeline.index.index import Index, open_index
from lakewarden.pipeline.index.matching import MATCHES, matches
from lakewarden.pipeline.index.task_context import blocks_of, each_block
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.ingest.version import read_from
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.parquet_output import union
from lakewarden.pipeline.product import (
    Content,
    Draft,
    Input,
    Manifest,
    Stage,
    draft,
    key_of,
    place,
    thin,
)
from lakewarden.pipeline.stream import reused_matches
from lakewarden.pipeline.stream.events import Line, Stretch, taken
from lakewarden.pipeline.stream.plan import Plan, plan
from lakewarden.pipeline.stream.policy import text_of
from lakewarden.pipeline.stream.row_changes import MOVED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGES: Final = ("read", "plan", "gather", "match", "publish")


class Applied(NamedTuple):
    """What a batch came to: the manifest that counts now, its report, lines that have to wait.

    `report` is None where the index had everything already.
    """

    manifest: Manifest
    report: Mapping[str, Any] | None
    waiting: Sequence[Line]


def apply(
    lines: Iterable[Line],
    out: Path,
    spark: SparkSession,
    *,
    whole: bool = True,
    now: float | None = None,
    keep: int | None = None,
    progress: Progress = silent,
) -> Applied:
    """Makes the next version of the index in the folder `out`, with what the lines tell.

    `whole`: lines that belong together have come together; otherwise some may have to wait.
    Statements are in force as of `now` (default: the clock). The tables of the last `keep`
    versions stay, of all by default. Raises `BadInput` for a damaged
    index, and for events that are malformed, do not follow on it or do not fit it; `Conflict` when
    another process works on `out`. `out` then holds what it held.
    """
    progress("read", 0, 1, "")
    known = open_index(out)
    found = taken(lines, known, whole=whole)
    events = sum(len(one.events) for one in found.stretches)
    progress("read", 1, 1, f"{events:,} events, {len(found.waiting):,} lines wait for others")
    if not found.stretches:
        return Applied(known.manifest, None, found.waiting)
    told = {"events": {"applied": events, "passed": found.passed, "waiting": len(found.waiting)}}
    moment = time.time() if now is None else now
    manifest, report = _version(known, found.stretches, spark, moment, told, keep, progress)
    return Applied(manifest, report, found.waiting)


def _version(
    known: Index,
    stretches: Sequence[Stretch],
    spark: SparkSession,
    now: float,
    told: Mapping[str, Any],
    keep: int | None,
    progress: Progress,
) -> tuple[Manifest, Mapping[str, Any]]:
    inputs = (
        Input(index.KIND, known.manifest.version, _sha256(known.manifest.text())),
        Input("changes", stretches[-1].until, _sha256("".join(one.sha256 for one in stretches))),
    )
    began = time.monotonic()
    progress("plan", 0, 1, "")
    with peak() as planning:
        made = plan(known, stretches, spark, now)
    planned = Stage({}, round(time.monotonic() - began, 3), reused=False)
    progress("plan", 1, 1, f"{len(made.dirty):,} blocks reached")
    key = key_of(inputs, {"from": str(made.facts["from"]), "until": str(made.facts["until"])})
    with draft(known.out, index.KIND, key, progress) as one:
        if one.previous != known.manifest:
            raise Conflict(f"another process made a version of `{known.out}`; run again")
        one.stages["plan"] = planned
        with peak() as making:
            tables = _Batch(spark, one, known, made).run()
        manifest = Manifest(index.KIND, 0, inputs, {}, made.facts, tables)
        memory = {"peak_bytes": max(planning.bytes, making.bytes)}
        found, whole, _ = one.finish(manifest, {**told, **_said(made), **memory})
        if keep is not None:
            thin(known.out, found, keep)
    return found, whole


def _said(made: Plan) -> dict[str, Any]:
    moved = made.rewritten - made.dirty
    return {
        "ids": "shifted" if made.is_shifted else "kept",
        "blocks": {
            "all": made.context.blocks,
            "judged": len(made.dirty),
            "moved": len(moved),
            "kept": made.context.blocks - len(made.dirty | made.rewritten),
        },
        "scopes": {"carried": len(made.carried), "anew": len(made.anew)},
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch: what it starts from, what it makes, and where it writes."""

    spark: SparkSession
    draft: Draft
    known: Index
    plan: Plan

    def run(self) -> dict[str, Content]:
        """The stages; the tables that were written."""
        self.draft.stage("gather", self._gather, "{blocks:,} blocks written, {kept:,} files stay")
        self.draft.stage("match", self._match, "{judged:,} blocks judged")
        return self._publish()

    # gather

    def _gather(self, folder: Path) -> dict[str, Any]:
        made = self.plan
        target = folder / index.BLOCKS
        if made.rewritten:
            ordered = self._rows().repartitionById(made.context.blocks, "block")
            parquet_output.write(ordered.sortWithinPartitions("block", "what", "id"), target)
        target.mkdir(exist_ok=True)
        for file in made.kept:
            _link(file, target)
        return {"blocks": len(made.rewritten), "kept": len(made.kept)}

    def _rows(self) -> DataFrame:
        """The rows of the blocks that are written, as `gathering.rows` has them."""
        made, bits = self.plan, self.plan.context.bits
        blocks, ids = guests.parts(made.pairs)
        pairs = pa.table({"block": pa.array(blocks, pa.int32()), "id": pa.array(ids, pa.int32())})
        known = blocks_of(self.known, self.spark)
        own = known.where(F.shiftright("id", bits) == F.col("block"))
        if not made.is_shifted:
            mine = np.isin(blocks, sorted(made.rewritten))
            pairs, homes = pairs.filter(pa.array(mine)), np.unique(ids[mine] >> bits).tolist()
            own = reused_matches.in_blocks(own, made.rewritten.union(homes))
        translate = made.translation
        rows = own.mapInArrow(translate.moved, MOVED)
        if len(made.new_rows):
            rows = rows.unionByName(self.spark.createDataFrame(made.new_rows))
        found = rows.withColumn("block", F.shiftright("id", bits))
        if not made.is_shifted:
            found = reused_matches.in_blocks(found, made.rewritten)
        hosts = F.broadcast(self.spark.createDataFrame(pairs))
        return found.unionByName(rows.join(hosts, "id")).select("block", *rows.columns)

    def _blocks(self) -> DataFrame:
        place = self.draft.kept("gather") / index.BLOCKS
        return parquet_output.read(self.spark, place, ROWS)

    # match

    def _match(self, folder: Path) -> dict[str, Any]:
        made = self.plan
        target = folder / index.MATCHES
        if self._is_matched_as_before():
            target.mkdir()
            for file in (self.known.folder / index.MATCHES).iterdir():
                _link(file, target)
        else:
            parquet_output.write(union(list(self._matches())), target)
        return {"judged": len(made.dirty)}

    def _is_matched_as_before(self) -> bool:
        made = self.plan
        same = all(before == now for before, now in made.carried.items())
        return same and not (made.dirty or made.anew or made.is_shifted or made.loses)

    def _matches(self) -> Iterable[DataFrame]:
        made = self.plan
        before = parquet_output.read(self.spark, self.known.folder / index.MATCHES, MATCHES)
        if made.is_shifted:
            yield reused_matches.moved(before, made.carried, made.shift, made.clean, made.context)
        else:
            clean = reused_matches.in_blocks(before, made.clean)
            yield reused_matches.renumbered(clean, made.carried)
        if made.dirty:
            blocks = reused_matches.in_blocks(self._blocks(), made.dirty)
            yield each_block(blocks, made.context, matches, MATCHES)
        if made.anew and made.clean:
            blocks = reused_matches.in_blocks(self._blocks(), made.clean)
            context = replace(made.context, statements=made.stated_anew)
            yield each_block(blocks, context, reused_matches.only(made.anew), MATCHES)

    # publish

    def _publish(self) -> dict[str, Content]:
        folder, made = self.draft.folder, self.plan
        (folder / index.STATEMENTS).write_text(text_of(made.policy.stated()), "utf-8")
        place(self.draft.kept("gather") / index.BLOCKS, folder / index.BLOCKS)
        place(self.draft.kept("match") / index.MATCHES, folder / index.MATCHES)
        memberships = made.context.memberships
        everyone = [id in memberships.stored for id in range(len(memberships.principals))]
        people: list[list[Any]] = [
            [p.kind for p in memberships.principals],
            [p.name for p in memberships.principals],
            everyone,
        ]
        followed = {(m, g) for m, groups in memberships.of.items() for g in groups}
        pairs = sorted(followed | memberships.inert)
        edges = [[m for m, _ in pairs], [g for _, g in pairs]]
        _put(folder / index.PRINCIPALS, people, index.PRINCIPAL_COLUMNS)
        _put(folder / index.MEMBERSHIPS, edges, index.MEMBERSHIP_COLUMNS)
        names = (index.BLOCKS, index.MATCHES, index.PRINCIPALS, index.MEMBERSHIPS)
        return {name: self._content(name) for name in names}

    def _content(self, name: str) -> Content:
        """Rows and digest; of a table that was taken over as it is, those of before."""
        files, before = (
            {file.name: file.stat().st_ino for file in folder.iterdir()}
            for folder in (self.draft.folder / name, self.known.folder / name)
        )
        if files == before:
            return self.known.manifest.tables[name]
        frame = self.spark.read.parquet(read_from(self.draft.folder / name))
        return parquet_output.content(frame)


def _link(file: Path, folder: Path) -> None:
    try:
        os.link(file, folder / file.name)
    except OSError:  # a file system that has no links
        shutil.copyfile(file, folder / file.name)


def _put(folder: Path, columns: list[list[Any]], schema: pa.Schema) -> None:
    folder.mkdir()
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    file = folder / "part-00000.parquet"
    pq.write_table(pa.table(arrays, schema=schema), file, compression="zstd")
