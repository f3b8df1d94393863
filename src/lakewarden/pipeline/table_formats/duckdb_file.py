"""One file of DuckDB with the tables of a version: `OUT/duckdb/KIND.duckdb`.

The file holds the newest version only and is replaced in one step. DuckDB copies the rows from
Parquet itself, with a bounded memory. The file of an export has its views, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.table_formats.version import Version

if TYPE_CHECKING:
    import duckdb

FOLDER: Final = "duckdb"
LIBRARY: Final = ("duckdb", "analyst")
"""What commits, and the extra that brings it."""

ABOUT: Final = "lakewarden"
"""The table that says which version the file holds."""

_VIEWS: Final = "views.sql"


def commit_duckdb(version: Version) -> list[str]:
    """Writes the file unless it holds the version; the tables written. Raises `Unavailable`."""
    need(*LIBRARY)
    import duckdb

    file = version.out / FOLDER / f"{version.kind}.duckdb"
    new = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        if file.exists() and _digest_in(file) == version.digest:
            return []
        file.parent.mkdir(exist_ok=True)
        for left in file.parent.glob(".*"):
            left.unlink()
        with duckdb.connect(str(new)) as connection:
            _fill(connection, version)
        new.replace(file)
    except (duckdb.Error, OSError) as error:
        raise Unavailable(f"`{file}` cannot be written: {error}") from None
    return list(version.tables)


def _digest_in(file: Path) -> str | None:
    """The digest of the version in a file; None where it is not one of ours, or damaged."""
    import duckdb

    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            about = dict(connection.table(ABOUT).fetchall())
    except duckdb.Error:
        return None
    return about.get("lakewarden.digest")


def _fill(connection: duckdb.DuckDBPyConnection, version: Version) -> None:
    for name in version.tables:
        files = [str(file) for file in version.files(name)]
        connection.read_parquet(files).create(f'"{name}"')
    views = version.folder / _VIEWS
    if views.is_file():
        connection.execute(views.read_text("utf-8").replace("TEMPORARY VIEW", "VIEW"))
    connection.execute(f"CREATE TABLE {ABOUT} (name VARCHAR, value VARCHAR)")
    about = connection.table(ABOUT)
    for name, value in version.properties().items():
        about.insert([name, value])
