"""`lakewarden pipeline review`: who can do what on which assets, from an access index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As, Texts
from lakewarden.pipeline.review.question import CLASSES
from lakewarden.pipeline.storage.location import Location

Sensitive = Annotated[
    Texts,
    Parameter(
        help="Words in, or names of, tags and terms of sensitive assets, separated by commas;"
        " default: the usual words, such as `pii`."
    ),
]
"""Which assets are sensitive."""


def reviewing(  # noqa: PLR0913 — a parameter for each option
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
            help="Number of classes above which a question is reviewed by type and container."
        ),
    ] = CLASSES,
    used: Annotated[
        Folder | None,
        Parameter(
            help="Folder that `lakewarden pipeline unused` wrote for this index: users without"
            " accesses are inactive."
        ),
    ] = None,
    sensitive: Sensitive = (),
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Reviews access: who can do what on which assets, and through which statements.

    Evaluates every privilege and every operation on every entity, for all users at once. Entities
    with the same access for the same reasons form one class. If there are too many classes, the
    review groups entities by type and container, with the users who have access to any of them and
    to all. Writes tables (Parquet), the smaller ones also as CSV, and an HTML page.

    For example:

        lakewarden pipeline review lake-index --out lake-review
    """
    from lakewarden.pipeline.job import names_of
    from lakewarden.pipeline.review.run import STAGES, make_review

    reads = [index] if used is None else [index, used]
    with running("review", spark, names_of(STAGES), reads=reads, out=out, tables=tables) as (
        session,
        progress,
    ):
        product = make_review(
            index,
            out,
            privileges=names(privileges),
            operations=names(operations),
            classes=classes,
            used=used,
            sensitive=names(sensitive),
            progress=progress,
            spark=session,
        )
    return show_product(out, product, format, *_lines(out, product.report))


def names(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names, split at commas; None if there are none.

    >>> names(("READ,WRITE", "ADMIN")), names(())
    (('READ', 'WRITE', 'ADMIN'), None)
    """
    names = tuple(name.strip() for text in texts for name in text.split(",") if name.strip())
    return names if texts else None


def _lines(out: Location, report: Mapping[str, Any]) -> list[str]:
    """Lines for people in addition to the tables."""
    population, source = report["population"], report["source"]
    page = out / "versions" / str(report["version"]) / "review.html"
    return [
        "",
        f"population: {population['entities']:,} entities, {population['users']:,} users",
        f"checksum:   {population['checksum']}",
        f"index of:   {source['written']}",
        f"to read:    {page}",
    ]
