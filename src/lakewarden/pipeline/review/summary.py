"""The content of a review's report, read from its tables."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nsmallest
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakewarden.kernel.model import CHANGE, READ, SEE, WAYS
from lakewarden.kernel.principal import USER
from lakewarden.pipeline.index.index import STATEMENTS, Index
from lakewarden.pipeline.product import Manifest, sha256_of
from lakewarden.pipeline.review.block_merge import MergedFindings
from lakewarden.pipeline.review.people import columns_of, rows_at
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    BY_CONTAINER,
    BY_DOMAIN,
    BY_PRINCIPAL,
    BY_TAG,
    COLUMNS,
    INACTIVE,
    ORPHANS,
    OWNERS,
    PEOPLE,
    QUESTIONS,
    REVIEW,
)
from lakewarden.pipeline.storage.files import modified_at, parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import metadata_of, read_table
from lakewarden.pipeline.version_folder import MANIFEST

TOP: Final = 15
"""How many rows a chart shows."""

ROWS: Final = 50
"""How many rows a table shows."""

ASSETS: Final = 300
"""How many assets are shown with their people."""

BOUNDS: Final = (1, 2, 6, 21, 101, 1_001, 10_001)
"""The lower bounds of the distribution's groups, in users."""

SENSITIVE: Final = "sensitive"
"""The name under which assets with sensitive labels are counted."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a review: the manifest of the index, facts of the review, the index's age.

    `sensitive_terms` are the words that make labels sensitive.
    """

    index: Manifest
    facts: Mapping[str, Any]
    age: Mapping[str, Any]
    sensitive_terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class Summary:
    """The content of the report; `counts` has the number of rows of every table in it.

    `sensitive` and `assets` are rows of `people`, most readers first: assets with sensitive labels,
    and all. `columns` are rows of the table of that name; those whose values most people read come
    first. `spread` has for each way the number of assets by their number of users, in the groups of
    `BOUNDS`, nobody first.
    """

    source: Source
    counts: Mapping[str, int]
    users: int
    sensitive: Rows
    assets: Rows
    columns: Rows
    wide: Rows
    questions: Rows
    spread: Mapping[str, Sequence[int]]
    people: Rows
    groups: Mapping[str, Rows]
    owners: Rows
    orphans: Rows
    orphans_by: Sequence[tuple[str, int]]
    inactive: Rows
    inactive_by: Sequence[tuple[str, int]]


def summed(folder: Location, source: Source) -> Summary:
    """The summary of the tables in the folder."""

    def read(name: str, *columns: str) -> pa.Table:
        return read_table(folder / name, columns=list(columns) or None)

    questions = read(QUESTIONS)
    review = read(REVIEW, *_OF_REVIEW)
    people = read(BY_PRINCIPAL, "name", *WAYS, *(f"{way}_as_owner" for way in WAYS))
    orphans = read(ORPHANS, "type", "name", "container", "reason", "owners")
    inactive, owners = read(INACTIVE), read(OWNERS)
    groups = {name: read(name) for name in (BY_DOMAIN, BY_TAG, BY_CONTAINER)}
    counts = {QUESTIONS: questions, REVIEW: review, ORPHANS: orphans, INACTIVE: inactive}
    files = parquet_files(folder / BY_ASSET)
    assets = sum(metadata_of(file).num_rows for file in files)
    named = columns_of(folder / PEOPLE, "name", "sensitive", *(f"{way}_n" for way in WAYS))
    named = named.append_column("place", pa.array(np.arange(len(named))))
    columns = read(COLUMNS)
    labelled = named.filter(pc.greater(pc.list_value_length(named.column("sensitive")), 0))
    return Summary(
        source=source,
        counts={
            BY_ASSET: assets,
            SENSITIVE: labelled.num_rows,
            **{name: t.num_rows for name, t in {**counts, **groups}.items()},
            COLUMNS: columns.num_rows,
        },
        users=people.num_rows,
        sensitive=rows_at(folder / PEOPLE, _most_read(labelled)),
        assets=rows_at(folder / PEOPLE, _most_read(named)),
        columns=columns.sort_by(_MOST_UNMASKED).slice(0, ASSETS).to_pylist(),
        wide=_top(review, lambda row: row["n_users"] * row["n_entities"]),
        questions=_top(questions, lambda row: row["n_users"]),
        spread={way: _spread(read(BY_ASSET, f"{way}_users").column(0)) for way in WAYS},
        people=_top(people, lambda row: max(row[w] + row[f"{w}_as_owner"] for w in WAYS)),
        groups={name: _top(of_name, lambda row: row["assets"]) for name, of_name in groups.items()},
        owners=_top(owners, lambda row: row["assets"]),
        orphans=orphans.sort_by([("type", "ascending"), ("name", "ascending")])
        .slice(0, ROWS)
        .to_pylist(),
        orphans_by=_counted(orphans.column("type")),
        inactive=inactive.slice(0, ROWS).to_pylist(),
        inactive_by=_counted(inactive.column("reason")),
    )


def _most_read(named: pa.Table) -> list[int]:
    """The places of the assets with the most readers; ties by users who change, then see."""
    order = [(f"{way}_n", "descending") for way in (READ, CHANGE, SEE)]
    ordered = named.sort_by([*order, ("name", "ascending"), ("place", "ascending")])
    places: list[int] = ordered.column("place").slice(0, ASSETS).to_pylist()
    return places


_MOST_UNMASKED: Final = [
    *(("unmasked_n", "descending"), ("masked_n", "descending")),
    *(("name", "ascending"), ("id", "ascending")),
]
_OF_REVIEW: Final = (
    *("kind", "name", "type", "form", "class", "container", "n_entities", "example", "n_users"),
    *("n_users_of_all", "owners_too", "allow", "deny", "statements"),
)


def _top(table: pa.Table, size: Callable[[Mapping[str, Any]], int]) -> Rows:
    """The largest rows; the first of equal ones."""
    # Lists may be long: they are read only for the rows that are shown.
    plain = [field.name for field in table.schema if not pa.types.is_list(field.type)]
    name = "name" if "name" in plain else "owner"
    rows = enumerate(table.select(plain).to_pylist())
    sizes = ((-size(row), str(row[name]), place) for place, row in rows if size(row))
    places = [place for _, _, place in nsmallest(ROWS, sizes)]
    largest: Rows = table.take(pa.array(places, pa.int64())).to_pylist()
    return largest


def _counted(column: pa.ChunkedArray) -> list[tuple[str, int]]:
    counts = ((c["values"], c["counts"]) for c in pc.value_counts(column).to_pylist())
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def _spread(users: pa.ChunkedArray) -> list[int]:
    """The number of assets by their number of users; assets without such a way are left out."""
    known = pc.drop_null(users).to_numpy()
    places = np.searchsorted(BOUNDS, known, side="right")
    return [int(n) for n in np.bincount(places, minlength=len(BOUNDS) + 1)]


def bound_names() -> list[str]:
    """The groups of the distribution, in words.

    >>> bound_names()[:4]
    ['nobody', '1', '2–5', '6–20']
    """
    names = ["nobody"]
    for low, high in zip(BOUNDS, [*BOUNDS[1:], None], strict=True):
        if high is None:
            names.append(f"{low:,}+")
        else:
            names.append(f"{low:,}" if high == low + 1 else f"{low:,}–{high - 1:,}")
    return names


def age_of(source: Location) -> dict[str, Any]:
    """When the index was written, and its age in seconds."""
    written_at = modified_at(source / MANIFEST)
    moment = datetime.fromtimestamp(written_at, UTC).isoformat(timespec="seconds")
    return {"written": moment, "age_seconds": max(0, round(time.time() - written_at))}


def facts_of(index: Index, findings: MergedFindings) -> dict[str, Any]:
    """The source of the review: the system, and the population that the index recorded."""
    facts, memberships = index.manifest.facts, findings.people.memberships
    statements = sha256_of((index.folder / STATEMENTS).read_text("utf-8"))
    digests = {name: content.digest for name, content in sorted(index.manifest.tables.items())}
    population = {
        "entities": sum(n for type, n in findings.census.items() if type),
        "users": sum(memberships.principals[id].kind == USER for id in memberships.stored),
        "principals": len(memberships.stored),
        "statements": statements,
        "checksum": sha256_of(json.dumps([digests, statements])),
    }
    copied = ("realm", "revision", "model", "settings", "digest", "from", "until", "bits")
    return {**{name: facts[name] for name in copied}, "population": population}
