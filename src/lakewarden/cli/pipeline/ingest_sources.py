"""The sources of ingestion on the command line, and the summary of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from cyclopts import Parameter

from lakewarden import models
from lakewarden.cli.model_text import is_file, read_model
from lakewarden.cli.outcome import YES, show, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.kernel.errors import BadInput
from lakewarden.models import own
from lakewarden.pipeline.ingest.dbt_file import DbtFile, readers
from lakewarden.pipeline.ingest.opener import Options, opener_of, openers
from lakewarden.pipeline.ingest.source import Source
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.registry import registry

if TYPE_CHECKING:
    from lakewarden.cli.source_credentials import SourceCredentials
    from lakewarden.pipeline.ingest.report import Quality, Report
    from lakewarden.pipeline.ingest.run import Result

_TABLES: Final = ("csv", "parquet", "delta", "iceberg")
_FORMATS: Final = ("dbt-file", *_TABLES, "store", "parts")
"""Sources that several systems share."""

RUNNING: Final = tuple(system.name for system in registry().systems.values() if system.extractor)
"""The systems that are read over their own API."""

if TYPE_CHECKING:
    Kind: TypeAlias = str
else:
    Kind = Literal[(*openers(), *_FORMATS, *RUNNING)]

NOTES_SHOWN = 5

_ENVIRONMENT = "env:"


@Parameter("*")
@dataclass(frozen=True)
class Database:
    """Options of single sources: how entities are named, and what is read."""

    metalake: Annotated[
        str | None,
        Parameter(help="For sources of Gravitino's model: the metalake."),
    ] = None
    catalog: Annotated[
        str | None,
        Parameter(
            help="For `sql`: the catalog name of the database. For `ranger-file`: the catalog name"
            " of the service; default: its name. For `dbt-file`: the catalog, if the adapter"
            " has no databases."
        ),
    ] = None
    takes_data_for_modify: Annotated[
        bool,
        Parameter(
            help="For `sql`: SELECT, INSERT, UPDATE and DELETE together count as MODIFY_TABLE.",
            show_default=False,
        ),
    ] = False
    takes_granted_roles: Annotated[
        bool,
        Parameter(help="For `sql`: roles that require SET ROLE also count.", show_default=False),
    ] = False
    warehouse: Annotated[
        str | None, Parameter(help="For `iceberg-rest`: the warehouse, if there are several.")
    ] = None
    namespace: Annotated[
        str | None, Parameter(help="For `iceberg`: the namespace of the tables.")
    ] = None
    service: Annotated[
        str | None, Parameter(help="For `ranger-file`: the service, if there are several.")
    ] = None
    takes_untagged: Annotated[
        bool,
        Parameter(
            help="For `ranger-file`: no entity has the tags by which policies deny or mask.",
            show_default=False,
        ),
    ] = False
    platform: Annotated[
        str | None,
        Parameter(
            help="DataHub's platform: for `dbt-file` of the database, default: the adapter; for"
            " `openlineage-file` of tables that symlinks name, default: hive."
        ),
    ] = None
    environment: Annotated[
        str | None,
        Parameter(
            help="For `dbt-file` and `openlineage-file`: DataHub's environment; default: PROD."
        ),
    ] = None
    revision: Annotated[
        int | None, Parameter(help="For `store`: the revision to read; default: the newest.")
    ] = None

    def specified(self) -> Options:
        """The options that were given, by name."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if value is not None and value is not False}


NO_DATABASE = Database()


def is_asked(kind: Kind) -> bool:
    """Whether the source is a running system, which is queried with credentials."""
    return kind in RUNNING or (kind in openers() and opener_of(kind).is_asked)


def source_of(
    kind: Kind,
    text: str,
    model: str | None = None,
    database: Database = NO_DATABASE,
    credentials: SourceCredentials | None = None,
) -> Source:
    """The source on the command line; raises `BadInput` for options that cannot be combined."""
    check_options(kind, model, database)
    is_url = kind in openers() and opener_of(kind).is_url
    if not is_url and kind != "iceberg" and not location(text).exists():
        raise BadInput("no such file or folder", where=text)
    if kind in openers():
        opener = opener_of(kind)
        place = url_of(text, kind) if is_url else text
        options = dict(database.specified())
        if opener.is_asked and credentials is not None:
            options |= {
                "credential": credentials.credential(),
                "timeout": credentials.source_timeout,
                "trusted": credentials.source_ca,
            }
        return opener.open(place, model or opener.models[0], options)
    if kind == "dbt-file":
        return DbtFile(location(text), model or next(iter(readers())), database.specified())
    if kind == "parts":
        from lakewarden.pipeline.ingest.parts import read_parts

        return read_parts(location(text))

    return _tables_of(kind, text, model or "", database.namespace)


def _tables_of(kind: Kind, text: str, model: str, namespace: str | None) -> Source:
    """Our own tables, under a shipped model or one in a file."""
    model_text = read_model(Path(model)) if is_file(model) else None
    name = model if model_text is None else own.name_of(model_text, model)
    if kind == "delta":
        from lakewarden.pipeline.ingest.pinned_tables import delta_tables

        return delta_tables(location(text), name, model_text)
    if kind == "iceberg":
        from lakewarden.pipeline.ingest.pinned_tables import iceberg_tables

        if not namespace:
            raise BadInput("`--source iceberg` needs a name", where="--namespace")
        return iceberg_tables(text, namespace, name, model_text)
    from lakewarden.pipeline.ingest.tabular import Tabular

    return Tabular(
        location(text), "csv" if kind == "csv" else "parquet", name, model_text=model_text
    )


def check_options(kind: Kind, model: str | None, database: Database) -> None:
    """Refuses options that do not apply to the kind of source."""
    expected: tuple[str, ...] = ()
    source_models = _models_of(kind)
    if len(source_models) > 1:
        expected = source_models
    elif kind == "dbt-file":
        expected = tuple(readers())
    elif kind in _TABLES:
        expected = tuple(models.names())
        if model is not None and is_file(model):
            expected = (model,)
        if model is None:
            message = f"`--source {kind}` needs the model, one of: {', '.join(expected)}, or a file"
            raise BadInput(message, where="--model")
    if model is not None and model not in expected:
        known = f"one of: {', '.join(expected)}" if expected else "no model"
        raise BadInput(f"`--source {kind}` takes {known}; got `{model}`", where="--model")
    options = database.specified()
    for name in options:
        if kind not in _kinds_with_option(name):
            taking = " and ".join(f"`--source {source}`" for source in _kinds_with_option(name))
            raise BadInput(f"only {taking} takes it, not `--source {kind}`", where=_option(name))
    if kind == "dbt-file":
        _check_dbt(model or next(iter(readers())), options)
    for name in opener_of(kind).required if kind in openers() else ():
        if name not in options or not options[name]:
            raise BadInput(f"`--source {kind}` needs a name", where=_option(name))


def _option(name: str) -> str:
    """An option in the notation of the command line."""
    return f"--{name.replace('_', '-')}"


def _kinds_with_option(name: str) -> tuple[str, ...]:
    """The kinds of sources that accept an option."""
    if name == "revision":
        return ("store",)
    if name == "namespace":
        return ("iceberg",)
    by_opener = [kind for kind in openers() if name in opener_of(kind).options]
    by_dbt = ["dbt-file"] if any(name in reader.options for reader in readers().values()) else []
    return (*by_opener, *by_dbt)


def _models_of(kind: Kind) -> tuple[str, ...]:
    """The models under which a system's files, or a running system, may be read."""
    if kind in RUNNING:
        return tuple(registry().systems[kind].models)
    return opener_of(kind).models if kind in openers() else ()


def _check_dbt(model: str, options: Options) -> None:
    """Refuses options that have no meaning under the model, and a missing required option."""
    reader = readers()[model]
    for name in options:
        if name not in reader.options:
            having = " and ".join(
                f"`--model {model}`" for model in readers() if name in readers()[model].options
            )
            raise BadInput(f"only under {having} is there a {name}", where=_option(name))
    for name in reader.required:
        if not options.get(name):
            raise BadInput("`--source dbt-file` needs a name", where=_option(name))


def url_of(text: str, kind: Kind) -> str:
    """A URL, or the one in an environment variable, to keep its password off the command line."""
    if not text.startswith(_ENVIRONMENT):
        return text
    name = text.removeprefix(_ENVIRONMENT)
    url = os.environ.get(name, "")
    if not url:
        raise BadInput(f"the environment variable `{name}` is not set", where=kind)
    return url


def show_result(result: Result, out: Location, format: As) -> int:
    """The run report."""
    manifest, report = result.manifest, result.report
    if format == "json":
        show_json({"directory": str(out), "new": result.is_new, **report.table(manifest)})
        return YES
    as_before = "" if result.is_new else ", unchanged"
    show(f"{out}: version {manifest.version} of realm {manifest.realm}{as_before}", "")
    show_rows(report)
    return YES


def show_rows(report: Report) -> None:
    """Shows the numbers of input and output rows of a run, with remarks; for people."""
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
        counts = ", ".join(f"{count:,} × {kind}" for kind, count in report.ignored.items())
        yield f"without meaning here: {counts}"
    for subject, note in report.notes[:NOTES_SHOWN]:
        yield f"no counterpart: {subject}: {note}"
    if report.note_count > NOTES_SHOWN:
        yield f"no counterpart: {report.note_count - NOTES_SHOWN:,} more, in report.json"
    for note in report.not_read:
        yield f"not read: {note}"
    yield from _quality(report.quality)
    for broken in report.broken:
        yield f"broken expectation: {broken}"
    if report.reused:
        yield f"taken over from a run that was cut short: {', '.join(report.reused)}"
    yield f"took {report.took:.1f} s"


def _quality(quality: Quality) -> Iterator[str]:
    """The data quality figures, if there is something to fix."""
    for member, shares in (("owner", quality.ownerless), ("description", quality.undescribed)):
        for type, share in shares.items():
            if share.lacking:
                part = f"{share.lacking:,} of {share.of:,} × {type}"
                yield f"without {member}: {part} ({share.lacking / share.of:.0%})"
    for name, count in quality.dangling.items():
        if name in ("user", "group", "role"):
            yield f"named, but no principal that is stored: {count:,} × {name}"
    if quality.duplicates:
        yield f"duplicates: {quality.duplicates:,}"
    for type, count in quality.unknown_types.items():
        yield f"of a type that the model does not know: {count:,} × {type}"
