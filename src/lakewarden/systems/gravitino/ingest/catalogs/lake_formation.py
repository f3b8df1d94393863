"""Replies of AWS Glue and Lake Formation, in the format of the command line and the SDKs.

    GetDatabases         `DatabaseList`
    GetTables            `TableList`: columns of `StorageDescriptor`, and `PartitionKeys`
    ListPermissions      `PrincipalResourcePermissions`

and, if permissions refer to them:

    SearchDatabasesByLFTags, SearchTablesByLFTags   `DatabaseList`, `TableList`, of other items
    ListLFTagExpressions                            `LFTagExpressions`
    ListDataCellsFilter                             `DataCellsFilters`
    ListRLSPolicyAttachments                        `RLSPolicyAttachments`

Every file has one or more pages. A permission on all tables of a database becomes one on the
database. A permission on columns names some, or excludes some from all of them; a permission to
select from all tables of a database is on all columns of the table `ALL_TABLES`. A database or
table that is a link to another is left out: reading it requires a permission on the other. A data
cells filter with all rows becomes some columns. A row policy on a table limits its readers.

SOURCE: AWS Glue API reference, Database and Table; Lake Formation API reference, Resource,
TableWithColumnsResource, DataCellsFilter, RLSPolicyAttachment and PrincipalResourcePermissions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import records as json_records
from lakewarden.systems.gravitino.ingest.catalogs.lf_tags import (
    ALL_ON_TABLE,
    LfTags,
    TagPolicy,
    expression,
    tag_policy,
)
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    GrantedColumns,
    Grantee,
    Limited,
    Record,
    Securable,
    Untranslated,
    label,
)

DATABASES: Final = "DatabaseList"
TABLES: Final = "TableList"
PERMISSIONS: Final = "PrincipalResourcePermissions"
EXPRESSIONS: Final = "LFTagExpressions"
FILTERS: Final = "DataCellsFilters"
ATTACHMENTS: Final = "RLSPolicyAttachments"

LINKED_DATABASE: Final = "TargetDatabase"
"""The member that marks a database as a link."""

_LINKED_TABLE: Final = "TargetTable"
_LINK: Final = "RESOURCELINK"
_EVERY_TABLE: Final = "ALL_TABLES"
"""The name of the table in a permission on all tables."""

_TAGGED: Final = "LFTagPolicy"
_FILTERED: Final = "DataCellsFilter"
_CATALOGS: Final = {
    "Catalog": "Id",
    "Database": "CatalogId",
    "Table": "CatalogId",
    "TableWithColumns": "CatalogId",
    _TAGGED: "CatalogId",
    _FILTERED: "TableCatalogId",
}
"""The name of the catalog for each kind of resource that may carry over."""

_ON_DATABASE: Final = ("ALL", "CREATE_TABLE", "DESCRIBE")
"""The permissions on databases that have a meaning here."""

_QUOTED: Final = re.compile(r'"[^"]+"(\."[^"]+")*')
"""The name of a column in a record, such as `"to"."town"`."""


def records(files: Sequence[File]) -> Iterator[Record]:
    """The records of the pages. Raises `BadInput` for an unknown page."""
    pages = Pages()
    for file in files:
        for record in json_records(file.path, file.name):
            page = Section(record.value, f"{file.name}: line {record.line}{record.path}")
            yield from pages.read(page)
    yield from pages.rest()
    if ATTACHMENTS not in pages.lists:
        yield Untranslated(ATTACHMENTS, "no_attachments", next((file.name for file in files), ""))


@dataclass(slots=True)
class Pages:
    """The pages of one catalog, because names of two catalogs would be confused.

    If `catalog_id` is not given, it is the first one that a page names. With `takes_others`,
    objects of other catalogs are left out; without it they are an error. `lists` are the lists
    found in pages.
    """

    catalog_id: str = ""
    takes_others: bool = False
    lists: set[str] = field(default_factory=set)
    tags: LfTags = field(default_factory=LfTags)
    filters: dict[tuple[str, ...], _Resource | None] = field(default_factory=dict)
    _later: list[_Later] = field(default_factory=list)
    _limits: list[tuple[TagPolicy, str]] = field(default_factory=list)
    _named_at: str = ""

    def read(self, page: Section) -> Iterator[Record]:
        """The records that one page provides without others."""
        known = {
            DATABASES: self._database,
            TABLES: self._table,
            PERMISSIONS: self._permission,
            EXPRESSIONS: self._expression,
            FILTERS: self._filter,
            ATTACHMENTS: self._attachment,
        }
        names = [name for name in page.names() if name in known]
        if not names:
            expected = ", ".join(f"`{name}`" for name in known)
            raise BadInput(f"expected a page with one of: {expected}", where=page.where)
        self.lists.update(names)
        for name in names:
            for item in page.tables(name):
                yield from known[name](item)

    def rest(self) -> Iterator[Record]:
        """The records for LF-tags and filters of cells, once all pages are read."""
        for one in self._later:
            found = list(self._deferred_records(one))
            yield from found
            feature = "filter" if one.policy is None else "lf_tag"
            for word in () if found else one.words:
                yield Granted(one.grantee, word, one.on, one.place, feature)
        for policy, place in self._limits:
            yield from self._limited(policy, place)

    def tag_policies(self) -> list[TagPolicy]:
        """The policies on LF-tags that pages named."""
        granted = [one.policy for one in self._later if one.policy is not None]
        return [*granted, *(policy for policy, _ in self._limits)]

    def filtered(self) -> set[tuple[str, ...]]:
        """The databases and tables of the filters that permissions name."""
        return {one.on.parts[:2] for one in self._later if one.policy is None}

    def _deferred_records(self, one: _Later) -> Iterator[Record]:
        if one.policy is not None:
            yield from self.tags.permitted(one.policy, one.grantee, one.words, one.place)
            return
        columns = self.filters.get(one.on.parts)
        if columns is not None:
            yield from (_granted(columns, one.grantee, w, "", one.place) for w in one.words)

    def _limited(self, policy: TagPolicy, place: str) -> Iterator[Record]:
        """The tables whose readers a row policy limits."""
        if not self.tags.tables or not self.tags.wanted(policy):
            message = f"{label(policy.on)}: no reply says which tables have these LF-tags"
            raise BadInput(message, where=place)
        for table, _ in self.tags.matching(policy):
            yield Limited(Securable("TABLE", table), "row_policy", place)

    def _here(self, item: Section, key: str = "CatalogId") -> bool:
        """Whether an item is in this catalog (an unnamed one is). Raises for one of another."""
        if not self.takes_others:
            self._of_catalog(item, key)
            return True
        return item.text(key, "") in ("", self.catalog_id)

    def _of_catalog(self, item: Section, key: str = "CatalogId") -> None:
        catalog = item.text(key, "") or self.catalog_id
        if self.catalog_id and catalog != self.catalog_id:
            first = f" ({self._named_at})" if self._named_at else ""
            message = (
                f"two catalogs, `{self.catalog_id}`{first} and `{catalog}`: export each by itself"
            )
            raise BadInput(message, where=item.where)
        self._named_at = self._named_at if self.catalog_id else item.where
        self.catalog_id = catalog

    def _database(self, item: Section) -> Iterator[Record]:
        tagged = item.take("Database")
        if tagged is not None:
            database = Section(tagged, item.at("Database"))
            if self._here(database):
                self.tags.add_database(database.text("Name"), item.tables("LFTags"))
            return
        self._of_catalog(item)
        kind = _LINK if item.take(LINKED_DATABASE) else "DATABASE"
        yield Exists(Securable(kind, (item.text("Name"),)), item.where)

    def _table(self, item: Section) -> Iterator[Record]:
        tagged = item.take("Table")
        if tagged is not None:
            table = Section(tagged, item.at("Table"))
            if self._here(table):
                self.tags.add_table((table.text("DatabaseName"), table.text("Name")), item)
            return
        self._of_catalog(item)
        database, name = item.text("DatabaseName"), item.text("Name")
        is_link = item.take(_LINKED_TABLE)
        kind = _LINK if is_link else item.text("TableType", "") or "TABLE"
        yield Exists(Securable(kind, (database, name)), item.where)
        if is_link:
            return
        if item.take("RLSProperties"):
            yield Limited(Securable("TABLE", (database, name)), "row_policy", item.where)
        descriptor = Section(item.take("StorageDescriptor") or {}, item.at("StorageDescriptor"))
        for column in (*descriptor.tables("Columns"), *item.tables("PartitionKeys")):
            named = Securable("COLUMN", (database, name, column.text("Name")))
            yield Exists(named, column.where)

    def _expression(self, item: Section) -> Iterator[Record]:
        if self._here(item):
            self.tags.expressions[item.text("Name")] = expression(item.tables("Expression"))
        yield from ()

    def _filter(self, item: Section) -> Iterator[Record]:
        if self._here(item, "TableCatalogId"):
            on = _filtered(item)
            rows = Section(item.take("RowFilter") or {}, item.at("RowFilter"))
            is_whole = rows.take("AllRowsWildcard") is not None and not rows.names()
            columns = _columns(Securable("TABLE", on.parts[:2]), item)
            self.filters[on.parts] = columns if is_whole else None
        yield from ()

    def _attachment(self, item: Section) -> Iterator[Record]:
        name, inner = self._named(item)
        if inner is None:
            yield Untranslated(
                f"policy of rows {item.text('PolicyName')}", "other_catalog", item.where
            )
            return
        if name == _TAGGED:
            self._limits.append((_policy(inner), item.where))
            return
        on = self._resource(name, inner)
        if on.on.kind != "TABLE":
            message = f"a policy of rows on {label(on.on)}: expected a table or LF-tags"
            raise BadInput(message, where=item.where)
        yield Limited(on.on, "row_policy", item.where)

    def _permission(self, item: Section) -> Iterator[Record]:
        principal = Section(item.take("Principal"), item.at("Principal"))
        grantee = Grantee("", principal.text("DataLakePrincipalIdentifier"))
        name, inner = self._named(item)
        if inner is None:
            yield Untranslated(f"permission of {grantee.name}", "other_catalog", item.where)
            return
        tagged = _policy(inner) if name == _TAGGED else None
        on = self._resource(name, inner) if tagged is None else _Resource(tagged.on)
        limit = "condition" if item.take("Condition") is not None else ""
        words = item.texts("Permissions")
        later = () if limit else _deferred_permissions(on.on.kind, tagged)
        for privilege in words:
            if privilege not in later:
                yield from _permission_grants(on, grantee, privilege, limit, item.where)
        if some := tuple(word for word in words if word in later):
            self._later.append(_Later(grantee, some, on.on, tagged, item.where))
        for privilege in item.texts("PermissionsWithGrantOption"):
            subject = f"{privilege} of {grantee.name} on {label(on.on)}"
            yield Untranslated(subject, "grant_option", item.where)

    def _named(self, item: Section) -> tuple[str, Section | None]:
        """The kind of an item's resource, and the resource; none if it is in another catalog."""
        resource = Section(item.take("Resource"), item.at("Resource"))
        names = resource.names()
        if len(names) != 1:
            raise BadInput("expected one resource", where=resource.where)
        inner = Section(resource.take(names[0]), resource.at(names[0]))
        is_told = names[0] in _CATALOGS or self.takes_others
        is_here = not is_told or self._here(inner, _CATALOGS.get(names[0], "CatalogId"))
        return names[0], inner if is_here else None

    def _resource(self, name: str, inner: Section) -> _Resource:
        if name == "Catalog":
            return _Resource(Securable("CATALOG", ()))
        if name == "Database":
            return _Resource(Securable("DATABASE", (inner.text("Name"),)))
        if name == _FILTERED:
            return _Resource(_filtered(inner))
        if name not in ("Table", "TableWithColumns"):
            return _Resource(Securable(name.upper(), tuple(_words_of(inner))))
        database = inner.text("DatabaseName")
        if inner.take("TableWildcard") is not None:
            return _Resource(Securable("TABLEWILDCARD", (database,)))
        table = _Resource(Securable("TABLE", (database, inner.text("Name"))))
        on = table if name == "Table" else _columns(table.on, inner)
        is_every = on.on.parts[-1] == _EVERY_TABLE and on.columns is None
        return _Resource(Securable("TABLEWILDCARD", (database,))) if is_every else on


@dataclass(frozen=True, slots=True)
class _Resource:
    """The object of a permission; `columns` are None for everything."""

    on: Securable
    columns: frozenset[str] | None = None
    is_excluding: bool = False


@dataclass(frozen=True, slots=True)
class _Later:
    """Permissions on objects with LF-tags, by `policy`, or on the data of a cells filter."""

    grantee: Grantee
    words: tuple[str, ...]
    on: Securable
    policy: TagPolicy | None
    place: str


def _deferred_permissions(kind: str, policy: TagPolicy | None) -> tuple[str, ...]:
    """The permissions whose meaning is known once all pages are read."""
    if policy is not None:
        return ("ALL", *ALL_ON_TABLE) if policy.is_on_tables else _ON_DATABASE
    return ("SELECT",) if kind == _FILTERED.upper() else ()


def _policy(inner: Section) -> TagPolicy:
    raw = {key: inner.take(key) for key in inner.names()}
    on = Securable(_TAGGED.upper(), tuple(_words_of(Section(raw, inner.where))))
    return tag_policy(Section(raw, inner.where), on)


def _filtered(inner: Section) -> Securable:
    parts = (inner.text("DatabaseName"), inner.text("TableName", ""), inner.text("Name"))
    return Securable(_FILTERED.upper(), parts)


def _words_of(inner: Section) -> Iterator[str]:
    """The label of a resource that does not carry over: all of its members."""
    for key in inner.names():
        value = inner.take(key)
        if not key.endswith("CatalogId"):
            yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _columns(table: Securable, inner: Section) -> _Resource:
    names = _plain(inner.texts("ColumnNames"))
    wildcard = inner.take("ColumnWildcard")
    if names or not isinstance(wildcard, Mapping):
        return _Resource(table, names)
    excluded = _plain(Section(wildcard, inner.at("ColumnWildcard")).texts("ExcludedColumnNames"))
    return _Resource(table, excluded, is_excluding=True) if excluded else _Resource(table)


def _plain(names: Iterable[str]) -> frozenset[str]:
    """Names of columns without the quotes of columns in records."""
    return frozenset(n.replace('"', "") if _QUOTED.fullmatch(n) else n for n in names)


def _permission_grants(
    on: _Resource, grantee: Grantee, privilege: str, limit: str, place: str
) -> Iterator[Record]:
    """The grants of a permission."""
    if on.on.kind == "DATABASE" and privilege in ALL_ON_TABLE:
        if privilege != "ALTER":
            message = f"`{privilege}` is no permission on a database, but on its tables"
            raise BadInput(message, where=place)
        limit = limit or "alter_database"
    for word in _words(privilege, on):
        yield _granted(on, grantee, word, limit, place)


def _words(privilege: str, resource: _Resource) -> tuple[str, ...]:
    """The words of a permission; one on all tables of a database has different ones."""
    if resource.on.kind == "TABLEWILDCARD" and privilege in ("ALL", "SUPER"):
        return ALL_ON_TABLE
    return (privilege,)


def _granted(
    resource: _Resource, grantee: Grantee, word: str, limit: str, place: str
) -> Granted | GrantedColumns:
    if resource.columns is None or limit:
        return Granted(grantee, word, resource.on, place, limit)
    columns, is_excluding = resource.columns, resource.is_excluding
    return GrantedColumns(grantee, word, resource.on, columns, is_excluding, place)
