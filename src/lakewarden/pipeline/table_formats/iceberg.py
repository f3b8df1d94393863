"""Tables of Iceberg over the Parquet files of a version, which stay where they are.

Each table gets one transaction of the catalog: its schema, a snapshot in which the files of the
version replace the previous ones, and the tag `version-N`. Only the footers of the files are read.
The tags record what was committed; snapshots of other writers, such as those of a compaction, do
not affect them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.location import uri_of
from lakewarden.pipeline.storage.parquet import metadata_of
from lakewarden.pipeline.table_formats.version import Version, schema_of
from lakewarden.pipeline.version_folder import VERSIONS

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction

PRODUCT: Final = "lakewarden.product"
_TAG: Final = "version-"
_RETRIES: Final = "commit.retry.num-retries"
_NAMES: Final = "schema.name-mapping.default"
# The files belong to the product: dropping the table, or expiring its snapshots, must not remove
# them.
_OURS: Final = {"gc.enabled": "false", "format-version": "2"}


def tag_of(number: int) -> str:
    """The tag of the snapshot of a version."""
    return f"{_TAG}{number}"


def commit_iceberg(catalog: Catalog, namespace: str, version: Version) -> list[str]:
    """Commits a version to the tables of a namespace; returns the tables with a new snapshot.

    Raises `BadInput` if a table of that name has another owner. Exceptions of pyiceberg are left to
    the caller, see `translated_errors`.
    """
    catalog.create_namespace_if_not_exists(namespace)
    return [name for name in version.tables if _commit_table(catalog, namespace, name, version)]


def _commit_table(catalog: Catalog, namespace: str, name: str, version: Version) -> bool:
    identifier = f"{namespace}.{name}"
    files = version.files(name)
    if not catalog.table_exists(identifier):
        properties = {PRODUCT: version.product, **_OURS}
        create = catalog.create_table_transaction(
            identifier, schema_of(files), properties=properties
        )
        version.check_counts()
        with create as transaction:
            _replace(transaction, version, name)
        return True
    table = catalog.load_table(identifier)
    _check_owner(table, version, identifier)
    is_new = not _is_committed(table, version)
    if is_new:
        version.check_counts()
        # In memory only: a retry on top of another writer's change might undo a newer version.
        table.metadata.properties[_RETRIES] = "0"
        with table.transaction() as transaction:
            _replace(transaction, version, name)
    _expire_snapshots(catalog.load_table(identifier) if is_new else table, version)
    return is_new


def _check_owner(table: Table, version: Version, identifier: str) -> None:
    owner = table.properties.get(PRODUCT)
    if owner != version.product:
        whose = f"is the table of {owner}" if owner else "is not a table of lakewarden"
        raise BadInput(f"{whose}; choose another --table-namespace", where=identifier)


def _is_committed(table: Table, version: Version) -> bool:
    snapshot = table.snapshot_by_name(tag_of(version.number))
    if snapshot is None or snapshot.summary is None:
        return False
    return snapshot.summary["lakewarden.digest"] == version.digest


def _replace(transaction: Transaction, version: Version, name: str) -> None:
    """Replaces the files of the newest snapshot by those of the version; adds its tag."""
    from pyiceberg.io.pyarrow import parquet_file_to_data_file
    from pyiceberg.table.update.snapshot import ManageSnapshots

    files = version.files(name)
    schema = schema_of(files)
    # A column that is no longer written stays, as null: files have no column ids, so the same name
    # under a new id would be null in earlier versions.
    with transaction.update_schema() as update:
        update.union_by_name(schema)
    names = transaction.table_metadata.schema().name_mapping.model_dump_json()
    transaction.set_properties({_NAMES: names, **_OURS})
    before = list(_files_of(transaction))
    io = transaction._table.io
    with transaction.update_snapshot(snapshot_properties=version.properties()).overwrite() as made:
        for file in files:
            if metadata_of(file).num_rows:
                made.append_data_file(
                    parquet_file_to_data_file(io, transaction.table_metadata, uri_of(file))
                )
        for data_file in before:
            made.delete_data_file(data_file)
    snapshot = transaction.table_metadata.current_snapshot()
    assert snapshot is not None  # noqa: S101 — INVARIANT: made above
    ManageSnapshots(transaction).create_tag(snapshot.snapshot_id, tag_of(version.number)).commit()


def _files_of(transaction: Transaction) -> Iterable[DataFile]:
    snapshot = transaction.table_metadata.current_snapshot()
    io = transaction._table.io
    for manifest in snapshot.manifests(io) if snapshot is not None else ():
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=True):
            yield entry.data_file


def _expire_snapshots(table: Table, version: Version) -> None:
    """Removes the snapshots of versions whose files were removed (`stream --keep`)."""
    gone = {
        tag: reference.snapshot_id
        for tag, reference in table.metadata.refs.items()
        if tag.startswith(_TAG)
        and tag != tag_of(version.number)
        and not any((version.out / VERSIONS / tag.removeprefix(_TAG)).glob("*/*.parquet"))
    }
    if not gone:
        return
    with table.manage_snapshots() as references:
        for tag in gone:
            references.remove_tag(tag)
    known = {snapshot.snapshot_id for snapshot in table.snapshots()}
    current = table.current_snapshot()
    expired = (set(gone.values()) & known) - {current.snapshot_id if current else None}
    if expired:
        table.maintenance.expire_snapshots().by_ids(sorted(expired)).commit()
