"""The tree of a realm and the search over names: found entities, and hidden ones."""

from __future__ import annotations

from typing import Any

from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE

C = "/realms/gravitino/children"


def labels(answer: dict[str, Any]) -> list[str]:
    return [one["label"] for one in answer["children"]]


def test_the_tree_opens_step_by_step(lake: Api) -> None:
    top = lake.must("GET", C)
    assert top["children"] == [
        {"entity": "metalake:lk", "type": "metalake", "label": "lk", "children": 1, "below": 4}
    ]
    raw = lake.must("GET", C, query={"of": "schema:lk:sales.raw"})
    assert labels(raw) == ["orders", "salaries"]
    assert raw["total"] == 2


def test_pages_go_on_and_jump(lake: Api) -> None:
    query = {"of": "schema:lk:sales.raw", "page.limit": "1"}
    first = lake.must("GET", C, query=query)
    token = first["page"]["next_token"]
    assert labels(lake.must("GET", C, query={**query, "page.token": token})) == ["salaries"]
    assert labels(lake.must("GET", C, query={**query, "page.skip": "1"})) == ["salaries"]
    assert lake.ask("GET", C, query={**query, "type": "table", "page.token": token}).status == 400


def test_type_and_text_narrow(lake: Api) -> None:
    query = {"of": "schema:lk:sales.raw"}
    assert labels(lake.must("GET", C, query={**query, "q": "SAL"})) == ["salaries"]
    assert labels(lake.must("GET", C, query={**query, "type": "view"})) == []
    assert lake.ask("GET", C, query={**query, "type": "nonsense"}).status == 400


def test_who_may_not_list_sees_what_the_rules_show(lake: Api) -> None:
    query = {"of": "schema:lk:sales.raw"}
    assert labels(lake.must("GET", C, query=query, user="ana")) == ["orders"]
    assert labels(lake.must("GET", C, user="stranger")) == []


def test_hidden_and_absent_are_alike(lake: Api) -> None:
    hidden = lake.ask("GET", C, query={"of": HIDDEN}, user="ana")
    absent = lake.ask("GET", C, query={"of": "table:lk:sales.raw.nothing"}, user="ana")
    assert (hidden.status, absent.status) == (404, 404)
    assert hidden.body["type"] == absent.body["type"]


def found(api: Api, text: str, user: str = "admin", **query: str) -> list[tuple[str, str]]:
    answer = api.must("GET", "/search", query={"q": text, **query}, user=user)
    return [(one["kind"], one["name"]) for one in answer["results"]]


def test_names_of_every_kind_are_found(lake: Api) -> None:
    assert ("entity", TABLE) in found(lake, "ORDERS")
    assert ("user", "user:ana") in found(lake, "ana")
    assert ("role", "role:lk:readers") in found(lake, "readers")
    assert ("statement", "secret") in found(lake, "secret")
    assert ("operation", "table.load") in found(lake, "table.load", realm="gravitino")


def test_entities_of_some_types_are_found(lake: Api) -> None:
    query = {"kinds": "entity", "realm": "gravitino"}
    every = found(lake, "", **query)
    tables = found(lake, "", types="table,nonsense", **query)
    assert tables == [one for one in every if one[1].startswith("table:")]
    assert ("entity", TABLE) in tables
    assert found(lake, "", types="nonsense", **query) == []


def test_the_best_name_comes_first(lake: Api) -> None:
    lake.must("PUT", "/realms/gravitino/entity", {"entity": "table:lk:sales.raw.old_orders"})
    assert found(lake, "orders", kinds="entity")[0] == ("entity", TABLE)


def test_what_may_not_be_seen_is_not_found(lake: Api) -> None:
    assert found(lake, "salaries", "ana") == []
    assert found(lake, "orders", "ana") == [("entity", TABLE)]
    assert found(lake, "secret", "ana", kinds="statement") == []
    assert ("user", "user:ben") not in found(lake, "", "ana")
    assert ("user", "user:ana") in found(lake, "", "ana", kinds="user")


def test_what_cannot_be_asked_is_said(lake: Api) -> None:
    questions: list[tuple[dict[str, str], str]] = [
        ({"q": "a" * 201}, "q"),
        ({"kinds": "table"}, "kinds"),
        ({"page.limit": "101"}, "page.limit"),
    ]
    for query, where in questions:
        refused = lake.ask("GET", "/search", query=query)
        assert refused.status == 400
        assert refused.body["errors"][0]["path"] == where
    assert lake.ask("GET", "/search", query={"realm": "nowhere"}).status == 404
