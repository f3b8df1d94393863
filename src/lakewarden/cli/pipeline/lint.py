"""`lakewarden pipeline lint`: mistakes and risks in the policy of an index."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.lint import EVERYTHING, Form, LintedRealm, LintSelection, show_findings
from lakewarden.cli.outcome import note
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.pipeline.version_folder import MANIFEST


def linting(
    index: Annotated[Folder, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    /,
    *,
    out: Annotated[Folder, Parameter(help="Output folder, created if missing.")],
    from_: Annotated[
        Folder | None,
        Parameter(
            "--from",
            help="The directory of the index, for its quarantined rows.",
        ),
    ] = None,
    which: LintSelection = EVERYTHING,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: Annotated[Form, Parameter(help="Output format.")] = "text",
) -> int:
    """Finds mistakes and risks in the policy of a realm of any size.

    Rules, findings and exit codes are those of `lakewarden lint`. The entities come from the index,
    and names are read only for findings.

    For example:

        lakewarden pipeline lint lake-index --out lake-lint --severity warning
    """
    from lakewarden.pipeline.job import names_of
    from lakewarden.pipeline.lint.run import STAGES, lint_index, read_findings

    rules = which.rules
    reads = [index] if from_ is None else [index, from_]
    with running("lint", spark, names_of(STAGES), reads=reads, out=out, tables=tables) as (
        session,
        progress,
    ):
        made = lint_index(index, out, rules=rules, origin=from_, progress=progress, spark=session)
    linted = LintedRealm(
        made.manifest.facts["realm"], read_findings(out, made.manifest), (out / MANIFEST).as_posix()
    )
    code = show_findings([linted], which, format)
    note(f"{out}: version {made.manifest.version}{'' if made.is_new else ', unchanged'}")
    return code
