"""What a running catalog or a database says, as one reading.

Nothing is published before all of it is read. Its version is the content alone, since a catalog
may answer in another order every time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlencode

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.extract.original import Original
from lakewarden.pipeline.ingest.source import Reading
from lakewarden.service.source_row import Row
from lakewarden.systems.gravitino.ingest.catalogs import policy
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent

MOST_PAGES: Final = 100_000


class Token(NamedTuple):
    """What the token of the next page is called: in a request, and in a reply."""

    sent: str
    received: str


def pages(
    original: Original,
    path: str,
    query: Mapping[str, str],
    token: Token,
    unserved: Container[int] = (),
) -> Iterator[Section]:
    """The pages of a list; none where it is withheld. Raises `BadInput` for a repeated page."""
    asked, seen = dict(query), set[str]()
    for _ in range(MOST_PAGES):
        words = f"?{urlencode(asked)}" if asked else ""
        reply = original.get(f"{path}{words}", unserved)
        if reply is None:
            return
        page = Section(reply, path)
        following = page.text(token.received, "")
        yield page
        if not following:
            return
        if following in seen:
            raise BadInput("a page is given for the second time", where=path)
        seen.add(following)
        asked[token.sent] = following
    raise BadInput(f"more than {MOST_PAGES:,} pages", where=path)


def reading(
    content: ExportContent, model: Model, name: str, not_read: Iterable[str] = ()
) -> Reading:
    """The rows of what was gathered from the catalog of that name.

    `not_read` is what it did not show, beside what its mapping never reads.
    """
    rows = list(policy.rows(content, model))
    never = (*content.mapping.not_read, *not_read)
    return Reading(rows, [Input(name, _digest(rows))], not_read=never)


def _digest(rows: Iterable[Row]) -> str:
    """A digest that the order of the answers, and so the places in them, do not change."""
    said = sorted({(row.table, row.cells, row.reason) for row in rows})
    text = json.dumps(said, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
