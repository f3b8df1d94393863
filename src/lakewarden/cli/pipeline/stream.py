"""`lakewarden pipeline stream`: an access index that follows the change feed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from lakewarden.cli.pipeline.ingest_sources import LOCAL, Spark
from lakewarden.cli.pipeline.product import show_product
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.question import As, Texts, pair
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.pipeline.job import Result


def streaming(  # noqa: PLR0913 — each is an option
    events: Annotated[
        Path | None,
        Parameter(help="Folder that `lakewarden changes` writes to; not with --source kafka."),
    ] = None,
    /,
    *,
    index: Annotated[Path, Parameter(help="Folder that `lakewarden pipeline index` wrote.")],
    source: Annotated[
        Literal["files", "kafka"], Parameter(help="Where the events come from.")
    ] = "files",
    option: Annotated[
        Texts, Parameter(help="Option of Spark's Kafka source, `NAME=VALUE`; several for several.")
    ] = (),
    checkpoint: Annotated[
        Path | None,
        Parameter(help="Folder for what was read already; default: `.stream` in the index."),
    ] = None,
    available_now: Annotated[
        bool,
        Parameter(
            ("--available-now", "--once"),
            help="Take what is there and end; so it is without --every.",
            show_default=False,
        ),
    ] = False,
    every: Annotated[
        float | None,
        Parameter(help="Go on until interrupted, and look for events after so many seconds."),
    ] = None,
    now: Annotated[
        float | None,
        Parameter(help="Moment for which statements count, in seconds; default: the clock's."),
    ] = None,
    keep: Annotated[
        int | None,
        Parameter(help="Versions of which the tables stay; of older ones the reports do."),
    ] = None,
    spark: Spark = LOCAL,
    format: As = "table",
) -> int:
    """Lets an access index follow what happens to its realm, change by change.

    The index has to be that of a store's realm. Each batch of events makes its next version, the
    same that ingesting and indexing everything would make; only the blocks that the events reach
    are judged again. Events that the index has already change nothing. What does not follow on the
    index, or is malformed, is refused with its place, and the version before still counts.

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
    if keep is not None and keep < 1:
        raise BadInput("expected at least one version", where="--keep")
    options = dict(pair(text, "--option") for text in option)
    with running("stream", spark, ("read", "plan", *names_of(STAGES))) as (session, progress):
        feed = Feed(source, events, options)
        made = follow(
            feed,
            index,
            checkpoint=checkpoint,
            every=every,
            now=now,
            keep=keep,
            progress=progress,
            spark=session,
        )
    return show_product(index, made, format, *_said(made))


def _said(made: Result) -> list[str]:
    """What happened, for people."""
    report: Any = made.report
    count, applied = report["versions"], report["events"].get("applied", 0)
    told = f"revision {report['revision']}: {applied:,} events in {count:,} new versions"
    blocks = report["blocks"]
    if not blocks:
        return [told]
    words = (f"{blocks[name]:,} {name}" for name in ("judged", "moved", "kept"))
    return [told, f"blocks of the last one: {', '.join(words)}"]
