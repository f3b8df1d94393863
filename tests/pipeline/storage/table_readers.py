"""Tables on object stores, read by other clients: pyiceberg, delta-rs, DuckDB."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from urllib.parse import unquote

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from obstore.fsspec import FsspecStore
from pyiceberg.catalog.sql import SqlCatalog

from lakewarden.pipeline.storage.files import copy_file
from lakewarden.pipeline.storage.object_store import HDFS
from lakewarden.pipeline.storage.remote_path import RemotePath, remote_path
from lakewarden.pipeline.table_formats.store_file_io import StoreFileIO
from tests.pipeline.table_formats.products import KIND, TABLES, Rows, rows_of

NAMESPACE = KIND


def sql_properties(folder: Path, out: RemotePath) -> dict[str, str]:
    """A catalog on SQLite in the folder, with its metadata on the store."""
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"{out.root}/{out.key}-warehouse",
    }


def catalog_file(folder: Path, out: RemotePath, **more: str) -> str:
    """The file for `--table-catalog`."""
    file = folder / "catalog.toml"
    properties = {**sql_properties(folder, out), **more}
    file.write_text("".join(f'"{name}" = "{value}"\n' for name, value in properties.items()))
    return str(file)


def reached_by(out: RemotePath) -> dict[str, str]:
    """How pyiceberg accesses the files of a store: on S3 by Arrow."""
    scheme = out.root.partition(":")[0]
    if scheme != "s3":  # its clients for Google and Azure cannot use the emulators
        return {"py-io-impl": f"{StoreFileIO.__module__}.{StoreFileIO.__name__}"}
    return {
        "s3.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
        "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "s3.region": os.environ["AWS_REGION"],
    }


@contextmanager
def catalog_of(folder: Path, out: RemotePath) -> Iterator[SqlCatalog]:
    """The same catalog, with pyiceberg's own file access."""
    catalog = SqlCatalog("lakewarden", **sql_properties(folder, out), **reached_by(out))
    try:
        yield catalog
    finally:
        catalog.close()


def delta_table(out: RemotePath, name: str, version: int | None = None) -> DeltaTable:
    options = {"allow_http": "true"}
    return DeltaTable(str(out / "delta" / name), version=version, storage_options=options)


def delta_files(out: RemotePath, name: str, version: int | None = None) -> list[str]:
    """The addresses of the files of a table, by delta-rs."""
    return [unquote(uri) for uri in delta_table(out, name, version).file_uris()]


def in_iceberg(folder: Path, out: RemotePath) -> dict[str, Rows]:
    """The rows of the tables, read by pyiceberg."""
    with catalog_of(folder, out) as catalog:
        tables = {name: catalog.load_table(f"{NAMESPACE}.{name}") for name in TABLES}
        return {name: rows_of(table.scan().to_arrow()) for name, table in tables.items()}


def in_delta(out: RemotePath) -> dict[str, Rows]:
    """The rows of the tables, read by delta-rs."""
    return {name: rows_of(delta_table(out, name).to_pyarrow_table()) for name in TABLES}


def in_duckdb(out: RemotePath) -> dict[str, Rows]:
    """The rows of the DuckDB file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "one.duckdb"
        copy_file(out / "duckdb" / f"{KIND}.duckdb", file)
        with duckdb.connect(str(file), read_only=True) as connection:
            return {name: rows_of(connection.table(name).to_arrow_table()) for name in TABLES}


def by_duckdb(files: list[str]) -> Rows:
    """The rows of files, read by DuckDB from the store.

    It has no client for HDFS, so it reads copies of these.
    """
    scheme = cast("Any", files[0].partition(":")[0])
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        if scheme == HDFS:
            files = [str(_copied(file, Path(folder))) for file in files]
        else:
            store = FsspecStore(scheme, client_options={"allow_http": True})
            connection.register_filesystem(store)
        table: pa.Table = connection.read_parquet(files).to_arrow_table()
        return rows_of(table)


def _copied(address: str, folder: Path) -> Path:
    place = remote_path(address)
    assert place is not None
    copy = folder / place.key.replace("/", "-")
    copy_file(place, copy)
    return copy
