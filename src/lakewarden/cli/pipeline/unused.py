"""`lakewarden pipeline unused`: unused grants, and a proposal for a smaller policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.admin_target import missing_file
from lakewarden.cli.folder import Folder
from lakewarden.cli.moment import finite
from lakewarden.cli.outcome import NO, YES
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As
from lakewarden.kernel.errors import BadInput
from lakewarden.names.secret import database_address
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.pipeline.storage.object_store import SCHEMES

if TYPE_CHECKING:
    from lakewarden.pipeline.unused.run import Log

_USAGE: Final = "usage"


def unused(  # noqa: PLR0913 — a parameter for each option
    index: Annotated[Folder, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    /,
    *,
    log: Annotated[
        tuple[str, ...],
        Parameter(
            help="Access log, `KIND:PATH`; KIND is `usage` (the URL of a lakewarden database, or"
            " an export of its table), `spark`, `trino`, `snowflake`, `bigquery`, `postgresql`,"
            " `ranger`, `openlineage`, `csv` or `json`. Repeatable."
        ),
    ],
    days: Annotated[int, Parameter(help="Grants without a use in this number of days are unused.")],
    out: Annotated[Folder, Parameter(help="Output folder, created if missing.")],
    mapping: Annotated[
        Path | None, Parameter(help="TOML file that maps names in logs to names of the realm.")
    ] = None,
    now: Annotated[
        float | None,
        Parameter(help="End of the period, in seconds; default: now.", validator=finite),
    ] = None,
    pieces: Annotated[int, Parameter(help="Maximum number of statements that replace one.")] = 5,
    share: Annotated[
        float,
        Parameter(
            help="A scope, or a set of users, of which at most this share was used is too broad."
        ),
    ] = 0.1,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Finds grants that were not used, and proposes a smaller policy.

    Writes tables of unused grants, and `proposal.toml`, changed statements for `lakewarden plan`.
    With it applied, every logged access of the period is still allowed, and no new access is. Exit
    code 1 if anything was found.

    For example:

        lakewarden pipeline unused lake-index --log usage:sqlite:///estate.db --days 90 --out less
    """
    from lakewarden.pipeline.job import names_of
    from lakewarden.pipeline.unused.run import (
        STAGES,
        UnusedCriteria,
        find_unused,
        is_anything_unused,
    )

    criteria = UnusedCriteria(days, pieces, share, now)
    criteria.since()
    reads: list[str | Location] = [index, *(text.partition(":")[2] for text in log)]
    with (
        _logs(index, log) as logs,
        running("unused", spark, names_of(STAGES), reads=reads, out=out, tables=tables) as (
            session,
            progress,
        ),
    ):
        product = find_unused(
            index, logs, out, criteria, mapping=mapping, progress=progress, spark=session
        )
    made = product.manifest.tables
    counts = {name: made[name].rows for name in made if name.startswith("unused_")}
    summary = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items())
    changes = product.manifest.facts["changes"]
    proposal = out / "versions" / str(product.report["version"]) / "proposal.toml"
    show_product(out, product, format, summary, f"{proposal}: {changes:,} statements to change")
    return NO if is_anything_unused(product.manifest) else YES


@contextmanager
def _logs(index: Location, texts: Sequence[str]) -> Iterator[list[Log]]:
    """The logs; those of a database are copied while the job runs."""
    from lakewarden.pipeline.unused.run import Log

    with TemporaryDirectory(prefix="lakewarden-") as folder:
        parsed = []
        for number, text in enumerate(texts):
            kind, _, where = text.partition(":")
            if not where or where.startswith("//"):
                raise BadInput(f"expected `KIND:PATH`, got `{text}`", where="--log")
            if kind == _USAGE and "://" in where and where.partition("://")[0] not in SCHEMES:
                copy = Path(folder, f"{number}.parquet")
                parsed.append(Log(kind, copy, _copied(index, where, copy)))
            else:
                parsed.append(Log(kind, location(where)))
        yield parsed


def _copied(index: Location, url: str, copy: Path) -> str:
    """Copies the counts of the index's realm from a database; returns the name of the copy."""
    from lakewarden.pipeline.index.index import open_index
    from lakewarden.pipeline.unused.log_formats import write_usage
    from lakewarden.store import open_store

    realm = open_index(index, check=False).realm
    file = missing_file(url)
    if file is not None:
        raise BadInput(f"there is no database `{file}`", where="--log")
    with open_store(url, makes=False) as store, store.reading() as reading:
        write_usage(copy, realm, reading.usage(realm, ""))
    return database_address(url)
