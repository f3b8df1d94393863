"""A Hive metastore queried by Thrift: by day a scripted one, nightly Hive's own."""

from __future__ import annotations

import itertools
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import hive_thrift
from tests.servers import free_port
from tests.systems.gravitino.ingest.hive_process import Writer, metastore
from tests.systems.gravitino.ingest.test_catalog_exports import notes
from tests.systems.gravitino.ingest.test_hive_metastore import ingested

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Answers:
    """Responds like Hive 4, with one catalog with one database; `tables` are its tables."""

    def __init__(self) -> None:
        self.words: Any = hive_thrift._interface()
        self.listed = ["orders", "totals", "idx"]
        self.found = {
            "orders": self.table("orders", "MANAGED_TABLE", "id card", "day"),
            "totals": self.table("totals", "VIRTUAL_VIEW", "n", ""),
            "idx": self.table("idx", "INDEX_TABLE", "", ""),
        }
        self.grants: dict[str, list[tuple[str | bytes, str, str, str]]] = {
            "orders": [
                ("readers", "ROLE", "SELECT", "SQL"),
                ("cleo", "USER", "INSERT", "SQL"),
                ("admin", "ROLE", "SELECT", "SQL"),
                ("fay", "USER", "ALL", "SQL"),
                ("ida", "USER", "SELECT", "RANGER"),
            ],
            "totals": [("public", "ROLE", "SELECT", "SQL")],
            "": [("hal", "USER", "SELECT", "SQL")],
        }
        self.members = {
            "admin": [("eve", "USER")],
            "public": [],
            "readers": [("ana", "USER"), ("leads", "ROLE")],
            "leads": [("ben", "USER")],
        }

    def table(self, name: str, kind: str, columns: str, keys: str) -> Any:
        fields = [self.words.FieldSchema(name=one) for one in columns.split()]
        parts = [self.words.FieldSchema(name=one) for one in keys.split()]
        return self.words.Table(
            tableName=name,
            owner="dora",
            tableType=kind,
            sd=self.words.StorageDescriptor(cols=fields or None),
            partitionKeys=parts or None,
        )

    def kind(self, word: str) -> int:
        number: int = getattr(self.words.PrincipalType, word)
        return number

    def get_catalogs(self) -> Any:
        return self.words.GetCatalogsResponse(names=["spark"])

    def get_databases(self, pattern: str) -> list[str]:
        assert pattern == "@spark#"
        return ["shop"]

    def get_database(self, name: str) -> Any:
        assert name == "@spark#shop"
        return self.words.Database(name="shop", ownerName="sam", ownerType=self.kind("USER"))

    def get_all_tables(self, db_name: str) -> list[str]:
        assert db_name == "@spark#shop"
        return self.listed

    def get_table_objects_by_name_req(self, req: Any) -> Any:
        assert (req.catName, req.dbName) == ("spark", "shop")
        return self.words.GetTablesResult(tables=[self.found[name] for name in req.tblNames])

    def get_role_names(self) -> list[str]:
        return list(self.members)

    def get_principals_in_role(self, request: Any) -> Any:
        found = [
            self.words.RolePrincipalGrant(
                roleName=request.roleName, principalName=name, principalType=self.kind(kind)
            )
            for name, kind in self.members[request.roleName]
        ]
        return self.words.GetPrincipalsInRoleResponse(principalGrants=found)

    def list_privileges(self, principal_name: Any, principal_type: Any, place: Any) -> Any:
        assert principal_name is None
        return [
            self.words.HiveObjectPrivilege(
                hiveObject=place,
                principalName=who,
                principalType=self.kind(kind),
                grantInfo=self.words.PrivilegeGrantInfo(privilege=word),
                authorizer=authorizer,
            )
            for who, kind, word, authorizer in self.grants.get(place.objectName or "", [])
        ]


class Shrunk(Answers):
    """Lists tables that no longer exist when they are read."""

    def get_table_objects_by_name_req(self, req: Any) -> Any:
        return self.words.GetTablesResult(tables=[self.found["orders"]])


class Refusing(Answers):
    """Reveals nobody's privileges."""

    def list_privileges(self, principal_name: Any, principal_type: Any, place: Any) -> Any:
        raise self.words.MetaException(message="not\nallowed")


@contextmanager
def answering(answers: object) -> Iterator[str]:
    """The server's address, while it responds."""
    from thriftpy2.rpc import make_server

    port = free_port()
    service = hive_thrift._interface().ThriftHiveMetastore
    server: Any = make_server(service, answers, "127.0.0.1", port)
    server.trans.listen()
    server.trans.listen = lambda: None  # it already listens, so there is no wait
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"thrift://127.0.0.1:{port}"
    finally:
        server.close()
        server.trans.close()  # which ends the wait for the next client
        thread.join()


def test_a_metastore_as_a_catalog(unstarted: SparkSession, tmp_path: Path) -> None:
    with answering(Answers()) as address:
        warden, result = ingested(address, tmp_path / "out", unstarted)
        assert not ingested(address, tmp_path / "out", unstarted)[1].is_new

    def who(operation: str, name: str) -> set[str]:
        type = operation.partition(".")[0]
        return set(warden.who(operation, f"{type}:lk:spark.shop.{name}"))

    # Like its database: leads have the role readers, eve would have to activate the role admin.
    assert who("table.load", "orders") == {"ana", "ben", "dora"}
    assert who("table.write", "orders") == {"cleo", "dora"}
    assert who("table.drop", "orders") == {"dora"}
    assert who("view.load", "totals") >= {"ana", "ben", "cleo", "fay"}
    assert who("column.read", "orders.day") == {"ana", "ben", "dora"}
    assert warden.check("sam", "table.create", "schema:lk:spark.shop").allow
    assert notes(result) >= {
        "managed_table spark.shop.orders: ALL to fay: only the older authorization has it",
        "database spark.shop: SELECT to hal: nothing on a schema",
        "index_table spark.shop.idx: INDEX_TABLE: an index is not a table",
    }
    assert "grants on columns, which give nothing" in result.report.not_read
    assert result.manifest.source == "hive-metastore"
    assert result.manifest.inputs[0].name == address


def test_what_is_half_read_is_refused(unstarted: SparkSession, tmp_path: Path) -> None:
    def reading(answers: object) -> None:
        with answering(answers) as address:
            ingested(address, tmp_path / "out", unstarted)

    with pytest.raises(Unavailable, match=r"`spark\.shop` changed while it was read"):
        reading(Shrunk())
    with pytest.raises(Unavailable, match="cannot be read: not allowed"):
        reading(Refusing())
    older = SimpleNamespace()  # Hive 2 has no catalogs
    with pytest.raises(Unavailable, match="cannot be read"):
        reading(older)
    odd = Answers()
    odd.grants["orders"] = [(b"\xff", "USER", "SELECT", "SQL")]
    with pytest.raises(BadInput, match="grants: expected UTF-8"):
        reading(odd)
    with pytest.raises(Unavailable, match="cannot be read"):
        ingested(f"thrift://127.0.0.1:{free_port()}", tmp_path / "out", unstarted)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_missing_library_is_named(
    unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "thriftpy2.rpc", None)
    with pytest.raises(Unavailable, match=r"pip install 'lakewarden\[hive\]'"):
        ingested("thrift://hive.host", tmp_path / "out", unstarted)


@pytest.mark.parametrize(
    "url", ["thrift://", "thrift://h:x", "thrift://h/db", "thrift://u:s3cret@h:1"]
)
def test_an_address_is_a_host_and_a_port(url: str) -> None:
    with pytest.raises(BadInput, match="expected thrift://HOST:PORT") as refused:
        opener_of("hive-metastore").open(url, "gravitino", {"metalake": "lk"})
    assert "s3cret" not in str(refused.value)


def test_the_usual_port_may_be_left_out() -> None:
    assert hive_thrift.open_thrift("thrift://hive.host", "lk").address == "thrift://hive.host:9083"


# Hive's own.

USERS, ROLES = ("ana", "ben", "cleo", "dora"), ("r0", "r1", "r2")
TABLES = list(itertools.product(("s", "t"), ("a", "b")))
WORDS = ("SELECT", "SELECT", "INSERT", "UPDATE", "DELETE", "ALL")


@pytest.mark.nightly
@pytest.mark.xdist_group("hive-metastore")
def test_random_grants_in_hives_own_metastore(unstarted: SparkSession, tmp_path: Path) -> None:
    """Reads are equal, writes never more, by an independent reading of the authorization rules."""
    chance = random.Random(5)
    with metastore(tmp_path) as port, closing(Writer(tmp_path, port)) as writer:
        writer.catalog("other")
        writer.database("far", "ana", catalog="other")
        writer.table("far", "away", "dora", catalog="other")
        members: set[tuple[str, str]] = set()
        for role in ROLES:
            writer.role(role)
        for user, role in itertools.product(USERS[:3], ROLES):
            if chance.random() < 0.4:
                writer.member(role, user, "USER")
                members.add((user, role))
        writer.member("r0", "r1", "ROLE")
        members.add(("r1", "r0"))
        for database in ("s", "t"):
            writer.database(database, "sam")
        owners = {parts: chance.choice(USERS) for parts in TABLES}
        for parts in TABLES:
            writer.table(*parts, owners[parts], "id card", keys="day")
        writer.table("s", "v", "dora", "n", type="VIRTUAL_VIEW")
        insert_only = {"transactional": "true", "transactional_properties": "insert_only"}
        writer.table("t", "acid", "dora", "n", type="MANAGED_TABLE", **insert_only)
        writer.grant("public", "ROLE", "SELECT", "s", "v")
        writer.grant("ana", "USER", "SELECT", "s")
        writer.grant("ana", "USER", "SELECT", "t", "b", authorizer="RangerHivePolicyProvider")
        grants: set[tuple[str, str, tuple[str, str]]] = set()
        for _ in range(14):
            who, word, on = (
                chance.choice([*USERS, *ROLES]),
                chance.choice(WORDS),
                chance.choice(TABLES),
            )
            if (who, word, on) not in grants:
                writer.grant(who, "USER" if who in USERS else "ROLE", word, *on)
                grants.add((who, word, on))
        warden, result = ingested(f"thrift://127.0.0.1:{port}", tmp_path / "out", unstarted)
    judge(warden, members, grants, owners)
    assert set(warden.who("view.load", "view:lk:hive.s.v")) >= {*USERS, "sam"}
    assert warden.check("dora", "table.load", "table:lk:other.far.away").allow
    assert warden.check("dora", "table.load", "table:lk:hive.t.acid").allow, notes(result)
    assert any("SELECT to ana: nothing on a schema" in note for note in notes(result))


def judge(
    warden: Warden,
    members: set[tuple[str, str]],
    grants: set[tuple[str, str, tuple[str, str]]],
    owners: dict[tuple[str, str], str],
) -> None:
    """Compares decisions: a user has the grants of itself and of its transitive roles."""
    for user, parts in itertools.product(USERS, TABLES):
        acting = {user}
        while more := {of for who, of in members if who in acting} - acting:
            acting |= more

        def has(
            words: str, on: tuple[str, str] = parts, names: frozenset[str] = frozenset(acting)
        ) -> bool:
            return any(
                who in names and word in words.split() and at == on for who, word, at in grants
            )

        owns = owners[parts] == user
        on = f"lk:hive.{'.'.join(parts)}"
        reads = owns or has("SELECT")
        assert warden.check(user, "table.load", f"table:{on}").allow is reads, (user, parts)
        assert warden.check(user, "column.read", f"column:{on}.day").allow is reads
        writes = owns or has("INSERT UPDATE DELETE")
        assert warden.check(user, "table.write", f"table:{on}").allow <= writes, (user, parts)
        assert warden.check(user, "table.drop", f"table:{on}").allow is owns
