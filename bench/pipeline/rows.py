"""Tables of a generated world: text columns made in bulk, written in row groups.

Rows must be added in the order in which the pipeline writes them, ascending by all columns, because
a table's digest depends on it. Numbers in names are padded, to sort like the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lakewarden.pipeline.chunk_digests import content_of
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.tables import arrow_schema

Ints = NDArray[np.int64]
Texts: TypeAlias = Any
"""An Arrow array of texts; the library has no types."""

ROW_GROUP = 262_144
"""How many rows are written at once."""

CHUNK = 262_144
"""How many entities are generated at once."""

WORDS = (
    "account", "address", "audit", "balance", "basket", "booking", "budget", "campaign", "carrier",
    "claim", "click", "contract", "customer", "delivery", "device", "employee", "event", "forecast",
    "invoice", "item", "lead", "ledger", "merchant", "order", "partner", "payment", "price",
    "product", "quote", "refund", "return", "review", "sensor", "session", "shipment", "stock",
    "supplier", "ticket", "tour", "visit",
)  # fmt: skip
"""Words that distinguish names in addition to their numbers."""

_NAMED = ("name", "parent_name", "source_name")
"""Columns whose texts are nearly all distinct in a row group, or repeat only in sequence."""


class Rows:
    """One table while it is being written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Rows(Path(folder), "principals") as rows:
    ...         rows.add("user", numbered("u", np.arange(3), 2))
    ...     rows.content().rows
    3
    """

    def __init__(self, folder: Path, table: str) -> None:
        self._table = table
        self._place = folder / table
        self._place.mkdir(parents=True)
        self._schema = arrow_schema(table)
        coded = [name for name in self._schema.names if name not in _NAMED]
        self._writer = pq.ParquetWriter(
            self._place / "part-00000.parquet",
            self._schema,
            compression="zstd",
            use_dictionary=coded,
        )
        self._held: list[pa.Table] = []
        self._rows = 0

    def add(self, *columns: Texts | str | None) -> None:
        """Adds rows by columns; a single text is repeated in every row, None is null."""
        count = max(len(column) for column in columns if isinstance(column, pa.Array))
        filled = [
            column
            if isinstance(column, pa.Array)
            else pa.repeat(pa.scalar(column, pa.string()), count)
            for column in columns
        ]
        self._held.append(pa.Table.from_arrays(filled, schema=self._schema))
        self._rows += count
        if self._rows >= ROW_GROUP:
            self._write()

    def _write(self) -> None:
        if self._held:
            self._writer.write_table(pa.concat_tables(self._held), row_group_size=ROW_GROUP)
        self._held, self._rows = [], 0

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._write()
        self._writer.close()

    def content(self) -> Content:
        """Rows and digest of the written table."""
        return content_of(self._place.parent / self._table, self._table)


def write_few(folder: Path, table: str, rows: Sequence[Sequence[str]]) -> Content:
    """A table of few rows: sorted, without duplicates."""
    with Rows(folder, table) as written:
        found = sorted(set(map(tuple, rows)))
        if found:
            written.add(*(pa.array(column, pa.string()) for column in zip(*found, strict=True)))
    return written.content()


def chunks(count: int, rows: int = 1) -> Iterator[slice]:
    """All numbers below `count`, in slices; each number makes `rows` rows."""
    size = max(1, CHUNK // rows)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def numbered(prefix: str, numbers: Ints, width: int) -> Texts:
    """`prefix` and the padded numbers. Raises `ValueError` for one with more than `width` digits.

    >>> numbered("t", np.array([7, 12]), 3).to_pylist()
    ['t007', 't012']
    """
    if int(numbers.max(initial=0)) >= 10**width:
        raise ValueError(f"a number of {prefix!r} has more than {width} digits")
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")
    return joined(prefix, digits)


def joined(*parts: Texts | str) -> Texts:
    """The concatenated parts of each row."""
    return pc.binary_join_element_wise(*parts, "")


def taken(texts: Texts, numbers: Ints) -> Texts:
    """The text of each number."""
    return texts.take(pa.array(numbers))


def words(numbers: Ints) -> Texts:
    """A word for each number, always the same one."""
    return taken(pa.array(WORDS), (numbers * 2_654_435_761 >> 9) % len(WORDS))


def either(chosen: NDArray[np.bool_], these: Texts, those: Texts) -> Texts:
    """From each pair the first where `chosen`, else the second."""
    return pc.if_else(pa.array(chosen), these, those)


def spread(draw: np.random.Generator, total: int, weights: NDArray[np.float64]) -> Ints:
    """`total` items distributed over places by weight, at least one for each."""
    if total < len(weights):
        raise ValueError(f"{total} things do not fill {len(weights)} places")
    shares = draw.multinomial(total - len(weights), weights / weights.sum())
    return np.asarray(shares + 1, dtype=np.int64)


def skewed(draw: np.random.Generator, count: int, limit: int, power: float = 3.0) -> Ints:
    """`count` numbers below `limit`; low ones are far more frequent than high ones."""
    return np.asarray(limit * draw.random(count) ** power, dtype=np.int64)


def positions(counts: Ints) -> tuple[Ints, Ints]:
    """The group of each item, and its number within the group.

    >>> [column.tolist() for column in positions(np.array([2, 1]))]
    [[0, 0, 1], [0, 1, 0]]
    """
    groups = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return groups, np.arange(len(groups)) - starts[groups]
