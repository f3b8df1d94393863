"""Tables of a review as CSV for spreadsheets: no cell is interpreted as a formula.

A spreadsheet would evaluate a cell that begins with `=`, `+`, `-`, `@`, a tab or a line break, and
names come from others: such a text gets an apostrophe in front. Numbers stay numbers. Every text is
quoted; a list is one text, its members separated by `; `.
SOURCE: OWASP, CSV Injection.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakewarden.pipeline.review.schemas import (
    BY_CONTAINER,
    BY_DOMAIN,
    BY_PRINCIPAL,
    BY_TAG,
    COLUMNS,
    INACTIVE,
    ORPHANS,
    OWNERS,
    QUESTIONS,
    REVIEW,
    ROLE_SETS,
    SCHEMAS,
)
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import metadata_of, read_table

EXPORTED: Final = (
    *(QUESTIONS, REVIEW, ROLE_SETS, BY_PRINCIPAL, BY_DOMAIN, BY_TAG, BY_CONTAINER),
    *(COLUMNS, OWNERS, ORPHANS, INACTIVE),
)
"""The tables that are exported."""

LIMIT: Final = 100_000
"""A table with more rows is not exported; it remains available as Parquet."""

LONGEST: Final = 32_767
"""The most characters that common spreadsheets accept in a cell; a longer list is cut."""

MEMBERS: Final = 25
"""How many members of a list a cell names; the tables have all of them."""

_RISKY: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_APART: Final = "; "
_ROOM: Final = 40
"""Characters reserved for the number of further members."""

_MAYBE_RISKY: Final = r"^[\s\x{a0}\x{feff}]*[=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]"
"""Matches every text that `safe` changes, and perhaps others, which `safe` leaves unchanged."""


def safe(text: str) -> str:
    """The text in a form that a spreadsheet accepts as text.

    >>> safe("=1+1"), safe("orders"), safe("-x")
    ("'=1+1", 'orders', "'-x")
    """
    # Spreadsheets also accept a formula after blanks or with a full-width sign.
    begin = text.lstrip(" \u00a0\ufeff")[:1].translate(
        {0xFF1D: "=", 0xFF0B: "+", 0xFF0D: "-", 0xFF20: "@"}
    )
    return f"'{text}" if begin.startswith(_RISKY) else text


def export(folder: Location, out: Location) -> list[Location]:
    """Writes the tables of a version in `folder` as files in `out`; returns the files."""
    files = []
    for name in EXPORTED:
        source = folder / name
        rows = sum(metadata_of(file).num_rows for file in source.glob("*.parquet"))
        if rows <= LIMIT:
            files.append(out / f"{name}.csv")
            write(files[-1], _shown(source, SCHEMAS[name]))
    return files


def _shown(source: Location, schema: pa.Schema) -> pa.Table:
    """The columns for people, with the rows in canonical order."""
    columns = [field.name for field in schema if not _is_for_programs(field.type)]
    shown = read_table(source, columns=columns)
    plain = [(f.name, "ascending") for f in shown.schema if not pa.types.is_list(f.type)]
    return shown.sort_by(plain)


def _is_for_programs(type: pa.DataType) -> bool:
    of_numbers = pa.types.is_list(type) and pa.types.is_integer(type.value_type)
    return bool(pa.types.is_binary(type) or of_numbers)


def write(file: Location, table: pa.Table) -> None:
    """Writes one table."""
    with file.open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
        lines.writerow([safe(name) for name in table.column_names])
        for batch in table.to_batches(max_chunksize=10_000):
            lines.writerows(csv_rows(batch))


def csv_rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """The rows, with each cell in its written form."""
    return zip(*map(_cells, batch.columns), strict=True)


def _cells(column: pa.Array) -> list[object]:
    kind = column.type
    if pa.types.is_string(kind):
        plain: list[object] = _safe(column.fill_null("")).to_pylist()
        return plain
    if not pa.types.is_list(kind):
        return [_cell(value) for value in column.to_pylist()]
    # Only the shown part of a long list is loaded into Python, as one text.
    begins = pc.list_slice(column, 0, MEMBERS)
    joined = pc.binary_join(begins, _APART).fill_null("")
    sizes = pc.list_value_length(column).fill_null(0)
    texts: list[object] = _safe(_with_more(joined, sizes)).to_pylist()
    room = LONGEST - _ROOM - len(_APART)
    for place in pc.indices_nonzero(pc.greater(pc.utf8_length(joined), room)).to_pylist():
        texts[place] = safe(_listed(begins[place].as_py(), sizes[place].as_py()))
    return texts


def _with_more(joined: pa.Array, sizes: pa.Array) -> pa.Array:
    """The members as texts, with the number of further members, from the sizes."""
    codes = sizes.dictionary_encode()
    more = [size - MEMBERS for size in codes.dictionary.to_pylist()]
    ends = [f"{_APART}and {n:,} more" if n > 0 else "" for n in more]
    return pc.binary_join_element_wise(joined, pa.array(ends, pa.string()).take(codes.indices), "")


def _safe(texts: pa.Array) -> pa.Array:
    """The texts after `safe`."""
    risky = pc.indices_nonzero(pc.match_substring_regex(texts, _MAYBE_RISKY))
    if not len(risky):
        return texts
    changed = texts.to_pylist()
    for place in risky.to_pylist():
        changed[place] = safe(changed[place])
    return pa.array(changed, pa.string())


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return value
        case _:
            return safe(str(value))


def _listed(values: Sequence[object], size: int) -> str:
    """The first members in one text, as many as fit; `size` is the number of all."""
    texts: list[str] = []
    room = LONGEST - _ROOM
    for text in map(str, values):
        room -= len(text) + len(_APART)
        if room < 0:
            break
        texts.append(text)
    more = size - len(texts)
    return _APART.join([*texts, f"and {more:,} more"] if more else texts)
