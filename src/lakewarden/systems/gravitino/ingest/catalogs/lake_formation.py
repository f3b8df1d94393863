"""Replies of AWS Glue and Lake Formation, as the command line and the SDKs write them.

    GetDatabases         `DatabaseList`
    GetTables            `TableList`: columns of `StorageDescriptor`, and `PartitionKeys`
    ListPermissions      `PrincipalResourcePermissions`

Every file has one page or several. A permission on all tables of a database is one on the database.
A permission on columns names some, or leaves some out of all of them; one to select from all tables
of a database is on all columns of the table `ALL_TABLES`. A database or table that is a link to
another is left out: whoever reads it needs a permission on the other.

SOURCE: AWS Glue API reference, Database and Table; Lake Formation API reference, Resource,
TableWithColumnsResource and PrincipalResourcePermissions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import records as json_records
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    GrantedColumns,
    Grantee,
    Left,
    Record,
    Securable,
    label,
)

DATABASES: Final = "DatabaseList"
TABLES: Final = "TableList"
PERMISSIONS: Final = "PrincipalResourcePermissions"


LINKED_DATABASE: Final = "TargetDatabase"
"""What a database has that is a link."""

_LINKED_TABLE: Final = "TargetTable"
_LINK: Final = "RESOURCELINK"
_EVERY_TABLE: Final = "ALL_TABLES"
"""What the table is called of a permission on all tables."""

_ALL_TABLES: Final = ("SELECT", "INSERT", "DELETE", "ALTER")


def records(files: Sequence[File]) -> Iterator[Record]:
    """What the pages say. Raises `BadInput` for one that is none of these."""
    pages = Pages()
    for file in files:
        for record in json_records(file.path, file.name):
            page = Section(record.value, f"{file.name}: line {record.line}{record.path}")
            yield from pages.read(page)


@dataclass(slots=True)
class Pages:
    """The pages of one catalog: names of two would be taken for each other.

    `catalog_id` is the first one that a page names, if it is not given. With `takes_others`,
    permissions on what is in others are left out; without it they are an error.
    """

    catalog_id: str = ""
    takes_others: bool = False

    def read(self, page: Section) -> Iterator[Record]:
        known = {DATABASES: self._database, TABLES: self._table, PERMISSIONS: self._permission}
        names = [name for name in page.names() if name in known]
        if not names:
            expected = ", ".join(f"`{name}`" for name in known)
            raise BadInput(f"expected a page with one of: {expected}", where=page.where)
        for name in names:
            for item in page.tables(name):
                yield from known[name](item)

    def _of_catalog(self, item: Section) -> None:
        catalogs = {self.catalog_id, item.text("CatalogId", "")} - {""}
        if len(catalogs) > 1:
            both = " and ".join(f"`{name}`" for name in sorted(catalogs))
            raise BadInput(f"two catalogs, {both}: export each by itself", where=item.where)
        self.catalog_id = next(iter(catalogs), "")

    def _database(self, item: Section) -> Iterator[Record]:
        self._of_catalog(item)
        kind = _LINK if item.take(LINKED_DATABASE) else "DATABASE"
        yield Exists(Securable(kind, (item.text("Name"),)), item.where)

    def _table(self, item: Section) -> Iterator[Record]:
        self._of_catalog(item)
        database, name = item.text("DatabaseName"), item.text("Name")
        is_link = item.take(_LINKED_TABLE)
        kind = _LINK if is_link else item.text("TableType", "") or "TABLE"
        yield Exists(Securable(kind, (database, name)), item.where)
        if is_link:
            return
        descriptor = Section(item.take("StorageDescriptor") or {}, item.at("StorageDescriptor"))
        for column in (*descriptor.tables("Columns"), *item.tables("PartitionKeys")):
            named = Securable("COLUMN", (database, name, column.text("Name")))
            yield Exists(named, column.where)

    def _permission(self, item: Section) -> Iterator[Record]:
        principal = Section(item.take("Principal"), item.at("Principal"))
        grantee = Grantee("", principal.text("DataLakePrincipalIdentifier"))
        resource = Section(item.take("Resource"), item.at("Resource"))
        names = resource.names()
        if len(names) != 1:
            raise BadInput("expected one resource", where=resource.where)
        value = resource.take(names[0])
        if self.takes_others and not self._has(value):
            yield Left(f"permission of {grantee.name}", "other_catalog", item.where)
            return
        on = self._resource(names[0], Section(value, resource.at(names[0])))
        limit = "condition" if item.take("Condition") else ""
        for privilege in item.texts("Permissions"):
            if on.on.kind == "DATABASE" and privilege in _ALL_TABLES[:3]:
                message = f"`{privilege}` is no permission on a database, but on its tables"
                raise BadInput(message, where=item.where)
            for word in _words(privilege, on):
                yield _granted(on, grantee, word, limit, item.where)
        for privilege in item.texts("PermissionsWithGrantOption"):
            subject = f"{privilege} of {grantee.name} on {label(on.on)}"
            yield Left(subject, "grant_option", item.where)

    def _has(self, resource: object) -> bool:
        """Whether something is in this catalog, as what names none is."""
        catalog = resource.get("CatalogId") if isinstance(resource, Mapping) else None
        return not catalog or catalog == self.catalog_id

    def _resource(self, name: str, inner: Section) -> _Resource:
        if name == "Catalog":
            return _Resource(Securable("CATALOG", ()))
        if name == "Database":
            self._of_catalog(inner)
            return _Resource(Securable("DATABASE", (inner.text("Name"),)))
        if name not in ("Table", "TableWithColumns"):
            return _Resource(Securable(name.upper(), tuple(_words_of(inner))))
        self._of_catalog(inner)
        database = inner.text("DatabaseName")
        if inner.take("TableWildcard") is not None:
            return _Resource(Securable("TABLEWILDCARD", (database,)))
        table = _Resource(Securable("TABLE", (database, inner.text("Name"))))
        on = table if name == "Table" else _columns(table.on, inner)
        is_every = on.on.parts[-1] == _EVERY_TABLE and on.columns is None
        return _Resource(Securable("TABLEWILDCARD", (database,))) if is_every else on


@dataclass(frozen=True, slots=True)
class _Resource:
    """What a permission is on; `columns` are None for everything."""

    on: Securable
    columns: frozenset[str] | None = None
    is_excluding: bool = False


def _words_of(inner: Section) -> Iterator[str]:
    """What a resource that does not carry over is called: all that it says of itself."""
    for key in inner.names():
        value = inner.take(key)
        if not key.endswith("CatalogId"):
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _columns(table: Securable, inner: Section) -> _Resource:
    names = inner.texts("ColumnNames")
    wildcard = inner.take("ColumnWildcard")
    if names or not isinstance(wildcard, Mapping):
        return _Resource(table, frozenset(names))
    excluded = Section(wildcard, inner.at("ColumnWildcard")).texts("ExcludedColumnNames")
    return (
        _Resource(table, frozenset(excluded), is_excluding=True) if excluded else _Resource(table)
    )


def _words(privilege: str, resource: _Resource) -> tuple[str, ...]:
    """What a permission is, where on all tables of a database it says something else."""
    if resource.on.kind == "TABLEWILDCARD" and privilege in ("ALL", "SUPER"):
        return _ALL_TABLES
    return (privilege,)


def _granted(
    resource: _Resource, grantee: Grantee, word: str, limit: str, place: str
) -> Granted | GrantedColumns:
    if resource.columns is None or limit:
        return Granted(grantee, word, resource.on, place, limit)
    columns, is_excluding = resource.columns, resource.is_excluding
    return GrantedColumns(grantee, word, resource.on, columns, is_excluding, place)
