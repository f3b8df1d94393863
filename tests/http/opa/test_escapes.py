"""Ways around filters, masks and privileges in Trino, by properties and calls of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lakewarden.config.engines import TrinoRealm
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.question import (
    Action,
    CatalogProperty,
    Column,
    Context,
    Function,
    Identity,
    Question,
    Resource,
    Schema,
    Table,
)
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.service.state import RealmState
from lakewarden.service.system import load_system
from tests.http.opa.test_denied_columns import EVERYBODY, USERS, lake, state_of

SETTINGS = TrinoRealm(metalake="lk")
CREATES = {"privileges": ["CREATE_TABLE", "CREATE_SCHEMA", "CREATE_VIEW"], "effect": "allow"}
CREATES |= {"on": "catalog:lk:c", "to": ["members:lk"]}


def asked(
    realm: RealmState, user: str, act: str, resource: Resource, settings: TrinoRealm = SETTINGS
) -> Evaluator:
    question = Question(Context(Identity(user)), Action(act, resource))
    return Evaluator(realm, realm.system.engines["trino"], settings, question, 0.0)


def who(realm: RealmState, act: str, resource: Resource, **settings: Any) -> str:
    chosen = TrinoRealm(metalake="lk", **settings)
    return " ".join(u for u in USERS if asked(realm, u, act, resource, chosen).allows())


def table(
    name: str = "orders", columns: Sequence[str] | None = None, **properties: object
) -> Table:
    return Table("c", "s", name, None if columns is None else [*columns], properties or None)


@pytest.mark.parametrize(
    "name",
    ["location", "external_location", "EXTERNAL_LOCATION", "partition_projection_location_template",
     "avro_schema_url", "data_location", "write_object_storage_path"],
)  # fmt: skip
def test_where_files_lie_is_chosen_by_the_owner_of_the_catalog(name: str) -> None:
    """The files may be those of a table that the user may not read."""
    realm = lake(CREATES, owns_catalog="mia")
    for act in ("CreateTable", "CreateSchema"):
        chosen: tuple[dict[str, str], ...] = ({}, {name: "s3://lake/x", "format": "x"})
        for given, expected in zip(chosen, (EVERYBODY, "mia"), strict=True):
            resource = Resource(table=table("new", **given))
            if act == "CreateSchema":
                resource = Resource(schema=Schema("c", "new", {**given} or None))
            assert who(realm, act, resource) == expected
            assert who(realm, act, resource, locations="catalog") == EVERYBODY
    placed = Resource(table=Table("c", "s", "orders", None, {name: None}))
    assert who(realm, "SetTableProperties", placed) == "mia"
    assert who(realm, "SetTableProperties", Resource(table=table(format="ORC"))) == "mia olga"
    denied = asked(realm, "olga", "SetTableProperties", placed).denied()
    assert denied is not None
    assert (denied.operation, denied.entity) == ("trino.DropCatalog", "catalog:lk:c")


def test_functions_of_a_connector_are_called_by_the_owner_of_the_catalog() -> None:
    """`query` of a JDBC connector reads every table of the catalog with the connector's account.

    Whoever may make a schema could store one of the name, and a function in it.
    """
    functions = [f"lk:c.{schema}.query" for schema in ("system", "s")]
    more = ["schema:lk:c.system", *(f"function:{one}" for one in functions)]
    calls = {"privileges": ["EXECUTE_FUNCTION"], "effect": "allow", "on": "catalog:lk:c"}
    realm = lake({**calls, "to": ["members:lk"]}, owns_catalog="mia", more=more)
    for act in ("ExecuteFunction", "CreateViewWithExecuteFunction", "ExecuteProcedure"):
        for schema, expected in (("s", EVERYBODY), ("system", "mia"), ("SYSTEM", "")):
            resource = Resource(function=Function("query", "c", schema))
            assert who(realm, act, resource) == expected
            assert who(realm, act, resource, locations="catalog") == expected
    call = Resource(function=Function("query", "c", "system"))
    denied = asked(realm, "olga", "ExecuteFunction", call).denied()
    assert denied is not None
    assert (denied.operation, denied.entity) == ("trino.DropCatalog", "catalog:lk:c")


def test_where_files_lie_is_not_chosen_by_a_nested_property() -> None:
    """Iceberg accepts its own properties in `extra_properties`."""
    realm = lake(CREATES, owns_catalog="mia")
    for inner, expected in (("write.data.path", "mia"), ("write.format.default", EVERYBODY)):
        resource = Resource(table=table("new", extra_properties={inner: "x"}))
        assert who(realm, "CreateTable", resource) == expected


@pytest.mark.parametrize(
    ("procedure", "expected"),
    [("OPTIMIZE", "mia olga"), ("ADD_FILES", "mia"), ("ADD_FILES_FROM_TABLE", "mia")],
)
def test_files_of_others_are_added_by_the_owner_of_the_catalog(
    procedure: str, expected: str
) -> None:
    realm = lake(owns_catalog="mia")
    resource = Resource(table=table(), function=Function(procedure))
    assert who(realm, "ExecuteTableProcedure", resource) == expected


def test_whom_a_mask_binds_calls_no_procedure_on_the_table() -> None:
    """Some restore or delete rows, regardless of a filter that hides them."""
    realm = lake(
        {"effect": "mask", "on": "table:lk:c.s.orders", "expression": "null", "to": ["user:olga"]},
        owns_catalog="mia",
    )
    resource = Resource(table=table(), function=Function("ROLLBACK_TO_SNAPSHOT"))
    assert who(realm, "ExecuteTableProcedure", resource) == "mia"


@pytest.mark.parametrize(
    ("on", "stored"),
    [("table:lk:c.s.shown", "view:lk:c.s.shown"), ("view:lk:c.s.shown", "table:lk:c.s.shown")],
)
def test_what_has_the_name_of_a_table_or_view_with_a_filter_keeps_to_it(
    on: str, stored: str
) -> None:
    """Trino does not distinguish them: a view may get the name of an existing table here."""
    stated: dict[str, Any] = {"effect": "filter", "on": on, "expression": "id = 1"}
    realm = lake({**stated, "to": ["user:mia"]}, owns_catalog="mia", more=[stored])
    resource = Resource(table=table("shown"))
    for user, filters in (("mia", ['"id" = 1']), ("ana", [])):
        assert asked(realm, user, "GetRowFilters", resource).row_filters() == filters
    for act in ("TruncateTable", "RenameTable", "RenameView"):
        assert not asked(realm, "mia", act, resource).allows()


def test_rows_are_not_overwritten_by_a_session_property() -> None:
    realm = lake(owns_catalog="mia")
    for name, expected in (
        ("insert_existing_partitions_behavior", "mia"),
        ("compression_codec", EVERYBODY),
    ):
        resource = Resource(catalog_session_property=CatalogProperty("c", name))
        assert who(realm, "SetCatalogSessionProperty", resource) == expected
        assert who(realm, "SetCatalogSessionProperty", resource, locations="catalog") == expected


@pytest.mark.parametrize("act", ["CreateMaterializedView", "RefreshMaterializedView"])
def test_what_limits_somebody_is_not_stored_for_others(act: str) -> None:
    limit: dict[str, Any] = {"effect": "filter", "on": "table:lk:c.s.orders", "to": ["user:ana"]}
    limit["expression"] = "iban = 'x'"
    resource = Resource(table=table("shown"))
    for limits, settings, expected in (
        ((), "all", True), ((limit,), "all", True), ((), "unlimited", True),
        ((limit,), "unlimited", False),
    ):  # fmt: skip
        realm = lake(CREATES, *limits, owns_catalog="mia", more=["view:lk:c.s.shown"])
        assert ("mia" in who(realm, act, resource, definer_views=settings)) is expected


@pytest.mark.parametrize(
    ("act", "there"),
    [
        ("CreateTable", "table:lk:c.s.orders"),
        ("CreateView", "view:lk:c.s.shown"),
        ("CreateMaterializedView", "view:lk:c.s.shown"),
    ],
)
def test_what_is_there_is_replaced_by_who_may_drop_it(act: str, there: str) -> None:
    """`CREATE OR REPLACE` requests the same act as `CREATE`, and no other."""
    realm = lake(CREATES, owns_catalog="mia", more=["view:lk:c.s.shown"])
    assert who(realm, act, Resource(table=table("new"))) == EVERYBODY
    owners = "mia olga" if there.startswith("table:") else "mia"
    assert who(realm, act, Resource(table=table(there.rpartition(".")[2]))) == owners
    denied = asked(realm, "ana", act, Resource(table=table(there.rpartition(".")[2]))).denied()
    assert denied is not None
    assert denied.entity == there


@pytest.mark.parametrize("name", ["Iban", "IBAN", "iban.country", "iban.code.check"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_column_is_masked_and_denied_by_all_names_that_the_realm_has(
    name: str, stored: bool
) -> None:
    """Trino has lower-case names, and sends a request for a structure as a whole."""
    on = f"column:lk:c.s.orders.{name}"
    mask = {"effect": "mask", "on": on, "expression": "null", "to": ["user:ana"]}
    deny = {"effect": "deny", "on": on, "privileges": ["SELECT_COLUMN"], "to": ["user:bo"]}
    realm = lake(mask, deny, more=[on] if stored else [])

    def shown(user: str, column: str) -> bool:
        resource = Resource(column=Column("c", "s", "orders", column, "varchar"))
        return asked(realm, user, "GetColumnMask", resource).masked(resource) is None

    assert [shown(user, "iban") for user in ("ana", "bo")] == [False, True]
    assert [shown(user, "ibans") for user in ("ana", "bo")] == [True, True]
    reads = Resource(table=table(columns=["iban"]))
    assert who(realm, "SelectFromColumns", reads) == "ana mia olga"
    assert who(realm, "SelectFromColumns", Resource(table=table(columns=["id"]))) == EVERYBODY


JUDGED = """
[model]
name = "open"
title = "Names that are not stored count"
version = "1"
source = "made for tests"
spelling = "plain"
judged = true
[types.table]
filtered = true
[types.column]
parent = "table"
masked = true
[privileges.READ]
on = "table"
[operations.read]
on = "table"
rule = "READ"
[engines.trino]
rest = "nothing else"
[engines.trino.names]
table = "{catalog}/{schema}/{table}"
column = "{catalog}/{schema}/{table}/{column}"
[engines.trino.acts.FilterTables]
on = "table"
rule = "READ"
[engines.trino.acts.SelectFromColumns]
on = "table"
rule = "READ"
"""


@pytest.mark.parametrize(
    ("limit", "bound"),
    [
        (None, []),
        ({"effect": "filter", "on": "table:c/s/orders", "expression": "a = 1"}, ["orders"]),
        ({"effect": "mask", "on": "column:c/s/orders/a", "expression": "null"}, ["orders"]),
    ],
)
def test_what_a_connector_shows_about_a_table_keeps_to_its_filters(
    limit: dict[str, Any] | None, bound: list[str]
) -> None:
    """Files, partitions and history contain row values, but have no filters of their own."""
    system = load_system("open", {"trino": "on"}, own.of_text(JUDGED, "open.toml"))
    orders, column = system.entity("table:c/s/orders"), system.entity("column:c/s/orders/a")
    stated = [
        {"id": "r", "privileges": ["READ"], "to": ["user:ana"]},
        *([{"id": "limit", **limit}] if limit else []),
    ]
    realm = state_of(
        system,
        Facts(
            entities=[EntityRow(orders), EntityRow(column, orders)],
            principals=[system.principal("ana")],
            statements=read_statements(stated, system.model, system.spelling, "test"),
        ),
    )
    for name in ("orders", "other"):
        read = Resource(table=table(name, ["a"]))
        assert asked(realm, "ana", "SelectFromColumns", read).allows()
        for part in ("$files", "$partitions", "$history$x", ":iban", "@7"):
            read = Resource(table=table(name + part, ["a"]))
            expected = name not in bound
            assert asked(realm, "ana", "SelectFromColumns", read).allows() is expected
            assert not asked(realm, "eve", "SelectFromColumns", read).allows()
    for name in ("SELECT a FROM orders", "other,orders", "ord*", "_all", "<orders-{now}>"):
        query = asked(realm, "ana", "SelectFromColumns", Resource(table=table(name)))
        assert query.allows() is (limit is None), name


@pytest.mark.parametrize(
    "limit",
    [
        {"effect": "filter", "on": "table:c/s/Orders", "expression": "a = 1"},
        {"effect": "mask", "on": "column:c/s/Orders/a", "expression": "null"},
    ],
)
def test_a_limit_on_a_name_in_another_case_closes_the_name(limit: dict[str, Any]) -> None:
    """Trino folds names: `orders` is the table that the realm calls `Orders`."""
    system = load_system("open", {"trino": "on"}, own.of_text(JUDGED, "open.toml"))
    table_of, column = system.entity("table:c/s/Orders"), system.entity("column:c/s/Orders/a")
    stated = [{"id": "r", "privileges": ["READ"], "to": ["user:ana"]}, {"id": "limit", **limit}]
    realm = state_of(
        system,
        Facts(
            entities=[EntityRow(table_of), EntityRow(column, table_of)],
            principals=[system.principal("ana")],
            statements=read_statements(stated, system.model, system.spelling, "test"),
        ),
    )
    names = {"orders": False, "orders$files": False, "Orders": True, "other": True}
    for name, expected in names.items():
        read = Resource(table=table(name, ["a"]))
        assert asked(realm, "ana", "SelectFromColumns", read).allows() is expected, name
