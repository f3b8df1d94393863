"""The job that finds grants without use, stage by stage.

read      the logs in the realm's own terms, line by line
place     assign each access to the block of its entity; set aside unknown ones
judge     find the statements through which each access is allowed
propose   unused and broad statements, and narrower replacements
verify    check that the replacements still allow every access
publish   make the version the current one
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.statement import On, Statement
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline import local_mode, parquet_output
from lakewarden.pipeline.index.index import MATCHES, Index, open_index
from lakewarden.pipeline.index.task_context import TaskContext, blocks_of, prepared, task_context_of
from lakewarden.pipeline.index.validity import currency
from lakewarden.pipeline.ingest.files import MAX_TASKS, File, find, inputs_of
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.product import Input, Manifest, sha256_of
from lakewarden.pipeline.storage.location import Location, read_from
from lakewarden.pipeline.storage.parquet import read_table
from lakewarden.pipeline.unused import policy
from lakewarden.pipeline.unused.access_decisions import decided, lost
from lakewarden.pipeline.unused.block_assignment import ACCESSES, QUARANTINE, own_entities, placed
from lakewarden.pipeline.unused.finding import SCHEMAS, Finder, Findings, sizes_of, together
from lakewarden.pipeline.unused.log_formats import SUFFIXES
from lakewarden.pipeline.unused.mapping import read_mappings
from lakewarden.pipeline.unused.normalized_access import DAMAGED, READ_ROWS, Reader, Unit, units
from lakewarden.pipeline.unused.proposal import Proposer
from lakewarden.pipeline.unused.statement_paths import SAID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND: Final = "unused"
PROPOSAL: Final = "proposal.toml"

_TABLES: Final = ("accesses", "quarantine", *SCHEMAS)
_DAY: Final = "%Y-%m-%d"


class Log(NamedTuple):
    """A log to read: its kind, its file or folder, and its name (default: its path)."""

    kind: str
    path: Location
    name: str = ""


@dataclass(frozen=True, slots=True)
class UnusedCriteria:
    """The criteria: days without use, statements that may replace one, the share that is broad."""

    days: int
    pieces: int = 5
    share: float = 0.1
    now: float | None = None

    def since(self) -> str:
        """The first day that counts. Raises `BadInput` for invalid criteria."""
        if not 0 < self.days <= 36_500:
            raise BadInput("expected 1 to 36,500 days", where="--days")
        if not 0 < self.pieces <= 100:
            raise BadInput("expected 1 to 100 statements", where="--pieces")
        if not 0 <= self.share < 1:
            raise BadInput("expected a share from 0 to below 1", where="--share")
        now = datetime.fromtimestamp(time.time() if self.now is None else self.now, UTC)
        return (now.date() - timedelta(days=self.days)).strftime(_DAY)


def is_anything_unused(manifest: Manifest) -> bool:
    """Whether anything is unused or broad."""
    names = ("unused_statements", "unused_privileges", "over_broad", "unused_memberships")
    return any(manifest.tables[name].rows for name in names)


def find_unused(
    source: Location,
    logs: Sequence[Log],
    out: Location,
    criteria: UnusedCriteria,
    *,
    spark: SparkSession,
    mapping: Location | None = None,
    progress: Progress = silent,
) -> Result:
    """Compares the grants of an index with the accesses in logs.

    Raises `BadInput` for a damaged index or log and for a malformed mapping; `Conflict` if another
    process works on `out`. `out` is then unchanged.
    """
    since = criteria.since()
    index = open_index(source, spark=spark)
    facts = index.manifest.facts
    containers = [str(name) for _, name in facts["members"]]
    kinds = [log.kind for log in logs]
    mappings = read_mappings(mapping, kinds, index.system, containers)
    context = task_context_of(index)
    log_units = list(_units(logs))
    inputs = (index.input, *_log_inputs(log_units))
    options = {
        **{"since": since, "pieces": str(criteria.pieces), "share": str(criteria.share)},
        "mapping": hashlib.sha256(mapping.read_bytes()).hexdigest() if mapping else "",
    }
    job = Job(KIND, out, _TABLES, spark, inputs, options, progress)
    job.reads = (index.version,)
    job.most_rows = local_mode.ROWS
    reader = Reader(tuple(log_units), mappings, index.realm, context)
    comparing = _Comparing(job, index, context, reader, criteria, since)
    return job.run(STAGES, comparing, facts=comparing.facts, report=comparing.report)


def _units(logs: Iterable[Log]) -> Iterator[Unit]:
    for log in logs:
        if log.kind not in SUFFIXES:
            expected = ", ".join(sorted(SUFFIXES))
            raise BadInput(f"unknown kind of log `{log.kind}`; expected one of: {expected}")
        files = find(log.path, SUFFIXES[log.kind])
        if log.name:
            files = [File(file.path, log.name) for file in files]
        yield from units(log.kind, f"{log.kind}:{log.name or log.path.name}", files)


def _log_inputs(log_units: Iterable[Unit]) -> Iterator[Input]:
    for unit in log_units:
        for file_input in inputs_of(unit.files):
            yield Input(f"{unit.kind}:{file_input.name}", 0, file_input.sha256)


@dataclass(frozen=True, slots=True)
class _Comparing:
    """What the stages share: the criteria, the index and the logs."""

    job: Job
    index: Index
    context: TaskContext
    reader: Reader
    criteria: UnusedCriteria
    since: str

    def facts(self) -> dict[str, Any]:
        """Further values that readers need beside the tables."""
        text = (self.job.version_folder / PROPOSAL).read_text("utf-8")
        changes = self.job.counts("propose")["changes"]
        own = {"since": self.since, "changes": changes, "proposal": sha256_of(text)}
        return {**own, "realm": self.index.realm}

    def report(self) -> dict[str, Any]:
        """The numbers of touches that were read, kept and set aside."""
        read, placed = self.job.counts("read"), self.job.counts("place")
        counts = {"in": read["rows"], "out": placed["rows"], "quarantined": placed["quarantined"]}
        return {"touches": counts, **currency(self.index.manifest.facts)}

    def read(self, folder: Location) -> Counts:
        count = len(self.reader.units)
        numbers = self.job.spark.range(0, count, 1, max(1, min(count, MAX_TASKS)))
        parquet_output.write(numbers.mapInArrow(self.reader, READ_ROWS), folder / "rows")
        rows = parquet_output.read(self.job.spark, folder / "rows", READ_ROWS)
        for damaged in rows.where(rows["reason"] == DAMAGED).select("place", "detail").take(1):
            raise BadInput(damaged["detail"], where=damaged["place"])
        return {"rows": rows.count(), "files": sum(len(u.files) for u in self.reader.units)}

    def place(self, folder: Location) -> Counts:
        rows = parquet_output.read(self.job.spark, self.job.folder("read") / "rows", READ_ROWS)
        model, space = self.index.system.model, self.context.space
        assigned = placed(rows, self._blocks, space, model, self.since)
        parquet_output.write(assigned.accesses, folder / "accesses")
        parquet_output.write(assigned.quarantine, folder / "quarantine")
        aside = parquet_output.read(self.job.spark, folder / "quarantine", QUARANTINE).count()
        count = parquet_output.read(self.job.spark, folder / "accesses", ACCESSES).count()
        return {"accesses": count, "quarantined": aside, "rows": rows.count() - aside}

    @property
    def _blocks(self) -> DataFrame:
        return blocks_of(self.index, self.job.spark)

    @property
    def _accesses(self) -> DataFrame:
        """The accesses, including those that the log says were denied."""
        folder = self.job.folder("place") / "accesses"
        return parquet_output.read(self.job.spark, folder, ACCESSES)

    def evaluate_accesses(self, folder: Location) -> Counts:
        done = self._accesses.where("allowed")
        usage = decided(self._blocks, done, self.context, self.criteria.pieces)
        parquet_output.write(usage, folder / "said")
        rows = parquet_output.read(self.job.spark, folder / "said", SAID)
        counts = {row["what"]: row["count"] for row in rows.groupBy("what").count().collect()}
        return {"used": counts.get("used", 0), "denied": counts.get("denied", 0)}

    @property
    def _decisions(self) -> DataFrame:
        return parquet_output.read(self.job.spark, self.job.folder("judge") / "said", SAID)

    def propose(self, folder: Location) -> Counts:
        findings = self._findings()
        for name, rows in findings.tables.items():
            columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMAS[name])
            parquet_output.put_columns(columns, SCHEMAS[name], folder / name)
        text = policy.text(self.index.realm, findings.changes, self.since)
        (folder / PROPOSAL).write_text(text, "utf-8")
        return {
            "unused": len(findings.tables["unused_statements"]),
            "changes": len(findings.changes),
            "statements": policy.tables(findings.changes),
        }

    def _findings(self) -> Findings:
        known = prepared(self.context)
        system = self.index.system
        rows = _rows(self.job.folder("judge") / "said")
        sizes = sizes_of(known.table, self._sizes())
        usage = together(rows, known.table, self.criteria.pieces, sizes)
        anchors = usage.anchors()
        proposer = Proposer(
            model=system.model,
            spelling=system.spelling,
            memberships=self.context.memberships,
            taken_ids=frozenset(known.table.statements),
            stored=frozenset(anchors | self._stored_anchors(known.table.statements.values())),
            pieces=self.criteria.pieces,
        )
        memberships, share = self.context.memberships, self.criteria.share
        return Finder(known.table, memberships, proposer, sizes, share).find(usage)

    def _stored_anchors(self, statements: Iterable[Statement]) -> set[Entity]:
        named = {s.scope.entity for s in statements if isinstance(s.scope, On)}
        if not named:
            return set()
        types, names = zip(*sorted(named), strict=True)
        anchors = self.job.spark.createDataFrame(
            pa.table({"type": list(types), "name": list(names)})
        )
        entities = own_entities(self._blocks, self.context.bits).where("stored")
        stored = entities.join(anchors, ["type", "name"], "left_semi").select("type", "name")
        columns = (column.to_pylist() for column in stored.toArrow().columns)
        return {Entity(*cells) for cells in zip(*columns, strict=True)}

    def _sizes(self) -> dict[int, int]:
        """The number of entities in each scope."""
        folder = read_from(self.index.folder / MATCHES)
        sums = self.job.spark.read.parquet(folder).groupBy("scope").sum("n").toArrow()
        scopes, sizes = (column.to_pylist() for column in sums.columns)
        return dict(zip(scopes, sizes, strict=True))

    def verify(self, folder: Location) -> Counts:
        """Raises if the proposal would remove access that was used."""
        from pyspark.sql import functions as F  # noqa: N812 — the usual alias

        denied = self._decisions.where("what = 'denied'").select(F.col("access").alias("number"))
        allowed = self._accesses.where("allowed").join(denied, "number", "left_anti")
        recent = allowed.where("recent > 0")
        changed = policy.read(self.job.counts("propose")["statements"], self.index.system, PROPOSAL)
        after = task_context_of(self.index, policy.applied(self.index.statements(), changed))
        lost_count = lost(self._blocks, recent, after).count() if changed else 0
        if lost_count:
            raise WardenError(
                f"the proposal would take away {lost_count:,} accesses; nothing was made"
            )
        joined = self._accesses.join(denied.withColumn("gone", F.lit(True)), "number", "left")
        parquet_output.write(self._shown(joined), folder / "accesses")
        return {"accesses": recent.count()}

    def _shown(self, accesses: DataFrame) -> DataFrame:
        """The accesses for people: by name, and whether each is allowed now."""
        from pyspark.sql import functions as F  # noqa: N812 — the usual alias

        people = self.context.memberships.principals
        table = pa.table(
            {
                "principal": pa.array(range(len(people)), pa.int32()),
                "who": [principal_text(principal) for principal in people],
            }
        )
        names = F.broadcast(self.job.spark.createDataFrame(table))
        now = F.when(F.col("allowed"), F.coalesce(~F.col("gone"), F.lit(True)))
        return accesses.join(names, "principal").select(
            *(F.col("who").alias("principal"), "operation", "type", "name", "allowed"),
            *(now.alias("allowed_now"), "first", "last", "n", "recent", "logs"),
        )


STAGES: Final = (
    Stage("read", (), _Comparing.read, (), "{rows:,} touches in {files:,} files"),
    Stage(
        "place",
        ("read",),
        _Comparing.place,
        ("quarantine",),
        "{accesses:,} accesses, {quarantined:,} set aside",
    ),
    Stage(
        "judge",
        ("place",),
        _Comparing.evaluate_accesses,
        (),
        "{used:,} uses, {denied:,} not allowed any more",
    ),
    Stage(
        "propose",
        ("judge",),
        _Comparing.propose,
        (*SCHEMAS, PROPOSAL),
        "{unused:,} unused statements, {changes:,} changes",
    ),
    Stage(
        "verify",
        ("place", "judge"),
        _Comparing.verify,
        ("accesses",),
        "{accesses:,} accesses are allowed still",
    ),
)


def _rows(folder: Location) -> list[dict[str, Any]]:
    """The rows for allowed accesses; the texts of ways, which are long, are loaded once each."""
    is_allowed = pc.field("what") != "denied"
    allowed = read_table(folder, read_dictionary=["way"], filters=is_allowed).unify_dictionaries()
    ways = pc.cast(allowed.column("way"), pa.dictionary(pa.int32(), pa.string())).combine_chunks()
    texts, codes = ways.dictionary.to_pylist(), ways.indices.to_pylist()
    rows: list[dict[str, Any]] = allowed.drop_columns(["way"]).to_pylist()
    for row, code in zip(rows, codes, strict=True):
        row["way"] = None if code is None else texts[code]
    return rows
