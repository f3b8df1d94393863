"""`lakewarden pipeline index`: the access index of an ingested directory."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.moment import finite
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As


def indexing(
    directory: Annotated[
        Folder, Parameter(help="Directory that `lakewarden pipeline ingest` wrote.")
    ],
    /,
    *,
    out: Annotated[Folder, Parameter(help="Output folder, created if missing.")],
    now: Annotated[
        float | None,
        Parameter(
            help="Time at which validity of statements is evaluated, in seconds; default: now.",
            validator=finite,
        ),
    ] = None,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Computes which scopes cover which entities, for any number of them.

    The other jobs and `lakewarden serve --index` read the index. An unchanged directory makes no
    new version; an interrupted run resumes.

    For example:

        lakewarden pipeline index lake --out lake-index
    """
    from lakewarden.pipeline.index.run import STAGES, make_index
    from lakewarden.pipeline.job import names_of

    with running("index", spark, names_of(STAGES), reads=[directory], out=out, tables=tables) as (
        session,
        progress,
    ):
        product = make_index(directory, out, now=now, progress=progress, spark=session)
    return show_product(out, product, format)
