"""One file of DuckDB with the tables of a version: `OUT/duckdb/KIND.duckdb`.

The file holds the newest version only and is replaced in one step. DuckDB copies the rows from
Parquet itself, with a bounded memory. The file of an export has its views, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.table_formats.version import Version

if TYPE_CHECKING:
    import duckdb

FOLDER: Final = "duckdb"
ABOUT: Final = "lakewarden"
"""The table that says which version the file holds."""

_VIEWS: Final = "views.sql"


def need_duckdb() -> None:
    """Raises `BadInput` where DuckDB is not installed."""
    try:
        import duckdb  # noqa: F401
    except ImportError:
        message = "DuckDB is not installed: pip install 'lakewarden[analyst]'"
        raise BadInput(message, where="--table-format") from None


def commit_duckdb(version: Version) -> list[str]:
    """Writes the file unless it holds the version; the tables written. Raises `Unavailable`."""
    need_duckdb()
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
            row = connection.execute(
                f"SELECT value FROM {ABOUT} WHERE name = 'lakewarden.digest'"  # noqa: S608
            ).fetchone()
    except duckdb.Error:
        return None
    return None if row is None else str(row[0])


def _fill(connection: duckdb.DuckDBPyConnection, version: Version) -> None:
    for name in version.tables:
        files = [str(file) for file in version.files(name)]
        connection.execute(
            f'CREATE TABLE "{name}" AS SELECT * FROM read_parquet($files)',  # noqa: S608
            {"files": files},
        )
    views = version.folder / _VIEWS
    if views.is_file():
        connection.execute(views.read_text("utf-8").replace("TEMPORARY VIEW", "VIEW"))
    connection.execute(f"CREATE TABLE {ABOUT} (name VARCHAR, value VARCHAR)")
    connection.executemany(
        f"INSERT INTO {ABOUT} VALUES (?, ?)",  # noqa: S608
        [*version.properties().items()],
    )
