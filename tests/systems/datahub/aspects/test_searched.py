"""The searchable texts of entities: their names, and texts in their aspects."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.search_terms import field_term, value_term
from lakewarden.systems.datahub.aspects.searched import (
    MOST_BYTES,
    UNSEARCHED,
    display_name,
    fields,
    index_entry,
    is_searched,
    name_in_urn,
    name_terms,
)

DATASET = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")


def terms(aspects: dict[str, Any]) -> set[str]:
    return set(index_entry(DATASET, aspects).terms.split())


@pytest.mark.parametrize(
    ("type", "urn", "name"),
    [
        ("dataset", DATASET.name, "shop.orders"),
        ("schemaField", f"urn:li:schemaField:({DATASET.name},a.b)", "a.b"),
        ("dataJob", "urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),task_1)", "task_1"),
        ("dataFlow", "urn:li:dataFlow:(airflow,flow,PROD)", "flow"),
        ("chart", "urn:li:chart:(looker,sales)", "sales"),
        ("corpuser", "urn:li:corpuser:ana@x", "ana@x"),
        ("tag", "urn:li:tag:pii", "pii"),
    ],
)
def test_a_urn_spells_a_name(type: str, urn: str, name: str) -> None:
    assert name_in_urn(Entity(type, urn)) == name


def test_an_entity_without_aspects_is_found_by_the_words_of_its_urn() -> None:
    found = set(name_terms(DATASET).terms.split())
    assert found == {"nshop", "norders", "eshoporders", "eorders", "whive", "wprod"}
    assert index_entry(DATASET, {}) == name_terms(DATASET)


@pytest.mark.parametrize(
    "urn",
    [
        "urn:li:dataset:(urn:li:dataPlatform:kafka,a,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:hive,hive.prod,PROD)",
        f"urn:li:schemaField:({DATASET.name},shop)",
        "urn:li:dataJob:(urn:li:dataFlow:(flow,flow,PROD),flow)",
        "urn:li:tag:tag.big",
    ],
)
def test_what_has_aspects_that_say_nothing_is_found_by_the_same(urn: str) -> None:
    entity = Entity(urn.split(":")[2], urn)
    plain, told = name_terms(entity), index_entry(entity, {"status": {"removed": False}})
    assert set(plain.terms.split()) == set(told.terms.split())
    assert plain.name == told.name


def test_texts_of_aspects_are_words_and_names_are_words_of_a_name() -> None:
    found = terms(
        {
            "datasetProperties": {"name": "Daily", "description": "what was sold"},
            "globalTags": {"tags": [{"tag": "urn:li:tag:secret"}]},
            "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:Money.Cash"}]},
            "schemaMetadata": {"fields": [{"fieldPath": "buyer.mail", "description": "whom"}]},
            "editableSchemaMetadata": {
                "editableSchemaFieldInfo": [
                    {
                        "fieldPath": "price",
                        "globalTags": {"tags": [{"tag": "urn:li:tag:net"}]},
                        "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:Tax"}]},
                    }
                ]
            },
            "subTypes": {"typeNames": ["View"]},
        }
    )
    assert {"ndaily", "edaily", "norders"} <= found
    assert {"wsold", "wsecret", "wcash", "wbuyer", "wmail", "wwhom", "wview", "wnet"} <= found
    assert field_term("fieldTags") in found
    assert value_term("typeNames", "View") in found
    assert value_term("typeNames", "view", folded=True) in found
    assert value_term("fieldGlossaryTerms", "urn:li:glossaryTerm:Tax") in found


def test_the_fields_are_told_with_their_values_once() -> None:
    found = fields(
        {
            "datasetProperties": {"customProperties": {"a": "1"}, "description": "x"},
            "editableDatasetProperties": {"description": "x"},
            "dataPlatformInstance": {"platform": "urn:li:dataPlatform:hive"},
            "containerProperties": {"env": "PROD"},
        }
    )
    assert found["customProperties"] == ["a=1"]
    assert found["description"] == ["x"]
    assert found["platform"] == ["urn:li:dataPlatform:hive"]
    assert found["env"] == ["PROD"]
    assert found["typeNames"] == []


def test_the_name_that_people_gave_is_the_one_that_is_shown() -> None:
    both = {"datasetProperties": {"name": "b"}, "editableDatasetProperties": {"name": "a"}}
    assert display_name(DATASET, both) == "a"
    assert display_name(DATASET, {"datasetProperties": {"name": "b"}}) == "b"
    assert display_name(DATASET, {}) == "shop.orders"
    assert index_entry(DATASET, both).name == "a"


@pytest.mark.parametrize(
    "value",
    [
        {"name": 7, "description": None, "customProperties": [1]},
        {"tags": "x", "fields": [1, {"fieldPath": None, "globalTags": 3}]},
        {"typeNames": {"a": 1}},
    ],
)
def test_what_makes_no_sense_is_found_by_nothing(value: dict[str, Any]) -> None:
    odd = dict.fromkeys(
        ("datasetProperties", "schemaMetadata", "subTypes", "globalTags", "ownership"), value
    )
    assert "norders" in terms(odd)


def test_an_entity_has_so_many_terms_and_no_more() -> None:
    long = " ".join(f"word{number}" for number in range(200_000))
    found = index_entry(DATASET, {"datasetProperties": {"description": long}}).terms
    assert len(found) <= MOST_BYTES
    assert "norders" in found


def test_what_holds_power_or_secrets_is_never_found() -> None:
    assert not any(is_searched(Entity(type, f"urn:li:{type}:x")) for type in UNSEARCHED)
    assert {"dataHubPolicy", "dataHubSecret", "dataHubAccessToken", "inviteToken"} <= UNSEARCHED
    assert not is_searched(Entity("table", "lake:a.b"))
    assert is_searched(DATASET)
