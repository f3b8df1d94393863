"""`lakewarden pipeline export`: decisions, statements and entities as tables for SQL."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.review import names
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As, Texts
from lakewarden.pipeline.review.question import CLASSES_FOR_SQL


def tables(  # noqa: PLR0913 — a parameter for each option
    index: Annotated[Folder, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    /,
    *,
    out: Annotated[Folder, Parameter(help="Output folder, created if missing.")],
    privileges: Annotated[
        Texts,
        Parameter(help="Privileges, separated by commas, or `none`; default: all."),
    ] = (),
    operations: Annotated[
        Texts,
        Parameter(help="Operations, separated by commas, or `none`; default: all."),
    ] = (),
    classes: Annotated[
        int,
        Parameter(
            help="Maximum number of kinds of entities that a question distinguishes; more end the"
            " job."
        ),
    ] = CLASSES_FOR_SQL,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Writes decisions, statements and entities as plain tables for SQL.

    The tables are Parquet files without bitmaps or lists. `views.sql` has views that join them,
    such as `who_can`, for DuckDB and Spark; `tables.duckdb.sql` and `tables.spark.sql` declare the
    tables.

    For example:

        lakewarden pipeline export lake-index --out lake-tables
    """
    from lakewarden.pipeline.export.run import STAGES, make_export
    from lakewarden.pipeline.job import names_of

    with running("export", spark, names_of(STAGES), reads=[index], out=out, tables=tables) as (
        session,
        progress,
    ):
        product = make_export(
            index,
            out,
            privileges=names(privileges),
            operations=names(operations),
            classes=classes,
            progress=progress,
            spark=session,
        )
    folder = out / "versions" / str(product.report["version"])
    return show_product(out, product, format, "", f"to ask:     {folder / 'views.sql'}")
