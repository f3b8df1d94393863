"""`lakewarden pipeline ingest`: metadata as others keep it, into a directory to ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lakewarden import models
from lakewarden.cli.asking import As, Texts, pair
from lakewarden.cli.outcome import YES, show, show_json, show_table
from lakewarden.cli.progress import shown, starting
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.source import Source
from lakewarden.pipeline.job import session
from lakewarden.service.system import load_system

if TYPE_CHECKING:
    from lakewarden.pipeline.ingest.report import Report
    from lakewarden.pipeline.ingest.run import Result

Kind = Literal["datahub-file", "gravitino-file", "cdap-file", "csv", "parquet", "sql"]

NOTES_SHOWN = 5

_ENVIRONMENT = "env:"
_CDAP_MODELS = ("cdap", "cdap_parent_write")


@Parameter("*")
@dataclass(frozen=True)
class Spark:
    """Where the job runs."""

    master: Annotated[
        str | None, Parameter(help="Spark master, such as `local[4]` or `spark://host:7077`.")
    ] = None
    remote: Annotated[
        str | None, Parameter(help="Or a Spark Connect server, such as `sc://host`.")
    ] = None


@Parameter("*")
@dataclass(frozen=True)
class Database:
    """How a database is named and read as a catalog of Gravitino."""

    metalake: Annotated[
        str | None, Parameter(help="For `sql`: the metalake that the database is put in.")
    ] = None
    catalog: Annotated[
        str | None, Parameter(help="For `sql`: the name of the database as a catalog.")
    ] = None
    takes_data_for_modify: Annotated[
        bool,
        Parameter(
            help="For `sql`: SELECT, INSERT, UPDATE and DELETE together are MODIFY_TABLE.",
            show_default=False,
        ),
    ] = False
    takes_granted_roles: Annotated[
        bool,
        Parameter(help="For `sql`: roles count that take SET ROLE, too.", show_default=False),
    ] = False


LOCAL = Spark()
NO_DATABASE = Database()


def ingest(  # noqa: PLR0913 — each is an option
    path_or_url: Annotated[
        str,
        Parameter(
            help="File or folder; for `sql` the URL of a database, or `env:NAME` for the"
            " environment variable that holds it."
        ),
    ],
    /,
    *,
    source: Annotated[Kind, Parameter(help="What is read.")],
    out: Annotated[Path, Parameter(help="Directory to write to; made if it is not there.")],
    model: Annotated[
        str | None,
        Parameter(help="Model of a realm in `csv` or `parquet`, and which of CDAP's."),
    ] = None,
    realm: Annotated[str, Parameter(help="Name of the realm; default: the model's.")] = "",
    setting: Annotated[Texts, Parameter(help="Setting of the model, `NAME=VALUE`.")] = (),
    owners: Annotated[
        Path | None, Parameter(help="TOML file of owners by pattern, for datasets of DataHub.")
    ] = None,
    database: Database = NO_DATABASE,
    spark: Spark = LOCAL,
    format: As = "table",
) -> int:
    """Reads metadata into a directory that the asking verbs take with `--from`.

    What is wrong in the input refuses all of it, and the directory stays as it was; what is
    sound but cannot be placed is set aside and counted. The same input again makes no new
    version.

    For example:

        lakewarden pipeline ingest export.json --source datahub-file --out catalog
    """
    settings = dict(pair(text, "--setting") for text in setting)
    found = source_of(source, path_or_url, model, database)
    load_system(found.model, settings)
    starting()
    with (
        session("lakewarden ingest", spark.master, spark.remote) as jobs,
        shown(source) as progress,
    ):
        result = jobs.ingest(
            found, out, realm=realm, settings=settings, ownership=owners, progress=progress
        )
    if format == "json":
        made = {"directory": str(out), "new": result.is_new}
        show_json({**made, **result.report.table(result.manifest)})
    else:
        show_result(result, out)
    return YES


def source_of(
    kind: Kind, text: str, model: str | None = None, database: Database = NO_DATABASE
) -> Source:
    """The source that the command line names; raises `BadInput` for what does not go together."""
    _check_options(kind, model, database)
    if kind == "sql":
        return _database(text, database)
    path = Path(text)
    if not path.exists():
        raise BadInput("no such file or folder", where=text)
    match kind:
        case "datahub-file":
            from lakewarden.pipeline.ingest.datahub_file import DatahubFile

            return DatahubFile(path)
        case "gravitino-file":
            from lakewarden.pipeline.ingest.gravitino_file import GravitinoFile

            return GravitinoFile(path)
        case "cdap-file":
            from lakewarden.pipeline.ingest.cdap_file import CdapFile

            return CdapFile(path, model or _CDAP_MODELS[0])
        case _:
            from lakewarden.pipeline.ingest.tabular import Tabular

            return Tabular(path, kind, model or "")


def _check_options(kind: Kind, model: str | None, database: Database) -> None:
    expected: tuple[str, ...] = ()
    if kind == "cdap-file":
        expected = _CDAP_MODELS
    elif kind in ("csv", "parquet"):
        expected = tuple(models.names())
        if model is None:
            message = f"`--source {kind}` needs the model, one of: {', '.join(expected)}"
            raise BadInput(message, where="--model")
    if model is not None and model not in expected:
        known = f"one of: {', '.join(expected)}" if expected else "no model"
        raise BadInput(f"`--source {kind}` takes {known}; got `{model}`", where="--model")
    if kind != "sql" and database != NO_DATABASE:
        raise BadInput("only `--source sql` takes the options of a database", where="--source")
    if kind == "sql":
        for option, value in (("--metalake", database.metalake), ("--catalog", database.catalog)):
            if not value:
                raise BadInput("`--source sql` needs a name", where=option)


def _database(text: str, database: Database) -> Source:
    from lakewarden.pipeline.ingest.sql import Sql

    url = text
    if text.startswith(_ENVIRONMENT):
        name = text.removeprefix(_ENVIRONMENT)
        url = os.environ.get(name, "")
        if not url:
            raise BadInput(f"the environment variable `{name}` is not set", where="sql")
    return Sql(
        url,
        database.metalake or "",
        database.catalog or "",
        database.takes_data_for_modify,
        database.takes_granted_roles,
    )


def show_result(result: Result, out: Path) -> None:
    """The run report, for people."""
    manifest, report = result.manifest, result.report
    as_before = "" if result.is_new else ", as before"
    show(f"{out}: version {manifest.version} of realm {manifest.realm}{as_before}", "")
    rows = [
        (name, f"{rows.came_in:,}", f"{rows.passed:,}", f"{rows.quarantined:,}")
        for name, rows in report.rows.items()
        if rows.came_in or rows.passed
    ]
    show_table(("table", "in", "out", "set aside"), rows)
    show(*_remarks(report))


def _remarks(report: Report) -> Iterator[str]:
    for reason, count in report.quarantined.items():
        yield f"set aside: {count:,} × {reason}"
    if report.owners_added or report.owners_removed:
        yield f"owners by pattern: {report.owners_added:,} added, {report.owners_removed:,} removed"
    for type, count in report.named.items():
        yield f"named, but not stored: {count:,} × {type}"
    if report.ignored:
        found = ", ".join(f"{count:,} × {what}" for what, count in report.ignored.items())
        yield f"without meaning here: {found}"
    for subject, what in report.notes[:NOTES_SHOWN]:
        yield f"no counterpart: {subject}: {what}"
    if report.note_count > NOTES_SHOWN:
        yield f"no counterpart: {report.note_count - NOTES_SHOWN:,} more, in report.json"
    for what in report.not_read:
        yield f"not read: {what}"
    yield f"took {sum(report.seconds.values()):.1f} s"
