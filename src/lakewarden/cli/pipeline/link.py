"""`lakewarden pipeline link`: links entities of ingested realms that are one asset, by rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lakewarden.cli.cross_realm import named_directory
from lakewarden.cli.folder import Folder
from lakewarden.cli.outcome import YES, show, show_json, show_table
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As, Texts
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from lakewarden.pipeline.link import Report, Result

NAMES_SHOWN = 5


def linking(
    *,
    rules: Annotated[Path, Parameter(help="TOML file with rules about names.")],
    from_: Annotated[
        Texts,
        Parameter(
            "--from",
            help="Directory that `lakewarden pipeline ingest` wrote, `DIR` or `REALM=DIR`; one for"
            " each realm of the rules.",
        ),
    ],
    out: Annotated[Folder, Parameter(help="Output directory, created if missing.")],
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Links entities of several realms by rules about their names.

    Entities that match a rule with the same values are linked if each realm has exactly one;
    ambiguous matches are reported and not linked. `lakewarden load` loads the links into a
    database. Unchanged input makes no new version.

    For example:

        lakewarden pipeline link --rules hive.toml --from lake=lake --from hub=hub --out links
    """
    from lakewarden.pipeline import link_rules
    from lakewarden.pipeline.link import link

    realms: dict[str, Location] = {}
    for text in from_:
        name, path = named_directory(text)
        realm = name or read_manifest(path).realm
        if realm in realms:
            raise BadInput(f"two directories have the realm `{realm}`", where="--from")
        realms[realm] = path
    unused = sorted(set(realms) - set(link_rules.read(rules).realms))
    if unused:
        raise BadInput(f"no rule names realm `{unused[0]}`", where="--from")
    reads = [rules, *realms.values()]
    with running("link", spark, reads=reads, out=out, tables=tables, title="links") as (
        session,
        progress,
    ):
        result = link(rules, realms, out, progress=progress, spark=session)
    if format == "json":
        product = {"directory": str(out), "new": result.is_new, "version": result.manifest.version}
        show_json({**product, **result.report.table()})
    else:
        _show(result, out)
    return YES


def _show(result: Result, out: Location) -> None:
    manifest, report = result.manifest, result.report
    as_before = "" if result.is_new else ", unchanged"
    show(f"{out}: version {manifest.version}, {manifest.rows:,} links{as_before}", "")
    headings = ("realm", "linked", *next(iter(report.left.values())))
    rows = [
        (realm, f"{report.linked[realm]:,}", *(f"{count:,}" for count in counts.values()))
        for realm, counts in report.left.items()
    ]
    show_table(headings, rows)
    show(*_remarks(report))


def _remarks(report: Report) -> Iterator[str]:
    for rule, count in report.links.items():
        yield f"rule {rule}: {count:,} links" if count else f"rule {rule}: links nothing"
    for reason in dict.fromkeys(entity.reason for entity in report.named):
        named = [entity for entity in report.named if entity.reason == reason]
        for entity in named[:NAMES_SHOWN]:
            yield f"{reason}: {entity.realm}: {entity.type}:{entity.name}"
        total = sum(counts[reason] for counts in report.left.values())
        if total > NAMES_SHOWN:
            yield f"{reason}: {total - NAMES_SHOWN:,} more, in report.json"
