"""`lakewarden import`: loads a running original system, or its export, into a realm."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At
from lakewarden.cli.load import load_directory, show_load
from lakewarden.cli.outcome import YES, note, show, show_json
from lakewarden.cli.pipeline.ingest_sources import RUNNING, show_rows, source_of
from lakewarden.cli.pipeline.progress import running
from lakewarden.cli.pipeline.spark_options import LOCAL, Spark
from lakewarden.cli.question import As, Texts, pair
from lakewarden.cli.source_credentials import (
    NO_CREDENTIALS,
    NO_PEOPLE,
    People,
    SourceCredentials,
)
from lakewarden.cli.status_line import is_quiet
from lakewarden.cli.text_file import read_text
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import USER, Principal
from lakewarden.names.canonical import escaped
from lakewarden.names.secret import masked
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.registry import registry
from lakewarden.service.system import load_system

if TYPE_CHECKING:
    from lakewarden.analysis.lint.lint_context import SetAside
    from lakewarden.kernel.principal import Principal
    from lakewarden.pipeline.extract.extractor import Extractor
    from lakewarden.pipeline.extract.original import Original, Withheld
    from lakewarden.pipeline.ingest.run import Result

if TYPE_CHECKING:
    System: TypeAlias = str
else:
    System = Literal[RUNNING]

SHOWN: Final = 20
"""How many skipped items are named on a terminal; the JSON output names all."""

_REQUESTS_PER_LINE: Final = 500


@dataclass
class _Extraction:
    """The result of a walk through a running original."""

    requests: int = 0
    records: dict[str, int] = field(default_factory=dict)
    withheld: list[Withheld] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_(  # noqa: PLR0913 — each is an option
    system: Annotated[System, Parameter(help="System of the source.")],
    source: Annotated[
        str, Parameter(help="Address of the source, or a file or folder of its export.")
    ],
    /,
    *,
    to: Annotated[str, Parameter(help="Target realm.")],
    model: Annotated[str | None, Parameter(help="For `cdap`: the model.")] = None,
    setting: Annotated[Texts, Parameter(help="Setting of the model, `NAME=VALUE`.")] = (),
    keep: Annotated[
        Path | None, Parameter(help="Folder in which to save the export; it may contain secrets.")
    ] = None,
    dry_run: Annotated[
        bool, Parameter(help="Read and check everything, change nothing.", show_default=False)
    ] = False,
    prune: Annotated[
        bool,
        Parameter(help="Drop what the realm has and the source does not.", show_default=False),
    ] = False,
    credentials: SourceCredentials = NO_CREDENTIALS,
    people: People = NO_PEOPLE,
    at: At = NOWHERE,
    spark: Spark = LOCAL,
    format: As = "table",
) -> int:
    """Loads a running system through its API, or an export of it, as one revision.

    Reports what was not imported: what the API refused, what it cannot show, and quarantined rows.
    Without differences it changes nothing.

    For example:

        lakewarden import gravitino https://gravitino.host/ --to gravitino --dry-run
    """
    settings = dict(pair(text, "--setting") for text in setting)
    _check(system, source, keep, people)
    extraction = _Extraction()
    with tempfile.TemporaryDirectory(prefix="lakewarden-import-") as scratch:
        export = Path(source)
        if _is_address(source):
            export = keep if keep is not None else Path(scratch, "export")
            extraction = _extract(system, source, export, credentials, people)
            _check_shown(extraction, prune)
        elif people.identity is not None:
            export = _merged_export(export, people.identity, Path(scratch, "export"))
        out = Path(scratch, "ingested")
        result = _ingested(system, export, out, to, model, settings, spark)
        lost = _set_aside(out)
        if format == "json":
            answer = None if dry_run else load_directory(out, to, prune=prune, at=at)
            summary = _summary(system, source, to, extraction, result, lost)
            show_json({**summary, "loaded": answer})
            return YES
        show(f"{masked(source)}: read for realm {to}", "")
        show_rows(result.report)
        _name(extraction, lost)
        if dry_run:
            note("dry run: nothing was changed")
        else:
            show("")
            show_load(to, load_directory(out, to, prune=prune, at=at))
    return YES


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _check(system: str, source: str, keep: Path | None, people: People) -> None:
    """Refuses options that cannot be combined."""
    is_running = _is_address(source)
    if not is_running and not Path(source).exists():
        raise BadInput("no such file or folder, and no http:// or https:// address", where=source)
    if keep is not None and not is_running:
        raise BadInput("needs a running system as source", where="--keep")
    check_people(system, people, is_running=is_running)


def check_people(system: str, people: People, *, is_running: bool) -> None:
    """Refuses principals that the system does not need, or lists itself."""
    extractor, title = _extractor(system), registry().systems[system].title
    if people.principals is not None and (extractor.read_principals is None or not is_running):
        raise BadInput(f"only a running {_asking_systems()} takes principals", where="--principals")
    if people.identity is not None and not extractor.takes_identity:
        raise BadInput(f"{title} provides the members of groups itself", where="--identity")


def _extractor(system: str) -> Extractor:
    definition = registry().systems[system]
    extractor: Extractor = definition.load(definition.extractor)
    return extractor


def _asking_systems() -> str:
    """The titles of the systems that are queried principal by principal."""
    having = registry().with_part("extractor")
    return " or ".join(system.title for system, extractor in having if extractor.read_principals)


def _check_shown(extraction: _Extraction, prune: bool) -> None:
    """Refuses to drop rows that may still exist and were only not shown."""
    from lakewarden.pipeline.extract.original import ABSENT

    hidden = [reply for reply in extraction.withheld if reply.status not in ABSENT]
    if prune and hidden:
        first = f"`{hidden[0].path}` ({hidden[0].status})"
        more = f" and {len(hidden) - 1:,} more" if len(hidden) > 1 else ""
        message = f"the original does not show {first}{more}, and it would be dropped here"
        raise BadInput(f"{message}; use an account that may see it", where="--prune")


def _extract(
    system: str, address: str, folder: Path, credentials: SourceCredentials, people: People
) -> _Extraction:
    """Reads the original into the folder."""
    from lakewarden.pipeline.extract.export import Export
    from lakewarden.pipeline.extract.original import Original

    principals = _principals(system, people, credentials)
    with (
        _progress(system) as tell,
        Original(
            address,
            credentials.credential(),
            credentials.source_timeout,
            credentials.source_ca,
            tell,
        ) as original,
        Export(folder) as export,
    ):
        _extractor(system).extract(original, export, principals)
    if people.identity is not None:
        shutil.copy(people.identity, folder / "identity.json")
        export.notes[:] = [text for text in export.notes if "--identity" not in text]
    return _extraction(original, dict(export.counts), export.notes)


def _extraction(original: Original, records: dict[str, int], notes: list[str]) -> _Extraction:
    return _Extraction(original.requests, records, sorted(original.withheld), notes)


def _principals(system: str, people: People, credentials: SourceCredentials) -> list[Principal]:
    """The principals to query in a system that describes single principals only."""
    from lakewarden.pipeline.ingest.exchange import exchanges
    from lakewarden.pipeline.ingest.identity import People as Replies

    read = _extractor(system).read_principals
    if read is None:
        return []
    principals = (
        [] if credentials.source_user is None else [Principal(USER, credentials.source_user)]
    )
    if people.principals is not None:
        principals += read(read_text(people.principals), str(people.principals))
    if people.identity is not None:
        replies = Replies()
        for exchange in exchanges(people.identity, people.identity.name):
            replies.add_reply(exchange.segments[2:], exchange.section())
        principals += [named.principal for named in replies.principals_by_id.values()]
    return principals


def _merged_export(export: Path, identity: Path, folder: Path) -> Path:
    """One folder with an export and the identity provider's responses."""
    if export.is_dir():
        shutil.copytree(export, folder)
    else:
        folder.mkdir()
        shutil.copy(export, folder)
    shutil.copy(identity, folder / "identity-given.json")
    return folder


@contextmanager
def _progress(system: str) -> Iterator[Any]:
    """Shows the progress of the walk on standard error."""
    is_terminal = sys.stderr.isatty() and not is_quiet()

    def tell(requests: int, path: str) -> None:
        if is_terminal:
            print(
                f"\r\033[K{system}: {requests:,} requests {escaped(path)[:60]}",
                end="",
                file=sys.stderr,
                flush=True,
            )
        elif requests % _REQUESTS_PER_LINE == 0 and not is_quiet():
            print(f"{system}: {requests:,} requests", file=sys.stderr)

    yield tell
    if is_terminal:
        print("\r\033[K", end="", file=sys.stderr)


def _ingested(
    system: str,
    export: Path,
    out: Path,
    realm: str,
    model: str | None,
    settings: dict[str, str],
    spark: Spark,
) -> Result:
    from lakewarden.pipeline.ingest.run import ingest

    files_source = source_of(_extractor(system).files, str(export), model)
    load_system(files_source.model, settings)
    with running("import", spark, reads=[export], out=out, title=system) as (session, progress):
        return ingest(
            files_source, out, spark=session, realm=realm, settings=settings, progress=progress
        )


def _set_aside(out: Path) -> list[SetAside]:
    """The rows that were not imported, each by a name instead of its cells."""
    from lakewarden.pipeline.directory import set_aside

    rows = set_aside(out, read_manifest(out))
    return sorted(row._replace(row=_name_of(row)) for row in rows)


def _name_of(row: SetAside) -> str:
    cells = [str(cell) for cell in json.loads(row.row) if cell]
    # The second cell of a statement is the whole statement; the id is enough as a name.
    return cells[0] if row.table == "statements" and cells else ":".join(cells)


def _summary(
    system: str,
    source: str,
    realm: str,
    extraction: _Extraction,
    result: Result,
    lost: list[SetAside],
) -> dict[str, object]:
    """The whole report, as JSON."""
    return {
        "system": system,
        "source": source,
        "realm": realm,
        "requests": extraction.requests,
        "records": extraction.records,
        "not_shown": [reply._asdict() for reply in extraction.withheld],
        "not_carried": extraction.notes,
        "set_aside": [
            {("name" if key == "row" else key): cell for key, cell in row._asdict().items()}
            for row in lost
        ],
        "ingested": result.report.table(result.manifest),
    }


def _name(extraction: _Extraction, lost: list[SetAside]) -> None:
    """Names what was not imported, for a terminal."""
    for row in lost[:SHOWN]:
        show(f"set aside: {row.table}: {row.row}: {row.reason}")
    for reply in extraction.withheld[:SHOWN]:
        show(f"not shown ({reply.status}): {reply.path}" + (f": {reply.why}" if reply.why else ""))
    more = max(len(lost) - SHOWN, 0) + max(len(extraction.withheld) - SHOWN, 0)
    if more:
        show(f"and {more:,} more, which --format json names")
    for text in extraction.notes:
        show(f"not imported: {text}")
