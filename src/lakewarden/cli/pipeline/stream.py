"""`lakewarden pipeline stream`: an access index that follows the change feed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.moment import finite
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import commit, running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As, Texts, pair
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.pipeline.job import Result


def streaming(  # noqa: PLR0913 — each is an option
    events: Annotated[
        Folder | None,
        Parameter(help="Folder that `lakewarden changes` writes to; not with --source kafka."),
    ] = None,
    /,
    *,
    index: Annotated[Folder, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    source: Annotated[Literal["files", "kafka"], Parameter(help="Source of the events.")] = "files",
    option: Annotated[
        Texts, Parameter(help="Option of Spark's Kafka source, `NAME=VALUE`; repeatable.")
    ] = (),
    checkpoint: Annotated[
        Folder | None,
        Parameter(help="Folder that records what was read; default: `.stream` in the index."),
    ] = None,
    available_now: Annotated[
        bool,
        Parameter(
            ("--available-now", "--once"),
            help="Process the available events and end; the default without --every.",
            show_default=False,
        ),
    ] = False,
    every: Annotated[
        float | None,
        Parameter(
            help="Run until interrupted; the interval at which to look for events, in seconds."
        ),
    ] = None,
    now: Annotated[
        float | None,
        Parameter(
            help="Time at which validity of statements is evaluated, in seconds; default: now.",
            validator=finite,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        Parameter(
            help="Number of versions whose tables are retained; of older ones only the reports are."
        ),
    ] = None,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Updates an access index from the change feed of its realm.

    The index must be that of a realm in a database. Each batch of events makes the next version,
    equal to ingesting and indexing everything again; only affected blocks are evaluated. Events
    that the index already contains have no effect. Invalid events, and events that do not follow
    the index, are rejected with their location; the previous version stays active.

    For example:

        lakewarden changes feed --realm gravitino --database sqlite:///estate.db --after 1

        lakewarden pipeline stream feed --index lake-index

        lakewarden pipeline stream --index lake-index --every 60 --keep 10 --source kafka
        --option kafka.bootstrap.servers=queue:9092 --option subscribe=lake
    """
    from lakewarden.pipeline.job import names_of
    from lakewarden.pipeline.stream.batch import STAGES
    from lakewarden.pipeline.stream.run import follow
    from lakewarden.pipeline.stream.source import Feed

    if available_now and every is not None:
        raise BadInput("give either --available-now or --every")
    if every is not None and every <= 0:
        raise BadInput("expected more than 0 seconds", where="--every")
    if keep is not None:
        _check_keep(keep, tables, is_far=spark.remote is not None and every is not None)
    options = dict(pair(text, "--option") for text in option)
    stages, reads = ("read", "plan", *names_of(STAGES)), [index] if events is None else [events]
    with running("stream", spark, stages, reads=reads, out=index, tables=tables) as (
        session,
        progress,
    ):
        feed = Feed(source, events, options)
        product = follow(
            feed,
            index,
            checkpoint=checkpoint,
            every=every,
            now=now,
            keep=keep,
            progress=progress,
            commit=partial(commit, "stream", tables.target(), index),
            spark=session,
        )
    return show_product(index, product, format, *_summary_lines(product))


def _check_keep(keep: int, tables: TableOptions, *, is_far: bool) -> None:
    """Raises `BadInput` if files would be removed that tables still have.

    `is_far`: versions are made all the time, but their tables are committed at the end.
    """
    if keep < 1:
        raise BadInput("expected at least one version", where="--keep")
    if tables.table_format == "iceberg":
        # Its tables are the files of the version before, until the next one is committed.
        if keep == 1:
            raise BadInput("expected at least two versions of Iceberg's tables", where="--keep")
        if is_far:
            message = "with --remote and --every, tables of Iceberg are committed at the end only"
            raise BadInput(message, where="--keep")


def _summary_lines(product: Result) -> list[str]:
    """The result, for people."""
    report: Any = product.report
    count, applied = report["versions"], report["events"].get("applied", 0)
    summary = f"revision {report['revision']}: {applied:,} events in {count:,} new versions"
    blocks = report["blocks"]
    if not blocks:
        return [summary]
    counts = (f"{blocks[name]:,} {name}" for name in ("judged", "moved", "kept"))
    return [summary, f"blocks of the last one: {', '.join(counts)}"]
