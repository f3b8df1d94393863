"""The page of an access report: one self-contained file with the first rows of the tables.

It loads nothing and runs no script. Every name on it comes from others and is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.pipeline.access.schemas import (
    ACCESS,
    BY_OWNER,
    BY_TAG,
    CHANGES,
    COMBINATIONS,
    JOINERS_LEAVERS,
    NEVER_USED,
    PEOPLE,
    TOXIC,
)
from lakewarden.pipeline.review.markup import Markup, element, text, together, wrapped

_FIRST: Final = 300
"""How many rows of a table the page shows; the CSV files have all of them."""

_SECTIONS: Final[tuple[tuple[str, str, str], ...]] = (
    (TOXIC, "Toxic combinations", "People with two rights that nobody should have together."),
    (COMBINATIONS, "Combinations that were looked for", "With the assets of each side."),
    (CHANGES, "Changes since the last report", "Access that people gained and lost."),
    (JOINERS_LEAVERS, "Joiners and leavers", "Users who are new, and who are gone."),
    (NEVER_USED, "Access never used", "Classes of assets of which a user used none."),
    (PEOPLE, "People", "How many assets each user can see, read and change."),
    ("by_grant", "Grants", "Through what access comes, for how many."),
    (BY_TAG, "By tag", "Who has access to assets with a tag or term."),
    (BY_OWNER, "By owner", "Who has access to the assets of an owner."),
    (ACCESS, "Who can do what", "Every person of every asset, with the reason."),
)


class Limit(NamedTuple):
    """What a table leaves out; without `is_asked`, everything: an empty table is then no answer."""

    says: str
    is_asked: bool = False


_NO_LIMIT: Final = Limit("", is_asked=True)
_ALL: Final[Mapping[str, Limit]] = {}


def page(
    folder: Path,
    sizes: Mapping[str, int],
    realm: str,
    end: str = "",
    limits: Mapping[str, Limit] = _ALL,
) -> str:
    """The page of the tables in `folder`, with the given sizes; `end` says when they expire.

    `limits` are those of incomplete tables.
    """
    title = f"Access in {realm}"
    style = resources.files("lakewarden.pipeline.review").joinpath("page.css").read_text("utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style)),
    )
    links = element(
        "nav",
        *(
            together(element("a", _titled(heading, name, sizes, limits), href=f"#{name}"), " ")
            for name, heading, _ in _SECTIONS
        ),
        aria_label="Contents",
    )
    sections = (
        element(
            "section",
            element("h2", _titled(heading, name, sizes, limits), id=name),
            *_table_section(folder / name, says, sizes[name], limits.get(name, _NO_LIMIT)),
        )
        for name, heading, says in _SECTIONS
    )
    heading = [element("h1", title), *([element("p", end, class_="note")] if end else [])]
    body = element("body", element("main", *heading, links, *sections))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _titled(heading: str, name: str, sizes: Mapping[str, int], limits: Mapping[str, Limit]) -> str:
    is_asked = limits.get(name, _NO_LIMIT).is_asked
    return f"{heading} ({sizes[name]:,})" if is_asked else f"{heading} (not asked for)"


def _table_section(folder: Path, says: str, size: int, limit: Limit) -> Iterator[Markup]:
    """The meaning of a table, and its first rows."""
    said = f"{says} {limit.says}".rstrip()
    if not size:
        yield element("p", f"{said} None." if limit.is_asked else said)
        return
    rows = _first(folder)
    more = (
        f" The first {len(rows):,} rows of {size:,}; all are in csv/{folder.name}-00001.csv and on."
    )
    yield element("p", said + (more if size > len(rows) else ""))
    yield element("div", _table(rows), class_="wide")


def _first(folder: Path) -> pa.Table:
    with pq.ParquetFile(min(folder.glob("*.parquet"))) as file:
        batches = file.iter_batches(_FIRST)
        return pa.Table.from_batches(list(islice(batches, 1)), file.schema_arrow)


def _table(rows: pa.Table) -> Markup:
    head = element(
        "tr", *(element("th", name.replace("_", " "), scope="col") for name in rows.schema.names)
    )
    lines = (element("tr", *map(_cell, row.values())) for row in rows.to_pylist())
    return element("table", element("thead", head), element("tbody", *lines))


def _cell(value: Any) -> Markup:
    if isinstance(value, bool):
        return element("td", "yes" if value else "no")
    if isinstance(value, int):
        return element("td", text(value), class_="number")
    if isinstance(value, list):
        return element("td", wrapped(", ".join(value)))
    return element("td", wrapped("" if value is None else value))
