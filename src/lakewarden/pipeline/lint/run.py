"""The job that looks for what is odd in the policy of an index.

read      the index is whole; the directory that it was made of, for the rows set aside
ask       every rule, until each name that one asked for was looked up
publish   the version counts
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, SetAside
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import directory, directory_manifest, parquet_output
from lakewarden.pipeline.index.index import STATEMENTS, Index, open_index
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.lint.asking import findings_of
from lakewarden.pipeline.lint.skeleton import Skeleton, skeleton
from lakewarden.pipeline.memory import peak
from lakewarden.pipeline.product import (
    Input,
    Manifest,
    draft,
    folder_of,
    key_of,
    place,
)
from lakewarden.pipeline.tables import QUARANTINE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "lint"
FINDINGS: Final = "findings"
STAGES: Final = ("read", "ask")

_COLUMNS: Final = pa.schema(
    [(n, pa.string()) for n in ("realm", "rule", "severity", "kind", "name", "says", "fix")]
)
_SPARK: Final = ", ".join(f"{name} string" for name in _COLUMNS.names)


class Result(NamedTuple):
    """The manifest that counts now, the run report, whether it is new, and what was found."""

    manifest: Manifest
    report: Mapping[str, Any]
    is_new: bool
    findings: tuple[Finding, ...]


def lint_index(
    source: Path,
    out: Path,
    *,
    spark: SparkSession,
    rules: Sequence[Rule] = tuple(RULES.values()),
    origin: Path | None = None,
    progress: Progress = silent,
) -> Result:
    """What the rules find in the realm of an index: what `lint` finds in the whole realm.

    `origin` is the directory that the index was made of; the rows that were set aside there
    are looked at, too. Raises `BadInput` for a damaged index and for another directory,
    `Conflict` when another process works on `out`.
    """
    index = open_index(source)
    aside = [] if origin is None else set_aside(origin, _checked(origin, index))
    inputs = (Input(index.realm, index.manifest.version, _sha256(index.manifest.text())),)
    options = {"rules": ",".join(rule.id for rule in rules), "set aside": str(origin is not None)}
    key = key_of(inputs, options)
    with draft(out, KIND, key, progress) as one, peak() as memory:
        found: list[Skeleton] = []

        def read(_: Path) -> dict[str, Any]:
            found.append(skeleton(index, spark))
            return {"entities": len(found[0].snapshot.coded.tree.stored), "aside": len(aside)}

        def ask(folder: Path) -> dict[str, Any]:
            bare = found[0] if found else skeleton(index, spark)
            seen = LintContext(bare.snapshot, set_aside=aside)
            findings = findings_of(index.realm, seen, rules, bare.register, bare.look_up)
            (folder / FINDINGS).mkdir()
            pq.write_table(_table(findings), folder / FINDINGS / "part-00000.parquet")
            return {"findings": len(findings)}

        one.stage("read", read, "{entities:,} entities")
        one.stage("ask", ask, "{findings:,} findings")
        place(one.kept("ask") / FINDINGS, one.folder / FINDINGS)
        rows = parquet_output.read(spark, one.folder / FINDINGS, _SPARK)
        facts = {"realm": index.realm, "model": index.system.model.name}
        tables = {FINDINGS: parquet_output.content(rows)}
        manifest = Manifest(KIND, 0, inputs, options, facts, tables)
        result = one.finish(manifest, {"peak_bytes": memory.bytes})
    return Result(*result, read_findings(out, result[0]))


def set_aside(folder: Path, version: int) -> list[SetAside]:
    """The rows of a directory that were set aside; whoever asks has looked at their digest."""
    files = sorted(
        (folder / directory_manifest.VERSIONS / str(version) / QUARANTINE).glob("*.parquet")
    )
    return [SetAside(**row) for file in files for row in pq.read_table(file).to_pylist()]


def _checked(origin: Path, index: Index) -> int:
    """The version of the directory, if the index was made of that one."""
    manifest = directory_manifest.read_manifest(origin)
    stated = (index.folder / STATEMENTS).read_text("utf-8")
    if index.manifest.inputs[0].sha256 != _sha256(manifest.text() + stated):
        raise BadInput("is not what the index was made of", where=str(origin))
    directory.check_tables(origin, manifest)
    return manifest.version


def _table(findings: Iterable[Finding]) -> pa.Table:
    rows = [
        {
            "realm": one.realm,
            "rule": one.rule.id,
            "severity": one.severity.word,
            "kind": one.place.kind,
            "name": one.place.name,
            "says": one.says,
            "fix": one.fix,
        }
        for one in findings
    ]
    return pa.Table.from_pylist(rows, _COLUMNS)


def read_findings(out: Path, manifest: Manifest) -> tuple[Finding, ...]:
    """The findings of a version, in the order in which they were written."""
    rows = pq.read_table(folder_of(out, manifest) / FINDINGS).to_pylist()
    return tuple(
        Finding(
            realm=row["realm"],
            rule=RULES[row["rule"]],
            severity=Severity[row["severity"].upper()],
            place=Place(row["kind"], row["name"]),
            says=row["says"],
            fix=row["fix"],
        )
        for row in rows
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
