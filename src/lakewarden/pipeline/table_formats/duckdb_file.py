"""One DuckDB file with the tables of a version: `OUT/duckdb/KIND.duckdb`.

The file holds only the newest version and is replaced atomically. DuckDB copies the rows from
Parquet itself, with bounded memory. The file of an export also contains its views.

For an object store, the file is made locally, and put on the condition that no other writer has put
one meanwhile. `OUT/duckdb/KIND.json` then records which version that object holds.
"""

from __future__ import annotations

import json
import os
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage.files import local_copy
from lakewarden.pipeline.storage.location import for_duckdb
from lakewarden.pipeline.storage.object_store import Tag
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.table_formats.version import Version

if TYPE_CHECKING:
    import duckdb

FOLDER: Final = "duckdb"
LIBRARY: Final = ("duckdb", "analyst")
"""The library that commits, and the extra that installs it."""

ABOUT: Final = "lakewarden"
"""The table that records which version the file holds."""

_VIEWS: Final = "views.sql"


def commit_duckdb(version: Version) -> list[str]:
    """Writes the file unless it is current; returns the tables written. Raises `Unavailable`."""
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
    _write_file(new, version)
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
        _write_file(made, version)
        with made.open("rb") as stream:
            # Sent from the file, without loading all of it into memory.
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
    """The record of a version for one content of the object; it is void if another one is put."""
    properties = {**version.properties(), "tag": tag.e_tag}
    return json.dumps(properties, indent=2, sort_keys=True) + "\n"


def _write_file(file: Path, version: Version) -> None:
    import duckdb

    with duckdb.connect(str(file)) as connection:
        _fill(connection, version)


def _digest_in(file: Path) -> str | None:
    """The digest of the version in a file; None if the file is not one of ours, or damaged."""
    import duckdb

    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            about = dict(connection.table(ABOUT).fetchall())
    except duckdb.Error:
        return None
    return about.get("lakewarden.digest")


def _fill(connection: duckdb.DuckDBPyConnection, version: Version) -> None:
    for name in version.tables:
        with local_copy(version.folder / name) as folder:
            files = [for_duckdb(folder / file.name) for file in version.files(name)]
            connection.read_parquet(files).create(f'"{name}"')
    views = version.folder / _VIEWS
    if views.is_file():
        connection.execute(views.read_text("utf-8").replace("TEMPORARY VIEW", "VIEW"))
    connection.execute(f"CREATE TABLE {ABOUT} (name VARCHAR, value VARCHAR)")
    about = connection.table(ABOUT)
    for name, value in version.properties().items():
        about.insert([name, value])
