"""Small ingested directories, written without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakewarden.pipeline.chunk_digests import content_of
from lakewarden.pipeline.directory_manifest import Input, Manifest
from lakewarden.pipeline.directory_statements import STATEMENT_LINES, lines_content
from lakewarden.pipeline.tables import COLUMNS, arrow_schema
from lakewarden.pipeline.version_folder import MANIFEST, VERSIONS

Cells = Sequence[str | None]


def write_table(folder: Path, table: str, rows: Sequence[Cells], files: int = 1) -> None:
    """Writes the rows in `files` files."""
    schema = arrow_schema(table)
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // files) or 1
    for number in range(files):
        part = rows[number * size : (number + 1) * size]
        columns = [[row[i] for row in part] for i in range(len(schema))]
        written = pa.table([pa.array(column, pa.string()) for column in columns], schema=schema)
        pq.write_table(written, folder / f"part-{number:05}.parquet")


def write_directory(
    path: Path,
    tables: Mapping[str, Sequence[Cells]],
    *,
    statements: Sequence[Mapping[str, object]] = (),
    model: str = "gravitino",
    settings: Mapping[str, str] | None = None,
    deleted: Sequence[str] = (),
) -> Manifest:
    """A directory with one version that contains these rows."""
    version = path / VERSIONS / "1"
    for name in COLUMNS:
        write_table(version / name, name, tables.get(name, ()))
    text = "".join(json.dumps(table, ensure_ascii=False) + "\n" for table in statements)
    (version / STATEMENT_LINES).write_text(text, "utf-8")
    manifest = Manifest(
        model=model,
        settings=settings or {},
        realm="main",
        source="csv",
        version=1,
        inputs=(Input("entities.csv", "0" * 64),),
        tables={name: content_of(version / name, name) for name in COLUMNS},
        statements=lines_content(text),
        deleted=tuple(deleted),
    )
    write_manifest(path, manifest)
    return manifest


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Publishes `manifest` as the current one."""
    (path / MANIFEST).write_text(manifest.text(), "utf-8")
