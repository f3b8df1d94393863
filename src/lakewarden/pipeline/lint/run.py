"""The job that reports problems in the policy of an index.

read      check the index; read the rows set aside in the directory that it was made from
ask       evaluate every rule, until all names that it needs were looked up
publish   make the version the current one
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakewarden.analysis.lint.catalogue import RULES
from lakewarden.analysis.lint.finding import Finding, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, SetAside
from lakewarden.analysis.lint.place import Place
from lakewarden.analysis.lint.run import lint, ordered
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline import directory, directory_manifest
from lakewarden.pipeline.index.index import STATEMENTS, Index, open_index
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.lint.skeleton import Register, Skeleton, skeleton
from lakewarden.pipeline.parquet_output import ONE_FILE
from lakewarden.pipeline.product import Manifest, sha256_of
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import read_table, write_table
from lakewarden.pipeline.version_folder import folder_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "lint"
FINDINGS: Final = "findings"

_COLUMNS: Final = pa.schema(
    [(n, pa.string()) for n in ("realm", "rule", "severity", "kind", "name", "says", "fix")]
)


def lint_index(
    source: Location,
    out: Location,
    *,
    spark: SparkSession,
    rules: Sequence[Rule] = tuple(RULES.values()),
    origin: Location | None = None,
    progress: Progress = silent,
) -> Result:
    """The findings in the realm of an index: the same as those of `lint` in the whole realm.

    `origin` is the directory that the index was made from; its quarantined rows are checked, too.
    Raises `BadInput` for a damaged index and for another directory, `Conflict` if another process
    works on `out`.
    """
    index = open_index(source, spark=spark)
    aside = [] if origin is None else directory.set_aside(origin, _checked(origin, index))
    options = {"rules": ",".join(rule.id for rule in rules), "set aside": str(origin is not None)}
    job = Job(KIND, out, (FINDINGS,), spark, (index.input,), options, progress)
    job.reads = (index.version,)
    facts = {"realm": index.realm, "model": index.system.model.name}
    return job.run(STAGES, _Linting(job, index, rules, aside), facts=lambda: facts)


@dataclass
class _Linting:
    """What the stages share: the rules to evaluate on an index."""

    job: Job
    index: Index
    rules: Sequence[Rule]
    aside: Sequence[SetAside]

    @cached_property
    def _skeleton(self) -> Skeleton:
        return skeleton(self.index, self.job.spark)

    def read(self, _: Location) -> Counts:
        tree = self._skeleton.snapshot.coded.tree
        return {"entities": len(tree.stored), "aside": len(self.aside)}

    def ask(self, folder: Location) -> Counts:
        bare = self._skeleton
        context = LintContext(bare.snapshot, set_aside=self.aside)
        findings = findings_of(self.index.realm, context, self.rules, bare.register, bare.look_up)
        (folder / FINDINGS).mkdir()
        write_table(_table(findings), folder / FINDINGS / ONE_FILE)
        return {"findings": len(findings)}


STAGES: Final = (
    Stage("read", (), _Linting.read, (), "{entities:,} entities"),
    Stage("ask", (), _Linting.ask, (FINDINGS,), "{findings:,} findings"),
)


def _checked(origin: Location, index: Index) -> directory_manifest.Manifest:
    """The manifest of the directory, after a check that the index was made from it."""
    manifest = directory_manifest.read_manifest(origin)
    stated = (index.folder / STATEMENTS).read_text("utf-8")
    if index.manifest.inputs[0].sha256 != sha256_of(manifest.text() + stated):
        raise BadInput("is not what the index was made of", where=str(origin))
    directory.check_tables(origin, manifest)
    return manifest


def _table(findings: Iterable[Finding]) -> pa.Table:
    rows = [
        {
            "realm": finding.realm,
            "rule": finding.rule.id,
            "severity": finding.severity.label,
            "kind": finding.place.kind,
            "name": finding.place.name,
            "says": finding.says,
            "fix": finding.fix,
        }
        for finding in findings
    ]
    return pa.Table.from_pylist(rows, _COLUMNS)


def read_findings(out: Location, manifest: Manifest) -> tuple[Finding, ...]:
    """The findings of a version, in the order in which they were written."""
    rows = read_table(folder_of(out, manifest) / FINDINGS).to_pylist()
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


def findings_of(
    realm: str,
    context: LintContext,
    rules: Iterable[Rule],
    register: Register,
    look_up: Callable[[], None],
) -> tuple[Finding, ...]:
    """The findings of the rules; each rule is repeated until all names that it needs are known.

    `look_up` looks up all names that the register has noted, at once.
    """
    all_findings: list[Finding] = []
    waiting = list(rules)
    while waiting:
        again = []
        for rule in waiting:
            misses = register.misses
            findings = lint(realm, context, [rule])
            if register.misses == misses:
                all_findings += findings
            else:
                again.append(rule)
        look_up()
        waiting = again
    return ordered(all_findings)
