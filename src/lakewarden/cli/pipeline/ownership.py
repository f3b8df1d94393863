"""`lakewarden pipeline ownership`: owners by pattern for the datasets of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.pipeline.ingest_sources import show_result
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As


def ownership(  # noqa: PLR0913 — a parameter for each option
    directory: Annotated[
        Folder,
        Parameter(help="Directory of a DataHub realm that `lakewarden pipeline ingest` wrote."),
    ],
    /,
    *,
    rules: Annotated[Path, Parameter(help="TOML file with rules: patterns and their owners.")],
    out: Annotated[
        Folder,
        Parameter(help="Output directory; may be the same, which gets a new version."),
    ],
    semantics: Annotated[
        Literal["OVERWRITE", "PATCH"] | None,
        Parameter(help="Overrides the value in the rules file."),
    ] = None,
    fresh: Annotated[
        bool,
        Parameter(help="Repeat all stages of an interrupted run.", show_default=False),
    ] = False,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Assigns owners to datasets by patterns of their URNs, as DataHub's transformer does.

    The first rule whose pattern matches from the start of the URN gives its owners. OVERWRITE adds
    them, or replaces all owners if the file sets `replace_existing`; PATCH adds those who are not
    yet owners, and gives the others the rule's type. The rest of the directory stays unchanged.

    For example:

        lakewarden pipeline ownership estate --rules owners.toml --semantics PATCH --out estate
    """
    from lakewarden.pipeline.ingest.owners import own

    with running("ownership", spark, reads=[directory, rules], out=out, tables=tables) as (
        session,
        progress,
    ):
        result = own(
            directory,
            rules,
            out,
            semantics=semantics,
            fresh=fresh,
            progress=progress,
            spark=session,
        )
    return show_result(result, out, format)
