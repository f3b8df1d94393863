"""The size limit of a CSV cell: one for all readers, because Python keeps one per process."""

from __future__ import annotations

import csv

from lakewarden.pipeline.ingest.json_file import MAX_RECORD_CHARACTERS


def limit_cells() -> None:
    """Allows cells as long as JSON records. Call before reading each file."""
    csv.field_size_limit(MAX_RECORD_CHARACTERS)
