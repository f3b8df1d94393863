"""A run of ingestion: read, check, own, write; whole or not at all.

Everything is written beside what is there, and one rename at the end makes it count, so a
run that fails leaves the version before it in place. The same input again makes no new
version. One run at a time works on a directory. Counted on the way and compared at the end:
every row that came in is in the version or in its quarantine.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from lakewarden.kernel.errors import BadInput, Conflict, WardenError
from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline import ownership as owning
from lakewarden.pipeline.directory import (
    MANIFEST,
    REPORT,
    STATEMENT_LINES,
    VERSIONS,
    Content,
    Manifest,
    content_of,
    lines_content,
    publish,
    read_manifest,
)
from lakewarden.pipeline.directory import STATEMENTS as WRITTEN
from lakewarden.pipeline.ingest.row import (
    CELLS,
    COUNTED,
    DELETED,
    ERRORS,
    NOTES,
    PLACEMENTS,
    STATEMENTS,
    WIDTHS,
)
from lakewarden.pipeline.ingest.source import Progress, Reading, Source, silent
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE, arrow_schema
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_NOTES = 10_000
"""How many things without a counterpart a report names; it counts all."""

_LOCK = ".lock"
_SCRATCH = ".scratch"
_NEW = ".new"
_COMPRESSION = "zstd"
_GLOB = re.compile(r"([{}\[\]*?\\])")


@dataclass(slots=True)
class Report:
    """What happened in a run; for people, and kept beside the version it made.

    `rows` has, for each table and for the places of entities, how many rows came in, came
    out, and were set aside; `quarantined` the latter by reason. `named` counts by type what
    is named as a parent or target and not stored. `seconds` are those of each stage.
    """

    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    quarantined: dict[str, int] = field(default_factory=dict)
    owners_added: int = 0
    owners_removed: int = 0
    named: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    no_counterpart: list[dict[str, str]] = field(default_factory=list)
    no_counterpart_count: int = 0
    not_read: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def table(self, manifest: Manifest) -> dict[str, object]:
        """The report as JSON."""
        return {
            "version": manifest.version,
            "model": manifest.model,
            "realm": manifest.realm,
            "source": manifest.source,
            "inputs": [one._asdict() if hasattr(one, "_asdict") else one.name for one in manifest.inputs],
        }


@dataclass(frozen=True, slots=True)
class Result:
    """The version that counts after a run, and whether this run made it."""

    manifest: Manifest
    report: Report
    is_new: bool
