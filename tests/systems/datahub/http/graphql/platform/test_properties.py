"""Structured properties and business attributes: their definitions, and their values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import (
    HIVE,
    ID,
    OTHER,
    dataset,
    grant,
    input_of,
)
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    Wire,
    document,
    user,
)

CREATE = input_of("CreateStructuredPropertyInput", "createStructuredProperty", " { urn }")
UPDATE = input_of("UpdateStructuredPropertyInput", "updateStructuredProperty", " { urn }")
DELETE = input_of("DeleteStructuredPropertyInput", "deleteStructuredProperty")
SHOW = document("platform_structured_property")
_VALUES = " { properties { associatedUrn values { ... on StringValue { stringValue } } } }"
PUT = input_of("UpsertStructuredPropertiesInput", "upsertStructuredProperties", _VALUES)
TAKE = input_of("RemoveStructuredPropertiesInput", "removeStructuredProperties", _VALUES)
URN = "urn:li:structuredProperty:io.retention"
TEXT = "urn:li:dataType:datahub.string"
NUMBER = "urn:li:dataType:datahub.number"
DATASETS = "urn:li:entityType:datahub.dataset"
COLUMNS = "urn:li:entityType:datahub.schemaField"


@pytest.fixture(autouse=True)
def _world(wire: Wire) -> None:
    wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_STRUCTURED_PROPERTIES")
    grant(wire, "bob", "EDIT_ENTITY_PROPERTIES", on=(HIVE,))
    grant(wire, "cid", "EDIT_DATASET_COL_PROPERTIES", on=(HIVE,))
    dataset(wire, HIVE, "id")
    dataset(wire, OTHER)


def property_input(**members: Any) -> dict[str, Any]:
    told = {"id": "io.retention", "valueType": TEXT, "entityTypes": [DATASETS, COLUMNS]}
    return {**told, **members}


def put(asset: str, *values: Any, urn: str = URN) -> dict[str, Any]:
    given = [
        {"stringValue": value} if isinstance(value, str) else {"numberValue": value}
        for value in values
    ]
    params = [{"structuredPropertyUrn": urn, "values": given}]
    return {"assetUrn": asset, "structuredPropertyInputParams": params}


def test_a_property_is_shown_as_it_was_made(wire: Wire) -> None:
    allowed = [{"stringValue": "30d", "description": "a month"}, {"stringValue": "1y"}]
    settings = {"showInSearchFilters": True}
    asked = property_input(displayName="Retention", allowedValues=allowed, settings=settings)
    asked["typeQualifier"] = {"allowedTypes": [DATASETS]}
    assert wire.good(CREATE, "ana", i=asked) == {"urn": URN}
    shown = wire.good(SHOW, "eve", urn=URN)
    definition = shown["definition"]
    assert (definition["qualifiedName"], definition["displayName"]) == ("io.retention", "Retention")
    assert definition["cardinality"] == "SINGLE"
    assert definition["allowedValues"][0] == {
        "value": {"stringValue": "30d"},
        "description": "a month",
    }
    assert definition["valueType"]["info"]["type"] == "STRING"
    assert definition["entityTypes"][0]["info"]["type"] == "DATASET"
    assert definition["typeQualifier"]["allowedTypes"][0]["urn"] == DATASETS
    assert definition["created"]["time"] > 0
    assert shown["settings"]["showInSearchFilters"] is True
    assert shown["settings"]["isHidden"] is False
    assert wire.bad(CREATE, "ana", i=asked) == CONFLICT


def test_a_change_of_a_property_only_adds(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=property_input(allowedValues=[{"stringValue": "30d"}]))
    change = {
        "urn": URN,
        "description": "how long",
        "newAllowedValues": [{"stringValue": "1y"}],
        "setCardinalityAsMultiple": True,
        "newEntityTypes": [DATASETS, "urn:li:entityType:datahub.chart"],
        "typeQualifier": {"newAllowedTypes": [COLUMNS]},
        "settings": {"isHidden": True},
    }
    assert wire.good(UPDATE, "ana", i=change) == {"urn": URN}
    kept = wire.aspects("structuredProperty", URN)["propertyDefinition"]
    assert [one["value"] for one in kept["allowedValues"]] == [{"string": "30d"}, {"string": "1y"}]
    assert len(kept["entityTypes"]) == 3
    assert (kept["cardinality"], kept["description"]) == ("MULTIPLE", "how long")
    assert kept["typeQualifier"] == {"allowedTypes": [COLUMNS]}
    assert wire.bad(UPDATE, "ana", i={"urn": "urn:li:structuredProperty:no"}) == NOT_FOUND


@pytest.mark.parametrize(
    "odd",
    [
        {"qualifiedName": "another"},
        {"valueType": DATASETS},
        {"entityTypes": [TEXT]},
        {"allowedValues": [{}]},
        {"allowedValues": [{"stringValue": "a", "numberValue": 1}]},
    ],
)
def test_a_property_that_makes_no_sense_is_not_made(wire: Wire, odd: dict[str, Any]) -> None:
    assert wire.bad(CREATE, "ana", i=property_input(**odd)) == BAD
    assert wire.aspects("structuredProperty", URN) == {}


def test_an_asset_is_given_values_by_who_may_edit_its_properties(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=property_input())
    for other in ("ana", "cid", "eve"):
        assert wire.bad(PUT, other, i=put(HIVE, "30d")) == FORBIDDEN
    assert wire.bad(PUT, "bob", i=put(OTHER, "30d")) == FORBIDDEN
    shown = wire.good(PUT, "bob", i=put(HIVE, "30d"))
    assert shown["properties"] == [{"associatedUrn": HIVE, "values": [{"stringValue": "30d"}]}]
    wire.good(PUT, "bob", i=put(HIVE, "1y"))
    (kept,) = wire.aspects("dataset", HIVE)["structuredProperties"]["properties"]
    assert kept["values"] == [{"string": "1y"}]
    assert kept["lastModified"]["actor"] == user("bob")
    gone = {"assetUrn": HIVE, "structuredPropertyUrns": [URN]}
    assert wire.bad(TAKE, "eve", i=gone) == FORBIDDEN
    assert wire.good(TAKE, "bob", i=gone) == {"properties": []}


def test_a_column_has_a_right_of_its_own_that_is_asked_of_its_dataset(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=property_input())
    assert wire.bad(PUT, "bob", i=put(ID, "30d")) == FORBIDDEN
    assert wire.good(PUT, "cid", i=put(ID, "30d"))["properties"][0]["associatedUrn"] == ID
    assert "structuredProperties" not in wire.aspects("dataset", HIVE)
    assert wire.good(TAKE, "cid", i={"assetUrn": ID, "structuredPropertyUrns": [URN]})


def test_values_decide_from_then_on(wire: Wire) -> None:
    """A policy on a property's values applies to values set by a mutation."""
    wire.good(CREATE, "ana", i=property_input())
    wire.good(PUT, "bob", i=put(HIVE, "30d"))
    criterion: dict[str, Any] = {"field": "STRUCTURED_PROPERTY", "condition": "EQUALS"}
    criterion["values"] = []
    criterion["structuredPropertyValues"] = [{"propertyUrn": URN, "values": ["30d"]}]
    policy = {
        "displayName": "x",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_EMBED"],
        "resources": {"filter": {"criteria": [criterion]}},
        "actors": {"users": [user("eve")]},
    }
    wire.put("dataHubPolicy", "urn:li:dataHubPolicy:kept", "dataHubPolicyInfo", policy)
    embed = input_of("UpdateEmbedInput", "updateEmbed")
    assert wire.good(embed, "eve", i={"urn": HIVE})
    assert wire.bad(embed, "eve", i={"urn": OTHER}) == FORBIDDEN


@pytest.mark.parametrize(
    ("definition", "values"),
    [
        ({}, ("a", "b")),
        ({}, (7,)),
        ({"valueType": NUMBER}, ("a",)),
        ({"entityTypes": [COLUMNS]}, ("a",)),
        ({"allowedValues": [{"stringValue": "b"}]}, ("a",)),
    ],
)
def test_values_that_a_property_does_not_have_are_refused(
    wire: Wire, definition: dict[str, Any], values: tuple[Any, ...]
) -> None:
    wire.good(CREATE, "ana", i=property_input(**definition))
    assert wire.bad(PUT, "bob", i=put(HIVE, *values)) == BAD
    assert "structuredProperties" not in wire.aspects("dataset", HIVE)


def test_an_immutable_value_stays(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=property_input(immutable=True))
    wire.good(PUT, "bob", i=put(HIVE, "30d"))
    assert wire.bad(PUT, "bob", i=put(HIVE, "1y")) == BAD


def test_an_unknown_property_is_not_found_once_one_may_edit(wire: Wire) -> None:
    assert wire.bad(PUT, "bob", i=put(HIVE, "30d")) == NOT_FOUND
    assert wire.bad(PUT, "eve", i=put(HIVE, "30d")) == FORBIDDEN
    assert wire.bad(DELETE, "ana", i={"urn": URN}) == NOT_FOUND


ATTRIBUTE = input_of("CreateBusinessAttributeInput", "createBusinessAttribute", " { urn }")
CHANGE = """mutation m($urn: String!, $i: UpdateBusinessAttributeInput!) {
  updateBusinessAttribute(urn: $urn, input: $i) { properties { name type } }
}"""
GIVE = input_of("AddBusinessAttributeInput", "addBusinessAttribute")
DROP = input_of("AddBusinessAttributeInput", "removeBusinessAttribute")


def test_a_business_attribute_says_what_columns_mean(wire: Wire) -> None:
    grant(wire, "ana", "CREATE_BUSINESS_ATTRIBUTE")
    told = {"id": "email", "name": "E-mail", "description": "x@y", "type": "STRING"}
    assert wire.good(ATTRIBUTE, "ana", i=told) == {"urn": "urn:li:businessAttribute:email"}
    page = wire.good(document("platform_business_attributes"), "eve", input={"query": "e-mail"})
    (shown,) = page["businessAttributes"]
    properties = shown["properties"]
    assert (properties["name"], properties["type"]) == ("E-mail", "STRING")
    assert properties["created"]["actor"] == user("ana")
    assert wire.bad(ATTRIBUTE, "ana", i=told) == CONFLICT
    assert wire.bad(ATTRIBUTE, "ana", i={"name": "E-mail"}) == CONFLICT
    urn = "urn:li:businessAttribute:email"
    assert wire.bad(CHANGE, "ana", urn=urn, i={"name": "Mail"}) == FORBIDDEN
    grant(wire, "ana", "MANAGE_BUSINESS_ATTRIBUTE")
    changed = wire.good(CHANGE, "ana", urn=urn, i={"name": "Mail", "type": "ENUM"})
    assert changed == {"properties": {"name": "Mail", "type": "ENUM"}}
    assert wire.good(f'mutation {{ deleteBusinessAttribute(urn: "{urn}") }}', "ana")


def test_columns_are_given_a_meaning_by_who_may_say_it_of_their_dataset(wire: Wire) -> None:
    urn = "urn:li:businessAttribute:email"
    wire.put("businessAttribute", urn, "businessAttributeInfo", {"name": "E-mail"})
    grant(wire, "ana", "EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE", on=(HIVE,))
    part = {"resourceUrn": HIVE, "subResourceType": "DATASET_FIELD", "subResource": "id"}
    for named in ({"resourceUrn": ID}, part):
        asked = {"businessAttributeUrn": urn, "resourceUrn": [named]}
        assert wire.bad(GIVE, "bob", i=asked) == FORBIDDEN
        assert wire.good(GIVE, "ana", i=asked)
        kept = wire.aspects("schemaField", ID)["businessAttributes"]
        assert kept == {"businessAttribute": {"businessAttributeUrn": urn}}
        assert wire.good(DROP, "ana", i=asked)
        assert "businessAttributes" not in wire.aspects("schemaField", ID)


def test_one_column_of_another_dataset_refuses_all(wire: Wire) -> None:
    urn = "urn:li:businessAttribute:email"
    wire.put("businessAttribute", urn, "businessAttributeInfo", {"name": "E-mail"})
    grant(wire, "ana", "EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE", on=(HIVE,))
    other = {"resourceUrn": OTHER, "subResource": "id"}
    asked = {"businessAttributeUrn": urn, "resourceUrn": [{"resourceUrn": ID}, other]}
    assert wire.bad(GIVE, "ana", i=asked) == FORBIDDEN
    assert wire.aspects("schemaField", ID) == {}
    whole = {"businessAttributeUrn": urn, "resourceUrn": [{"resourceUrn": HIVE}]}
    assert wire.bad(GIVE, "ana", i=whole) == BAD
