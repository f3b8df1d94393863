"""The normalised rows of a small run, in this process. For the methods, see `rows.Rows`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import IMPLIED
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.ingest.report import Note, Share
from lakewarden.pipeline.ingest.row import SCHEMA, batches
from lakewarden.pipeline.ingest.rows import Outcome
from lakewarden.pipeline.ingest.version import DirectoryDraft
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import read_table, write_table
from lakewarden.pipeline.tables import QUARANTINE
from lakewarden.service.source_row import CELLS, DELETED, ERRORS, NOTES, PLACEMENTS, STATEMENTS, Row

_FILE: Final = "rows.parquet"
_ESCAPED: Final = re.compile(r"(\\\\)|\\u00([01][0-9a-f])")

Cells = tuple[str | None, ...]


class Local:
    """Rows in this process."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def written(self, place: Location) -> Local:
        """See `Rows`."""
        place.mkdir(parents=True)
        write_table(pa.Table.from_batches(batches(self.rows), SCHEMA), place / _FILE)
        return self

    def counts(self) -> dict[str, int]:
        """See `Rows`."""
        return dict(Counter(row.table for row in self.rows))

    def errors(self) -> list[tuple[str, str]]:
        """See `Rows`."""
        return [(row.place, row.cells[0]) for row in self.rows if row.table == ERRORS]

    def checked(self, tables: Sequence[str], model: Model) -> Local:
        """See `Rows`."""
        from lakewarden.pipeline.check_local import check

        return Local(check((row for row in self.rows if row.table in tables), model))

    def outcomes(self) -> list[Outcome]:
        """See `Rows`."""
        counted = Counter((row.table, row.reason or None) for row in self.rows)
        return [Outcome(*key, count) for key, count in counted.items()]

    def _without_rejected(self, table: str) -> Iterator[tuple[str, ...]]:
        return (row.cells for row in self.rows if row.table == table and not row.reason)

    def write(self, table: str, count: int, directory_draft: DirectoryDraft) -> Content:
        """See `Rows`."""
        makers: dict[str, Callable[[], Iterable[Cells]]] = {
            "entities": self._placed,
            QUARANTINE: self._quarantine,
        }
        return directory_draft.put(
            table, makers.get(table, lambda: self._without_rejected(table))()
        )

    def _placed(self) -> Iterator[Cells]:
        places = {cells[:2]: cells[2:] for cells in self._without_rejected(PLACEMENTS)}
        for type, name in self._without_rejected("entities"):
            yield (type, name, *places.get((type, name), (None, None)))

    def _quarantine(self) -> Iterator[Cells]:
        for row in self.rows:
            if row.reason:
                yield (row.table, as_json(row.cells), row.reason, row.detail, row.place)

    def statements(self) -> list[tuple[str, str]]:
        """See `Rows`."""
        return sorted((id, text) for id, text in self._without_rejected(STATEMENTS))

    def notes(self, limit: int) -> list[Note]:
        """See `Rows`."""
        return sorted(Note(*row.cells) for row in self.rows if row.table == NOTES)[:limit]

    def deleted(self) -> set[str]:
        """See `Rows`."""
        return {row.cells[0] for row in self.rows if row.table == DELETED}

    def named_only(self) -> dict[str, int]:
        """See `Rows`."""
        named = {cells[2:4] for cells in self._without_rejected(PLACEMENTS)}
        named |= {cells[3:5] for cells in self._without_rejected("relations")}
        named -= set(self._without_rejected("entities"))
        return dict(sorted(Counter(type for type, _ in named).items()))

    def owned(self) -> dict[str, Share]:
        """See `Rows`."""
        having = {cells[:2] for cells in self._without_rejected("owners")}
        of, lacking = Counter[str](), Counter[str]()
        for entity in self._without_rejected("entities"):
            of[entity[0]] += 1
            lacking[entity[0]] += entity not in having
        return {type: Share(lacking[type], of[type]) for type in sorted(of)}

    def strangers(self) -> dict[str, int]:
        """See `Rows`."""
        named = {cells[2:4] for cells in self._without_rejected("owners")}
        for cells in self._without_rejected("memberships"):
            named |= {cells[:2], cells[2:]}
        named -= set(self._without_rejected("principals"))
        return dict(Counter(kind for kind, _ in named if kind != IMPLIED))


def local(place: Location) -> Local:
    """Rows that this process has written."""
    table = read_table(place / _FILE)
    names, places, reasons, details = (
        table.column(name).to_pylist() for name in ("table", "place", "reason", "detail")
    )
    cells = zip(*(table.column(name).to_pylist() for name in CELLS), strict=True)
    return Local(
        [
            Row(name, tuple(c for c in row if c is not None), at, reason or "", detail or "")
            for name, row, at, reason, detail in zip(
                names, cells, places, reasons, details, strict=True
            )
        ]
    )


def as_json(cells: Sequence[str]) -> str:
    r"""A list of texts as Spark writes it, with upper-case digits in escapes.

    >>> as_json(["a", 'b"'])
    '["a","b\\""]'
    """
    text = json.dumps(list(cells), ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: match[1] or f"\\u00{match[2].upper()}", text)
