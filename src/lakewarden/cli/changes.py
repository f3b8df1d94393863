"""`lakewarden changes`: the change feed of a realm, as files for a stream."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import RealmName, url_of
from lakewarden.cli.outcome import YES, show
from lakewarden.cli.question_target import Url

if TYPE_CHECKING:
    from lakewarden.store import SqlStore

_PAUSE = 1.0


def changes(
    folder: Annotated[Path, Parameter(help="Output folder, created if missing.")],
    /,
    *,
    realm: RealmName,
    database: Url = None,
    after: Annotated[
        int | None,
        Parameter(
            help="Begin after this revision; default: after the newest file of the folder, or with"
            " the first revision."
        ),
    ] = None,
    follow: Annotated[
        bool,
        Parameter(help="Run until interrupted, with a file for each change.", show_default=False),
    ] = False,
) -> int:
    """Writes the change feed of a realm as JSON lines, one event a line.

    Each file has all events after the previous one, is named by its newest revision, and appears
    atomically; without changes there is no file. Data that does not affect decisions is left out:
    documents, tokens, secrets, links. The revision of an index is in its `manifest.json`.

    For example:

        lakewarden changes feed --realm gravitino --database sqlite:///estate.db --after 1
    """
    from lakewarden.store import open_store

    store = open_store(url_of(database), makes=False)
    try:
        is_begun = _write(store, realm, folder, after)
        while follow:
            time.sleep(_PAUSE)
            is_begun |= _write(store, realm, folder, None if is_begun else after)
    except KeyboardInterrupt:
        return YES
    finally:
        store.close()
    return YES


def _write(store: SqlStore, realm: str, folder: Path, after: int | None) -> bool:
    """Writes new events; returns whether there were any."""
    from lakewarden.pipeline.stream.feed import write_feed

    with store.reading() as reading:
        feed = write_feed(reading, realm, folder, after)
    if feed is not None:
        show(f"{feed.file}: {feed.events:,} events, revisions {feed.after + 1} to {feed.until}")
    return feed is not None
