"""Mapping files of catalogs list every privilege of their source once, and are validated."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import members_of
from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent
from lakewarden.systems.gravitino.ingest.catalogs.mapping import NAMES, load, mapping, read
from lakewarden.systems.gravitino.ingest.catalogs.records import Grantee
from tests.systems.gravitino import source_pages

MODEL = load_system("gravitino").model

# The privileges on catalogs, schemas, tables and views in each documentation, by hand.
DOCUMENTED = {
    "unity-catalog": """
        ACCESS, ALL PRIVILEGES, APPLY TAG, BROWSE, CREATE CATALOG, CREATE CLEAN ROOM,
        CREATE CONNECTION, CREATE EXTERNAL LOCATION, CREATE EXTERNAL METADATA,
        CREATE EXTERNAL TABLE, CREATE EXTERNAL VOLUME, CREATE FOREIGN CATALOG,
        CREATE FOREIGN SECURABLE, CREATE FUNCTION, CREATE MANAGED STORAGE,
        CREATE MATERIALIZED VIEW, CREATE MODEL, CREATE MODEL VERSION, CREATE PROVIDER,
        CREATE RECIPIENT, CREATE SCHEMA, CREATE SERVICE CREDENTIAL, CREATE SHARE,
        CREATE STORAGE CREDENTIAL, CREATE TABLE, CREATE VOLUME, EXECUTE,
        EXECUTE CLEAN ROOM TASK, EXTERNAL USE LOCATION, EXTERNAL USE SCHEMA, MANAGE,
        MANAGE ALLOWLIST, MODIFY, MODIFY CLEAN ROOM, READ FILES, READ VOLUME, REFRESH, SELECT,
        SET SHARE PERMISSION, USE CATALOG, USE CONNECTION, USE MARKETPLACE ASSETS, USE PROVIDER,
        USE RECIPIENT, USE SCHEMA, USE SHARE, WRITE FILES, WRITE VOLUME
    """,
    "unity-server": """
        CREATE CATALOG, CREATE EXTERNAL LOCATION, CREATE EXTERNAL TABLE, CREATE EXTERNAL VOLUME,
        CREATE FUNCTION, CREATE MANAGED STORAGE, CREATE MODEL, CREATE SCHEMA,
        CREATE STORAGE CREDENTIAL, CREATE TABLE, CREATE VOLUME, EXECUTE, MODIFY, READ FILES,
        READ VOLUME, SELECT, USE CATALOG, USE SCHEMA, WRITE FILES
    """,
    "snowflake": """
        APPLYBUDGET, CREATE DATABASE ROLE, CREATE SCHEMA, DELETE, EVOLVE SCHEMA,
        IMPORTED PRIVILEGES, INSERT, MODIFY, MONITOR, OWNERSHIP, REBUILD, REFERENCES,
        REFERENCE USAGE, SELECT, TRUNCATE, UPDATE, USAGE, ADD SEARCH OPTIMIZATION,
        CREATE AGGREGATION POLICY, CREATE ALERT, CREATE AUTHENTICATION POLICY,
        CREATE CORTEX SEARCH SERVICE, CREATE DATA METRIC FUNCTION, CREATE DATASET,
        CREATE DYNAMIC TABLE, CREATE EVENT TABLE, CREATE EXTERNAL TABLE, CREATE FILE FORMAT,
        CREATE FUNCTION, CREATE GIT REPOSITORY, CREATE HYBRID TABLE, CREATE ICEBERG TABLE,
        CREATE IMAGE REPOSITORY, CREATE MASKING POLICY, CREATE MATERIALIZED VIEW, CREATE MODEL,
        CREATE MODEL MONITOR, CREATE NETWORK RULE, CREATE NOTEBOOK, CREATE PACKAGES POLICY,
        CREATE PASSWORD POLICY, CREATE PIPE, CREATE PRIVACY POLICY, CREATE PROCEDURE,
        CREATE PROJECTION POLICY, CREATE RESOURCE GROUP, CREATE ROW ACCESS POLICY, CREATE SECRET,
        CREATE SEMANTIC VIEW, CREATE SEQUENCE, CREATE SERVICE, CREATE SESSION POLICY,
        CREATE SNAPSHOT, CREATE STAGE, CREATE STREAM, CREATE STREAMLIT, CREATE TABLE, CREATE TAG,
        CREATE TASK, CREATE TEMPORARY TABLE, CREATE VIEW
    """,
    "glue": """
        ALL, ALTER, ASSOCIATE, CREATE CATALOG, CREATE DATABASE, CREATE LF TAG,
        CREATE LF TAG EXPRESSION, CREATE RLS POLICY, CREATE TABLE, DATA LOCATION ACCESS, DELETE,
        DESCRIBE, DROP, EXECUTE, GRANT WITH LF TAG EXPRESSION, INSERT, MANAGE TAG POLICY, SELECT,
        SUPER USER
    """,
    "bigquery": """
        ROLES/BIGQUERY.ADMIN, ROLES/BIGQUERY.CONNECTIONADMIN, ROLES/BIGQUERY.CONNECTIONUSER,
        ROLES/BIGQUERY.DATAEDITOR, ROLES/BIGQUERY.DATAOWNER, ROLES/BIGQUERY.DATAVIEWER,
        ROLES/BIGQUERY.FILTEREDDATAVIEWER, ROLES/BIGQUERY.JOBUSER,
        ROLES/BIGQUERY.METADATAVIEWER, ROLES/BIGQUERY.READSESSIONUSER,
        ROLES/BIGQUERY.RESOURCEADMIN, ROLES/BIGQUERY.RESOURCEEDITOR,
        ROLES/BIGQUERY.RESOURCEVIEWER, ROLES/BIGQUERY.STUDIOADMIN, ROLES/BIGQUERY.STUDIOUSER,
        ROLES/BIGQUERY.USER, ROLES/BIGQUERYDATAPOLICY.MASKEDREADER,
        ROLES/DATACATALOG.CATEGORYFINEGRAINEDREADER, ROLES/EDITOR, ROLES/OWNER, ROLES/VIEWER
    """,
    "iceberg": "",
    "people": "",
    "hive": """
        ALL, ALTER, CREATE, DELETE, DROP, INDEX, INSERT, LOCK, SELECT, SHOW DATABASE, UPDATE
    """,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_mapping_names_every_documented_privilege_and_no_other(name: str) -> None:
    documented = {word.strip().replace(" ", "_") for word in DOCUMENTED[name].split(",")} - {""}
    assert mapping(name, MODEL).privileges.keys() == documented


SMALL = """
[source]
name = "small"
title = "Small"
documents = "none"
[kinds]
TABLE = { type = "table" }
STAGE = { never = "no stages" }
[principals]
ROLE = { kind = "role", everybody = "all" }
[privileges]
SELECT = { table = "SELECT_TABLE" }
LOOK = { never = "looks only" }
[owner]
table = { owner = true }
[features.mask]
title = "mask"
never = "less"
[tables.grants]
holds = "grants"
kind = "TABLE"
name = ["a", "b", "c"]
grantee = "who"
grantee_kind = "ROLE"
privilege = "what"
"""


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"SELECT_TABLE"', '"SELECT_NOTHING"', 'privileges."SELECT".table: unknown privilege'),
        ('table = "SELECT_TABLE"', 'catalog = "SELECT_COLUMN"', "cannot be granted on a `catalog`"),
        ('table = "SELECT_TABLE"', 'desk = "SELECT_TABLE"', "unknown type `desk`"),
        ('{ never = "looks only" }', "{ }", "expected what it means by type, or `never`"),
        ('"looks only"', '"looks only", table = "SELECT_TABLE"', "or `never`"),
        ('"SELECT_TABLE" }', '"SELECT_TABLE", needs = "SEE" }', "unknown privilege `SEE`"),
        ('{ never = "no stages" }', "{ }", "expected `type` or `never`"),
        ('type = "table"', 'type = "stage"', "unknown type `stage`"),
        ('kind = "role"', 'never = "no roles"', "who is never here is not everybody"),
        ('kind = "role"', 'kind = "clan"', "unknown kind of principal `clan`"),
        ('kind = "role"', 'kind = "role", pattern = "("', 'principals."ROLE".pattern: '),
        ("table = { owner = true }", "column = { owner = true }", "a `column` has no owner"),
        ('holds = "grants"', 'holds = "limits"\nfeature = "no"', "unknown feature `no`"),
        ('kind = "TABLE"', 'kind = "VIEW"', "unknown kind `VIEW`"),
        ('grantee = "who"', 'grantee = ""', "expected `grantee`"),
        ('grantee_kind = "ROLE"', 'grantee_kind = "CLAN"', "unknown principal `CLAN`"),
        ('title = "Small"', 'title = "Small"\ntilte = ""', "unknown key `tilte`"),
        ("[kinds]", "[kinds", "expected"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_field(before: str, after: str, message: str) -> None:
    assert read(SMALL, "small.toml", MODEL).privileges["SELECT"].means == {
        "table": ("SELECT_TABLE",)
    }
    assert before in SMALL
    with pytest.raises(BadInput) as refused:
        read(SMALL.replace(before, after, 1), "small.toml", MODEL)
    assert message in str(refused.value)
    assert str(refused.value).startswith("small.toml")


def test_there_is_no_other_source() -> None:
    with pytest.raises(Unknown, match="expected one of: unity-catalog"):
        load("oracle")


def test_the_page_has_the_tables_of_the_mappings() -> None:
    text = source_pages.PAGE.read_text("utf-8")
    assert text == source_pages.page(text), "make docs"
    for name in NAMES:
        assert f"<!-- {name} -->\n| " in text or name in source_pages.WITHOUT


@pytest.mark.parametrize(
    ("source", "kind", "name", "is_everybody"),
    [
        ("snowflake", "ROLE", "PUBLIC", True),
        ("snowflake", "USER", "PUBLIC", False),
        ("snowflake", "DATABASE_ROLE", "PUBLIC", False),
        ("snowflake", "SHARE", "PUBLIC", False),
        ("snowflake", "APPLICATION_ROLE", "PUBLIC", False),
        ("hive", "ROLE", "public", True),
        ("hive", "USER", "public", False),
        ("hive", "GROUP", "public", False),
        ("unity-catalog", "", "account users", True),
        ("unity-catalog", "USER", "account users", False),
        ("bigquery", "", "allUsers", True),
        ("bigquery", "", "allAuthenticatedUsers", True),
        ("bigquery", "", "user:allUsers", False),
    ],
)
def test_who_is_called_like_everybody_is_so_by_kind_as_well(
    source: str, kind: str, name: str, is_everybody: bool
) -> None:
    content = ExportContent(mapping(source, MODEL), "lk")
    principal, _ = content.principal(Grantee(kind, name))
    assert (principal == members_of("lk")) is is_everybody
