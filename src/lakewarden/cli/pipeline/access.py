"""`lakewarden pipeline access`: who can see, read and change what, by name, from an export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.outcome import NO, YES
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.review import Sensitive, names
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As


def access(  # noqa: PLR0913 — a parameter for each option
    export: Annotated[
        Folder,
        Parameter(help="Folder that `lakewarden pipeline export --operations access` wrote."),
    ],
    /,
    *,
    out: Annotated[Folder, Parameter(help="Output folder, created if missing.")],
    pairs: Annotated[
        Literal["all", "sensitive", "none"],
        Parameter(help="Assets whose people are listed one by one, also by tag and owner."),
    ] = "all",
    most: Annotated[
        int,
        Parameter(
            help="Maximum number of pairs of a person and an asset in the table `access`;"
            " more end the job."
        ),
    ] = 5_000_000,
    before: Annotated[
        Folder | None,
        Parameter(
            help="Folder of an earlier report: what changed since. The output folder itself is"
            " compared with its newest version."
        ),
    ] = None,
    used: Annotated[
        Folder | None,
        Parameter(
            help="Folder that `lakewarden pipeline unused` wrote for the same index: access that"
            " was never used."
        ),
    ] = None,
    toxic: Annotated[
        Path | None,
        Parameter(help="TOML file with rights that nobody should have together."),
    ] = None,
    sensitive: Sensitive = (),
    rows_per_file: Annotated[int, Parameter(help="Rows of a CSV file.")] = 250_000,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Names who can see, read and change what, and why, from the tables of an export.

    Writes tables (Parquet), the same as CSV, and an HTML page: people by asset, assets by person,
    by tag, by owner and by grant, with the reason; changes since an earlier report, joiners and
    leavers, access that was never used, toxic combinations. No file is larger than 100 MB. Exit
    code 1 if somebody has a toxic combination.

    For example:

        lakewarden pipeline access lake-tables --out lake-access --before lake-access
    """
    from lakewarden.pipeline.access.run import STAGES, Options, make_access
    from lakewarden.pipeline.job import names_of

    options = Options(pairs, most, rows_per_file, names(sensitive), toxic)
    reads = [path for path in (export, used, before) if path is not None]
    with running("access", spark, names_of(STAGES), reads=reads, out=out, tables=tables) as (
        session,
        progress,
    ):
        product = make_access(
            export, out, options, spark=session, used=used, before=before, progress=progress
        )
    folder = out / "versions" / str(product.report["version"])
    found = product.manifest.facts["toxic"]
    says = [f"toxic combinations: {found:,}"] if toxic is not None else []
    show_product(out, product, format, "", f"to read:    {folder / 'access.html'}", *says)
    return NO if found else YES
