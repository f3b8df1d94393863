"""Tables of Delta: `OUT/delta/TABLE`, whose files are links to those of the versions.

A table of Delta holds its files below its own folder, so they are linked there (copied, where the
file system has no links); no row is read or written. One commit for each table and version: it
removes the files of the version before and adds the new ones, and its transaction identifier
(`lakewarden`, N) tells that the version is committed, whatever others commit.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from lakewarden.kernel.errors import Conflict, Unavailable
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.table_formats.version import Version, schema_of

if TYPE_CHECKING:
    from deltalake.transaction import AddAction

FOLDER: Final = "delta"
LIBRARY: Final = ("deltalake", "delta")
"""What commits, and the extra that brings it."""

APPLICATION: Final = "lakewarden"


def commit_delta(version: Version) -> list[str]:
    """Commits a version; the tables that got one. Raises `Unavailable`, and `Conflict`."""
    need(*LIBRARY)
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        return [name for name in version.tables if _commit_table(name, version)]
    except CommitFailedError as error:
        raise Conflict(f"somebody else changed the table: {error}") from None
    except (DeltaError, OSError) as error:
        raise Unavailable(f"the tables of Delta cannot be written: {error}") from None


def _commit_table(name: str, version: Version) -> bool:
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.transaction import Transaction, create_table_with_add_actions

    place = version.out / FOLDER / name
    is_there = DeltaTable.is_deltatable(str(place))
    if is_there and DeltaTable(place).transaction_version(APPLICATION) == version.number:
        return False
    files = version.files(name)
    schema = Schema.from_arrow(schema_of(files))
    actions = [_added(file, place, version.number) for file in files]
    properties = CommitProperties(
        custom_metadata=version.properties(),
        app_transactions=[Transaction(APPLICATION, version.number)],
    )
    if is_there:
        DeltaTable(place).create_write_transaction(
            [*actions], "overwrite", schema, commit_properties=properties
        )
    else:
        create_table_with_add_actions(
            str(place), schema, actions, name=name, commit_properties=properties
        )
    return True


def _added(file: Path, place: Path, number: int) -> AddAction:
    """A file of the version as one of the table."""
    from deltalake.transaction import AddAction

    path = f"{number}/{file.name}"
    _link(file, place / path)
    state = file.stat()
    statistics = json.dumps({"numRecords": pq.read_metadata(file).num_rows})
    return AddAction(path, state.st_size, {}, state.st_mtime_ns // 1_000_000, True, statistics)


def _link(file: Path, target: Path) -> None:
    """Links a file in one step, whatever a run that was cut short left there."""
    if target.exists() and target.samefile(file):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}-{os.getpid()}")
    new.unlink(missing_ok=True)
    try:
        os.link(file, new)
    except OSError:  # a file system that has no links
        shutil.copyfile(file, new)
    new.replace(target)
