"""An ingested directory: its content, and how to read it. Needs neither Spark nor Java.

    DIR/manifest.json                  the current version, with a digest of each table
    DIR/versions/N/TABLE/*.parquet     rows of `lakewarden.kernel.relations`, and `quarantine`
    DIR/versions/N/statements.jsonl    statements that came with the rows, one table per line
    DIR/versions/N/report.json         the run report; for people, never read here
    DIR/statements/*.toml              statements that people wrote: `[[statement]]`
    DIR/statements/deleted.toml        `deleted = […]`: default statements that were deleted

Only files that the manifest lists are read, and those that people wrote.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import (
    TABLES,
    AttributeRow,
    EntityColumns,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.pipeline import directory_manifest
from lakewarden.pipeline.chunk_digests import check_table
from lakewarden.pipeline.directory_manifest import Manifest, read_manifest
from lakewarden.pipeline.directory_statements import statements_of
from lakewarden.pipeline.directory_table import Digest, batches
from lakewarden.pipeline.session import runs_locally
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakewarden.analysis.lint.lint_context import SetAside

Row = TypeVar("Row")
Cells = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A directory that was read: its system, its facts, and its manifest.

    `unstated` are the defaults among its statements that the directory does not state itself.
    """

    system: System
    facts: Facts
    manifest: Manifest
    unstated: frozenset[str]


def load(path: Location) -> Loaded:
    """The facts of an ingested directory, its statements merged with the system's defaults.

    Raises `BadInput`, naming the file, for a directory that the pipeline did not write, that has
    another format, is incomplete or differs from its manifest, and for malformed statements.
    """
    manifest = read_manifest(path)
    try:
        system = load_system(manifest.model, manifest.settings, manifest.model_text)
    except (BadInput, Unknown) as error:
        raise BadInput(str(error), where=str(path / MANIFEST)) from None
    version = folder_of(path, manifest)
    for name in set(COLUMNS) - set(TABLES):
        for _ in _cells(version, name, manifest):
            pass
    statements = statements_of(path, manifest, system)
    facts = Facts(
        entities=_entities(version, manifest),
        relations=_rows(version, "relations", manifest, _relation_row),
        attributes=_rows(version, "attributes", manifest, _attribute_row),
        owners=_rows(version, "owners", manifest, _owner_row),
        principals=_rows(version, "principals", manifest, _principal),
        memberships=_rows(version, "memberships", manifest, _membership_row),
        statements=statements.all,
    )
    return Loaded(system, facts, manifest, statements.unstated)


def rows_of(path: Location, manifest: Manifest, table: str) -> Iterator[Cells]:
    """The rows of one table as cells; `BadInput` at the end if they differ from the manifest."""
    return _cells(folder_of(path, manifest), table, manifest)


def set_aside(path: Location, manifest: Manifest) -> list[SetAside]:
    """The quarantined rows: read, but not part of the facts."""
    from lakewarden.analysis.lint.lint_context import SetAside

    return [SetAside(*cells) for cells in rows_of(path, manifest, QUARANTINE)]


def check_tables(path: Location, manifest: Manifest, spark: SparkSession | None = None) -> None:
    """Raises `BadInput` for a table that differs from the manifest.

    The tasks of `spark` read large tables, if they run on other machines.
    """
    version = folder_of(path, manifest)

    def check(table: str) -> None:
        check_table(version, table, manifest, spark)

    if spark is not None and not runs_locally(spark):
        for table in manifest.tables:
            check(table)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(check, manifest.tables):
            pass  # raises the exception of the check


def _cells(version: Location, table: str, manifest: Manifest) -> Iterator[Cells]:
    """The rows of a table as cells; raises at the end if they differ from the manifest."""
    for columns in _columns(version, table, manifest):
        yield from zip(*columns, strict=True)


def _columns(version: Location, table: str, manifest: Manifest) -> Iterator[list[list[Any]]]:
    """The same by column, many rows at a time."""
    columns = COLUMNS[table]
    chunk_rows = directory_manifest.CHUNK_ROWS if manifest.in_chunks else None
    digest = Digest(len(columns), chunk_rows)
    for batch in batches(version / table, table):
        digest.add(batch)
        yield [column.to_pylist() for column in batch]
    if digest.content() != manifest.tables[table]:
        raise BadInput("differs from its manifest", where=str(version / table))


def _rows(
    version: Location, table: str, manifest: Manifest, make: Callable[[Cells], Row]
) -> list[Row]:
    return [make(cells) for cells in _cells(version, table, manifest)]


def _entity(type: str, name: str) -> Entity:
    return Entity(sys.intern(type), name)


def _entities(version: Location, manifest: Manifest) -> EntityColumns:
    cells_by_column: list[list[Any]] = [[] for _ in COLUMNS["entities"]]
    interned: dict[str | None, str | None] = {}
    for columns in _columns(version, "entities", manifest):
        for number, (column, cells) in enumerate(zip(cells_by_column, columns, strict=True)):
            is_name = number == 1
            column.extend(cells if is_name else map(interned.setdefault, cells, cells))
    return EntityColumns(*cells_by_column)


def _relation_row(cells: Cells) -> RelationRow:
    kind, source_type, source_name, target_type, target_name = cells
    source, target = _entity(source_type, source_name), _entity(target_type, target_name)
    return RelationRow(sys.intern(kind), source, target)


def _attribute_row(cells: Cells) -> AttributeRow:
    type, name, attribute, value = cells
    return AttributeRow(_entity(type, name), sys.intern(attribute), value)


def _owner_row(cells: Cells) -> OwnerRow:
    type, name, kind, owner, ownership = cells
    return OwnerRow(_entity(type, name), _principal((kind, owner)), sys.intern(ownership))


def _principal(cells: Cells) -> Principal:
    kind, name = cells
    return Principal(sys.intern(kind), sys.intern(name))


def _membership_row(cells: Cells) -> MembershipRow:
    return MembershipRow(_principal(cells[:2]), _principal(cells[2:]))
