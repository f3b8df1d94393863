"""Suggested links between two realms, from rules about names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.link import Asset
from lakewarden.service.link_rules import Rule, Rules, links_of, pattern
from tests.http.admin.api import Api
from tests.http.prepared import prepared

S = "/links/suggestions"
HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"
NAMES = ("sales.orders", "sales.returns", "stock.Items")


def put(api: Api, realm: str, *entities: str) -> None:
    for entity in entities:
        api.must("PUT", f"/realms/{realm}/entity", {"entity": entity})


def fill(folder: Path) -> None:
    with Api(folder) as api:
        above = ["metalake:lk", "catalog:lk:hive", "schema:lk:hive.sales", "schema:lk:hive.stock"]
        put(api, "gravitino", *above, *(f"table:lk:hive.{name}" for name in NAMES))
        put(api, "gravitino", "table:lk:hive.sales.alone")
        put(api, "cdap", *(f"namespace:{name}" for name in ("sales", "stock", "other")))
        put(api, "cdap", *(f"dataset:{name.lower()}" for name in NAMES), "dataset:other.thing")
        put(api, "datahub", *(HIVE.format(name) for name in NAMES))


@pytest.fixture
def linkable(tmp_path: Path) -> Iterator[Api]:
    prepared(tmp_path, __name__, fill)
    with Api(tmp_path) as api:
        yield api


def ask(api: Api, realm: str, other: str, **query: str) -> Any:
    return api.must("GET", S, query={"realm": realm, "other": other, **query})


def pairs(found: Any) -> set[tuple[str, str]]:
    return {(one["one"]["entity"], one["other"]["entity"]) for one in found["suggestions"]}


def test_equal_names_are_suggested_with_their_rule(linkable: Api) -> None:
    found = ask(linkable, "gravitino", "datahub")
    assert pairs(found) == {(HIVE.format(n), f"table:lk:hive.{n}") for n in NAMES}
    assert found["rules"] == [
        {
            "name": "rule 1",
            "realms": {
                "gravitino": "table:lk:hive.{schema}.{table}",
                "datahub": f"dataset:{HIVE.format('{schema}.{table}')}",
            },
            "ignore_case": False,
            "pairs": 3,
        }
    ]
    assert {one["rule"] for one in found["suggestions"]} == {"rule 1"}
    assert ask(linkable, "datahub", "gravitino")["suggestions"] == found["suggestions"]


def test_the_rule_makes_just_these_links(linkable: Api) -> None:
    found = ask(linkable, "cdap", "gravitino")
    (rule,) = found["rules"]
    assert rule["ignore_case"]
    patterns = {realm: pattern(text) for realm, text in rule["realms"].items()}
    rules = Rules("x", (Rule(rule["name"], patterns, rule["ignore_case"]),))
    realms = linkable.service.state.realms
    assets = [
        Asset(name, tree.entity(id))
        for name in ("cdap", "gravitino")
        for tree in [realms[name].matrix.snapshot.coded.tree]
        for id in tree.stored
    ]
    made = {
        tuple(f"{e.entity.type}:{e.entity.name}" for e in one.link)
        for one in links_of(rules, assets)
    }
    assert made == pairs(found)
    assert len(made) == rule["pairs"] == found["total"] == 3


def test_what_is_linked_is_suggested_no_more(linkable: Api) -> None:
    one = {"realm": "gravitino", "entity": "table:lk:hive.sales.orders"}
    other = {"realm": "cdap", "entity": "dataset:sales.orders"}
    linkable.must("PUT", "/links", {"one": one, "other": other})
    found = ask(linkable, "gravitino", "cdap")
    assert found["total"] == 2
    assert not any("orders" in name for pair in pairs(found) for name in pair)


def test_what_is_not_clear_is_not_suggested(linkable: Api) -> None:
    put(linkable, "cdap", "dataset:sales.ORDERS")
    assert ask(linkable, "gravitino", "cdap")["total"] == 2


def test_a_page_at_a_time(linkable: Api) -> None:
    first = ask(linkable, "gravitino", "cdap", **{"page.limit": "2"})
    assert (len(first["suggestions"]), first["total"]) == (2, 3)
    token = first["page"]["next_token"]
    rest = ask(linkable, "gravitino", "cdap", **{"page.limit": "2", "page.token": token})
    assert len(pairs(first) | pairs(rest)) == 3


def test_suggestions_need_the_right_to_link_in_both_realms(linkable: Api) -> None:
    query = {"realm": "gravitino", "other": "cdap"}
    assert linkable.ask("GET", S, user="ana", query=query).status == 403
    for realm in ("gravitino", "cdap"):
        rights = ["MANAGE_REALM", "READ_REALM"]
        body = {"privileges": rights, "to": ["user:ana"], "on": f"realm:{realm}"}
        assert linkable.ask("GET", S, user="ana", query=query).status == 403
        linkable.must("PUT", f"/realms/_server/statements/{realm}", body)
    assert linkable.ask("GET", S, user="ana", query=query).status == 200


@pytest.mark.parametrize(
    ("realm", "other", "status"),
    [
        ("cdap", "cdap", 400),
        ("cdap", "_server", 400),
        ("cdap", "nowhere", 404),
        ("", "cdap", 400),
        ("*", "cdap", 400),
    ],
)
def test_realms_that_never_meet_are_refused(
    linkable: Api, realm: str, other: str, status: int
) -> None:
    query = {"realm": realm, "other": other}
    assert linkable.ask("GET", S, query=query).status == status


def test_braces_in_names_stand_for_themselves() -> None:
    shape = pattern("table:lk:a{{b}}.{schema}.{table}")
    assert shape.match("lk:a{b}.x.y") == {"schema": "x", "table": "y"}
    assets = [
        Asset("one", Entity("table", "lk:a{b}.x.y")),
        Asset("two", Entity("dataset", "x.y")),
    ]
    rule = Rule("r", {"one": shape, "two": pattern("dataset:{schema}.{table}")})
    assert len(links_of(Rules("k", (rule,)), assets)) == 1
