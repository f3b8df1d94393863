"""Applies owners by pattern to an existing directory: only its owners change.

The other tables are compared with the manifest and copied unchanged; only the owners are computed.
Statements that people wrote beside the tables are copied to a new directory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline.chunk_digests import check_table, content_of
from lakewarden.pipeline.directory_manifest import Content, Input, Manifest, read_manifest
from lakewarden.pipeline.directory_statements import STATEMENT_LINES, STATEMENTS, lines_content
from lakewarden.pipeline.ingest.owner_rules import (
    OwnerRules,
    check_has_owner_rules,
    read_owner_rules,
)
from lakewarden.pipeline.ingest.report import Report, Rows
from lakewarden.pipeline.ingest.run import Result
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.ingest.stages import Counts, Stages, digest
from lakewarden.pipeline.ingest.version import TAKEN_ALONG, DirectoryDraft, draft
from lakewarden.pipeline.storage.files import copy_tree, files_below, name_below, remove_tree
from lakewarden.pipeline.storage.location import Location, read_from, written_to
from lakewarden.pipeline.storage.parquet import count_values
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.tables import COLUMNS, spark_schema
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.service.source_row import PLACEMENTS
from lakewarden.service.source_row import STATEMENTS as STATED
from lakewarden.service.system import load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND = "ownership"
"""The name of the source in the manifest of such a directory."""


def own(
    directory: Location,
    rules: Location,
    out: Location,
    *,
    spark: SparkSession,
    semantics: str | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> Result:
    """Applies the rules to the datasets of a directory; `out` gets the result as next version.

    `semantics` overrides those of the rules file. Raises `BadInput` for malformed rules and for a
    directory that is damaged or holds no realm of DataHub, and `Conflict` if another process works
    on `out`.
    """
    before = read_manifest(directory)
    system = load_system(before.model, before.settings, before.model_text)
    check_has_owner_rules(system, str(directory))
    ownership = read_owner_rules(system, rules, spark, semantics)
    ruled = hashlib.sha256(rules.read_bytes()).hexdigest()
    options = {"ownership": ruled, "semantics": ownership.semantics}
    with draft(out, fresh=fresh) as directory_draft:
        directory_draft.check_model(before.model)
        stages = Stages(directory_draft.scratch, spark)
        version = folder_of(directory, before)
        key = digest(before.text(), options)

        def give(folder: Location) -> Counts:
            return _write_owners(version, before, ownership, folder, spark)

        counts = stages.run("own", key, give)
        progress("own", 1, 1, f"{counts['added']} owners added, {counts['removed']} removed")
        rows = spark.read.schema(spark_schema("owners")).parquet(
            read_from(directory_draft.scratch / "own" / "rows")
        )

        def write(_: Location) -> Counts:
            return _written(version, before, rows, counts["total"], directory_draft, progress)

        written = stages.run("write", key, write, place=directory_draft.folder)
        manifest = _manifest(directory, before, written, options)
        report = _report(version, before, counts, stages)
        # Before the version is current: readers must never see it without the denials that people
        # wrote.
        _copy_local_statements(directory / STATEMENTS, out / STATEMENTS, directory_draft.previous)
        manifest, is_new = directory_draft.finish(manifest, report.table)
    steps = len(COLUMNS) + 1
    progress("write", steps, steps, f"version {manifest.version}{'' if is_new else ', as before'}")
    return Result(manifest, report, is_new)


def _manifest(
    directory: Location, before: Manifest, written: Counts, options: Mapping[str, str]
) -> Manifest:
    return Manifest(
        model=before.model,
        settings=before.settings,
        realm=before.realm,
        source=KIND,
        version=0,
        inputs=(Input(str(directory), hashlib.sha256(before.text().encode()).hexdigest()),),
        tables={name: Content(*written["tables"][name]) for name in COLUMNS},
        statements=before.statements,
        options=options,
        deleted=before.deleted,
        model_text=before.model_text,
    )


def _write_owners(
    version: Location,
    before: Manifest,
    ownership: OwnerRules,
    folder: Location,
    spark: SparkSession,
) -> dict[str, Any]:
    """Computes the owners by the rules into the folder; returns the counts, total and changed."""

    def table(name: str) -> DataFrame:
        check_table(version, name, before, spark)
        return spark.read.schema(spark_schema(name)).parquet(read_from(version / name))

    owners, place = table("owners"), folder / "rows"
    ownership.apply(owners, table("entities")).write.parquet(written_to(place))
    after = spark.read.schema(spark_schema("owners")).parquet(read_from(place))
    return {
        "total": after.count(),
        "added": after.join(owners, owners.columns, "left_anti").count(),
        "removed": owners.join(after, owners.columns, "left_anti").count(),
    }


def _written(
    version: Location,
    before: Manifest,
    owners: DataFrame,
    total: int,
    directory_draft: DirectoryDraft,
    progress: Progress,
) -> dict[str, Any]:
    """Writes the owners, and copies every other table."""
    tables: dict[str, Content] = {}
    for done, name in enumerate(COLUMNS, 1):
        if name == "owners":
            tables[name] = directory_draft.write(name, owners, total)
        else:
            check_table(version, name, before, owners.sparkSession)
            copy_tree(version / name, directory_draft.folder / name)
            tables[name] = _in_chunks(version, name, before, owners.sparkSession)
        progress("write", done, len(COLUMNS) + 1, f"{tables[name].rows} {name}")
    text = (version / STATEMENT_LINES).read_text("utf-8")
    if lines_content(text) != before.statements:
        raise BadInput("differs from its manifest", where=str(version / STATEMENT_LINES))
    directory_draft.write_statements(text)
    return {"tables": tables}


def _in_chunks(version: Location, name: str, manifest: Manifest, spark: SparkSession) -> Content:
    """The content of a table for a new manifest; an earlier release digested it in order."""
    return manifest.tables[name] if manifest.in_chunks else content_of(version / name, name, spark)


def _report(version: Location, before: Manifest, counts: Counts, stages: Stages) -> Report:
    sizes = {name: content.rows for name, content in before.tables.items() if name in TABLES}
    # Not left out, because the next ingestion is compared with them (`expectations`).
    placed = count_values(version / "entities", "parent_type")
    sizes |= {STATED: before.statements.rows, PLACEMENTS: placed}
    rows = {name: Rows(size, size, 0) for name, size in sizes.items()}
    rows["owners"] = Rows(before.tables["owners"].rows, counts["total"], 0)
    return Report(
        rows=rows,
        quarantined={},
        owners_added=counts["added"],
        owners_removed=counts["removed"],
        seconds=dict(stages.seconds),
        reused=tuple(stages.reused),
    )


def _copy_once(written: Location, out: RemotePath, previous: Manifest | None) -> None:
    sources = {name_below(written, file): file for file in files_below(written)}
    there = {name_below(out, file) for file in files_below(out)}
    if previous is not None:
        if sources and not there:
            message = "people wrote statements there, and none are in `--out`; copy them first"
            raise BadInput(message, where=str(written))
        return
    # A run that was killed may have copied some.
    for name, file in sources.items():
        place, content = out / name, file.read_bytes()
        if name in there and place.read_bytes() == content:
            continue
        place.store.put_if(place.key, content, None)
    if there - set(sources):
        raise Conflict(f"`{out}` holds other statements than `{written}`")


def _copy_local_statements(written: Location, out: Location, previous: Manifest | None) -> None:
    """Copies the statements that people wrote to a directory that has none yet.

    On an object store only to a new directory, because the copy is not atomic there. On such a
    store, raises `BadInput` if a version is already current, which would be seen without them, and
    `Conflict` if there are other statements.
    """
    if isinstance(out, RemotePath):
        _copy_once(written, out, previous)
    elif written.is_dir() and not out.exists():
        new = out.with_name(TAKEN_ALONG)
        remove_tree(new, ignore_errors=True)
        copy_tree(written, new)
        new.rename(out)
