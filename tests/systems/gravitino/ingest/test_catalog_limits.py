"""Limits and conditions that an export spells in another way: access is never wider for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.files import File
from lakewarden.service.source_row import Row
from lakewarden.systems.gravitino.ingest.catalogs import policy
from lakewarden.systems.gravitino.ingest.catalogs.bigquery import records as bigquery_records
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent
from lakewarden.systems.gravitino.ingest.catalogs.lake_formation import Pages
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    GrantedColumns,
    Grantee,
    Limited,
    MemberOf,
    Present,
    Record,
    Securable,
    Untranslated,
)
from tests.systems.gravitino.ingest.test_catalog_random import GRAVITINO

SHOP: Final = ("main", "shop")
DATASET: Final = "//bigquery.googleapis.com/projects/{}/datasets/shop"
VIEWER: Final = "roles/bigquery.dataViewer"
ANA: Final = "user:ana@corp.test"


def rows_of(
    source: str, records: Iterable[Record], known: Iterable[Entity] = (), catalog: str = ""
) -> list[Row]:
    content = ExportContent(mapping(source, GRAVITINO.model), "lk", catalog)
    content.add_known(known)
    for record in records:
        content.add_record(record)
    return list(policy.rows(content, GRAVITINO.model))


def statements(rows: Iterable[Row], effect: str) -> set[str]:
    """The objects of the statements with that effect."""
    tables = [json.loads(row.cells[1]) for row in rows if row.table == "statements"]
    return {table["on"] for table in tables if table["effect"] == effect}


def notes(rows: Iterable[Row]) -> set[str]:
    return {": ".join(row.cells) for row in rows if row.table == "notes"}


@pytest.mark.parametrize(
    ("limited", "feature"),
    [
        (Securable("TABLE", ("Main", "SHOP", "People")), "row_filter"),
        (Securable("SCHEMA", ("main", "Shop")), "abac"),
        (Securable("CATALOG", ("MAIN",)), "abac"),
    ],
)
def test_a_limit_in_another_case_applies(limited: Securable, feature: str) -> None:
    people = Exists(Securable("TABLE", (*SHOP, "people")), "w")
    rows = rows_of("unity-catalog", [people, Limited(limited, feature, "w")])
    assert statements(rows, "deny") == {"table:lk:main.shop.people"}
    assert any("everybody has a DENY" in note for note in notes(rows))


def test_a_limit_in_another_case_applies_to_a_table_that_only_a_grant_names() -> None:
    people, spelled = (Securable("TABLE", (*SHOP, name)) for name in ("people", "PEOPLE"))
    records: list[Record] = [
        Granted(Grantee("USER", "ana@corp.test"), "SELECT", people, "w"),
        Limited(spelled, "row_filter", "w"),
    ]
    denied = statements(rows_of("unity-catalog", records), "deny")
    assert denied == {f"table:lk:main.shop.{name}" for name in ("people", "PEOPLE")}


def test_a_limit_on_a_listed_table_is_not_one_on_a_table_of_another_case() -> None:
    """Snowflake distinguishes names by case."""
    tables = [Securable("TABLE", ("D", "S", name)) for name in ("ORDERS", "orders")]
    records: list[Record] = [
        *(Exists(table, "w") for table in tables),
        Limited(tables[1], "policy", "w"),
    ]
    assert statements(rows_of("snowflake", records), "deny") == {"table:lk:D.S.orders"}


def test_a_limit_on_a_container_applies_to_tables_of_an_inventory() -> None:
    """A grant on the container or above it would reach them."""
    known = [Entity("table", "lk:main.shop.people"), Entity("table", "lk:main.hr.pay")]
    rows = rows_of("unity-catalog", [Limited(Securable("SCHEMA", SHOP), "abac", "w")], known)
    assert statements(rows, "deny") == {"table:lk:main.shop.people"}


# People


SERVICE: Final = "00000000-1111-2222-3333-444444444444"


@pytest.mark.parametrize(
    ("known", "users"),
    [
        ([Entity("user", "lk:ana@corp.test")], {"ana@corp.test", SERVICE}),
        ([Entity("user", "other:ana@corp.test")], {"ana@corp.test", "ben@corp.test", SERVICE}),
        ([Entity("table", "lk:main.shop.other")], {"ana@corp.test", "ben@corp.test", SERVICE}),
    ],
)
def test_users_whom_an_inventory_of_people_lacks(known: list[Entity], users: set[str]) -> None:
    """A directory leaves out users who are not active; the catalog keeps their grants."""
    orders = Securable("TABLE", (*SHOP, "orders"))
    records: list[Record] = [Exists(orders, "w", Grantee("", "ben@corp.test"))]
    for name in ("ana@corp.test", "ben@corp.test", SERVICE):
        records.append(Granted(Grantee("", name), "SELECT", orders, "w"))
    rows = rows_of("unity-catalog", records, known)
    assert {row.cells[1] for row in rows if row.table == "principals"} == users
    owners = {row.cells[3] for row in rows if row.table == "owners"}
    assert owners == users & {"ben@corp.test"}
    reason = "no inventory with people has this user"
    is_noted = f"table main.shop.orders: SELECT to ben@corp.test: {reason}" in notes(rows)
    assert is_noted is ("ben@corp.test" not in users)


@pytest.mark.parametrize("is_listed", [True, False])
def test_members_whom_a_list_of_users_lacks(is_listed: bool) -> None:
    ana, eve = Grantee("USER", "ana"), Grantee("USER", "eve")
    records: list[Record] = [MemberOf(who, Grantee("GROUP", "crew"), "w") for who in (ana, eve)]
    listed: list[Record] = [Present(ana, "w")] if is_listed else []
    rows = rows_of("people", [*listed, *records])
    found = {row.cells[1] for row in rows if row.table == "principals" and row.cells[0] == "user"}
    assert found == ({"ana"} if is_listed else {"ana", "eve"})


# BigQuery


def assets(tmp_path: Path, *records: Mapping[str, object]) -> list[Record]:
    path = tmp_path / "assets.json"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return list(bigquery_records([File(path, "assets.json")]))


def bound(condition: object, project: str = "corp") -> Mapping[str, object]:
    binding = {"role": VIEWER, "members": [ANA], "condition": condition}
    return {"name": DATASET.format(project), "iamPolicy": {"bindings": [binding]}}


PROJECT: Final = {
    "name": "//cloudresourcemanager.googleapis.com/projects/123",
    "resource": {"data": {"projectId": "corp"}},
}
ORDERS: Final = {
    "name": f"{DATASET.format('corp')}/tables/orders",
    "resource": {"data": {"type": "TABLE"}},
}
NO_ROW_POLICIES: Final[Mapping[str, object]] = {"rowAccessPolicies": []}
LATER: Final = {"expression": 'request.time > timestamp("2030-01-01T00:00:00Z")'}


@pytest.mark.parametrize(
    ("condition", "granted"),
    [(LATER, set()), ({}, set()), (None, {"catalog:lk:corp", "schema:lk:corp.shop"})],
)
def test_object_privileges_do_not_lift_a_condition(
    tmp_path: Path, condition: object, granted: set[str]
) -> None:
    """OBJECT_PRIVILEGES has no conditions."""
    records = assets(tmp_path, PROJECT, ORDERS, NO_ROW_POLICIES, bound(condition))
    spec = mapping("bigquery", GRAVITINO.model).tables["object_privileges"]
    cells = {
        "object_catalog": "corp",
        "object_schema": "",
        "object_name": "shop",
        "object_type": "SCHEMA",
        "privilege_type": VIEWER,
        "grantee": ANA,
    }
    for spelled in (ANA, ANA.upper().replace("USER:", "user:")):
        cells["grantee"] = spelled
        rows = rows_of("bigquery", [*records, *spec.records(cells, "w")])
        assert statements(rows, "allow") == granted
    assert statements(rows_of("bigquery", spec.records(cells, "w")), "allow")


def test_a_condition_on_a_view_that_the_assets_call_a_table(tmp_path: Path) -> None:
    binding = {"role": VIEWER, "members": [ANA], "condition": LATER}
    policy = {"name": f"{DATASET.format('corp')}/tables/v", "iamPolicy": {"bindings": [binding]}}
    spec = mapping("bigquery", GRAVITINO.model).tables["object_privileges"]
    named = {"object_catalog": "corp", "object_schema": "shop", "object_name": "v"}
    cells = {**named, "object_type": "VIEW", "privilege_type": VIEWER, "grantee": ANA}
    records = assets(tmp_path, PROJECT, ORDERS, NO_ROW_POLICIES, policy)
    rows = rows_of("bigquery", [*records, *spec.records(cells, "w")])
    assert not statements(rows, "allow")


def test_projects_named_by_number(tmp_path: Path) -> None:
    reference = {"projectId": "123", "datasetId": "shop", "tableId": "orders"}
    policies = {"rowAccessPolicies": [{"rowAccessPolicyReference": reference}]}
    records = assets(tmp_path, policies, PROJECT, ORDERS, bound(None, "123"))
    rows = rows_of("bigquery", records)
    assert statements(rows, "deny") == {"table:lk:corp.shop.orders"}
    assert statements(rows, "allow") == {"catalog:lk:corp", "schema:lk:corp.shop"}


def test_deny_policies_of_iam_are_refused(tmp_path: Path) -> None:
    """Left out, what they deny would be allowed."""
    rule = {"denyRule": {"deniedPrincipals": ["principalSet://goog/public:all"]}}
    with pytest.raises(BadInput, match=r"assets\.json: line 3: is an IAM deny policy"):
        assets(tmp_path, ORDERS, NO_ROW_POLICIES, {"name": "policies/x", "rules": [rule]})
    listed = {"name": "policies/cloudresourcemanager.googleapis.com%2Fprojects%2F1/denypolicies/x"}
    for record in (listed, {"policies": [listed]}):
        with pytest.raises(BadInput, match=r"assets\.json: line 3: is an IAM deny policy"):
            assets(tmp_path, ORDERS, NO_ROW_POLICIES, record)


def test_entries_of_access_lists_are_listed(tmp_path: Path) -> None:
    reader, view = {"role": "READER", "userByEmail": "ana@corp.test"}, {"view": {"tableId": "v"}}
    data = {"resource": {"data": {"access": [reader, view]}}}
    dataset = {"name": DATASET.format("corp"), **data}
    listed = {
        'dataset corp.shop: {"role": "READER", "userByEmail": "ana@corp.test"}': "access_entry",
        'dataset corp.shop: {"view": {"tableId": "v"}}': "authorized",
    }
    for policies, expected in (([], listed), ([bound(None)], {[*listed][1]: "authorized"})):
        records = assets(tmp_path, ORDERS, NO_ROW_POLICIES, dataset, *policies)
        found = {r.subject: r.feature for r in records if isinstance(r, Untranslated)}
        assert found == expected


# Lake Formation

ARN: Final = "arn:aws:iam::111122223333:user/ana"


@pytest.mark.parametrize("condition", [{}, {"Expression": "context.user in x"}])
def test_a_permission_with_any_condition_is_left_out(condition: object) -> None:
    permission = {
        "Principal": {"DataLakePrincipalIdentifier": ARN},
        "Resource": {"Table": {"DatabaseName": "shop", "Name": "orders"}},
        "Permissions": ["SELECT"],
        "Condition": condition,
    }
    page = Section({"PrincipalResourcePermissions": [permission]}, "page")
    (granted,) = Pages().read(page)
    assert isinstance(granted, Granted)
    assert granted.limit == "condition"


def test_a_permission_that_names_no_column_says_so() -> None:
    orders = Securable("TABLE", ("shop", "orders"))
    records: list[Record] = [
        Exists(Securable("COLUMN", ("shop", "orders", "id")), "w"),
        GrantedColumns(Grantee("", ARN), "SELECT", orders, frozenset(), False, "w"),
    ]
    rows = rows_of("glue", records, catalog="aws")
    assert f"table shop.orders: SELECT to {ARN}: it names no column" in notes(rows)


# Snowflake


def test_grants_to_users_and_grant_options_of_object_privileges() -> None:
    """GRANTS_TO_ROLES also has privileges of users, who need USAGE as roles do."""
    user = Grantee("USER", "BEN")
    database, schema = Securable("DATABASE", ("D",)), Securable("SCHEMA", ("D", "S"))
    table = Securable("TABLE", ("D", "S", "T"))
    usage = [Granted(user, "USAGE", on, "w") for on in (database, schema)]
    select = Granted(user, "SELECT", table, "w")
    declared = mapping("snowflake", GRAVITINO.model)
    listed = next(declared.tables["users"].records(USER_ROW, "w"))
    assert "table:lk:D.S.T" in statements(rows_of("snowflake", [listed, *usage, select]), "allow")
    assert not statements(rows_of("snowflake", [listed, usage[0], select]), "allow") - {
        "catalog:lk:D"
    }
    assert not statements(rows_of("snowflake", [*usage, select]), "allow")
    options = list(declared.tables["grantable_privileges"].records(GRANTABLE_ROW, "w"))
    noted = notes(rows_of("snowflake", options))
    assert "table D.S.T: SELECT to R: grant option: Gravitino has none on one object" in noted


USER_ROW: Final = {"name": "BEN", "disabled": "false", "deleted_on": ""}
GRANTABLE_ROW: Final = {
    "object_catalog": "D",
    "object_schema": "S",
    "object_name": "T",
    "object_type": "TABLE",
    "grantee": "R",
    "granted_to": "ROLE",
    "privilege_type": "SELECT",
    "is_grantable": "YES",
}
