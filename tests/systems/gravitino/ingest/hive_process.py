"""Hive's own metastore as a process, with a catalog in memory, and a client that fills it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tests.expressions.hive import PACKAGES, installed
from tests.servers import free_port

MAIN: Final = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_STARTS: Final = 600
INTERFACE: Final = resources.files("lakewarden.systems.gravitino") / "sources/hive-metastore.thrift"

ABLE: Final = ("HIVEFULLACIDWRITE", "HIVEMANAGEDINSERTWRITE")
"""The capabilities required to create tables with transactions."""

# Structures that only tests write; fields have the numbers of Hive's own interface. For errors,
# only the numbers matter: one without a number would be missed if a method returns nothing.
WRITTEN: Final = """
enum GrantRevokeType { GRANT = 1, REVOKE = 2 }
struct PrivilegeBag { 1: list<HiveObjectPrivilege> privileges }
struct GrantRevokePrivilegeRequest { 1: GrantRevokeType requestType 2: PrivilegeBag privileges }
struct GrantRevokePrivilegeResponse { 1: optional bool success }
struct GrantRevokeRoleRequest {
  1: GrantRevokeType requestType 2: string roleName 3: string principalName
  4: PrincipalType principalType 5: optional string grantor 6: optional PrincipalType grantorType
  7: optional bool grantOption
}
struct GrantRevokeRoleResponse { 1: optional bool success }
struct Role { 1: string roleName 2: i32 createTime 3: string ownerName }
struct Catalog { 1: string name 2: optional string description 3: string locationUri }
struct CreateCatalogRequest { 1: Catalog catalog }
struct CreateTableRequest { 1: Table table 9: optional list<string> processorCapabilities }
"""
METHODS: Final = """
  void create_catalog(1: CreateCatalogRequest catalog) throws
    (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void create_database(1: Database database) throws
    (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void create_table_req(1: CreateTableRequest request) throws (1: NoSuchObjectException o1,
    2: InvalidOperationException o2, 3: MetaException o3, 4: UnknownDBException o4)
  bool create_role(1: Role role) throws (1: MetaException o1)
  GrantRevokeRoleResponse grant_revoke_role(1: GrantRevokeRoleRequest request)
    throws (1: MetaException o1)
  GrantRevokePrivilegeResponse grant_revoke_privileges(1: GrantRevokePrivilegeRequest request)
    throws (1: MetaException o1)
"""
FIELDS: Final = {
    "FieldSchema": "2: string type",
    "StorageDescriptor": "2: string location 3: string inputFormat 4: string outputFormat"
    " 7: SerDeInfo serdeInfo",
    "Database": "3: string locationUri 8: optional string catalogName",
    "Table": "2: string dbName 9: map<string, string> parameters 10: string viewOriginalText"
    " 11: string viewExpandedText 17: optional string catName",
    "PrivilegeGrantInfo": "2: i32 createTime 3: string grantor 4: PrincipalType grantorType"
    " 5: bool grantOption",
}
SERDE: Final = "struct SerDeInfo { 1: string name 2: string serializationLib }\n"


def interface(folder: Path) -> Any:
    """The interface for reading, plus the parts that tests write."""
    import thriftpy2

    text = INTERFACE.read_text("utf-8")
    for name, fields in FIELDS.items():
        text, count = re.subn(rf"(struct {name} {{[^}}]*)}}", rf"\1 {fields} }}", text)
        assert count == 1, name
    text = text.replace("struct FieldSchema", f"{SERDE}struct FieldSchema")
    text = text.replace("service ", f"{WRITTEN}service ")
    text = text[: text.rindex("}")] + METHODS + "}\n"
    path = folder / "written.thrift"
    path.write_text(text, "utf-8")
    return thriftpy2.load(str(path), module_name="written_thrift")


@contextmanager
def metastore(folder: Path) -> Iterator[int]:
    """Starts Hive's metastore; yields its port."""
    from thriftpy2.thrift import TException

    settings = {
        "datanucleus.schema.autoCreateAll": "true",
        "fs.defaultFS": "file:///",
        "hive.metastore.schema.verification": "false",
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "metastore.warehouse.dir": f"file:{folder}/warehouse",
        "metastore.warehouse.external.dir": f"file:{folder}/external",
        # A test needs no background services: no compaction and no counts.
        "metastore.compactor.initiator.on": "false",
        "metastore.task.threads.always": "",
    }
    words = [word for item in settings.items() for word in ("--hiveconf", "=".join(item))]
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in PACKAGES]
    port = free_port()
    command = ["java", *opened, "-Xmx1g", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", f"{installed()}/*", MAIN, "-p", str(port), *words]
    log = folder / "metastore.log"
    with (
        log.open("w") as output,
        subprocess.Popen(command, cwd=folder, stdout=output, stderr=output) as process,
    ):
        try:
            for _ in range(_STARTS):
                said = log.read_text("utf-8", errors="replace")[-3_000:]
                assert process.poll() is None, said
                try:
                    with closing(client(interface(folder), port)) as asking:
                        asking.get_catalogs()
                    break
                except (TException, OSError):
                    time.sleep(0.2)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def client(words: Any, port: int) -> Any:
    """A client that may also write."""
    from thriftpy2.rpc import make_client

    return make_client(words.ThriftHiveMetastore, "127.0.0.1", port, timeout=60_000)


class Writer:
    """Fills a metastore."""

    def __init__(self, folder: Path, port: int) -> None:
        self.words = interface(folder)
        self.client = client(self.words, port)
        self.folder = folder

    def close(self) -> None:
        self.client.close()

    def kind(self, word: str) -> int:
        number: int = getattr(self.words.PrincipalType, word)
        return number

    def catalog(self, name: str) -> None:
        catalog = self.words.Catalog(name=name, locationUri=f"file:{self.folder}/{name}")
        self.client.create_catalog(self.words.CreateCatalogRequest(catalog=catalog))

    def database(self, name: str, owner: str, kind: str = "USER", catalog: str = "hive") -> None:
        where = f"file:{self.folder}/{catalog}-{name}"
        self.client.create_database(
            self.words.Database(
                name=name,
                locationUri=where,
                ownerName=owner,
                ownerType=self.kind(kind),
                catalogName=catalog,
            )
        )

    def table(
        self,
        database: str,
        name: str,
        owner: str,
        columns: str = "id",
        *,
        keys: str = "",
        type: str = "EXTERNAL_TABLE",
        catalog: str = "hive",
        **parameters: str,
    ) -> None:
        words = self.words
        where = f"file:{self.folder}/{catalog}-{database}/{name}"
        serde = words.SerDeInfo(
            name=name, serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
        )
        storage = words.StorageDescriptor(
            cols=[words.FieldSchema(name=one, type="string") for one in columns.split()],
            location=where if type == "EXTERNAL_TABLE" else None,
            inputFormat="org.apache.hadoop.mapred.TextInputFormat",
            outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
            serdeInfo=serde,
        )
        is_view = type == "VIRTUAL_VIEW"
        made = words.Table(
            tableName=name,
            dbName=database,
            owner=owner,
            sd=storage,
            partitionKeys=[words.FieldSchema(name=one, type="string") for one in keys.split()],
            parameters={"EXTERNAL": "TRUE"} if type == "EXTERNAL_TABLE" else parameters,
            viewOriginalText="select 1" if is_view else None,
            viewExpandedText="select 1" if is_view else None,
            tableType=type,
            catName=catalog,
        )
        self.client.create_table_req(
            words.CreateTableRequest(table=made, processorCapabilities=list(ABLE))
        )

    def role(self, name: str, **members: str) -> None:
        """A role, with its members and their kinds."""
        self.client.create_role(self.words.Role(roleName=name, createTime=0, ownerName="admin"))
        for member, kind in members.items():
            self.member(name, member, kind)

    def member(self, role: str, member: str, kind: str) -> None:
        self.client.grant_revoke_role(
            self.words.GrantRevokeRoleRequest(
                requestType=self.words.GrantRevokeType.GRANT,
                roleName=role,
                principalName=member,
                principalType=self.kind(kind),
                grantor="admin",
                grantorType=self.kind("USER"),
                grantOption=False,
            )
        )

    def grant(
        self,
        who: str,
        kind: str,
        word: str,
        database: str,
        table: str = "",
        *,
        authorizer: str = "SQL",
        catalog: str = "hive",
    ) -> None:
        words = self.words
        on = words.HiveObjectRef(
            objectType=getattr(words.HiveObjectType, "TABLE" if table else "DATABASE"),
            dbName=database,
            objectName=table or None,
            partValues=[],
            catName=catalog,
        )
        info = words.PrivilegeGrantInfo(
            privilege=word,
            createTime=0,
            grantor="admin",
            grantorType=self.kind("USER"),
            grantOption=False,
        )
        given = words.HiveObjectPrivilege(
            hiveObject=on,
            principalName=who,
            principalType=self.kind(kind),
            grantInfo=info,
            authorizer=authorizer,
        )
        self.client.grant_revoke_privileges(
            words.GrantRevokePrivilegeRequest(
                requestType=words.GrantRevokeType.GRANT,
                privileges=words.PrivilegeBag(privileges=[given]),
            )
        )
