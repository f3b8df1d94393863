"""Domains, the top of the glossary and queries, listed without a search."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.pages.test_kinds import put
from tests.systems.datahub.http.graphql.pages.world import CUSTOMERS, ORDERS, column
from tests.systems.datahub.http.graphql.wire import BAD, Wire, document

LISTS = document("page_lists")
DOMAINS = {"all": None, "sales": "all", "shop": "sales", "other": None}


def lists(wire: Wire, by: str = "datahub", **inputs: Any) -> dict[str, Any]:
    """The results of the lists, without the surrounding fields."""
    roots = inputs.get("roots", {"start": 0, "count": 10})
    answer = wire.ask(
        LISTS,
        by,
        domains=inputs.get("domains", {}),
        roots=roots,
        queries=inputs.get("queries", {}),
    )
    assert "errors" not in answer, answer
    found: dict[str, Any] = answer["data"]
    return found


def ids(found: dict[str, Any]) -> list[str]:
    (members,) = (value for value in found.values() if isinstance(value, list))
    assert found["count"] == len(members)
    return [one["urn"].rpartition(":")[2] for one in members]


@pytest.fixture
def stocked(wire: Wire) -> Wire:
    return wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    for id, parent in DOMAINS.items():
        value = {"name": id.title(), "description": f"about {id}"}
        above = {} if parent is None else {"parentDomain": f"urn:li:domain:{parent}"}
        put(wire, f"urn:li:domain:{id}", {"domainProperties": {**value, **above}})
    for id, parent in (("finance", None), ("people", None), ("money", "finance")):
        above = {} if parent is None else {"parentNode": f"urn:li:glossaryNode:{parent}"}
        put(wire, f"urn:li:glossaryNode:{id}", {"glossaryNodeInfo": {"definition": "", **above}})
    for id, parent in (("loose", None), ("Revenue", "finance")):
        above = {} if parent is None else {"parentNode": f"urn:li:glossaryNode:{parent}"}
        put(wire, f"urn:li:glossaryTerm:{id}", {"glossaryTermInfo": {"definition": "", **above}})
    for id, source, text, about in (
        ("a", "MANUAL", "select 1", ORDERS),
        ("b", "SYSTEM", "select 2", column("id")),
        ("c", "MANUAL", "delete", CUSTOMERS),
    ):
        said = {"statement": {"value": text}, "source": source, "name": id}
        subjects = {"subjects": [{"entity": about}]}
        put(wire, f"urn:li:query:{id}", {"queryProperties": said, "querySubjects": subjects})


def test_domains_are_listed_level_by_level(stocked: Wire) -> None:
    assert ids(lists(stocked)["listDomains"]) == ["all", "other"]
    within = {"parentDomain": "urn:li:domain:all"}
    assert ids(lists(stocked, domains=within)["listDomains"]) == ["sales"]
    nowhere = {"parentDomain": "urn:li:domain:none"}
    assert ids(lists(stocked, domains=nowhere)["listDomains"]) == []
    said = lists(stocked, domains={"query": "about oth"})["listDomains"]
    assert ids(said) == ["other"]


def test_lists_leave_out_what_is_softly_deleted(stocked: Wire) -> None:
    for urn in ("domain:other", "glossaryNode:people", "glossaryTerm:loose", "query:a"):
        put(stocked, f"urn:li:{urn}", {"status": {"removed": True}})
    found = lists(stocked, roots={"start": 0, "count": 9}, queries={})
    assert ids(found["listDomains"]) == ["all"]
    assert ids(found["getRootGlossaryNodes"]) == ["finance"]
    assert ids(found["getRootGlossaryTerms"]) == []
    assert "a" not in ids(found["listQueries"])


def test_lists_are_told_page_by_page(stocked: Wire) -> None:
    found = lists(stocked, domains={"start": 1, "count": 1})["listDomains"]
    assert (found["start"], found["total"], ids(found)) == (1, 2, ["other"])
    answer = stocked.ask(LISTS, domains={"count": 101}, roots={"start": 0, "count": 1}, queries={})
    assert answer["errors"][0]["extensions"]["code"] == BAD[0]


def test_the_top_of_the_glossary_lies_in_nothing(stocked: Wire) -> None:
    found = lists(stocked)
    assert ids(found["getRootGlossaryNodes"]) == ["finance", "people"]
    assert ids(found["getRootGlossaryTerms"]) == ["loose"]
    query = (
        "query q($u: String!) { glossaryNode(urn: $u) { childrenCount { termsCount nodesCount } } }"
    )
    node = stocked.good(query, u="urn:li:glossaryNode:finance")
    assert node["childrenCount"] == {"termsCount": 1, "nodesCount": 1}


def test_queries_are_those_about_a_dataset_or_its_columns(stocked: Wire) -> None:
    def queries(**input: str) -> list[str]:
        return ids(lists(stocked, queries=input)["listQueries"])

    assert queries() == ["a", "b", "c"]
    assert queries(datasetUrn=ORDERS) == ["a", "b"]
    assert queries(datasetUrn=ORDERS, source="MANUAL") == ["a"]
    assert queries(source="SYSTEM") == ["b"]
    assert queries(query="select") == ["a", "b"]
    assert queries(datasetUrn="urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)") == []


def test_lists_show_what_may_be_viewed_alone(stocked: Wire) -> None:
    stocked.configure(view=True)
    stocked.close()
    found = lists(stocked, "eve")
    assert [one["total"] for one in found.values()] == [0, 0, 0, 0]
    within = {"parentDomain": "urn:li:domain:all"}
    assert ids(lists(stocked, "eve", domains=within)["listDomains"]) == []
    assert ids(lists(stocked)["listDomains"]) == ["all", "other"]
