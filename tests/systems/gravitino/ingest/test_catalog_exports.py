"""Exports of catalogs, ingested and queried: nobody has more access than in the source.

The expected answers are written by hand from the rules of each source.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.index.index import open_index, snapshot
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.inventory import Inventory, with_inventories
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import tables
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import Grantee, Present, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Export = Mapping[str, str]
"""The texts of files by name."""


def written(folder: Path, export: Export) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in export.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def ingested(
    kind: str, export: Path, out: Path, spark: SparkSession, catalog: str = ""
) -> tuple[Warden, Result]:
    options = {"metalake": "lk"} | ({"catalog": catalog} if catalog else {})
    source = opener_of(kind).open(str(export), "gravitino", options)
    result = ingest(source, out, spark=spark)
    loaded = load(out)
    return Warden(loaded.system, loaded.facts), result


def allowed(warden: Warden, operation: str, *entities: str) -> dict[str, set[str]]:
    """The permitted users, by entity without its metalake."""
    type = operation.partition(".")[0]
    return {one: set(warden.who(operation, f"{type}:lk:{one}")) for one in entities}


def notes(result: Result) -> set[str]:
    return {f"{note.subject}: {note.what}" for note in result.report.notes}


UNITY = {
    "catalogs.csv": "catalog_name,catalog_owner,comment\nmain,root@corp.test,\n",
    "schemata.csv": "catalog_name,schema_name,schema_owner\nmain,shop,sam@corp.test\n"
    "main,information_schema,System user\n",
    "tables.csv": "table_catalog,table_schema,table_name,table_type,table_owner\n"
    "main,shop,orders,MANAGED,dora@corp.test\n"
    "main,shop,people,EXTERNAL,dora@corp.test\n"
    "main,shop,secrets,MANAGED,dora@corp.test\n"
    "main,shop,totals,VIEW,crew\n"
    "main,shop,odd.name,MANAGED,dora@corp.test\n",
    "columns.csv": "table_catalog,table_schema,table_name,column_name\n"
    "main,shop,orders,id\nmain,shop,people,name\nmain,shop,people,card\nmain,shop,totals,sum\n",
    "row_filters.csv": "table_catalog,table_schema,table_name,filter_name\n"
    "main,shop,secrets,own_rows\n",
    "column_masks.csv": "table_catalog,table_schema,table_name,column_name,mask_name\n"
    "main,shop,people,card,last_four\n",
    "abac_policy_definitions.csv": "POLICY_NAME,POLICY_TYPE,CATALOG_NAME,SCHEMA_NAME,"
    "SECURABLE_NAME,ON_SECURABLE_TYPE,TO_PRINCIPALS\n"
    'more,GRANT,main,shop,,SCHEMA,"[""crew""]"\nown_rows,ROW_FILTER,main,shop,secrets,TABLE,[]\n',
    "catalog_privileges.csv": "grantor,grantee,catalog_name,privilege_type,inherited_from\n"
    "root,ana@corp.test,main,USE CATALOG,NONE\n"
    "root,ben@corp.test,main,USE_CATALOG,NONE\n"
    "root,dora@corp.test,main,USE_CATALOG,NONE\n"
    "root,crew,main,ALL_PRIVILEGES,NONE\n"
    "root,ben@corp.test,main,BROWSE,NONE\n",
    "schema_privileges.csv": "grantor,grantee,catalog_name,schema_name,privilege_type,"
    "inherited_from\n"
    "root,ana@corp.test,main,shop,USE_SCHEMA,NONE\n"
    "root,ana@corp.test,main,shop,SELECT,NONE\n"
    "root,ben@corp.test,main,shop,USE_SCHEMA,NONE\n"
    "root,ben@corp.test,main,shop,MODIFY,NONE\n"
    "root,ana@corp.test,main,shop,USE_CATALOG,CATALOG\n",
    "table_privileges.csv": "grantor,grantee,table_catalog,table_schema,table_name,"
    "privilege_type,inherited_from\n"
    "root,ana@corp.test,main,shop,orders,MODIFY,NONE\n"
    "root,eve@corp.test,main,shop,orders,SELECT,NONE\n"
    "root,ben@corp.test,main,shop,totals,SELECT,NONE\n"
    "root,account users,main,shop,gone,SELECT,NONE\n"
    "root,ben@corp.test,main,shop,orders,TELEPORT,NONE\n",
}


def test_unity_catalog(unstarted: SparkSession, tmp_path: Path) -> None:
    export = written(tmp_path / "export", UNITY)
    warden, result = ingested("unity-catalog-file", export, tmp_path / "out", unstarted)
    ana, ben, dora = (f"{name}@corp.test" for name in ("ana", "ben", "dora"))
    # dora owns orders and may use its catalog, but not its schema; sam owns only the schema.
    assert allowed(warden, "table.load", "main.shop.orders", "main.shop.people") == {
        "main.shop.orders": {ana},
        "main.shop.people": set(),
    }
    # MODIFY also requires SELECT: ben has none on tables.
    assert allowed(warden, "table.write", "main.shop.orders") == {"main.shop.orders": {ana}}
    assert allowed(warden, "table.alter", "main.shop.orders") == {"main.shop.orders": set()}
    assert allowed(warden, "view.load", "main.shop.totals") == {"main.shop.totals": {ana, ben}}
    assert allowed(warden, "table.load", "main.shop.secrets") == {"main.shop.secrets": set()}
    assert allowed(warden, "column.read", "main.shop.people.name", "main.shop.people.card") == {
        "main.shop.people.name": {ana},
        "main.shop.people.card": set(),
    }
    assert allowed(warden, "catalog.alter", "main") == {"main": set()}
    assert allowed(warden, "catalog.load", "main") == {"main": {ana, ben, dora}}
    assert notes(result) >= {
        "catalog main: BROWSE to ben@corp.test:"
        " Gravitino has no privilege for seeing only metadata",
        "table main.shop.gone: SELECT to account users: there is no such table",
        "table main.shop.orders: TELEPORT to ben@corp.test: unknown privilege",
        "schema:lk:main.shop: MODIFY to ben@corp.test: it lacks SELECT",
        "catalog:lk:main: the owner root@corp.test: who owns a catalog owns nothing in it",
        "table:lk:main.shop.people: the owner dora@corp.test: readers of it do not get everything",
        "table main.shop.secrets: row filter: readers do not get every row; everybody has a DENY"
        " on the table",
    }
    assert result.report.quarantined["bad name"] >= 1
    assert "the table volumes" in result.report.not_read
    assert not ingested("unity-catalog-file", export, tmp_path / "out", unstarted)[1].is_new


def test_members_of_a_group_have_what_it_was_granted(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    """A Unity Catalog group gets its members from another part."""
    people = {
        "principals.csv": "kind,name\nuser,fay@corp.test\ngroup,crew\n",
        "entities.csv": "type,name\nmetalake,lk\nuser,lk:fay@corp.test\n",
        "memberships.csv": "member_kind,member_name,of_kind,of_name\n"
        "user,fay@corp.test,group,crew\nuser,fay@corp.test,implied,members:lk\n",
    }
    from lakewarden.pipeline.ingest.tabular import Tabular

    ingest(
        Tabular(written(tmp_path / "p", people), "csv", "gravitino"),
        tmp_path / "people",
        spark=unstarted,
    )
    export = written(tmp_path / "export", UNITY)
    source = opener_of("unity-catalog-file").open(str(export), "gravitino", {"metalake": "lk"})
    merged = with_inventories(source, [Inventory(tmp_path / "people", frozenset({"people"}))])
    ingest(merged, tmp_path / "out", spark=unstarted)
    loaded = load(tmp_path / "out")
    warden = Warden(loaded.system, loaded.facts)
    assert warden.check("fay@corp.test", "table.load", "table:lk:main.shop.orders").allow
    assert warden.check("fay@corp.test", "table.write", "table:lk:main.shop.orders").allow
    assert not warden.check("fay@corp.test", "table.alter", "table:lk:main.shop.orders").allow
    assert not warden.check("fay@corp.test", "table.load", "table:lk:main.shop.secrets").allow


@pytest.mark.parametrize("missing", ["row_filters.csv", "column_masks.csv", "tables.csv"])
def test_what_would_widen_access_by_being_missing_is_required(
    unstarted: SparkSession, tmp_path: Path, missing: str
) -> None:
    export = written(tmp_path / "e", {n: t for n, t in UNITY.items() if n != missing})
    with pytest.raises(BadInput, match=f"has no table `{missing[:-4]}`, without which"):
        ingested("unity-catalog-file", export, tmp_path / "out", unstarted)


SNOWFLAKE = {
    "databases.csv": "DATABASE_NAME,DELETED\nSHOP,\nOLD,2024-01-01\n",
    "schemata.csv": "CATALOG_NAME,SCHEMA_NAME,DELETED\nSHOP,RAW,\n",
    "tables.csv": "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,TABLE_TYPE,DELETED\n"
    "SHOP,RAW,ORDERS,BASE TABLE,\nSHOP,RAW,PEOPLE,BASE TABLE,\nSHOP,RAW,TOTALS,VIEW,\n"
    "SHOP,RAW,GONE,BASE TABLE,2024-01-01\n",
    "columns.csv": "TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,DELETED\n"
    "SHOP,RAW,PEOPLE,NAME,\nSHOP,RAW,PEOPLE,CARD,\n",
    "users.csv": "NAME,DISABLED,DELETED_ON\nANA,false,\nBEN,false,\nCLEO,true,\nDORA,false,\n",
    "policy_references.csv": "POLICY_NAME,POLICY_KIND,REF_DATABASE_NAME,REF_SCHEMA_NAME,"
    "REF_ENTITY_NAME,REF_ENTITY_DOMAIN,REF_COLUMN_NAME\n"
    "HIDE,MASKING_POLICY,SHOP,RAW,PEOPLE,TABLE,CARD\n"
    "HIDE,MASKING_POLICY,SHOP,RAW,PII,TAG,\n"
    "LONG,PASSWORD_POLICY,,,,ACCOUNT,\n",
    "tag_references.csv": "TAG_DATABASE,TAG_SCHEMA,TAG_NAME,TAG_VALUE,OBJECT_DATABASE,"
    "OBJECT_SCHEMA,OBJECT_NAME,OBJECT_DELETED,DOMAIN,COLUMN_NAME\n"
    "SHOP,RAW,PII,yes,SHOP,RAW,PEOPLE,,COLUMN,CARD\n"
    "SHOP,RAW,TEAM,sales,SHOP,,RAW,,SCHEMA,\n",
    "future_grants.csv": "CREATED_ON,PRIVILEGE,GRANT_ON,NAME,GRANT_TO,GRANTEE_NAME,GRANT_OPTION\n"
    "2024-01-01,SELECT,TABLE,SHOP.RAW.<TABLE>,ROLE,USES,false\n",
    "grants_to_users.csv": "CREATED_ON,DELETED_ON,ROLE,GRANTED_TO,GRANTEE_NAME,GRANTED_BY\n"
    "2024-01-01,,READER,USER,ANA,ROOT\n"
    "2024-01-01,,LOADER,USER,BEN,ROOT\n"
    "2024-01-01,,USES,USER,BEN,ROOT\n"
    "2024-01-01,,READER,USER,CLEO,ROOT\n"
    "2024-01-01,2024-02-01,READER,USER,DORA,ROOT\n"
    "2024-01-01,,LEAD,USER,DORA,ROOT\n",
    "grants_to_roles.csv": "CREATED_ON,PRIVILEGE,GRANTED_ON,NAME,TABLE_CATALOG,TABLE_SCHEMA,"
    "GRANTED_TO,GRANTEE_NAME,GRANT_OPTION,DELETED_ON\n"
    + "".join(
        f"2024-01-01,{line}\n"
        for line in (
            "USAGE,DATABASE,SHOP,SHOP,,ROLE,READER,false,",
            "USAGE,SCHEMA,RAW,SHOP,RAW,ROLE,READER,false,",
            "SELECT,TABLE,ORDERS,SHOP,RAW,ROLE,READER,false,",
            "SELECT,TABLE,PEOPLE,SHOP,RAW,ROLE,READER,false,",
            "SELECT,VIEW,TOTALS,SHOP,RAW,ROLE,READER,false,2024-02-01",
            # LOADER has INSERT, and only another role of BEN gives access to its containers.
            "INSERT,TABLE,ORDERS,SHOP,RAW,ROLE,LOADER,false,",
            "USAGE,DATABASE,SHOP,SHOP,,ROLE,USES,false,",
            "USAGE,SCHEMA,RAW,SHOP,RAW,ROLE,USES,false,",
            # LEAD inherits READER and LOADER: together they permit writes.
            "USAGE,ROLE,READER,,,ROLE,LEAD,false,",
            "USAGE,ROLE,LOADER,,,ROLE,LEAD,false,",
            "OWNERSHIP,VIEW,TOTALS,SHOP,RAW,ROLE,LEAD,false,",
            "REFERENCES,TABLE,ORDERS,SHOP,RAW,ROLE,READER,false,",
            "OPERATE,WAREHOUSE,WH,,,ROLE,READER,false,",
            "SELECT,TABLE,ORDERS,SHOP,RAW,DATABASE_ROLE,INNER,false,",
            "USAGE,DATABASE_ROLE,INNER,SHOP,,ROLE,LEAD,false,",
        )
    ),
}


def test_snowflake(unstarted: SparkSession, tmp_path: Path) -> None:
    export = written(tmp_path / "export", SNOWFLAKE)
    warden, result = ingested("snowflake-file", export, tmp_path / "out", unstarted)
    assert allowed(warden, "table.load", "SHOP.RAW.ORDERS", "SHOP.RAW.PEOPLE") == {
        "SHOP.RAW.ORDERS": {"ANA", "DORA"},
        "SHOP.RAW.PEOPLE": set(),
    }
    assert allowed(warden, "table.write", "SHOP.RAW.ORDERS") == {"SHOP.RAW.ORDERS": {"DORA"}}
    assert allowed(warden, "view.load", "SHOP.RAW.TOTALS") == {"SHOP.RAW.TOTALS": {"DORA"}}
    assert allowed(warden, "column.read", "SHOP.RAW.PEOPLE.NAME", "SHOP.RAW.PEOPLE.CARD") == {
        "SHOP.RAW.PEOPLE.NAME": {"ANA", "DORA"},
        "SHOP.RAW.PEOPLE.CARD": set(),
    }
    assert allowed(warden, "schema.load", "SHOP.RAW") == {"SHOP.RAW": {"ANA", "BEN", "DORA"}}
    assert notes(result) >= {
        "table:lk:SHOP.RAW.ORDERS: INSERT to lk:LOADER: it lacks USAGE on the schema",
        "table SHOP.RAW.ORDERS: REFERENCES to READER:"
        " Gravitino has no privilege for seeing only the structure",
        "warehouse WH: OPERATE to READER: WAREHOUSE: Gravitino has no warehouses",
        "table SHOP.RAW.<TABLE>: SELECT to USES: future grant:"
        " it holds for objects that do not exist yet",
        "tag SHOP.RAW.PII: masking, row access, projection or aggregation policy: readers do not"
        " get everything; everybody has a DENY on the table or view, and the table's readers"
        " keep the columns without a policy",
        "CLEO: not active: no user here",
    }


def test_who_was_dropped_is_nobody(unstarted: SparkSession, tmp_path: Path) -> None:
    r"""Snowflake keeps the grants of a dropped user; null may be `\N`."""
    users = r"NAME,DISABLED,DELETED_ON" "\n" r"ANA,true,2024-01-01" "\n" r"BEN,false,\N" "\n"
    made_again = users + r"ANA,false,\N" "\n"
    orders = "SHOP.RAW.ORDERS"
    for text, readers in ((users, set[str]()), (made_again, {"ANA"})):
        export = written(tmp_path / "e", {**SNOWFLAKE, "users.csv": text})
        warden, result = ingested("snowflake-file", export, tmp_path / "out", unstarted)
        assert allowed(warden, "table.load", orders) == {orders: readers}
        assert "DORA: member of LEAD: there is no such user" in notes(result)
    (tmp_path / "e" / "users.csv").unlink()
    with pytest.raises(BadInput, match="without which users who are disabled or dropped"):
        ingested("snowflake-file", tmp_path / "e", tmp_path / "out", unstarted)


def test_roles_that_were_dropped_are_none(unstarted: SparkSession, tmp_path: Path) -> None:
    """The export may list the roles, possibly as account roles."""
    roles = "NAME,ROLE_TYPE,DELETED_ON\nREADER,ROLE,\nLEAD,ROLE,2024-01-01\nX,DATABASE_ROLE,\n"
    grants = SNOWFLAKE["grants_to_roles.csv"].replace(",ROLE,READER", ",ACCOUNT ROLE,READER")
    files = {**SNOWFLAKE, "roles.csv": roles, "grants_to_roles.csv": grants}
    export = written(tmp_path / "e", files)
    warden, result = ingested("snowflake-file", export, tmp_path / "out", unstarted)
    assert allowed(warden, "table.load", "SHOP.RAW.ORDERS") == {"SHOP.RAW.ORDERS": {"ANA"}}
    assert "DORA: member of LEAD: there is no such role" in notes(result)


def test_a_policy_on_a_tag_is_refused(unstarted: SparkSession, tmp_path: Path) -> None:
    """The tables with the tag are not named: they would be readable without restriction."""
    files = {name: text for name, text in SNOWFLAKE.items() if name != "tag_references.csv"}
    export = written(tmp_path / "e", files)
    with pytest.raises(BadInput, match="nobody knows which tables it limits"):
        ingested("snowflake-file", export, tmp_path / "out", unstarted)


ACCOUNT = "111122223333"
ARN = f"arn:aws:iam::{ACCOUNT}"


def permission(who: str, resource: Mapping[str, object], *words: str, **more: object) -> object:
    return {
        "Principal": {"DataLakePrincipalIdentifier": who},
        "Resource": resource,
        "Permissions": list(words),
        "PermissionsWithGrantOption": [],
        **more,
    }


def lake_table(name: str, **more: object) -> Mapping[str, object]:
    return {"Table": {"CatalogId": ACCOUNT, "DatabaseName": "shop", "Name": name, **more}}


def lake_columns(name: str, **more: object) -> Mapping[str, object]:
    return {"TableWithColumns": {"DatabaseName": "shop", "Name": name, **more}}


def glue_table(name: str, *columns: str, kind: str = "EXTERNAL_TABLE") -> object:
    return {
        "Name": name,
        "DatabaseName": "shop",
        "CatalogId": ACCOUNT,
        "Owner": "hadoop",
        "TableType": kind,
        "PartitionKeys": [{"Name": "day", "Type": "date"}],
        "StorageDescriptor": {"Columns": [{"Name": c, "Type": "string"} for c in columns]},
    }


def tags_of(values: Mapping[str, str]) -> list[Mapping[str, object]]:
    return [{"CatalogId": ACCOUNT, "TagKey": k, "TagValues": [v]} for k, v in values.items()]


def tagged(
    name: str,
    database: Mapping[str, str],
    own: Mapping[str, str],
    columns: Mapping[str, Mapping[str, str]],
) -> Mapping[str, object]:
    """A table with the LF-tags of its database, its own tags and those of its columns."""
    return {
        "Table": {"CatalogId": ACCOUNT, "DatabaseName": "shop", "Name": name},
        "LFTagOnDatabase": tags_of(database),
        "LFTagsOnTable": tags_of(own),
        "LFTagsOnColumns": [{"Name": c, "LFTags": tags_of(t)} for c, t in columns.items() if t],
    }


ALL_TABLES = {"Table": {"CatalogId": ACCOUNT, "DatabaseName": "shop", "TableWildcard": {}}}
TEAM = {
    "LFTagPolicy": {
        "CatalogId": ACCOUNT,
        "ResourceType": "TABLE",
        "Expression": [{"TagKey": "team", "TagValues": ["sales"]}],
    }
}
WHOLE_ROWS = {
    "TableCatalogId": ACCOUNT,
    "DatabaseName": "shop",
    "TableName": "people",
    "Name": "names",
}
PERMISSIONS = [
    permission(f"{ARN}:user/ana", lake_table("orders"), "SELECT", "DESCRIBE"),
    permission(f"{ARN}:user/ben", lake_table("orders"), "INSERT", "DELETE", "SELECT", "ALTER"),
    permission(f"{ARN}:user/cleo", lake_columns("people", ColumnNames=["name"]), "SELECT"),
    permission(
        f"{ARN}:user/dora",
        lake_columns("people", ColumnWildcard={"ExcludedColumnNames": ["card"]}),
        "SELECT",
    ),
    permission(f"{ARN}:user/eve", ALL_TABLES, "ALL"),
    permission(f"{ARN}:user/fay", {"Database": {"CatalogId": ACCOUNT, "Name": "shop"}}, "ALL"),
    permission(
        f"{ARN}:user/gil",
        lake_table("orders"),
        "SELECT",
        Condition={"Expression": "context.user in x"},
    ),
    permission(f"{ARN}:user/hal", {"LFTagPolicy": {"ResourceType": "TABLE"}}, "SELECT"),
    permission("IAM_ALLOWED_PRINCIPALS", lake_table("people"), "ALL"),
    permission(f"{ARN}:role/etl", lake_table("totals"), "SELECT", "INSERT"),
    permission("444455556666", lake_table("orders"), "SELECT"),
    permission(f"{ARN}:user/ida", lake_columns("orders", ColumnWildcard={}), "SELECT"),
    permission(
        f"{ARN}:user/jon", {"DataCellsFilter": {"DatabaseName": "shop", "Name": "eu"}}, "SELECT"
    ),
    permission(f"{ARN}:user/kim", TEAM, "SELECT", "DESCRIBE"),
    permission(f"{ARN}:user/lee", {"DataCellsFilter": WHOLE_ROWS}, "SELECT"),
]
GLUE = {
    "databases.json": json.dumps({"DatabaseList": [{"Name": "shop", "CatalogId": ACCOUNT}]}),
    "tables-1.json": json.dumps(
        {"TableList": [glue_table("orders", "id"), glue_table("people", "name", "card")]}
    ),
    "tables-2.json": json.dumps({"TableList": [glue_table("totals", "n", kind="VIRTUAL_VIEW")]}),
    "permissions.json": json.dumps({"PrincipalResourcePermissions": PERMISSIONS}),
    "tags.json": json.dumps(
        {"TableList": [tagged("orders", {"team": "sales"}, {}, {"card": {"team": "hr"}})]}
    ),
    "filters.json": json.dumps(
        {
            "DataCellsFilters": [
                {**WHOLE_ROWS, "RowFilter": {"AllRowsWildcard": {}}, "ColumnNames": ["name"]}
            ]
        }
    ),
}


def test_glue_and_lake_formation(unstarted: SparkSession, tmp_path: Path) -> None:
    export = written(tmp_path / "export", GLUE)
    warden, result = ingested("glue-file", export, tmp_path / "out", unstarted, "aws")

    def users(operation: str, entity: str) -> str:
        arns = allowed(warden, operation, f"aws.shop.{entity}")[f"aws.shop.{entity}"]
        return " ".join(sorted(arn.rpartition("/")[2] for arn in arns))

    assert users("table.load", "orders") == "ana ben eve ida"
    assert users("table.load", "people") == "eve"
    assert users("table.write", "orders") == "ben eve"
    assert users("table.alter", "orders") == "ben eve"
    assert users("table.drop", "orders") == ""
    assert users("column.read", "people.name") == "cleo dora eve lee"
    assert users("column.read", "orders.id") == "ana ben eve ida kim"
    assert users("column.read", "people.card") == "eve"
    assert users("column.read", "people.day") == "dora eve"
    assert users("view.load", "totals") == "eve"
    assert allowed(warden, "schema.load", "aws.shop") == {
        "aws.shop": {
            f"{ARN}:user/{name}"
            for name in ["ana", "ben", "cleo", "dora", "eve", "fay", "ida", "kim", "lee"]
        }
    }
    assert notes(result) >= {
        f"table shop.orders: SELECT to {ARN}:user/gil: condition:"
        " the permission applies only under a condition on the request",
        "table shop.people: ALL to IAM_ALLOWED_PRINCIPALS:"
        " policies of IAM decide, and these are not read",
        f"lftagpolicy TABLE: SELECT to {ARN}:user/hal: LF-tag policy:"
        " no database, table or column of the responses has such LF-tags",
        f"datacellsfilter shop.eu: SELECT to {ARN}:user/jon: data cells filter:"
        " it grants only some rows, or the responses do not list its columns",
        f"table shop.totals: INSERT to {ARN}:role/etl: nothing on a view",
        "table shop.orders: SELECT to 444455556666: another account decides who gets this",
        f"table shop.orders: DESCRIBE to {ARN}:user/ana: nothing on a table",
        "RLSPolicyAttachments: no response with row-level security policies:"
        " only those that are the default policy of their table are known",
    }


def test_columns_that_nobody_knows_are_left_out(unstarted: SparkSession, tmp_path: Path) -> None:
    """A grant on all columns but some has no effect if the export lacks the columns."""
    alone = {"permissions.json": GLUE["permissions.json"]}
    export = written(tmp_path / "export", alone)
    warden, result = ingested("glue-file", export, tmp_path / "out", unstarted, "aws")
    assert not warden.who("column.read", "column:lk:aws.shop.people.day")
    assert any("its columns are not known" in note for note in notes(result))


def test_all_tables_and_columns_of_other_case_in_lake_formation(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    """SELECT on all tables equals one on all columns of the table ALL_TABLES."""
    names = ("ana", "ben")
    ana, ben = (f"{ARN}:user/{name}" for name in names)
    without = {"ExcludedColumnNames": ["CARD"]}
    every = lake_columns("ALL_TABLES", ColumnWildcard={})
    given = [
        permission(ana, every, "SELECT", PermissionsWithGrantOption=["SELECT"]),
        permission(ben, lake_columns("people", ColumnWildcard=without), "SELECT"),
        permission(ben, {"LFTag": {"TagKey": "team", "TagValues": ["a"]}}, "DESCRIBE"),
    ]
    files = {**GLUE, "permissions.json": json.dumps({"PrincipalResourcePermissions": given})}
    export = written(tmp_path / "export", files)
    warden, result = ingested("glue-file", export, tmp_path / "out", unstarted, "aws")
    assert allowed(warden, "table.load", "aws.shop.people") == {"aws.shop.people": {ana}}
    assert allowed(warden, "column.read", "aws.shop.people.card", "aws.shop.people.day") == {
        "aws.shop.people.card": {ana},
        "aws.shop.people.day": {ana, ben},
    }
    assert notes(result) >= {
        f"SELECT of {ana} on tablewildcard shop: grant option:"
        " Gravitino has no grant option on one object",
        f'lftag team.["a"]: DESCRIBE to {ben}: LFTAG: LF-tags are not objects of a catalog',
    }


def test_links_are_left_out(unstarted: SparkSession, tmp_path: Path) -> None:
    """A permission on a link's database, or on the link, gives no access to its target."""
    target = {"CatalogId": "444455556666", "DatabaseName": "hr", "Name": "people"}
    link = {"Name": "linked", "DatabaseName": "shop", "TargetTable": target}
    database = {"Name": "far", "TargetDatabase": {**target, "DatabaseName": "hr"}}
    ana = f"{ARN}:user/ana"
    given = [
        permission(ana, ALL_TABLES, "SELECT"),
        permission(ana, {"Database": {"Name": "far"}}, "CREATE_TABLE"),
    ]
    files = {
        "databases.json": json.dumps({"DatabaseList": [{"Name": "shop"}, database]}),
        "tables.json": json.dumps({"TableList": [glue_table("orders", "id"), link]}),
        "permissions.json": json.dumps({"PrincipalResourcePermissions": given}),
    }
    export = written(tmp_path / "export", files)
    warden, result = ingested("glue-file", export, tmp_path / "out", unstarted, "aws")
    assert allowed(warden, "table.load", "aws.shop.orders", "aws.shop.linked") == {
        "aws.shop.orders": {ana},
        "aws.shop.linked": set(),
    }
    assert not warden.who("table.create", "schema:lk:aws.far")
    assert notes(result) >= {
        "resourcelink shop.linked: RESOURCELINK: the target of a link has its own permissions",
        "resourcelink far: RESOURCELINK: the target of a link has its own permissions",
        f"database far: CREATE_TABLE to {ana}: there is no such schema",
    }


ON_DATABASE = [permission(f"{ARN}:user/ana", {"Database": {"Name": "shop"}}, "SELECT")]
GLUE_BAD = [
    (
        {"x.json": json.dumps({"PrincipalResourcePermissions": ON_DATABASE})},
        "`SELECT` is no permission on a database, but on its tables",
    ),
    ({"x.json": '{"Databases": []}'}, "expected a page with one of: `DatabaseList`"),
    ({"x.json": '{"DatabaseList": [{"Name": "a", "CatalogId": "9"}]}'}, "two catalogs, `1"),
    ({"x.csv": "a\n1\n"}, "is no table of the export"),
]


@pytest.mark.parametrize(("files", "message"), GLUE_BAD)
def test_pages_of_something_else_are_refused(
    unstarted: SparkSession, tmp_path: Path, files: Export, message: str
) -> None:
    export = written(tmp_path / "e", {**GLUE, **files})
    with pytest.raises(BadInput) as refused:
        ingested("glue-file", export, tmp_path / "out", unstarted, "aws")
    assert message in str(refused.value)


def asset(name: str, data: object = None, **bindings: Sequence[str]) -> str:
    bound = [
        {"role": f"roles/bigquery.{role}", "members": list(members)}
        for role, members in bindings.items()
    ]
    whole: dict[str, object] = {"name": name, "iamPolicy": {"bindings": bound}}
    return json.dumps(whole | ({"resource": {"data": data}} if data else {})) + "\n"


def big_table(name: str, fields: Sequence[object], kind: str = "TABLE") -> object:
    reference = {"projectId": "corp", "datasetId": "shop", "tableId": name}
    return {"tableReference": reference, "type": kind, "schema": {"fields": list(fields)}}


SHOP = "//bigquery.googleapis.com/projects/corp/datasets/shop"
TAGGED = {"name": "card", "policyTags": {"names": ["projects/corp/taxonomies/1/policyTags/2"]}}
CONDITIONAL = {
    "name": f"{SHOP}/tables/orders",
    "iamPolicy": {
        "bindings": [
            {
                "role": "roles/bigquery.dataViewer",
                "members": ["user:eve@corp.test"],
                "condition": {"expression": 'request.time < timestamp("2030-01-01T00:00:00Z")'},
            }
        ]
    },
}
BIGQUERY = {
    "assets.json": asset(
        "//cloudresourcemanager.googleapis.com/projects/123",
        {"projectId": "corp"},
        dataViewer=["user:ana@corp.test"],
        jobUser=["user:ben@corp.test"],
    )
    + asset(
        SHOP,
        dataEditor=["serviceAccount:etl@corp.iam", "projectOwner:corp"],
        user=["user:ben@corp.test", "domain:corp.test"],
    )
    + asset(
        f"{SHOP}/tables/orders",
        big_table("orders", [{"name": "id"}, {"name": "to", "fields": [{"name": "town"}]}]),
        dataViewer=["user:cleo@corp.test"],
        dataOwner=["user:dora@corp.test"],
    )
    + asset(f"{SHOP}/tables/people", big_table("people", [{"name": "name"}, TAGGED]))
    + asset(f"{SHOP}/tables/secrets", big_table("secrets", [{"name": "id"}]))
    + asset(
        f"{SHOP}/tables/totals",
        big_table("totals", [{"name": "n"}], "VIEW"),
        dataViewer=["group:crew@corp.test", "user:cleo@corp.test"],
    )
    + json.dumps(CONDITIONAL),
    "row-policies.json": json.dumps(
        {
            "rowAccessPolicies": [
                {
                    "rowAccessPolicyReference": {
                        "projectId": "corp",
                        "datasetId": "shop",
                        "tableId": "secrets",
                        "policyId": "eu",
                    }
                }
            ]
        }
    ),
    "object_privileges.csv": "object_catalog,object_schema,object_name,object_type,"
    "privilege_type,grantee\ncorp,shop,orders,TABLE,roles/bigquery.dataViewer,user:hal@corp.test\n"
    "corp,,shop,SCHEMA,roles/bigquery.dataViewer,user:ida@corp.test\n",
}


def test_bigquery(unstarted: SparkSession, tmp_path: Path) -> None:
    export = written(tmp_path / "export", BIGQUERY)
    warden, result = ingested("bigquery-file", export, tmp_path / "out", unstarted)

    def users(operation: str, entity: str) -> str:
        type = operation.partition(".")[0]
        who = warden.who(operation, f"{type}:lk:corp.shop.{entity}")
        return " ".join(sorted(name.partition("@")[0] for name in who))

    assert users("table.load", "orders") == "ana cleo dora etl hal ida"
    assert users("table.alter", "orders") == "dora etl"
    assert users("table.drop", "orders") == ""
    assert users("column.read", "orders.to.town") == "ana cleo dora etl hal ida"
    assert users("table.load", "people") == ""
    assert users("column.read", "people.name") == "ana etl ida"
    assert users("column.read", "people.card") == ""
    assert users("table.load", "secrets") == users("column.read", "secrets.id") == ""
    assert users("view.load", "totals") == "ana cleo etl ida"
    assert notes(result) >= {
        "table corp.shop.orders: roles/bigquery.dataViewer to user:eve@corp.test:"
        " condition of a binding: the role applies only under a condition on the request",
        "dataset corp.shop: roles/bigquery.user to domain:corp.test:"
        " the export does not say who is in a domain",
        "project corp: roles/bigquery.jobUser to user:ben@corp.test:"
        " Gravitino has no privilege for running jobs",
    }


def test_row_access_policies_are_required(unstarted: SparkSession, tmp_path: Path) -> None:
    export = written(tmp_path / "e", {"assets.json": BIGQUERY["assets.json"]})
    with pytest.raises(BadInput, match="has no reply with `rowAccessPolicies`, without which"):
        ingested("bigquery-file", export, tmp_path / "out", unstarted)


NO_ROW_POLICIES = {"row-policies.json": '{"rowAccessPolicies": []}'}
GRANTS_ALONE = {"object_privileges.csv": BIGQUERY["object_privileges.csv"]}


@pytest.mark.parametrize(
    ("export", "message"),
    [
        ({**NO_ROW_POLICIES, "a.json": asset(f"{SHOP}/tables/orders")}, "with the `resource` of a"),
        ({**NO_ROW_POLICIES, **GRANTS_ALONE}, "has no asset with the `resource` of a table"),
        (GRANTS_ALONE, "has no reply with `rowAccessPolicies`"),
    ],
)
def test_policies_of_columns_are_in_resources_of_tables(
    unstarted: SparkSession, tmp_path: Path, export: Export, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        ingested("bigquery-file", written(tmp_path / "e", export), tmp_path / "out", unstarted)


INDEXED = {
    "unity-catalog-file": (UNITY, "", "ana@corp.test", "table:lk:main.shop.orders"),
    "snowflake-file": (SNOWFLAKE, "", "ANA", "table:lk:SHOP.RAW.ORDERS"),
    "glue-file": (GLUE, "aws", f"{ARN}:user/ana", "table:lk:aws.shop.orders"),
    "bigquery-file": (BIGQUERY, "", "ana@corp.test", "table:lk:corp.shop.orders"),
}
ASKED = {
    "table": ("table.load", "table.write", "table.alter"),
    "view": ("view.load",),
    "column": ("column.read", "column.write"),
    "schema": ("schema.load", "table.create"),
}


@pytest.mark.parametrize("kind", INDEXED)
def test_an_index_of_an_export_answers_as_its_directory(
    unstarted: SparkSession, tmp_path: Path, kind: str
) -> None:
    files, catalog, reader, table = INDEXED[kind]
    warden, _ = ingested(kind, written(tmp_path / "e", files), tmp_path / "out", unstarted, catalog)
    facts = load(tmp_path / "out").facts
    make_index(tmp_path / "out", tmp_path / "index", spark=unstarted, now=0.0)
    matrix = Matrix(snapshot(open_index(tmp_path / "index")))
    users = [one.name for one in facts.principals if one.kind == "user"]
    entities = [row.entity for row in facts.entities]
    answers = {
        (user, operation, f"{entity.type}:{entity.name}"): matrix.decide(
            warden.request(user, operation, f"{entity.type}:{entity.name}")
        ).allow
        for user in users
        for entity in entities
        for operation in ASKED.get(entity.type, ())
    }
    assert answers == {question: warden.check(*question).allow for question in answers}
    assert answers[reader, "table.load", table]
    assert not answers[reader, "table.alter", table]


def test_tables_have_any_format(unstarted: SparkSession, tmp_path: Path) -> None:
    """CSV, JSON lines and Parquet give the same rows, for any case of names."""
    export = written(tmp_path / "csv", SNOWFLAKE)
    other = tmp_path / "other"
    other.mkdir()
    for (name, text), form in zip(SNOWFLAKE.items(), itertools.cycle(("json", "parquet"))):
        header, *lines = (line.split(",") for line in text.splitlines())
        records = [
            {h.lower(): cell or None for h, cell in zip(header, line, strict=True)}
            for line in lines
        ]
        stem = other / name.removesuffix(".csv").upper()
        if form == "json":
            stem.with_suffix(".json").write_text("\n".join(map(json.dumps, records)), "utf-8")
        else:
            pq.write_table(pa.Table.from_pylist(records), stem.with_suffix(".parquet"))
    of_csv = ingested("snowflake-file", export, tmp_path / "a", unstarted)[1].manifest
    of_others = ingested("snowflake-file", other, tmp_path / "b", unstarted)[1].manifest
    assert of_others.statements == of_csv.statements
    assert {n: t.sha256 for n, t in of_others.tables.items() if n != "quarantine"} == {
        n: t.sha256 for n, t in of_csv.tables.items() if n != "quarantine"
    }


PRIVILEGE = {
    "OBJECT_CATALOG": "SHOP",
    "OBJECT_SCHEMA": "RAW",
    "OBJECT_NAME": "ORDERS",
    "OBJECT_TYPE": "TABLE",
    "PRIVILEGE_TYPE": "SELECT",
    "GRANTED_TO": "ROLE",
}
BAD: Iterable[tuple[Export, str]] = [
    ({"grants_to_rolls.csv": "A\n1\n"}, "is no table of the export; expected: columns, "),
    ({"users.csv": "NAME,DISABLED\nANA,false\n"}, "has no column `deleted_on`"),
    # No table without rows: an export that failed, or that of another view.
    ({"policy_references.csv": ""}, "policy_references.csv: has no column `"),
    ({"policy_references.csv": "NAME\n"}, "policy_references.csv: has no column `"),
    ({"users.csv": "NAME,DISABLED,DELETED_ON\nANA\n"}, "expected 3 cells, got 1"),
    ({"users.csv": "NAME,NAME\nANA,ANA\n"}, "a column is repeated"),
    ({"users.json": "{}"}, "is the table `users` for the second time"),
    (
        {"users.csv": "NAME,DISABLED,DELETED_ON\nANA,false,NULL\n"},
        "a time or an empty cell, got `NUL",
    ),
    (
        {"object_privileges.json": json.dumps([{**PRIVILEGE, "GRANTEE": ["LOADER"]}])},
        "object_privileges.json: line 1[0].grantee: expected one value, got a list or an object",
    ),
    ({"columns.csv.gz": ""}, "unpack or rename it"),
    ({"COLUMNS.CSV": ""}, "unpack or rename it"),
]


@pytest.mark.parametrize(("files", "message"), BAD)
def test_a_malformed_export_is_refused(
    unstarted: SparkSession, tmp_path: Path, files: Export, message: str
) -> None:
    export = written(tmp_path / "e", {**SNOWFLAKE, **files})
    with pytest.raises(BadInput) as refused:
        ingested("snowflake-file", export, tmp_path / "out", unstarted)
    assert message in str(refused.value)


def test_json_may_leave_nulls_out(tmp_path: Path) -> None:
    """Spark and Snowflake omit keys with null: another row of the file shows the key."""
    spec = mapping("snowflake", load_system("gravitino").model).tables["users"]
    path = tmp_path / "users.jsonl"

    def users(*rows: Mapping[str, object]) -> list[Record]:
        path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        return list(tables.records(File(path, "users.jsonl"), [spec]))

    gone = {"NAME": "CID", "DISABLED": "false", "deleted_on": "2024-01-01"}
    ana = {"name": "ANA", "disabled": "false"}
    present = [Present(Grantee("USER", "ANA"), f"users.jsonl: line {n}") for n in (2, 1)]
    assert users(gone, ana) == present[:1]
    assert users(ana, gone) == present[1:]
    with pytest.raises(BadInput, match=r"users\.jsonl: has no column `deleted_on`"):
        users(ana)
