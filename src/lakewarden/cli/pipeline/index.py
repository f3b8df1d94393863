"""`lakewarden pipeline index`: the access index of an ingested directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.pipeline.ingest_sources import LOCAL, Spark
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.question import As


def indexing(
    directory: Annotated[
        Path, Parameter(help="Directory that `lakewarden pipeline ingest` wrote.")
    ],
    /,
    *,
    out: Annotated[Path, Parameter(help="Folder to write to; made if it is not there.")],
    now: Annotated[
        float | None,
        Parameter(help="Moment for which statements count, in seconds; default: the clock's."),
    ] = None,
    spark: Spark = LOCAL,
    format: As = "table",
) -> int:
    """Finds out which entity lies in which scope, whatever their number.

    The index is what the other jobs work on, and what `lakewarden serve --index` starts from.
    The same directory again makes no new version; a run that was cut short goes on behind the
    stages that it had finished.

    For example:

        lakewarden pipeline index lake --out lake-index
    """
    from lakewarden.pipeline.index.run import STAGES, make_index
    from lakewarden.pipeline.job import names_of

    with running("index", spark, names_of(STAGES)) as (session, progress):
        made = make_index(directory, out, now=now, progress=progress, spark=session)
    return show_product(out, made, format)
