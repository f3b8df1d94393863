"""`dangling-entity`: a statement that names an entity which is not stored."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, example, fixes, found


def test_a_misspelt_name_is_told_with_the_one_that_was_meant() -> None:
    assert found("dangling-entity", "violating") == [
        Seen("statement:misspelt", "names `dataset:sales.ordres`, which is not stored"),
    ]
    assert fixes("dangling-entity") == [
        "did you mean `dataset:sales.orders`?",
    ]


def test_a_stored_name_is_fine() -> None:
    assert found("dangling-entity", "clean") == []


def test_a_domain_that_is_gone_is_found() -> None:
    world = example("domain-boundary", "violating")
    world["statement"][0]["where"][0]["values"] = ["urn:li:domain:logistics"]
    says = "names `urn:li:domain:logistics`, which is not stored"
    assert found("dangling-entity", world) == [Seen("statement:read-sales", says)]
    assert fixes("dangling-entity", world) == ["name an existing entity, or delete it"]


def test_where_no_domain_was_read_none_is_missing() -> None:
    world = example("domain-boundary", "violating")
    world |= {"entities": world["entities"][:1], "relations": {}}
    assert found("dangling-entity", world) == []


def test_prefixes_types_and_urns_name_nothing_for_sure() -> None:
    world = example("per-user-policy", "violating")
    world["statement"][0]["where"] = [
        {"field": "URN", "values": ["urn:li:dataset:gone"]},
        {"field": "TYPE", "values": ["shelf"]},
        {"field": "DOMAIN", "condition": "STARTS_WITH", "values": ["urn:li:domain:x"]},
    ]
    assert found("dangling-entity", world) == []
