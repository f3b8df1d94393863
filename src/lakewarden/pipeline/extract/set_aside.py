"""What an ingested directory set aside, row by row, so that a report can name it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.tables import QUARANTINE


class SetAside(NamedTuple):
    """One row that was not carried: what it is about, why, and where it was read."""

    table: str
    name: str
    reason: str
    detail: str
    place: str


def set_aside(folder: Path) -> list[SetAside]:
    """The rows of the quarantine of the version that counts."""
    place = folder / "versions" / str(read_manifest(folder).version) / QUARANTINE
    return sorted(_rows(place))


def _rows(place: Path) -> Iterator[SetAside]:
    for file in sorted(place.glob("*.parquet")):
        for row in pq.read_table(file).to_pylist():
            cells = [str(cell) for cell in json.loads(row["row"]) if cell]
            # The second cell of a statement is all of it; its id is enough of a name.
            name = cells[0] if row["table"] == "statements" and cells else ":".join(cells)
            yield SetAside(row["table"], name, row["reason"], row["detail"] or "", row["place"])
