"""One file of DuckDB with the tables of a version: `OUT/duckdb/KIND.duckdb`.

The file holds the newest version only and is replaced in one step. DuckDB copies the rows from
Parquet itself, with a bounded memory. The file of an export has its views, too.

For an object store it is made on this machine, and put on the condition that nobody else has put
one meanwhile. `OUT/duckdb/KIND.json` tells then which version that object holds.
"""

from __future__ import annotations

import json
import os
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage.files import here
from lakewarden.pipeline.storage.location import for_duckdb
from lakewarden.pipeline.storage.object_store import Tag
from lakewarden.pipeline.storage.remote_path import RemotePath
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
    try:
        is_new = _put(file, version) if isinstance(file, RemotePath) else _replace(file, version)
    except (duckdb.Error, OSError) as error:
        raise Unavailable(f"`{file}` cannot be written: {error}") from None
    return list(version.tables) if is_new else []


def _replace(file: Path, version: Version) -> bool:
    if file.exists() and _digest_in(file) == version.digest:
        return False
    new = file.with_name(f".{file.name}-{os.getpid()}")
    file.parent.mkdir(exist_ok=True)
    for left in file.parent.glob(".*"):
        left.unlink()
    _make(new, version)
    new.replace(file)
    return True


def _put(file: RemotePath, version: Version) -> bool:
    about = file.with_name(f"{version.kind}.json")
    tag = _tag_of(file)
    if tag is not None and _read(about) == _about(version, tag):
        return False
    version.check_counts()
    with TemporaryDirectory(prefix="lakewarden-") as folder:
        made = Path(folder) / file.name
        _make(made, version)
        with made.open("rb") as stream:
            # It is sent from the file, and never in memory as a whole.
            content = mmap(stream.fileno(), 0, access=ACCESS_READ)
        put = file.store.put_if(file.key, content, tag)
    about.write_text(_about(version, put), "utf-8")
    return True


def _tag_of(file: RemotePath) -> Tag | None:
    try:
        return file.stat().tag
    except FileNotFoundError:
        return None


def _read(file: RemotePath) -> str | None:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return None


def _about(version: Version, tag: Tag) -> str:
    """Of which content of the object it is told: when somebody else put one, nothing is."""
    told = {**version.properties(), "tag": tag.e_tag}
    return json.dumps(told, indent=2, sort_keys=True) + "\n"


def _make(file: Path, version: Version) -> None:
    import duckdb

    with duckdb.connect(str(file)) as connection:
        _fill(connection, version)


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
        with here(version.folder / name) as folder:
            files = [for_duckdb(folder / file.name) for file in version.files(name)]
            connection.read_parquet(files).create(f'"{name}"')
    views = version.folder / _VIEWS
    if views.is_file():
        connection.execute(views.read_text("utf-8").replace("TEMPORARY VIEW", "VIEW"))
    connection.execute(f"CREATE TABLE {ABOUT} (name VARCHAR, value VARCHAR)")
    about = connection.table(ABOUT)
    for name, value in version.properties().items():
        about.insert([name, value])
