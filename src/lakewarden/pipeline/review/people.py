"""The tables that name people: who sees, reads and changes an asset, who reads a column's values.

`people` is written in pages: a reader loads only the rows that are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.index.columns import ints
from lakewarden.pipeline.review.audience import People
from lakewarden.pipeline.review.labels import Labels, Sensitive
from lakewarden.pipeline.review.row import PEOPLE as AUDIENCE
from lakewarden.pipeline.review.schemas import COLUMNS, PEOPLE
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import parquet_file, read_table

PAGE: Final = 1_000
"""The number of assets on a page."""

FINDING_COLUMNS: Final = ("id", "type", "text", "people")
COLUMN_FINDINGS: Final = (*FINDING_COLUMNS, "container", "statements")


class Naming:
    """Names the people of the assets that blocks found, batch by batch."""

    def __init__(
        self,
        rows: ds.Dataset,
        people: People,
        labels: Labels,
        sensitive: Sensitive,
        schemas: Mapping[str, pa.Schema],
    ) -> None:
        chosen = ds.field("what") == AUDIENCE
        audiences = rows.to_table(columns=["key", "n", "owners"], filter=chosen).combine_chunks()
        codes = audiences.column("key").combine_chunks().dictionary_encode()
        # A key means the same wherever it was found, so the first occurrence is used.
        _, first = np.unique(ints(codes.indices), return_index=True)
        audiences = audiences.take(pa.array(first))
        self._keys = codes.dictionary
        self._counts = audiences.column("n").combine_chunks().cast(pa.int32())
        users = audiences.column("owners").combine_chunks()
        names = pa.array(
            [principal.name for principal in people.memberships.principals], pa.string()
        )
        offsets = pa.array(ints(users.offsets) - ints(users.offsets)[:1], pa.int32())
        self._names = pa.ListArray.from_arrays(offsets, names.take(users.flatten()))
        self._labels = labels
        self._sensitive = sensitive
        self._schemas = schemas
        self._count = 0

    def tables(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """The rows of some assets, a few at a time; the columns are `FINDING_COLUMNS`."""
        ids = ints(batch.column("id"))
        pages = (self._count + np.arange(len(batch))) // PAGE + 1
        self._count += len(batch)
        schema = self._schemas[PEOPLE]
        of_way = [pc.list_element(batch.column("people"), way) for way in range(len(WAYS))]
        places = [pc.index_in(keys, value_set=self._keys) for keys in of_way]
        known = [
            pa.array(pages, pa.int32()),
            batch.column("id").cast(schema.field("id").type),
            *(batch.column(name) for name in ("type", "text")),
            self._sensitive.of(self._labels.tags(ids), self._labels.terms(ids)),
        ]
        for start in range(0, len(batch), PAGE):
            on_page = [at.slice(start, PAGE) for at in places]
            columns = [
                *(column.slice(start, PAGE) for column in known),
                *(self._names.take(at) for at in on_page),
                *(self._counts.take(at) for at in on_page),
            ]
            yield pa.Table.from_arrays(columns, schema=schema)

    def columns(self, batch: pa.RecordBatch) -> pa.Table:
        """The rows of `columns` with a mask or a sensitive label, from some findings.

        The columns of the batch are `COLUMN_FINDINGS`.
        """
        ids = ints(batch.column("id"))
        sensitive = self._sensitive.of(self._labels.tags(ids), self._labels.terms(ids))
        people = (pc.list_element(batch.column("people"), place) for place in (0, 1))
        places = [pc.index_in(keys, value_set=self._keys) for keys in people]
        schema = self._schemas[COLUMNS]
        columns = [
            batch.column("id").cast(schema.field("id").type),
            *(batch.column(name) for name in ("type", "text", "container")),
            *(sensitive, batch.column("statements")),
            *(self._names.take(at) for at in places),
            *(self._counts.take(at) for at in places),
        ]
        table = pa.Table.from_arrays(columns, schema=schema)
        sizes = (pc.list_value_length(table.column(name)) for name in ("sensitive", "masks"))
        return table.filter(pc.greater(pc.add(*sizes), 0))


def paged(parts: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows, a page at a time."""
    left = schema.empty_table()
    for part in parts:
        left = pa.concat_tables([left, part]).combine_chunks()
        full_pages = len(left) // PAGE * PAGE
        yield from (left.slice(start, PAGE) for start in range(0, full_pages, PAGE))
        left = left.slice(full_pages)
    if len(left):
        yield left


def rows_at(folder: Location, places: Sequence[int]) -> list[dict[str, Any]]:
    """The rows of the table in `folder` at some places, in the requested order.

    Reads only the pages that contain them.
    """
    places_by_page: dict[int, list[int]] = {}
    row_by_place: dict[int, dict[str, Any]] = {}
    for place in places:
        places_by_page.setdefault(place // PAGE, []).append(place)
    with parquet_file(_file(folder)) as file:
        for page, page_places in sorted(places_by_page.items()):
            rows = file.read_row_group(page)
            page_rows = rows.take(
                pa.array([place - page * PAGE for place in page_places])
            ).to_pylist()
            row_by_place.update(zip(page_places, page_rows, strict=True))
    return [row_by_place[place] for place in places]


def columns_of(folder: Location, *names: str) -> pa.Table:
    """Some columns of the whole table, in the order of its places."""
    return read_table(_file(folder), columns=list(names))


def _file(folder: Location) -> Location:
    (file,) = folder.glob("*.parquet")
    return file
