"""A dbt project under DataHub's model and Gravitino's: names, tags, owners, grants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import OwnerRow, RelationRow
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.dbt_file import DbtFile, readers
from lakewarden.pipeline.ingest.dbt_manifest import read
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.service.source_row import NOTES, STATEMENTS, Row
from lakewarden.service.system import load_system
from tests.pipeline.ingest.believed import believed, warden_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def node(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    found = {"resource_type": kind, "name": name, "package_name": "shop", "schema": "sales"}
    config = {"materialized": "table", **fields.pop("config", {})}
    return {"database": "Prod", "config": config, **found, **fields}


def manifest(version: int = 12, adapter: str = "postgres", **parts: Any) -> dict[str, Any]:
    address = f"https://schemas.getdbt.com/dbt/manifest/v{version}.json"
    return {"metadata": {"dbt_schema_version": address, "adapter_type": adapter}, **parts}


ORDERS = node(
    "model",
    "orders",
    alias="Orders_v2",
    description="All orders.",
    tags=["pii"],
    columns={"mail": {"name": "mail", "tags": ["pii"]}, "id": {"name": "id", "tags": []}},
    meta={"owner": "ana"},
    group="finance",
    config={"grants": {"select": ["reporter"], "insert": ["etl"]}, "tags": ["daily", "pii"]},
)
BOARD = node("model", "board", config={"materialized": "view", "grants": {"select": ["boss"]}})
RAW = {
    **node("source", "raw", meta={"owner": ["urn:li:corpGroup:crew", "ben@x.org"]}),
    "identifier": "RAW_ORDERS",
}
SHOP = manifest(
    nodes={
        "model.shop.orders": ORDERS,
        "model.shop.board": BOARD,
        "seed.shop.codes": node("seed", "codes", config={"materialized": "seed"}),
        "snapshot.shop.past": node("snapshot", "past"),
        "model.shop.passing": node("model", "passing", config={"materialized": "ephemeral"}),
        "test.shop.t": {"resource_type": "test", "name": "t"},
    },
    sources={"source.shop.raw": RAW},
    groups={
        "group.shop.finance": {
            "name": "finance",
            "package_name": "shop",
            "owner": {"name": "Finance team"},
        }
    },
    exposures={"exposure.shop.x": {}},
)


def meant(folder: Path, found: object, **options: str) -> list[Row]:
    """The rows of a manifest, through a file."""
    file = folder / "manifest.json"
    file.write_text(json.dumps(found), "utf-8")
    source = DbtFile(file, options.pop("model", "datahub"), options)
    meaning = readers()[source.model].read(read(file, file.name), source.options)
    return list(meaning.rows())


def dbt(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:dbt,{name},PROD)"


def notes(rows: list[Row]) -> list[str]:
    return sorted(": ".join(row.cells) for row in rows if row.table == NOTES)


def test_relations_are_datasets_of_dbt_and_of_the_database(tmp_path: Path) -> None:
    rows = meant(tmp_path, SHOP)
    assert not [row for row in rows if row.reason]
    facts = believed(rows, load_system("datahub"))
    names = {row.entity.name for row in facts.entities if row.entity.type == "dataset"}
    there = ("orders_v2", "board", "codes", "past", "raw_orders")
    assert names == {
        *(dbt(f"Prod.sales.{name}") for name in ("Orders_v2", "board", "codes", "past", "raw")),
        *(f"urn:li:dataset:(urn:li:dataPlatform:postgres,prod.sales.{n},PROD)" for n in there),
    }
    orders = Entity("dataset", dbt("Prod.sales.Orders_v2"))
    mail = Entity("schemaField", f"urn:li:schemaField:({orders.name},mail)")
    pii, daily = (Entity("tag", f"urn:li:tag:dbt:{name}") for name in ("pii", "daily"))
    assert set(facts.relations) == {
        RelationRow("tag", orders, pii),
        RelationRow("tag", orders, daily),
        RelationRow("tag", mail, pii),
    }
    raw = Entity("dataset", dbt("Prod.sales.raw"))
    assert set(facts.owners) == {
        OwnerRow(orders, Principal("user", "urn:li:corpuser:ana")),
        OwnerRow(orders, Principal("group", "urn:li:corpGroup:Finance team")),
        OwnerRow(raw, Principal("group", "urn:li:corpGroup:crew")),
        OwnerRow(raw, Principal("user", "urn:li:corpuser:ben@x.org")),
    }
    assert facts.statements == ()
    assert len(notes(rows)) == 3


def test_grants_are_statements_where_a_database_is_governed(tmp_path: Path) -> None:
    rows = meant(tmp_path, SHOP, model="gravitino", metalake="lk")
    assert not [row for row in rows if row.reason]
    system = load_system("gravitino")
    facts = believed(dict.fromkeys(rows), system)
    orders = Entity("table", "lk:Prod.sales.Orders_v2")
    column = Entity("column", f"{orders.name}.mail")
    pii = Entity("tag", "lk:pii")
    assert RelationRow("tag", column, pii) in facts.relations
    assert Entity("view", "lk:Prod.sales.board") in {row.entity for row in facts.entities}
    assert {s.scope: (s.privileges, s.principals) for s in facts.statements} == {
        s.scope: (frozenset({word}), frozenset({Principal("role", f"lk:{role}")}))
        for s, word, role in zip(
            facts.statements, ("SELECT_TABLE", "SELECT_VIEW"), ("reporter", "boss"), strict=True
        )
    }
    assert facts.owners == []
    assert notes(rows) == [
        "model.shop.orders: grant of insert to etl",
        "model.shop.orders: the owner Finance team: answers for it, does not own it there",
        "model.shop.orders: the owner ana: answers for it, does not own it there",
        "source.shop.raw: the owner ben@x.org: answers for it, does not own it there",
        "source.shop.raw: the owner urn:li:corpGroup:crew: answers for it, does not own it there",
    ]


@pytest.mark.parametrize("model", ["gravitino", "datahub"])
def test_fields_inside_a_column_are_columns(tmp_path: Path, model: str) -> None:
    columns = {"a.b.c": {"name": "a.b.c", "tags": ["pii"]}, "a": {"name": "a"}}
    found = manifest(adapter="bigquery", nodes={"m": node("model", "t", columns=columns)})
    lake = {"metalake": "lk"} if model == "gravitino" else {}
    rows = meant(tmp_path, found, model=model, **lake)
    assert not [row for row in rows if row.reason]
    facts = believed(dict.fromkeys(rows), load_system(model))
    of = {row.entity: row.parent for row in facts.entities}
    if model == "gravitino":
        table = Entity("table", "lk:Prod.sales.t")
        inner, outer = (Entity("column", f"{table.name}.{name}") for name in ("a.b.c", "a"))
        pii = Entity("tag", "lk:pii")
    else:
        table, pii = Entity("dataset", dbt("Prod.sales.t")), Entity("tag", "urn:li:tag:dbt:pii")
        inner, outer = (
            Entity("schemaField", f"urn:li:schemaField:({table.name},{name})")
            for name in ("a.b.c", "a")
        )
    assert of[inner] == of[outer] == table
    assert RelationRow("tag", inner, pii) in facts.relations


def test_a_grant_opens_nothing_without_the_right_to_use_the_schema(tmp_path: Path) -> None:
    grants = {"roles/bigquery.dataViewer": ["user:ana@x.org", "group:staff"]}
    found = manifest(adapter="bigquery", nodes={"m": node("model", "t", config={"grants": grants})})
    rows = meant(tmp_path, found, model="gravitino", metalake="lk")
    table = "table:lk:Prod.sales.t"
    warden = warden_of(dict.fromkeys(rows), load_system("gravitino"))
    assert not warden.check("ana@x.org", "table.load", table).allow
    words = {"privileges": ["USE_CATALOG", "USE_SCHEMA"], "on": "catalog:lk:Prod"}
    warden.state(id="use", to="members:lk", **words)
    assert warden.check("ana@x.org", "table.load", table).allow


@pytest.mark.parametrize(
    ("config", "column"),
    [
        ({"row_access_policy": "own_rows on (id)"}, {}),
        ({"row_filter": {"function": "own_rows"}}, {}),
        ({}, {"policy_tags": ["projects/p/locations/l/taxonomies/1/policyTags/2"]}),
        ({}, {"column_mask": {"function": "last_four"}}),
        ({}, {"config": {"policy_tags": ["t"]}}),
    ],
)
def test_readers_who_do_not_get_everything_are_listed(
    tmp_path: Path, config: dict[str, Any], column: dict[str, Any]
) -> None:
    grants = {"grants": {"select": ["reporter"]}}
    model = node(
        "model", "t", config={**config, **grants}, columns={"id": {"name": "id", **column}}
    )
    rows = meant(tmp_path, manifest(nodes={"m": model}), model="gravitino", metalake="lk")
    assert not [row for row in rows if row.table == STATEMENTS]
    expected = "m: grant of select to reporter: readers do not get every row or value"
    assert expected in notes(rows)


def test_an_adapter_without_databases_is_one_catalog(tmp_path: Path) -> None:
    found = manifest(adapter="spark", nodes={"m": {**node("model", "t"), "database": None}})
    for options, catalog in (({}, "spark"), ({"catalog": "hive"}, "hive")):
        rows = meant(tmp_path, found, model="gravitino", metalake="lk", **options)
        names = {row.cells[1] for row in rows if row.table == "entities"}
        assert f"lk:{catalog}.sales.t" in names
    assert dbt("sales.t") in {row.cells[1] for row in meant(tmp_path, found)}


def test_columns_have_types_and_views_say_what_they_read(tmp_path: Path) -> None:
    typed = node("model", "t", columns={"a": {"name": "a", "data_type": "date"}, "b": {}})
    view = node("model", "v", config={"materialized": "view"})
    view["compiled_code"] = 'select a from "shop"."sales"."t"'
    rows = meant(
        tmp_path, manifest(nodes={"t": typed, "v": view}), model="gravitino", metalake="lk"
    )
    assert sorted(row.cells[1:] for row in rows if row.table == "attributes") == [
        ("lk:Prod.sales.t.a", "type", "date"),
        ("lk:Prod.sales.v", "reads", "column:lk:shop.sales.t.a"),
        ("lk:Prod.sales.v", "reads", "table:lk:shop.sales.t"),
    ]


def test_names_are_those_that_the_database_stores(tmp_path: Path) -> None:
    """Unquoted names are case-folded, so views refer to the existing tables."""
    columns = {"mail": {"name": "mail"}, "Id": {"name": "Id", "quote": True}}
    orders = {**node("model", "orders", columns=columns), "relation_name": "Prod.sales.orders"}
    odd = {**node("model", "Odd"), "relation_name": 'Prod.sales."Odd"'}
    view = {**node("model", "v", config={"materialized": "view"}), "relation_name": "Prod.sales.v"}
    view["compiled_code"] = 'select mail from prod.sales.orders join prod.sales."Odd" using (mail)'
    found = manifest(adapter="snowflake", nodes={"o": orders, "odd": odd, "v": view})
    rows = meant(tmp_path, found, model="gravitino", metalake="lk")
    entities = {":".join(row.cells[:2]) for row in rows if row.table == "entities"}
    assert entities >= {"table:lk:PROD.SALES.ORDERS", "table:lk:PROD.SALES.Odd"}
    assert {one for one in entities if one.startswith("column")} == {
        "column:lk:PROD.SALES.ORDERS.MAIL",
        "column:lk:PROD.SALES.ORDERS.Id",
    }
    reads = {row.cells[3] for row in rows if row.table == "attributes" and row.cells[2] == "reads"}
    assert {one for one in reads if one.startswith("table")} <= entities
    assert len(reads) == 4
    spark = {**node("model", "T"), "database": None, "relation_name": "Sales.T"}
    found = manifest(adapter="spark", nodes={"t": spark})
    rows = meant(tmp_path, found, model="gravitino", metalake="lk", catalog="hive")
    assert "lk:hive.sales.t" in {row.cells[1] for row in rows if row.table == "entities"}


@pytest.mark.parametrize("version", [10, 11, 12])
def test_three_versions_are_read(tmp_path: Path, version: int) -> None:
    assert meant(tmp_path, manifest(version, nodes={"m": node("seed", "a")}))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (manifest(9), "expected a manifest of version 10 to 12, got `https"),
        (manifest(13), "build it with dbt 1.6 or later"),
        ({"metadata": {"dbt_schema_version": "x"}}, "got `x`"),
        ({}, "manifest.json.metadata: expected a table"),
        ([], "manifest.json: expected a table"),
        (
            manifest(nodes={"m": {"resource_type": "model"}}),
            '.nodes."m".name: expected a non-empty',
        ),
        (manifest(nodes={"m": {**node("seed", "a"), "schema": None}}), "schema: expected"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_place(
    tmp_path: Path, found: object, message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        meant(tmp_path, found)
    assert message in str(refused.value)


def test_a_name_that_cannot_be_is_set_aside(tmp_path: Path) -> None:
    found = manifest(nodes={"m": node("model", "a,b", meta={"owner": {"name": "x"}})})
    rows = meant(tmp_path, found)
    assert {row.reason for row in rows if row.table == "entities"} == {"bad name"}
    assert notes(rows) == ["m: an owner in `meta` that is no text"]
    config = {"grants": {"select": ["r"]}}
    columns = {"id": {"name": "id", "tags": ["pii"], "data_type": "date"}}
    dotted = manifest(nodes={"m": node("model", "a.b", config=config, columns=columns)})
    rows = meant(tmp_path, dotted, model="gravitino", metalake="lk")
    assert [row.table for row in rows if row.reason] == ["entities", "entities", "statements"]
    assert not [row for row in rows if row.table in ("relations", "attributes")]


def test_a_project_is_ingested_with_its_quality(unstarted: SparkSession, tmp_path: Path) -> None:
    meant(tmp_path, SHOP)
    source = DbtFile(tmp_path / "manifest.json", "datahub")
    result = ingest(source, tmp_path / "out", spark=unstarted)
    assert result.report.quarantined == {}
    assert result.report.ignored == {
        "ephemeral models": 1,
        "exposures": 1,
        "resource test": 1,
    }
    quality = result.report.quality
    assert quality.undescribed["dataset"] == (4, 5)
    assert quality.ownerless["dataset"] == (8, 10)
    assert not ingest(source, tmp_path / "out", spark=unstarted).is_new
    assert len(load(tmp_path / "out").facts.owners) == 4
