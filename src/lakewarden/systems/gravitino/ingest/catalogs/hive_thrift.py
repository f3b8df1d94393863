"""A running Hive metastore, queried by Thrift for the data that its mapping queries elsewhere.

Every answer becomes rows of the mapping's tables, so the same code reads the service and its
database. Grants and role members are read last, so a grant revoked meanwhile is not granted
here. If a table was dropped meanwhile, reading fails.

The connection uses Thrift's binary protocol, unencrypted. A metastore that requires Kerberos or TLS
does not answer it; its database has the same data.

SOURCE: Apache Hive, hive_metastore.thrift; HMSHandler, list_privileges without a principal;
MetaStoreUtils, prependCatalogToDbName.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from lakewarden.kernel.errors import BadInput, Unavailable, not_installed
from lakewarden.names.canonical import escaped
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.system import System
from lakewarden.systems.gravitino.ingest.catalogs import tables
from lakewarden.systems.gravitino.ingest.catalogs.asked import reading
from lakewarden.systems.gravitino.ingest.catalogs.mapping import PACKAGE, mapping
from lakewarden.systems.gravitino.ingest.catalogs.source import content_of
from lakewarden.systems.gravitino.ingest.catalogs.table_spec import Cells

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME: Final = "thrift"
_PORT: Final = 9083
_SECONDS: Final = 60
_AT_ONCE: Final = 100
_LONGEST_MESSAGE: Final = 200
_COLUMNS: Final = "grants on columns, which give nothing"

Rows = tuple[str, list[dict[str, object]]]
"""Rows of one table of the mapping."""


@dataclass(frozen=True, slots=True)
class HiveThrift:
    """The metastore at an address, whose catalogs are those of a metalake."""

    kind: ClassVar[str] = "hive-metastore"
    model: ClassVar[str] = "gravitino"
    host: str
    port: int
    metalake: str

    @property
    def options(self) -> Mapping[str, str]:
        return {"metalake": self.metalake}

    @property
    def address(self) -> str:
        """The address, in the form of the output."""
        return f"{SCHEME}://{self.host}:{self.port}"

    def inputs(self) -> None:
        """See `Source`: the content of a metastore is only known once it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        declared = mapping("hive", system.model)
        content = content_of(declared, self.metalake, "", ())
        with _opened(self) as metastore:
            for done, (name, rows) in enumerate(_Metastore(metastore).rows()):
                spec = declared.tables[name]
                placed = [(name, _cells(row, name)) for row in rows]
                for record in tables.of_rows(placed, [spec], name):
                    content.add_record(record)
                progress("read", 0, 1, f"{done:,} answers, {name}")
        return reading(content, system.model, self.address, [_COLUMNS])


class _Metastore:
    """One reading of one metastore; `client` implements its interface, `words` has its types."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._words = _interface()
        self._kinds = _names(self._words.PrincipalType)

    def rows(self) -> Iterator[Rows]:
        """Rows of all tables of the mapping except the grants on columns."""
        databases = list(self._databases())
        found: list[tuple[dict[str, object], str]] = []
        for catalog, name in databases:
            place: dict[str, object] = {"catalog": catalog, "database": name}
            owner = self._client.get_database(_qualified(catalog, name))
            kind = self._kind(owner.ownerType)
            yield "databases", [{**place, "owner": owner.ownerName, "owner_type": kind}]
            for table in self._tables(catalog, name):
                row = {**place, "name": table.tableName, "type": table.tableType}
                kind = self._kind(table.ownerType)
                yield "tables", [{**row, "owner": table.owner, "owner_type": kind}]
                yield "columns", [{**row, "column": column} for column in _columns(table)]
                found.append((row, "TABLE"))
            found.append((place, "DATABASE"))
        yield from self._roles()
        for row, kind in found:
            table_name = "grants" if kind == "TABLE" else "grants_on_databases"
            yield table_name, [{**row, **grant} for grant in self._grants(row, kind)]

    def _databases(self) -> Iterator[tuple[str, str]]:
        for catalog in self._client.get_catalogs().names:
            for name in self._client.get_databases(_qualified(catalog, "")):
                yield catalog, name

    def _tables(self, catalog: str, database: str) -> Iterator[Any]:
        """The tables of a database; raises `Unavailable` if one is dropped after it was listed."""
        words = self._words
        able = words.ClientCapabilities(values=[words.ClientCapability.INSERT_ONLY_TABLES])
        listed = self._client.get_all_tables(_qualified(catalog, database))
        for start in range(0, len(listed), _AT_ONCE):
            names = listed[start : start + _AT_ONCE]
            request = words.GetTablesRequest(
                dbName=database, tblNames=names, capabilities=able, catName=catalog
            )
            found = self._client.get_table_objects_by_name_req(request).tables
            if len(found) != len(names):
                where = f"{catalog}.{database}"
                raise Unavailable(f"`{where}` changed while it was read; read it again")
            yield from found

    def _roles(self) -> Iterator[Rows]:
        for role in self._client.get_role_names():
            yield "roles", [{"role": role}]
            request = self._words.GetPrincipalsInRoleRequest(roleName=role)
            members = self._client.get_principals_in_role(request).principalGrants
            yield (
                "members",
                [
                    {
                        "role": role,
                        "member": one.principalName,
                        "member_type": self._kind(one.principalType),
                    }
                    for one in members
                ],
            )

    def _grants(self, row: Mapping[str, object], kind: str) -> Iterator[dict[str, object]]:
        on = self._words.HiveObjectRef(
            objectType=getattr(self._words.HiveObjectType, kind),
            catName=row["catalog"],
            dbName=row["database"],
            objectName=row.get("name"),
        )
        for one in self._client.list_privileges(None, None, on):
            yield {
                "grantee": one.principalName,
                "grantee_type": self._kind(one.principalType),
                "privilege": one.grantInfo.privilege,
                "authorizer": one.authorizer,
            }

    def _kind(self, number: int | None) -> str:
        """The word for a kind of principal; without a kind it is a user, as before Hive 3."""
        return self._kinds.get(number or self._words.PrincipalType.USER, f"kind {number}")


def _cells(row: Mapping[str, object], where: str) -> Cells:
    """A row as texts. Raises `BadInput` for invalid UTF-8, which Thrift returns as bytes."""
    if any(isinstance(value, bytes) for value in row.values()):
        raise BadInput("expected UTF-8", where=where)
    return tables.texts(row, where, row.keys())


def _columns(table: Any) -> Iterator[str]:
    for one in (*(table.sd.cols or ()), *(table.partitionKeys or ())):
        yield one.name


def _names(enumeration: Any) -> dict[int, str]:
    names: dict[int, str] = enumeration._VALUES_TO_NAMES
    return names


def _qualified(catalog: str, database: str) -> str:
    """A database with its catalog, in the form of database names; without a name, all databases."""
    return f"@{catalog}#{database}"


@cache
def _interface() -> Any:
    """The types of the interface."""
    import thriftpy2

    file = resources.files(PACKAGE).joinpath("sources/hive-metastore.thrift")
    with resources.as_file(file) as path:
        return thriftpy2.load(str(path), module_name="lakewarden_hive_metastore_thrift")


@contextmanager
def _opened(source: HiveThrift) -> Iterator[Any]:
    """A client of the metastore. Raises `Unavailable` if it does not answer, or rejects it."""
    try:
        from thriftpy2.rpc import make_client
        from thriftpy2.thrift import TException
    except ImportError:
        raise not_installed("thriftpy2", "hive", where=source.kind) from None
    try:
        client = make_client(
            _interface().ThriftHiveMetastore,
            source.host,
            source.port,
            timeout=_SECONDS * 1000,
        )
        try:
            yield client
        finally:
            client.close()
    except (TException, OSError, EOFError) as error:
        raise Unavailable(f"`{source.address}` cannot be read: {_short(error)}") from None


def _short(error: Exception) -> str:
    said = getattr(error, "message", "") or str(error) or type(error).__name__
    return escaped(" ".join(said.split())[:_LONGEST_MESSAGE])


def open_thrift(url: str, metalake: str) -> HiveThrift:
    """The metastore at `thrift://HOST:PORT`. Raises `BadInput`."""
    parts = urlsplit(url)
    try:
        port = parts.port or _PORT
    except ValueError:
        port = 0
    if not parts.hostname or not port or parts.path.strip("/") or parts.query or parts.username:
        raise BadInput(f"expected {SCHEME}://HOST:PORT, without a user")
    return HiveThrift(parts.hostname, port, metalake)
