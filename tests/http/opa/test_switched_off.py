"""A catalog or metalake that is not in use: no engine gets answers about its contents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakewarden.config.engines import EngineRealm, TrinoRealm
from lakewarden.engines.mapping import of_model
from lakewarden.http.engine_access import EngineAccess, vouched
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.question import (
    Action,
    Catalog,
    Context,
    Identity,
    Question,
    Resource,
    Schema,
    Table,
)
from lakewarden.service.limited_read import engine_read, limited_read
from lakewarden.service.state import RealmState
from lakewarden.service.switched_off import is_off, lies_in_off, off_ids
from tests.http.opa.test_denied_columns import lake

OFF = ("false", "FALSE", "no", "")
METALAKE, CATALOG, SCHEMA, ORDERS = (
    *("metalake:lk", "catalog:lk:c", "schema:lk:c.s"),
    "table:lk:c.s.orders",
)


def switched(on: str, value: str = "false") -> RealmState:
    return lake(owns_catalog="mia", in_use={on: value})


def evaluator(realm: RealmState, user: str, act: str, **action: Any) -> Evaluator:
    question = Question(Context(Identity(user)), Action(act, **action))
    settings = TrinoRealm(metalake="lk")
    return Evaluator(realm, realm.system.engines["trino"], settings, question, 0.0)


def table(name: str = "orders", catalog: str = "c") -> Resource:
    return Resource(table=Table(catalog, "s", name, ["id"]))


@pytest.mark.parametrize("on", [METALAKE, CATALOG])
@pytest.mark.parametrize("value", OFF)
def test_no_act_of_trino_is_allowed_on_it_or_in_it(on: str, value: str) -> None:
    realm, before = switched(on, value), lake(owns_catalog="mia")
    asked = {
        "AccessCatalog": Resource(catalog=Catalog("c")),
        "DropCatalog": Resource(catalog=Catalog("c")),
        "ShowTables": Resource(schema=Schema("c", "s")),
        "SelectFromColumns": table(),
        "DropTable": table(),
        "InsertIntoTable": table(),
        "CreateTable": table("new"),
    }
    for act, resource in asked.items():
        assert evaluator(before, "mia", act, resource=resource).allows(), act
        assert not evaluator(realm, "mia", act, resource=resource).allows(), act
    for act in ("FilterCatalogs", "FilterSchemas", "FilterTables"):
        given = [Resource(catalog=Catalog("c"))], [Resource(schema=Schema("c", "s"))], [table()]
        resources = given[("FilterCatalogs", "FilterSchemas", "FilterTables").index(act)]
        assert evaluator(before, "ana", act, filter_resources=resources).allowed_indices(), act
        assert not evaluator(realm, "ana", act, filter_resources=resources).allowed_indices(), act
    inner = Resource(table=Table("c", "information_schema", "tables"))
    assert evaluator(before, "ana", "SelectFromColumns", resource=inner).allows()
    assert not evaluator(realm, "ana", "SelectFromColumns", resource=inner).allows()


def test_what_lies_elsewhere_and_what_is_switched_on_again_is_as_before() -> None:
    for realm in (switched(CATALOG, "true"), switched(CATALOG, "True"), switched(SCHEMA)):
        assert evaluator(realm, "ana", "SelectFromColumns", resource=table()).allows()
        assert not off_ids(realm)
    realm = switched(CATALOG)
    assert evaluator(realm, "ana", "ExecuteQuery").allows()
    assert not evaluator(switched(METALAKE), "ana", "ExecuteQuery").allows()


@pytest.mark.parametrize("engine", ["iceberg", "spark", "polaris", "trino"])
def test_names_that_are_not_stored_are_closed_and_none_is_listed(engine: str) -> None:
    realm = switched(CATALOG)
    mapping, asking = of_model("gravitino")[engine], vouched(realm, "mia", (), 0.0)
    access = EngineAccess(realm, mapping, EngineRealm(metalake="lk"), asking)
    before = EngineAccess(lake(owns_catalog="mia"), mapping, EngineRealm(metalake="lk"), asking)
    inside = off_ids(realm)
    for act in mapping.engine.acts.values():
        assert access.listed(act).isdisjoint(inside), act.name
        for name in ("orders", "unknown"):
            names = {"catalog": "c", "schema": "s", "table": name, "view": name}
            entity = access.target(act, names)
            if entity is not None and entity.type not in ("", "metalake"):
                assert not access.decides(act, names), act.name
                assert not access.listed_or_allowed(act, names), act.name
    assert any(before.listed(act) for act in mapping.engine.acts.values())


def test_a_read_by_an_application_is_none_and_what_the_realm_allows_stands() -> None:
    realm = switched(METALAKE)
    request = replace(vouched(realm, "ana", (), 0.0), target=realm.system.entity(ORDERS))
    assert limited_read(realm, request, "duckdb", {"id": "integer"}).may_read
    assert not engine_read(realm, request, "duckdb", {"id": "integer"}).may_read
    before = switched(METALAKE, "true")
    assert engine_read(before, request, "duckdb", {"id": "integer"}).may_read


def test_only_what_has_a_switch_is_off() -> None:
    realm = switched(CATALOG)
    catalog, orders = (realm.system.entity(text) for text in (CATALOG, ORDERS))
    assert is_off(realm, catalog)
    assert not is_off(realm, orders)
    assert lies_in_off(realm, orders)
    assert not lies_in_off(realm, realm.system.entity(METALAKE))
    assert not lies_in_off(realm, realm.system.entity("catalog:lk:other"))
    tree = realm.matrix.snapshot.coded.tree
    id = tree.find(catalog)
    assert id is not None
    assert off_ids(realm) == tree.subtree(id)
