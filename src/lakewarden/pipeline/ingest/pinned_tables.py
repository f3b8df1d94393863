"""Our own tables in Delta or Iceberg, each pinned to one snapshot for the whole run.

    DIR/entities  DIR/relations …            Delta tables
    NAMESPACE.entities  NAMESPACE.relations  Iceberg tables, in a catalog

The files of a snapshot never change, so concurrent writes to a table have no effect on the run.
They are read like Parquet (`tabular`). A table is rejected if its rows are not exactly those of its
files (deleted rows, columns renamed or kept in paths).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.relations import TABLES
from lakewarden.models.own import ModelText
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.directory_statements import STATEMENT_LINES
from lakewarden.pipeline.ingest.files import File, inputs_of, named
from lakewarden.pipeline.ingest.tabular import Tabular
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.pipeline.storage.parquet import schema_of
from lakewarden.pipeline.table_formats.catalog import open_catalog
from lakewarden.pipeline.table_formats.delta import (
    LIBRARY,
    is_of_store,
    reason_of,
    storage_options,
)
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.tables import QUARANTINE

DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
_LOG: Final = "_delta_log"
_LOCAL: Final = "file"


@dataclass(frozen=True, slots=True)
class PinnedTables(Tabular):
    """The files of the snapshots, by table; `snapshots` identifies them."""

    source: str = DELTA
    files: Mapping[str, Sequence[File]] = field(default_factory=dict)
    snapshots: tuple[Input, ...] = ()

    @property
    def kind(self) -> str:
        return self.source

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        statements = self.path / STATEMENT_LINES
        lines = [named(statements, STATEMENT_LINES)] if statements.is_file() else []
        return [*self.snapshots, *inputs_of(lines)]

    def tables(self) -> dict[str, list[File]]:
        """See `Tabular`."""
        return {table: list(self.files.get(table, ())) for table in TABLES}


def delta_tables(path: Location, model: str, model_text: ModelText | None = None) -> PinnedTables:
    """The newest snapshots of the Delta tables in a folder. Raises `BadInput`."""
    need(*LIBRARY, where="--source")
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    files, snapshots = {}, []
    for folder in sorted(f for f in path.iterdir() if (f / _LOG).is_dir()):
        if not _is_read(folder.name, str(folder)):
            continue
        try:
            table = DeltaTable(str(folder), storage_options=storage_options(folder))
            if table.protocol().min_reader_version > 1:
                raise _unsupported("needs a reader that knows more than plain files", str(folder))
            if table.metadata().partition_columns:
                raise _unsupported("is partitioned", str(folder))
            columns = [column.name for column in table.schema().fields]
            version = table.version()
            # Addresses have their special characters escaped; local paths have not.
            uris = [unquote(uri) if "://" in uri else uri for uri in table.file_uris()]
        except DeltaError as error:
            reason = reason_of(error, folder)
            if is_of_store(error):
                raise Unavailable(f"`{folder}`: {reason}") from None
            raise BadInput(f"cannot be read: {reason}", where=str(folder)) from None
        except OSError as error:
            raise Unavailable(f"`{folder}`: {reason_of(error, folder)}") from None
        files[folder.name] = _checked(uris, columns, folder.name)
        snapshots.append(_input(folder.name, f"version {version}", uris))
    if not files:
        raise BadInput("holds no table of Delta; expected `entities`", where=str(path))
    return PinnedTables(path, "parquet", model, {}, model_text, DELTA, files, tuple(snapshots))


def iceberg_tables(
    catalog: str, namespace: str, model: str, model_text: ModelText | None = None
) -> PinnedTables:
    """The current snapshots of the tables of a namespace. Raises `BadInput`, `Unavailable`."""
    files, snapshots = {}, []
    with open_catalog(catalog, Path()) as opened:
        for *_, name in sorted(opened.list_tables(namespace)):
            identifier = f"{namespace}.{name}"
            if not _is_read(name, identifier):
                continue
            table = opened.load_table(identifier)
            snapshot = table.current_snapshot()
            if snapshot is None:
                continue
            tasks = list(table.scan(snapshot_id=snapshot.snapshot_id).plan_files())
            if any(task.delete_files for task in tasks):
                raise _unsupported("has deleted rows", identifier)
            uris = [task.file.file_path for task in tasks]
            columns = [column.name for column in table.schema().fields]
            files[name] = _checked(uris, columns, identifier)
            snapshots.append(_input(name, f"snapshot {snapshot.snapshot_id}", uris))
    if not files:
        raise BadInput("holds no table; expected `entities`", where=namespace)
    return PinnedTables(
        Path(os.devnull), "parquet", model, {}, model_text, ICEBERG, files, tuple(snapshots)
    )


def _is_read(name: str, where: str) -> bool:
    """Whether a table is read. Raises `BadInput` for a misspelt name."""
    if name not in TABLES and name != QUARANTINE:
        raise BadInput(f"is no table; expected {', '.join(TABLES)}", where=where)
    return name in TABLES


def _unsupported(what: str, where: str) -> BadInput:
    return BadInput(f"{what}; give a compacted copy without it", where=where)


def _checked(uris: Iterable[str], columns: Sequence[str], where: str) -> list[File]:
    """The files of a snapshot, which must have exactly the columns of the table."""
    files = []
    for uri in sorted(uris):
        path = _place(uri)
        try:
            names = schema_of(path).names
        except OSError as error:
            raise Unavailable(f"a file of the snapshot cannot be read: {error}") from None
        if set(names) != set(columns):
            raise _unsupported("has files without some of its columns", where)
        files.append(named(path, f"{path.parent.name}/{path.name}"))
    return files


def _place(uri: str) -> Location:
    """The location of a file: a path, an address, or a path as a URI. Raises `BadInput`."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == _LOCAL else location(uri)


def _input(name: str, snapshot: str, uris: Iterable[str]) -> Input:
    text = "\n".join([snapshot, *sorted(uris)])
    return Input(f"{name}: {snapshot}", hashlib.sha256(text.encode()).hexdigest())
