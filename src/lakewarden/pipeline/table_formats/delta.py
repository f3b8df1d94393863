"""Tables of Delta: `OUT/delta/TABLE`, whose files are links to those of the versions.

A Delta table holds its files below its own folder, so they are linked there; without support for
links, the file system or the object store copies them. No row is read or written. Each table gets
one commit per version: it removes the files of the previous version and adds the new ones. Its
transaction identifier (`lakewarden`, N) marks the version as committed, whatever other writers
commit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pipeline.storage.cloud_store import advice_for, is_plain, without_addresses
from lakewarden.pipeline.storage.files import copy_file, modified_at, size_of
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.object_store import HDFS
from lakewarden.pipeline.storage.parquet import metadata_of
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.table_formats.version import Version, schema_of

if TYPE_CHECKING:
    from deltalake.transaction import AddAction

FOLDER: Final = "delta"
LIBRARY: Final = ("deltalake", "delta")
"""The library that commits, and the extra that installs it."""

APPLICATION: Final = "lakewarden"
_PATIENCE: Final = {"timeout": "30s", "max_retries": "5", "retry_timeout": "60s"}
"""How long a request to a store is retried; the client's default is minutes."""

_FOUND_ON_HDFS: Final = "/=+,@~'()!$&;*"
"""Characters of names, beside letters, digits, `_`, `.` and `-`, that its client does not encode
on the way to HDFS."""

_OF_STORE: Final = re.compile(r"\bGeneric \w+ error\b")
_ARROWS: Final = re.compile(r"\x1b\[[0-9;]*m|↳")


def commit_delta(version: Version) -> list[str]:
    """Commits a version; returns the tables with a commit. Raises `Unavailable`, and `Conflict`."""
    need(*LIBRARY)
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        return [name for name in version.tables if _commit_table(name, version)]
    except CommitFailedError as error:
        reason = reason_of(error, version.out)
        raise Conflict(f"somebody else changed the table: {reason}") from None
    except (DeltaError, OSError) as error:
        reason = reason_of(error, version.out)
        raise Unavailable(f"the tables of Delta cannot be written: {reason}") from None


def _commit_table(name: str, version: Version) -> bool:
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.exceptions import TableNotFoundError
    from deltalake.transaction import Transaction, create_table_with_add_actions

    place = version.out / FOLDER / name
    options = storage_options(place)
    try:
        table = DeltaTable(str(place), storage_options=options)
    except TableNotFoundError:
        table = None
    if table is not None and table.transaction_version(APPLICATION) == version.number:
        return False
    files = version.files(name)
    schema = Schema.from_arrow(schema_of(files))
    actions = [_added(file, place, version.number) for file in files]
    properties = CommitProperties(
        custom_metadata=version.properties(),
        # No retry on top of another writer's change: that might be a newer version.
        max_commit_retries=0,
        app_transactions=[Transaction(APPLICATION, version.number)],
    )
    version.check_counts()
    if table is not None:
        table.create_write_transaction(
            [*actions], "overwrite", schema, commit_properties=properties
        )
    else:
        create_table_with_add_actions(
            str(place),
            schema,
            actions,
            name=name,
            commit_properties=properties,
            storage_options=options,
        )
    return True


def storage_options(place: Location) -> dict[str, str] | None:
    """Options that delta-rs needs for a store in addition to the variables that it reads itself.

    Raises `BadInput` for a folder of HDFS that its client does not find.
    """
    if not isinstance(place, RemotePath):
        return None
    if place.root.startswith(f"{HDFS}://"):
        if quote(place.key, safe=_FOUND_ON_HDFS) != place.key:
            problem = (
                "delta-rs finds no table below this name on HDFS: use letters of ASCII, digits"
            )
            raise BadInput(f"{problem}, `-`, `_` and `.`", where=str(place))
        return None
    return {**_PATIENCE, "allow_http": str(is_plain(place.root)).lower()}


def reason_of(error: Exception, place: Location) -> str:
    """The message of a delta-rs error in one line, without the addresses of requests.

    If a store failed, the message says what to do.
    """
    text = without_addresses(" ".join(_ARROWS.sub("", str(error)).split()), str(place))
    return f"{text}; {advice_for(text)}" if is_of_store(error) else text


def is_of_store(error: Exception) -> bool:
    """Whether a delta-rs error is the failure of a request to a store."""
    return _OF_STORE.search(str(error)) is not None


def _added(file: Location, place: Location, number: int) -> AddAction:
    """A file of the version as a file of the table."""
    from deltalake.transaction import AddAction

    path = f"{number}/{file.name}"
    _link(file, place / path)
    statistics = json.dumps({"numRecords": metadata_of(file).num_rows})
    return AddAction(path, size_of(file), {}, int(modified_at(file) * 1_000), True, statistics)


def _link(file: Location, target: Location) -> None:
    """Links a file atomically; replaces a link left by an interrupted run."""
    if isinstance(file, RemotePath) or isinstance(target, RemotePath):
        copy_file(file, target)
        return
    if target.exists() and target.samefile(file):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}-{os.getpid()}")
    new.unlink(missing_ok=True)
    try:
        os.link(file, new)
    except OSError:  # a file system without links
        shutil.copyfile(file, new)
    new.replace(target)
