"""An ingestion run: read, check, own, write; all or nothing.

A run that fails leaves the previous version in place, and equal input makes no new one. Rows are
counted when they are read, checked and written, and the counts are compared: every row that was
read is in the version or in its quarantine. An interrupted run leaves its finished stages behind,
and the next one on the same input reuses them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.directory_manifest import Content, Input, Manifest
from lakewarden.pipeline.ingest.expectations import Expectations, check, read_expectations
from lakewarden.pipeline.ingest.files import refuse_errors
from lakewarden.pipeline.ingest.local import Local, local
from lakewarden.pipeline.ingest.owner_rules import OwnerRules, read_owner_rules
from lakewarden.pipeline.ingest.report import MAX_NOTES, Report
from lakewarden.pipeline.ingest.report import Rows as Counted
from lakewarden.pipeline.ingest.rows import Distributed, Rows, distributed
from lakewarden.pipeline.ingest.source import Distant, Progress, Source, silent, system_of
from lakewarden.pipeline.ingest.stages import FETCHED, Counts, Stages, digest
from lakewarden.pipeline.ingest.tabular import frame_of
from lakewarden.pipeline.ingest.version import DirectoryDraft, draft
from lakewarden.pipeline.ingest.writing import Checked, Owned, expect, named_only, quality, write
from lakewarden.pipeline.job import RunResult
from lakewarden.pipeline.storage.files import remove_tree
from lakewarden.pipeline.storage.location import Location, read_from, written_to
from lakewarden.pipeline.tables import COLUMNS, spark_schema
from lakewarden.service.source_row import COUNTED, DELETED, ERRORS, NOTES, Row
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Result = RunResult[Manifest, Report]


class _Read(NamedTuple):
    """Normalised rows, stored; the number of rows of each table; and what came with them.

    `key` is the digest of everything that the rows depend on.
    """

    rows: Rows
    counts: Mapping[str, int]
    inputs: tuple[Input, ...]
    ignored: Mapping[str, int]
    not_read: tuple[str, ...]
    described: Mapping[str, tuple[int, int]]
    key: str


@dataclass(frozen=True, slots=True)
class _Run:
    """The data that every stage of one run needs."""

    spark: SparkSession
    system: System
    draft: DirectoryDraft
    stages: Stages
    progress: Progress


def ingest(  # noqa: PLR0913 — each is an option of the verb
    source: Source | Distant,
    out: Location,
    *,
    spark: SparkSession,
    realm: str = "",
    settings: Mapping[str, str] | None = None,
    ownership: Location | None = None,
    expectations: Location | None = None,
    accept: bool = False,
    fresh: bool = False,
    progress: Progress = silent,
) -> Result:
    """Reads a source into the directory `out`, as its next version.

    `realm` is the realm's name (default: the model's), `settings` those of the model, `ownership` a
    file of rules (`owner_rules`). `expectations` is a file of bounds on the figures of the report
    (`expectations`); with `accept`, broken ones are reported and the version still becomes current.
    `fresh`: nothing is reused from an interrupted run. Spark must reach the files and `out` under
    the same paths as this process.

    Raises `BadInput` for any error in the input or the configuration, with its place; `Conflict` if
    another process works on `out` or the source changes while it is read; `NotAccepted` if an
    expectation is broken; `Unavailable` if the source cannot be reached. `out` is then unchanged.
    """
    system = system_of(source, settings)
    expected = read_expectations(expectations, system.model) if expectations is not None else ()
    rules, ruled = None, {}
    if ownership is not None:
        rules = read_owner_rules(system, ownership, spark)
        ruled = {"ownership": hashlib.sha256(ownership.read_bytes()).hexdigest()}
    with draft(out, fresh=fresh) as directory_draft:
        directory_draft.check_model(system.model.name)
        run = _Run(spark, system, directory_draft, Stages(directory_draft.scratch, spark), progress)
        local = _fetched(source, run)
        read = _read(local, run, for_spark=rules is not None)
        checked = _check(read, run)
        ruled_key = digest(read.key, ruled)
        owned = _own(checked, rules, ruled_key, run)
        tables, statements = _written(checked, owned, ruled_key, run)
        report = _report(read, checked, owned, run)
        manifest = Manifest(
            model=system.model.name,
            settings=system.model.settings,
            realm=realm or system.model.name,
            source=local.kind,
            version=0,
            inputs=read.inputs,
            tables=tables,
            statements=statements,
            options={**local.options, **ruled},
            deleted=_deleted(read, system),
            model_text=system.text,
        )
        report = replace(report, broken=_broken(expected, report, manifest, run, accept=accept))
        manifest, is_new = directory_draft.finish(manifest, report.table)
    steps = len(COLUMNS) + 1
    progress("write", steps, steps, f"version {manifest.version}{'' if is_new else ', as before'}")
    return Result(manifest, report, is_new)


def _fetched(source: Source | Distant, run: _Run) -> Source:
    """The source; a running system is first copied to files."""
    if not isinstance(source, Distant):
        return source

    def fetch(folder: Location) -> Counts:
        return {"missing": list(source.fetch(folder, run.progress))}

    key = digest(source.kind, source.model, source.place)
    counts = run.stages.run("fetch", key, fetch, lasts=FETCHED)
    return source.copied(run.draft.scratch / "fetch", counts["missing"])


def _read(source: Source, run: _Run, *, for_spark: bool) -> _Read:
    """The source's rows, computed once and stored; raises `BadInput` if any is an error.

    `for_spark`: later stages need the rows in Spark, even if they are few.
    """
    known = source.inputs()

    def read(folder: Location) -> Counts:
        below = folder / "source"
        below.mkdir()
        reading = source.read(run.spark, run.system, below, run.progress)
        inputs = reading.inputs if known is None else known
        collected = _rows(reading.rows, run.spark, for_spark=for_spark)
        rows = collected.written(folder / "rows")
        counts = rows.counts()
        _refuse_changed(known, source)
        if counts.get(ERRORS):
            refuse_errors(sorted(rows.errors(), key=natural))
        remove_tree(below)
        return {
            "here": isinstance(rows, Local),
            "counts": counts,
            "inputs": [asdict(input) for input in inputs],
            "ignored": dict(reading.ignored),
            "not_read": list(reading.not_read),
            "described": {type: list(pair) for type, pair in reading.described.items()},
        }

    key = None if known is None else _key(source, known, run.system)
    result = run.stages.run("read", key and digest(key, for_spark), read)
    inputs = tuple(Input(**input) for input in result["inputs"])
    total = sum(result["counts"].get(name, 0) for name in COUNTED)
    run.progress("read", 1, 1, f"{total} rows{_again('read', run)}")
    return _Read(
        rows=_reopened(run, "read", is_local=result["here"]),
        counts=result["counts"],
        inputs=inputs,
        ignored=result["ignored"],
        not_read=tuple(result["not_read"]),
        described={type: (pair[0], pair[1]) for type, pair in result["described"].items()},
        key=key or _key(source, inputs, run.system),
    )


def _refuse_changed(known: Sequence[Input] | None, source: Source) -> None:
    """Raises `Conflict` for an input that was written between its digest and the end of reading."""
    now = known if known is None else source.inputs()
    if now != known:
        changed = sorted({input.name for input in {*(known or ())} ^ {*(now or ())}})
        names = ", ".join(f"`{name}`" for name in changed)
        raise Conflict(f"{names} changed while the source was read; run again when it is at rest")


def _key(source: Source, inputs: Sequence[Input], system: System) -> str:
    named = [(input.name, input.sha256) for input in inputs]
    return digest(source.kind, dict(source.options), named, system.model.digest)


def _again(stage: str, run: _Run) -> str:
    """A remark that an earlier run had finished the stage."""
    return ", from the run before" if stage in run.stages.reused else ""


def natural(error: tuple[str, str]) -> list[tuple[int, str]]:
    """A key that sorts `line 9` before `line 10`."""
    parts = re.split(r"(\d+)", error[0])
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def _rows(rows: DataFrame | Sequence[Row], spark: SparkSession, *, for_spark: bool) -> Rows:
    """The rows of a source, in Spark or in this process."""
    if not isinstance(rows, Sequence):
        return Distributed(rows)
    if local_mode.is_small(len(rows), spark) and not for_spark:
        return Local(rows)
    return Distributed(frame_of(spark, rows))


def _reopened(run: _Run, stage: str, *, is_local: bool) -> Rows:
    """The rows that a stage stored."""
    place = run.draft.scratch / stage / "rows"
    return local(place) if is_local else distributed(run.spark, place)


def _check(read: _Read, run: _Run) -> Checked:
    is_local = isinstance(read.rows, Local)

    def check_rows(folder: Location) -> Counts:
        rows = read.rows.checked(COUNTED, run.system.model).written(folder / "rows")
        passed, failed, reasons = Counter[str](), Counter[str](), Counter[str]()
        for name, reason, count in rows.outcomes():
            if reason is None:
                passed[name] += count
            else:
                failed[name] += count
                reasons[reason] += count
        for name in COUNTED:
            judged = passed[name] + failed[name]
            expect(f"{name} after the checks", judged, read.counts.get(name, 0))
        return {"passed": passed, "failed": failed, "reasons": reasons}

    counts = run.stages.run("check", digest(read.key, is_local), check_rows)
    aside = sum(counts["failed"].values())
    run.progress("check", 1, 1, f"{aside} rows set aside{_again('check', run)}")
    rows = _reopened(run, "check", is_local=is_local)
    return Checked(rows, counts["passed"], counts["failed"], counts["reasons"])


def _own(checked: Checked, rules: OwnerRules | None, key: str, run: _Run) -> Owned:
    if rules is None:
        run.stages.seconds["own"] = 0.0
        return Owned(checked.rows, checked.passed.get("owners", 0))
    rows = checked.rows
    assert isinstance(rows, Distributed)  # noqa: S101 — INVARIANT: `_read` knew of the rules
    before, schema = rows.owners, spark_schema("owners")
    place = run.draft.scratch / "own" / "rows"

    def own(_: Location) -> Counts:
        rules.apply(before, rows.table("entities")).write.parquet(written_to(place))
        after = run.spark.read.schema(schema).parquet(read_from(place))
        added = after.join(before, before.columns, "left_anti").count()
        removed = before.join(after, before.columns, "left_anti").count()
        return {"total": after.count(), "added": added, "removed": removed}

    counts = run.stages.run("own", key, own)
    summary = f"{counts['added']} owners added, {counts['removed']} removed"
    run.progress("own", 1, 1, summary + _again("own", run))
    after = run.spark.read.schema(schema).parquet(read_from(place))
    return Owned(rows.with_owners(after), **counts)


def _written(
    checked: Checked, owned: Owned, key: str, run: _Run
) -> tuple[dict[str, Content], Content]:
    def work(_: Location) -> Counts:
        tables, statements = write(checked, owned, run.draft, run.progress)
        return {"tables": tables, "statements": statements}

    contents = run.stages.run("write", key, work, place=run.draft.folder)
    tables = {name: Content(*contents["tables"][name]) for name in COLUMNS}
    return tables, Content(*contents["statements"])


def _report(read: _Read, checked: Checked, owned: Owned, run: _Run) -> Report:
    counts = read.counts
    rows = {
        name: Counted(counts.get(name, 0), checked.passed.get(name, 0), checked.failed.get(name, 0))
        for name in COUNTED
    }
    named = named_only(checked)
    return Report(
        rows=rows,
        quarantined=dict(sorted(checked.reasons.items())),
        owners_added=owned.added,
        owners_removed=owned.removed,
        named=named,
        ignored=read.ignored,
        notes=read.rows.notes(MAX_NOTES) if counts.get(NOTES) else [],
        note_count=counts.get(NOTES, 0),
        not_read=list(read.not_read),
        quality=quality(checked, owned, run.system.model, named, read.described),
        seconds=dict(run.stages.seconds),
        reused=tuple(run.stages.reused),
    )


def _broken(
    expected: Expectations, report: Report, manifest: Manifest, run: _Run, *, accept: bool
) -> list[str]:
    """The expectations that the input breaks, if they are accepted."""
    if not expected:
        return []
    try:
        before = run.draft.report_before()
    except BadInput:
        if not accept:
            raise
        before = None
    return list(map(str, check(expected, report.table(manifest), before, accept=accept)))


def _deleted(read: _Read, system: System) -> tuple[str, ...]:
    """The default statements that the source deleted, except those that cannot be deleted."""
    if not read.counts.get(DELETED):
        return ()
    model = system.model
    return tuple(sorted(read.rows.deleted() & (model.default_ids - model.immutable_ids)))
