"""How long a cell of CSV may be: one limit for all readers, since Python keeps one per process."""

from __future__ import annotations

import csv

from lakewarden.pipeline.ingest.json_file import MAX_RECORD_CHARACTERS


def limit_cells() -> None:
    """Lets cells be as long as records of JSON. To call before each reading of a file."""
    csv.field_size_limit(MAX_RECORD_CHARACTERS)
