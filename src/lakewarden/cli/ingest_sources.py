"""What can be ingested, as the command line names it, and how a run is told to people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from lakewarden import models
from lakewarden.cli.model_text import is_file, read_model
from lakewarden.cli.outcome import show, show_table
from lakewarden.kernel.errors import BadInput
from lakewarden.models import own
from lakewarden.pipeline.ingest.source import Source

if TYPE_CHECKING:
    from lakewarden.pipeline.ingest.report import Quality, Report
    from lakewarden.pipeline.ingest.run import Result

Kind = Literal[
    "datahub-file",
    "gravitino-file",
    "cdap-file",
    "ranger-file",
    "dbt-file",
    "csv",
    "parquet",
    "sql",
    "store",
    "gravitino",
    "datahub",
    "cdap",
]

NOTES_SHOWN = 5

_ENVIRONMENT = "env:"
_CDAP_MODELS = ("cdap", "cdap_parent_write")
_DBT_MODELS = ("datahub", "gravitino")
_PLACED: Final = ("sql", "ranger-file", "dbt-file")
"""Sources that are put into a metalake that they do not name themselves."""

_TAKEN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "--metalake": _PLACED,
    "--catalog": _PLACED,
    "--takes-data-for-modify": ("sql",),
    "--takes-granted-roles": ("sql",),
    "--service": ("ranger-file",),
    "--takes-untagged": ("ranger-file",),
    "--platform": ("dbt-file",),
    "--environment": ("dbt-file",),
    "--revision": ("store",),
}
"""The options that only some sources take."""


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
    """How what is read is named, and what of it counts: options of single sources."""

    metalake: Annotated[
        str | None,
        Parameter(help="For `sql`, `ranger-file` and `dbt-file`: the metalake that it is put in."),
    ] = None
    catalog: Annotated[
        str | None,
        Parameter(
            help="For `sql`: the name of the database as a catalog. For `ranger-file`: that of"
            " the service; default: its name. For `dbt-file`: where there is no database."
        ),
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
    service: Annotated[
        str | None, Parameter(help="For `ranger-file`: whose policies, where there are several.")
    ] = None
    takes_untagged: Annotated[
        bool,
        Parameter(
            help="For `ranger-file`: nothing carries the tags that policies deny or mask by.",
            show_default=False,
        ),
    ] = False
    platform: Annotated[
        str | None,
        Parameter(help="For `dbt-file`: DataHub's platform of the database; default: adapter."),
    ] = None
    environment: Annotated[
        str | None, Parameter(help="For `dbt-file`: DataHub's environment; default: PROD.")
    ] = None
    revision: Annotated[
        int | None, Parameter(help="For `store`: as of which revision; default: the newest.")
    ] = None

    def given(self) -> Iterator[str]:
        """The options that were given."""
        for option in _TAKEN_BY:
            value = getattr(self, option.removeprefix("--").replace("-", "_"))
            if value is not None and value is not False:
                yield option


LOCAL = Spark()
NO_DATABASE = Database()


def source_of(
    kind: Kind, text: str, model: str | None = None, database: Database = NO_DATABASE
) -> Source:
    """The source that the command line names; raises `BadInput` for what does not go together."""
    check_options(kind, model, database)
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
        case "ranger-file":
            return _ranger(path, database)
        case "dbt-file":
            return _dbt(path, model or _DBT_MODELS[0], database)
        case _:
            return _tabular(path, kind, model or "")


def _tabular(path: Path, kind: Kind, model: str) -> Source:
    from lakewarden.pipeline.ingest.tabular import Tabular

    if not is_file(model):
        return Tabular(path, kind, model)
    text = read_model(Path(model))
    return Tabular(path, kind, own.name_of(text, model), model_text=text)


def check_options(kind: Kind, model: str | None, database: Database) -> None:
    """Refuses options that do not go with the kind of source."""
    expected: tuple[str, ...] = ()
    if kind in ("cdap-file", "cdap"):
        expected = _CDAP_MODELS
    elif kind == "dbt-file":
        expected = _DBT_MODELS
    elif kind in ("csv", "parquet"):
        expected = tuple(models.names())
        if model is not None and is_file(model):
            expected = (model,)
        if model is None:
            message = f"`--source {kind}` needs the model, one of: {', '.join(expected)}, or a file"
            raise BadInput(message, where="--model")
    if model is not None and model not in expected:
        known = f"one of: {', '.join(expected)}" if expected else "no model"
        raise BadInput(f"`--source {kind}` takes {known}; got `{model}`", where="--model")
    for option in database.given():
        if kind not in _TAKEN_BY[option]:
            taking = " and ".join(f"`--source {one}`" for one in _TAKEN_BY[option])
            raise BadInput(f"only {taking} takes it, not `--source {kind}`", where=option)
    _check_placed(kind, model, database)


def _check_placed(kind: Kind, model: str | None, database: Database) -> None:
    """Refuses a missing name, and names that nothing bears under the model."""
    is_dbt, in_lake = kind == "dbt-file", model == "gravitino"
    needed = [("--metalake", database.metalake)] if kind in _PLACED else []
    if kind == "sql":
        needed.append(("--catalog", database.catalog))
    for option, value in needed:
        if not value and (in_lake or not is_dbt):
            raise BadInput(f"`--source {kind}` needs a name", where=option)
    if is_dbt and not in_lake and (database.metalake or database.catalog):
        raise BadInput("only under `--model gravitino` is there a metalake", where="--metalake")
    if is_dbt and in_lake and (database.platform or database.environment):
        raise BadInput("only DataHub's model has platforms and environments", where="--platform")


def url_of(text: str, kind: Kind) -> str:
    """A URL, or the one that an environment variable holds, so that no password is shown."""
    if not text.startswith(_ENVIRONMENT):
        return text
    name = text.removeprefix(_ENVIRONMENT)
    url = os.environ.get(name, "")
    if not url:
        raise BadInput(f"the environment variable `{name}` is not set", where=kind)
    return url


def _database(text: str, database: Database) -> Source:
    from lakewarden.pipeline.ingest.sql import Sql

    return Sql(
        url_of(text, "sql"),
        database.metalake or "",
        database.catalog or "",
        database.takes_data_for_modify,
        database.takes_granted_roles,
    )


def _ranger(path: Path, database: Database) -> Source:
    from lakewarden.pipeline.ingest.ranger_file import RangerFile

    return RangerFile(
        path,
        database.metalake or "",
        database.catalog or "",
        database.service or "",
        database.takes_untagged,
    )


def _dbt(path: Path, model: str, database: Database) -> Source:
    from lakewarden.pipeline.ingest.dbt_file import DbtFile

    return DbtFile(
        path,
        model,
        database.metalake or "",
        database.catalog or "",
        database.platform or "",
        database.environment or "PROD",
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
    yield from _quality(report.quality)
    if report.reused:
        yield f"taken over from a run that was cut short: {', '.join(report.reused)}"
    yield f"took {report.took:.1f} s"


def _quality(found: Quality) -> Iterator[str]:
    """The quality of the data, where there is something to mend."""
    for what, shares in (("owner", found.ownerless), ("description", found.undescribed)):
        for type, share in shares.items():
            if share.lacking:
                part = f"{share.lacking:,} of {share.of:,} × {type}"
                yield f"without {what}: {part} ({share.lacking / share.of:.0%})"
    for name, count in found.dangling.items():
        if name in ("user", "group", "role"):
            yield f"named, but no principal that is stored: {count:,} × {name}"
    if found.duplicates:
        yield f"duplicates: {found.duplicates:,}"
    for type, count in found.unknown_types.items():
        yield f"of a type that the model does not know: {count:,} × {type}"
