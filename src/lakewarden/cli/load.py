"""`lakewarden load`: loads an ingested directory into the store."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator
from lakewarden.cli.folder import Folder
from lakewarden.cli.outcome import YES, note, show, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    from lakewarden.pipeline.directory import Loaded
    from lakewarden.pipeline.directory_manifest import Manifest
    from lakewarden.service.load import Quarantine

SHOWN = 5


def load(
    directory: Annotated[
        Folder,
        Parameter(help="Directory that `lakewarden pipeline ingest`, or `link`, wrote."),
    ],
    /,
    *,
    realm: Annotated[
        str | None, Parameter("--realm", help="The realm; links name their realms.")
    ] = None,
    prune: Annotated[
        bool,
        Parameter(help="Drop what is stored but not in the directory.", show_default=False),
    ] = False,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Loads an ingested directory, or a directory of links, as one revision.

    Without differences it changes nothing. Rows that are no longer in the directory are counted,
    and dropped only with `--prune`; statements that policy files manage always stay. A server
    accepts up to 32 MiB of rows; load larger directories directly into its database.

    For example:

        lakewarden load quillmere --realm gravitino --database sqlite:///estate.db

        lakewarden load links --database sqlite:///estate.db
    """
    from lakewarden.pipeline.link_directory import is_links

    if is_links(directory):
        if realm is not None:
            raise BadInput("links name their realms; leave --realm out", where="--realm")
        from lakewarden.cli.link import load_links

        return load_links(directory, prune=prune, at=at, format=format)
    if realm is None:
        raise BadInput("name the realm", where="--realm")
    answer = load_directory(directory, realm, prune=prune, at=at)
    if format == "json":
        show_json({"realm": realm, **answer})
    else:
        show_load(realm, answer)
    return YES


def load_directory(directory: Location, realm: str, *, prune: bool, at: At) -> dict[str, Any]:
    """Loads an ingested directory into a realm of a database or a server; returns the result."""
    from lakewarden.pipeline.directory import load as read

    remote = at.remote()
    with _uncollected(), working("load", ("read", "compare and write")) as begin:
        loaded = read(directory)
        rejected = quarantine_of(directory, loaded.manifest)
        begin("compare and write")
        if remote is None:
            return _load_into_database(loaded, rejected, realm, prune, at.database)
        path = f"/realms/{quote(realm, safe='')}/load"
        body = {**_request_body(loaded), "prune": prune, "quarantine": rejected.recorded()}
        answer: dict[str, Any] = remote.ask("POST", path, body)
        return answer


def quarantine_of(directory: Location, manifest: Manifest) -> Quarantine:
    """The rows of the directory's input that the pipeline rejected."""
    from lakewarden.pipeline.directory import set_aside
    from lakewarden.service.load import MAX_QUARANTINED, Quarantine, QuarantinedRow

    rows = set_aside(directory, manifest)[:MAX_QUARANTINED] if manifest.quarantined else []
    first = [QuarantinedRow(row.table, row.reason, row.detail, row.place) for row in rows]
    return Quarantine(manifest.quarantined, first, str(directory))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disables the garbage collector, which would traverse millions of live rows repeatedly.

    It took a third of the time, and found nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load_into_database(
    loaded: Loaded, rejected: Quarantine, realm: str, prune: bool, database: str | None
) -> dict[str, Any]:
    from lakewarden.service.load import load_rows

    with opened(database, makes=True) as service:
        before = service.catch_up().revision
        answer = load_rows(
            service,
            operator(service),
            realm,
            loaded.system,
            loaded.facts,
            prune=prune,
            quarantine=rejected,
        )
        outcome = done(answer)
    is_new = bool(outcome.gap.effects)
    return {
        "new": is_new,
        "revision": outcome.revision if is_new else before,
        "pruned": prune,
        "rows": {name: count._asdict() for name, count in outcome.gap.counts.items()},
        "left": list(outcome.gap.left),
    }


def _request_body(loaded: Loaded) -> dict[str, object]:
    """The rows in the format of the server's API."""
    facts, text = loaded.facts, loaded.system.text
    return {
        "model": loaded.manifest.model,
        **({} if text is None else {"model_text": text.text}),
        "settings": dict(loaded.system.model.settings),
        "entities": [(*entity, *(parent or (None, None))) for entity, parent in facts.entities],
        "relations": [(kind, *source, *target) for kind, source, target in facts.relations],
        "attributes": [(*entity, name, value) for entity, name, value in facts.attributes],
        "owners": [(*entity, *owner, kind) for entity, owner, kind in facts.owners],
        "principals": list(facts.principals),
        "memberships": [(*member, *of) for member, of in facts.memberships],
        "statements": [write_statement(statement) for statement in facts.statements],
    }


def show_load(realm: str, answer: dict[str, Any]) -> None:
    """Shows the result on a terminal."""
    revision = answer["revision"]
    if answer["new"]:
        show(f"{realm}: revision {revision}", "")
    else:
        show(f"{realm}: no changes, revision {revision}", "")
    rows, names = answer["rows"], ("new", "changed", "gone")
    table = [(name, *(f"{count[column]:,}" for column in names)) for name, count in rows.items()]
    show_table(("table", *names), table)
    removed = sum(count["gone"] for count in rows.values())
    if removed and not answer["pruned"]:
        note(f"rows missing in the directory stay stored; --prune drops them ({removed:,} rows)")
    left = answer["left"]
    if left:
        more = f" and {len(left) - SHOWN:,} more" if len(left) > SHOWN else ""
        note(f"unchanged, managed by policy files or others: {', '.join(left[:SHOWN])}{more}")
