"""The content of a running catalog or a database, as one reading.

Nothing is published before everything is read. The version depends only on the content, since a
catalog may answer in a different order every time.
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
    """The names of the token for the next page: in a request, and in a reply."""

    sent: str
    received: str


def pages(
    original: Original,
    path: str,
    query: Mapping[str, str],
    token: Token,
    unserved: Container[int] = (),
) -> Iterator[Section]:
    """The pages of a list; none if it is withheld. Raises `BadInput` for a repeated page."""
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
    """The rows of the records that were collected from the named catalog.

    `not_read` lists what the catalog did not show, in addition to what its mapping never reads.
    """
    rows = list(policy.rows(content, model))
    never = (*content.mapping.not_read, *not_read)
    return Reading(rows, [Input(name, _digest(rows))], not_read=never)


def _digest(rows: Iterable[Row]) -> str:
    """A digest that does not depend on the order of the answers or the places in them."""
    said = sorted({(row.table, row.cells, row.reason) for row in rows})
    text = json.dumps(said, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
