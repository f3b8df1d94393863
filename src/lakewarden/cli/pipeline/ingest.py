"""`lakewarden pipeline ingest`: reads foreign metadata into a directory for questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import missing_file
from lakewarden.cli.folder import Folder
from lakewarden.cli.importing import check_people
from lakewarden.cli.pipeline.ingest_sources import (
    NO_DATABASE,
    RUNNING,
    Database,
    Kind,
    check_options,
    is_asked,
    show_result,
    source_of,
    url_of,
)
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.pipeline.table_options import AS_FILES, TableOptions
from lakewarden.cli.question import As, Texts, pair
from lakewarden.cli.source_credentials import (
    NO_CREDENTIALS,
    NO_PEOPLE,
    People,
    SourceCredentials,
)
from lakewarden.kernel.errors import BadInput
from lakewarden.names.secret import database_address
from lakewarden.pipeline.ingest.source import system_of
from lakewarden.pipeline.storage.location import Location, location

if TYPE_CHECKING:
    from lakewarden.pipeline.ingest.live import Live
    from lakewarden.pipeline.ingest.source import Distant, Source
    from lakewarden.pipeline.ingest.stored import Stored


def ingest(  # noqa: PLR0913 — each is an option
    path_or_url: Annotated[
        str,
        Parameter(
            help="File or folder; for `sql`, `store` and `hive-metastore` the URL of a database, or"
            " `env:NAME` for the environment variable that holds it; for a running system its"
            " address, such as `thrift://HOST:PORT`; for `glue` `aws://REGION`."
        ),
    ],
    /,
    *,
    source: Annotated[Kind, Parameter(help="Kind of source.")],
    out: Annotated[Folder, Parameter(help="Output directory, created if missing.")],
    model: Annotated[
        str | None,
        Parameter(
            help="Model: required for `csv` and `parquet`; for CDAP `cdap` or `cdap_parent_write`;"
            " for `dbt-file` `datahub` (default) or `gravitino`."
        ),
    ] = None,
    realm: Annotated[
        str,
        Parameter(help="Name of the realm; default: the model's. For `store`: the realm to read."),
    ] = "",
    setting: Annotated[Texts, Parameter(help="Setting of the model, `NAME=VALUE`.")] = (),
    owners: Annotated[
        Path | None, Parameter(help="TOML file of owners by pattern, for datasets of DataHub.")
    ] = None,
    inventory: Annotated[
        Texts,
        Parameter(
            help="Ingested directory whose entities the realm includes; `DIR=PARTS` also includes"
            " `owners`, `people`, `statements`, separated by commas. Repeatable."
        ),
    ] = (),
    expect: Annotated[
        Path | None,
        Parameter(help="TOML file of bounds on the run's figures; a run that breaks one stops."),
    ] = None,
    accept: Annotated[
        bool,
        Parameter(help="Publish the version although it breaks expectations.", show_default=False),
    ] = False,
    fresh: Annotated[
        bool,
        Parameter(help="Repeat all stages of an interrupted run.", show_default=False),
    ] = False,
    database: Database = NO_DATABASE,
    credentials: SourceCredentials = NO_CREDENTIALS,
    people: People = NO_PEOPLE,
    spark: Spark = LOCAL,
    tables: TableOptions = AS_FILES,
    format: As = "table",
) -> int:
    """Reads metadata into a directory for the question verbs (`--from`).

    An error in the input rejects all of it, and the directory stays unchanged; inconsistent rows
    are quarantined and counted. Unchanged input makes no new version. An interrupted run resumes. A
    running system is read with the token in LAKEWARDEN_SOURCE_TOKEN. With inventories, a realm
    combines several sources; conflicts between them are rejected. With `--expect`, a run whose
    figures break a bound stops, and the version before stays.

    For example:

        lakewarden pipeline ingest export.json --source datahub-file --out catalog

        lakewarden pipeline ingest https://gravitino.host/ --source gravitino --out lake

        lakewarden pipeline ingest policies.json --source ranger-file --metalake lake --out hive

        lakewarden pipeline ingest policies.json --source ranger-file --metalake lake --catalog hive
            --inventory tables --out hive

        lakewarden pipeline ingest target/manifest.json --source dbt-file --out shop
            --expect bounds.toml

        lakewarden pipeline ingest sqlite:///estate.db --source store --realm gravitino --out lake
    """
    from lakewarden.pipeline.ingest.run import ingest as run_ingest

    settings = dict(pair(text, "--setting") for text in setting)
    _check_credentials(source, credentials, people)
    check_options(source, model, database)
    if accept and expect is None:
        raise BadInput("only with `--expect`", where="--accept")
    chosen: Source | Distant
    if source in RUNNING:
        chosen = _live(source, path_or_url, model, credentials, people)
    elif source == "store":
        if settings:
            raise BadInput("a stored realm has its own settings", where="--setting")
        stored = _stored(url_of(path_or_url, source), realm, database.revision)
        chosen, realm = stored, stored.snapshot.realm.name
        settings = dict(stored.settings)
    else:
        chosen = source_of(source, path_or_url, model, database, credentials)
    system_of(chosen, settings)
    chosen = _with_inventories(chosen, inventory)
    reads: list[str | Location] = [path_or_url, *(_inventory(text)[0] for text in inventory)]
    with running("ingest", spark, reads=reads, out=out, tables=tables, title=source) as (
        session,
        progress,
    ):
        result = run_ingest(
            chosen,
            out,
            realm=realm,
            settings=settings,
            ownership=owners,
            expectations=expect,
            accept=accept,
            fresh=fresh,
            progress=progress,
            spark=session,
        )
    return show_result(result, out, format)


def _with_inventories(source: Source | Distant, texts: Texts) -> Source | Distant:
    """The source with the inventories of the command line, given as `DIR` or `DIR=PART,PART`."""
    from lakewarden.pipeline.ingest.inventory import PARTS, Inventory, with_inventories

    inventories = []
    for text in texts:
        path, parts = _inventory(text)
        wrong = sorted(set(parts) - set(PARTS))
        if wrong:
            known = ", ".join(f"`{part}`" for part in PARTS)
            raise BadInput(f"unknown part `{wrong[0]}`; there are: {known}", where="--inventory")
        inventories.append(Inventory(path, frozenset(parts)))
    return with_inventories(source, inventories)


def _inventory(text: str) -> tuple[Location, list[str]]:
    """The folder of an inventory, and the named parts.

    >>> _inventory("lake=owners,people"), _inventory("lake")
    ((PosixPath('lake'), ['owners', 'people']), (PosixPath('lake'), []))
    """
    path, equals, listed = text.rpartition("=")
    return location(path if equals else text), listed.split(",") if equals else []


def _check_credentials(kind: Kind, credentials: SourceCredentials, people: People) -> None:
    """Refuses options of running systems for other sources."""
    if (not is_asked(kind) and credentials != NO_CREDENTIALS) or (
        kind not in RUNNING and people != NO_PEOPLE
    ):
        listed = ", ".join(f"`{system}`" for system in RUNNING)
        raise BadInput(f"only for a running system: {listed}", where="--source")
    if kind in RUNNING:
        check_people(kind, people, is_running=True)


def _live(
    kind: Kind, address: str, model: str | None, credentials: SourceCredentials, people: People
) -> Live:
    from lakewarden.pipeline.ingest.live import Live

    if not address.startswith(("http://", "https://")):
        hint = f"; an export in files is `--source {kind}-file`" if Path(address).exists() else ""
        expected = "expected http://HOST:PORT or https://HOST:PORT"
        # The text before an `@` may be a password.
        raise BadInput(f"{expected}{hint}", where=address.rpartition("@")[2])
    return Live(
        kind,
        address,
        credentials.credential(),
        credentials.source_timeout,
        credentials.source_ca,
        people.identity,
        people.principals,
        model or "",
    )


def _stored(url: str, realm: str, revision: int | None) -> Stored:
    """The realm of a store, read before Spark is started."""
    from lakewarden.pipeline.ingest.stored import Stored, snapshot
    from lakewarden.store import open_store

    file = missing_file(url)
    if file is not None:
        raise BadInput(f"there is no database `{file}`", where="store")
    with open_store(url, makes=False) as store, store.reading() as reading:
        return Stored(database_address(url), snapshot(reading, realm, revision))
