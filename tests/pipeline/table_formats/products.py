"""Small Parquet products, made without Spark, and their rows from different readers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.product import (
    Content,
    Input,
    Manifest,
    draft,
    place,
    read_manifest,
    remove_tables_of_old_versions,
)
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import read_table, write_table
from lakewarden.pipeline.table_formats.catalog import NAME
from lakewarden.pipeline.version_folder import folder_of

KIND = "fruit"
TABLES = ("bins", "empty", "rows")
Rows = list[tuple[object, ...]]


def make(out: Location, text: str, more: bool = False, keep: int | None = None) -> Manifest:
    """The version whose rows contain `text`; `more`: with an additional column."""
    with draft(out, KIND, text, silent) as one:
        one.stage("make", lambda folder: _write(folder, text, more))
        for name in TABLES:
            place(one.stage_folder("make") / name, one.folder / name)
        tables = {name: Content(1, f"{name} {text} {more}") for name in TABLES}
        inputs = (Input("lake", 1, "a" * 64),)
        manifest = Manifest(KIND, 0, inputs, {}, {"revision": 40 + len(text)}, tables)
        made, _, _ = one.finish(manifest, {})
        if keep is not None:
            remove_tables_of_old_versions(out, made, keep)
        return made


def _write(folder: Location, text: str, more: bool) -> dict[str, object]:
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int32()),
            "name": [text, None, "löwe"],
            "large": pa.array([1 << 40, None, -1], pa.int64()),
            "share": pa.array([0.5, None, 2.0]),
            "is": [True, None, False],
            "bits": pa.array([b"\x00\xff", None, b""]),
            "users": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
        }
    )
    if more:
        rows = rows.drop_columns(["share"]).append_column("extra", pa.array(["a", "b", "c"]))
    files = {"rows/part-0": rows.slice(0, 2), "rows/part-1": rows.slice(2)}
    files |= {"empty/part-0": rows.slice(0, 0), "bins/part-0": pa.table({"what": [text]})}
    for name, table in files.items():
        file = folder / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        write_table(table, file, compression="zstd")
    return {"rows": 3}


def rows_of(table: pa.Table) -> Rows:
    """The rows, with columns by name, sorted."""
    names = sorted(table.column_names)
    return sorted((tuple(row[name] for name in names) for row in table.to_pylist()), key=repr)


def in_parquet(out: Location) -> dict[str, Rows]:
    """The rows of every table of the published version."""
    folder = folder_of(out, read_manifest(out, KIND))
    return {name: rows_of(read_table(folder / name)) for name in TABLES}


def own_catalog(out: Path) -> SqlCatalog:
    """The folder's own catalog, opened like any client does."""
    folder = out.resolve() / "iceberg"
    return SqlCatalog(NAME, uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
