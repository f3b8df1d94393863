"""LF-tags, cell filters and row policies of Lake Formation, from its replies."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import policy
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent
from lakewarden.systems.gravitino.ingest.catalogs.lake_formation import Pages
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from tests.systems.gravitino.ingest.test_catalog_exports import (
    ACCOUNT,
    ALL_TABLES,
    ARN,
    glue_table,
    lake_columns,
    lake_table,
    permission,
    tagged,
    tags_of,
)
from tests.systems.gravitino.ingest.test_catalog_random import GRAVITINO, facts_of

ANA = f"{ARN}:user/ana"
DATABASE: dict[str, Any] = {
    "DatabaseList": [{"Name": "shop"}],
    "TableList": [glue_table("orders", "id", "card"), glue_table("people", "name", "card")],
}
TABLES = ("orders", "people")
COLUMNS = ("orders.id", "orders.card", "orders.day", "people.name", "people.card", "people.day")
SALES = {"team": "sales"}
TAGS = {
    "DatabaseList": [{"Database": {"Name": "shop"}, "LFTags": tags_of(SALES)}],
    "TableList": [
        tagged("orders", SALES, {}, {}),
        tagged("people", SALES, {}, {"card": {"team": "hr", "pii": "yes"}}),
    ],
}


def read(*pages: Mapping[str, object], catalog: str = "") -> tuple[Warden, set[str]]:
    """A `Warden` over the replies, and the entries of the report."""
    content = ExportContent(mapping("glue", GRAVITINO.model), "lk", "aws")
    replies = Pages(catalog, takes_others=bool(catalog))
    for number, page in enumerate(pages):
        for record in replies.read(Section(page, f"page {number}")):
            content.add_record(record)
    for record in replies.rest():
        content.add_record(record)
    rows = list(policy.rows(content, GRAVITINO.model))
    return Warden(GRAVITINO, facts_of(rows)), {
        ": ".join(row.cells) for row in rows if row.table == "notes"
    }


def permissions(*given: object) -> Mapping[str, object]:
    return {"PrincipalResourcePermissions": list(given)}


def by_tags(kind: str = "TABLE", name: str = "", **wanted: Sequence[str]) -> Mapping[str, object]:
    terms = [{"TagKey": key, "TagValues": list(values)} for key, values in wanted.items()]
    named = {"ExpressionName": name} if name else {"Expression": terms}
    return {"LFTagPolicy": {"CatalogId": ACCOUNT, "ResourceType": kind, **named}}


def reach(warden: Warden, who: str = ANA) -> str:
    """A user's access to the tables and their columns."""
    found = []
    for name in TABLES:
        words = [
            word
            for word in ("load", "write", "alter")
            if warden.check(who, f"table.{word}", f"table:lk:aws.shop.{name}").allow
        ]
        columns = [
            column.partition(".")[2]
            for column in COLUMNS
            if column.startswith(f"{name}.")
            and warden.check(who, "column.read", f"column:lk:aws.shop.{column}").allow
        ]
        found.append(f"{name}: {' '.join([*words, *columns])}".strip())
    return "; ".join(found)


ALL = "load write alter id card day"
PEOPLE = "people: name day"
BY_TAGS: list[tuple[Mapping[str, object], list[str], str]] = [
    (by_tags(team=["sales"]), ["SELECT"], f"orders: load id card day; {PEOPLE}"),
    (by_tags(Team=["Sales", "x"]), ["SELECT"], f"orders: load id card day; {PEOPLE}"),
    (by_tags(team=["sales"]), ["ALL"], f"orders: {ALL}; {PEOPLE}"),
    (by_tags(team=["sales"]), ["INSERT", "DELETE"], "orders: write; people:"),
    (by_tags(team=["sales"]), ["ALTER"], "orders:; people:"),
    (by_tags(team=["hr"]), ["SELECT"], "orders:; people: card"),
    (by_tags(team=["hr"]), ["ALL"], "orders:; people: card"),
    (by_tags(team=["hr"]), ["INSERT"], "orders:; people:"),
    (
        by_tags(team=["sales", "hr"]),
        ["ALL"],
        f"orders: {ALL}; people: load write alter name card day",
    ),
    (by_tags(team=["hr"], pii=["yes"]), ["SELECT"], "orders:; people: card"),
    (by_tags(team=["sales"], pii=["yes"]), ["SELECT"], "orders:; people:"),
    (by_tags(pii=["yes", "no"]), ["SELECT"], "orders:; people: card"),
    (by_tags(), ["ALL"], "orders:; people:"),
    (by_tags(team=[]), ["ALL"], "orders:; people:"),
    (by_tags(name="stored"), ["SELECT"], f"orders: load id card day; {PEOPLE}"),
    (by_tags(name="other"), ["SELECT"], "orders:; people:"),
    (by_tags("DATABASE", team=["sales"]), ["ALL"], "orders:; people:"),
    (by_tags("DATABASE", team=["sales"]), ["SELECT", "ALTER"], "orders:; people:"),
]


@pytest.mark.parametrize(("resource", "words", "expected"), BY_TAGS)
def test_what_an_expression_permits(
    resource: Mapping[str, object], words: list[str], expected: str
) -> None:
    stored = {"Name": "stored", "Expression": [{"TagKey": "team", "TagValues": ["sales"]}]}
    given = permissions(permission(ANA, resource, *words))
    warden, notes = read(given, TAGS, DATABASE, {"LFTagExpressions": [stored]})
    assert reach(warden) == expected
    may_create = warden.check(ANA, "table.create", "schema:lk:aws.shop").allow
    assert may_create is ("DATABASE" in str(resource) and words == ["ALL"])
    assert bool(notes) or expected != "orders:; people:" or words == ["ALL"]


def test_what_tags_do_not_permit_is_listed() -> None:
    """Also if no table has a stated tag, because tables inherit from databases."""
    sales = by_tags(team=["sales"])
    given = [
        permission(ANA, sales, "SELECT", "DESCRIBE", PermissionsWithGrantOption=["SELECT"]),
        permission(ANA, sales, "DELETE", Condition={"Expression": "true"}),
        permission(ANA, by_tags("DATABASE", team=["sales"]), "DROP", "DESCRIBE"),
    ]
    warden, notes = read(permissions(*given), DATABASE, {"DatabaseList": TAGS["DatabaseList"]})
    assert reach(warden) == "orders:; people:"
    assert warden.check(ANA, "schema.load", "schema:lk:aws.shop").allow
    expression = 'lftagpolicy {0}.[{{"TagKey": "team", "TagValues": ["sales"]}}]'
    table, database = expression.format("TABLE"), expression.format("DATABASE")
    condition = "condition: the permission applies only under a condition on the request"
    nothing = "no database, table or column of the responses has such LF-tags"
    assert notes == {
        f"{table}: SELECT to {ANA}: LF-tag policy: {nothing}",
        f"{table}: DESCRIBE to {ANA}: LFTAGPOLICY: no meaning on objects with these LF-tags",
        f"{table}: DELETE to {ANA}: {condition}",
        f"{database}: DROP to {ANA}: LFTAGPOLICY: no meaning on objects with these LF-tags",
        f"SELECT of {ANA} on {table}: grant option: Gravitino has no grant option on one object",
    }


@pytest.mark.parametrize(("words", "lost"), [("SELECT INSERT", "INSERT"), ("ALTER", "ALTER")])
def test_what_only_a_whole_table_would_permit_is_listed(words: str, lost: str) -> None:
    given = permission(ANA, by_tags(team=["sales"]), *words.split())
    _, notes = read(permissions(given), TAGS, DATABASE)
    why = "LF-tag policy that matches only some columns of a table"
    rest = "these can be selected from, and nothing else is permitted"
    assert f"table shop.people: {lost} to {ANA}: {why}: {rest}" in notes


def cells(name: str, rows: object, **columns: object) -> object:
    about = {"TableCatalogId": ACCOUNT, "DatabaseName": "shop", "TableName": "people"}
    return {**about, "Name": name, "RowFilter": rows, **columns}


WHOLE: dict[str, object] = {"AllRowsWildcard": {}}
FILTERS = {
    "DataCellsFilters": [
        cells("names", WHOLE, ColumnNames=["name"]),
        cells("rest", WHOLE, ColumnWildcard={"ExcludedColumnNames": ["CARD"]}),
        cells("whole", WHOLE, ColumnWildcard={}),
        cells("eu", {"FilterExpression": "region = 'eu'"}, ColumnWildcard={}),
        cells("both", {**WHOLE, "FilterExpression": "true"}, ColumnWildcard={}),
        cells("neither", {}, ColumnWildcard={}),
        cells("no columns", WHOLE),
    ]
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("names", "people: name"),
        ("rest", PEOPLE),
        ("whole", "people: load name card day"),
        *((name, "people:") for name in ("eu", "both", "neither", "no columns", "gone")),
    ],
)
def test_filters_of_cells_that_have_all_rows_are_columns(name: str, expected: str) -> None:
    about = {"TableCatalogId": ACCOUNT, "DatabaseName": "shop", "TableName": "people"}
    on = {"DataCellsFilter": {**about, "Name": name}}
    given = permissions(permission(ANA, on, "SELECT", "DESCRIBE"))
    warden, notes = read(DATABASE, given, FILTERS)
    assert reach(warden) == f"orders:; {expected}"
    filtered = f"datacellsfilter shop.people.{name}: "
    assert f"{filtered}DESCRIBE to {ANA}: DATACELLSFILTER: no meaning on a data cells filter" in (
        "\n".join(notes)
    )
    gives_some = "it grants only some rows, or the responses do not list its columns"
    assert (f"{filtered}SELECT to {ANA}: data cells filter: {gives_some}" in notes) is (
        expected == "people:" and name != "no columns"
    )


def attached(resource: Mapping[str, object]) -> Mapping[str, object]:
    attachment = {
        "PolicyName": "own_rows",
        "Principal": {"DataLakePrincipalIdentifier": ANA},
        "Resource": resource,
    }
    return {"RLSPolicyAttachments": [attachment]}


LIMITED: list[tuple[Mapping[str, object], str]] = [
    (attached(lake_table("people")), "orders: load id card day; people:"),
    (attached(by_tags(team=["hr"])), "orders: load id card day; people:"),
    (attached(by_tags(team=["sales"])), "orders:; people:"),
    (
        {"TableList": [{"DatabaseName": "shop", "Name": "orders", "RLSProperties": {"D": "p"}}]},
        "orders:; people: load name card day",
    ),
    ({"RLSPolicyAttachments": []}, "orders: load id card day; people: load name card day"),
]


@pytest.mark.parametrize(("page", "expected"), LIMITED)
def test_policies_of_rows_limit_readers(page: Mapping[str, object], expected: str) -> None:
    given = permissions(permission(ANA, ALL_TABLES, "SELECT"))
    assert reach(read(DATABASE, page, given, TAGS)[0]) == expected


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ((attached(by_tags(team=["hr"])),), "no reply says which tables have these LF-tags"),
        ((attached(by_tags(name="gone")), TAGS), "no reply says which tables have these LF-tags"),
        ((attached({"Database": {"Name": "shop"}}),), "expected a table or LF-tags"),
        ((attached(ALL_TABLES),), "expected a table or LF-tags"),
        ((attached(lake_table("a", CatalogId="9")),), "two catalogs"),
    ],
)
def test_policies_of_rows_on_something_else_are_refused(
    pages: tuple[Mapping[str, object], ...], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        read({"DatabaseList": [{"Name": "shop", "CatalogId": ACCOUNT}]}, DATABASE, *pages)


def test_altering_a_database_alters_no_table() -> None:
    """It is another permission than that on all tables, which three others complete."""
    database = {"Database": {"CatalogId": ACCOUNT, "Name": "shop"}}
    given = [
        permission(ANA, ALL_TABLES, "SELECT", "INSERT", "DELETE"),
        permission(ANA, database, "ALTER"),
    ]
    warden, notes = read(DATABASE, permissions(*given))
    assert reach(warden) == "orders: load write id card day; people: load write name card day"
    altered = "`ALTER` on a database: in Gravitino, altering a schema is for owners"
    assert f"database shop: ALTER to {ANA}: {altered}" in notes


def test_excluded_columns_in_records_exclude_what_they_are_in() -> None:
    without = {"ExcludedColumnNames": ['"card"."zip"']}
    on = lake_columns("people", ColumnWildcard=without)
    assert reach(read(DATABASE, permissions(permission(ANA, on, "SELECT")))[0]) == (
        "orders:; people: name day"
    )


def test_what_is_in_other_catalogs_is_left_out() -> None:
    """A table of the same name, its tags, a filter and a catalog inside the account's."""
    there = {"CatalogId": "9", "DatabaseName": "shop", "Name": "people"}
    about = {"TableCatalogId": "9", "DatabaseName": "shop", "TableName": "people"}
    given = [
        permission(ANA, {"DataCellsFilter": {**about, "Name": "whole"}}, "SELECT"),
        permission(ANA, {"Catalog": {"Id": f"{ACCOUNT}:inner"}}, "CREATE_DATABASE"),
        permission(ANA, by_tags(team=["x"]), "SELECT"),
        permission(ANA, {"LFTagPolicy": {"CatalogId": "9", "ResourceType": "TABLE"}}, "SELECT"),
    ]
    tables = [{"Table": there, "LFTagsOnTable": tags_of({"team": "x"})}]
    warden, notes = read(
        DATABASE,
        permissions(*given),
        {"TableList": tables},
        FILTERS,
        attached({"Table": there}),
        catalog=ACCOUNT,
    )
    assert reach(warden) == "orders:; people:"
    assert not warden.check(ANA, "schema.create", "catalog:lk:aws").allow
    other = "permission on another catalog: one catalog is read"
    assert notes >= {f"permission of {ANA}: {other}", f"policy of rows own_rows: {other}"}


def drawn_tags(chance: random.Random, odds: float) -> dict[str, str]:
    return {key: chance.choice("xy") for key in ("a", "b") if chance.random() < odds}


@pytest.mark.parametrize("seed", range(20))
def test_random_tags(seed: int) -> None:
    """An independent reading: each column alone, with tags of itself, its table, its database."""
    chance = random.Random(seed)
    database = drawn_tags(chance, 0.5)
    tables = {name: drawn_tags(chance, 0.4) for name in TABLES}
    columns = {name: drawn_tags(chance, 0.2) for name in COLUMNS}
    replies = []
    for name, own in tables.items():
        inside = {c.partition(".")[2]: columns[c] for c in COLUMNS if c.startswith(name)}
        replies.append(tagged(name, database, own, inside))
    wanted = {key: [chance.choice("xy")] for key in chance.sample("ab", chance.randint(1, 2))}
    words = chance.sample(("SELECT", "INSERT", "DELETE", "ALTER"), chance.randint(1, 4))
    given = permissions(permission(ANA, by_tags("TABLE", "", **wanted), *words))
    warden, _ = read(given, {"TableList": replies}, DATABASE)

    def has(*tags: Mapping[str, str]) -> bool:
        merged = {key: value for one in tags for key, value in one.items()}
        return all(merged.get(key) in values for key, values in wanted.items())

    for name, own in tables.items():
        reads = {c: has(database, own, columns[c]) for c in COLUMNS if c.startswith(f"{name}.")}
        is_whole = has(database, own) and all(reads.values())

        def may(operation: str, entity: str) -> bool:
            kind = operation.partition(".")[0]
            return warden.check(ANA, operation, f"{kind}:lk:aws.shop.{entity}").allow

        for column, is_in in reads.items():
            assert may("column.read", column) is (is_in and "SELECT" in words), (column, wanted)
        assert may("table.load", name) is (is_whole and "SELECT" in words)
        assert may("table.write", name) is (is_whole and bool({"INSERT", "DELETE"} & {*words}))
        assert may("table.alter", name) is (is_whole and len(words) == 4)
