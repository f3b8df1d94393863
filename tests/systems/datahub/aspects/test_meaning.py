"""The meaning of each aspect: its rows, and the names in it that are set aside."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.source_row import BAD_NAME, Row
from lakewarden.service.system import load_system
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import meaning
from lakewarden.systems.datahub.aspects.fields import Fields

MODEL = load_system("datahub").model
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
FIELD = f"urn:li:schemaField:({DATASET},total)"
FLOW = "urn:li:dataFlow:(airflow,nightly,prod)"
JOB = f"urn:li:dataJob:({FLOW},load)"
BOX, BOX_2 = "urn:li:container:box", "urn:li:container:box2"
SALES, SHOP = "urn:li:domain:sales", "urn:li:domain:shop"
ANA, STAFF = "urn:li:corpuser:ana", "urn:li:corpGroup:staff"
READER = "urn:li:dataHubRole:Reader"
QUERY = "urn:li:query:q"
PRODUCT = "urn:li:dataProduct:p"
TECHNICAL = "urn:li:ownershipType:__system__technical_owner"


def rows(urn: str, aspect: str, value: dict[str, Any]) -> list[Row]:
    entity = datahub.parse("", urn)
    return meaning.rows(entity, aspect, Fields(value, "f.json: line 1"), "f.json: line 1", MODEL)


def accepted_rows(urn: str, aspect: str, value: dict[str, Any]) -> list[tuple[str, ...]]:
    found = rows(urn, aspect, value)
    assert not any(row.reason for row in found)
    return [(row.table, *row.cells) for row in found]


def cells(urn: str) -> tuple[str, str]:
    return tuple(datahub.parse("", urn))  # type: ignore[return-value]


def test_owners_are_users_and_groups_with_the_type_that_has_a_urn() -> None:
    owners = [
        {"owner": ANA, "type": "DATAOWNER"},
        {"owner": STAFF, "type": "CUSTOM", "typeUrn": TECHNICAL},
        {"owner": ANA, "type": "NONE", "typeUrn": {"string": TECHNICAL}},
    ]
    assert accepted_rows(DATASET, "ownership", {"owners": owners, "ownerTypes": {}}) == [
        ("owners", *cells(DATASET), "user", ANA, ""),
        ("owners", *cells(DATASET), "group", STAFF, TECHNICAL),
        ("owners", *cells(DATASET), "user", ANA, TECHNICAL),
    ]


def test_the_older_word_for_an_ownership_type_gives_none() -> None:
    found = accepted_rows(
        DATASET, "ownership", {"owners": [{"owner": ANA, "type": "TECHNICAL_OWNER"}]}
    )
    assert found == [("owners", *cells(DATASET), "user", ANA, "")]


def test_domains_are_those_of_the_list() -> None:
    value = {"domains": [SALES], "domainAssociations": [{"domain": SHOP}]}
    assert accepted_rows(DATASET, "domains", value) == [
        ("relations", "domain", *cells(DATASET), *cells(SALES))
    ]


def test_a_product_has_the_domains_that_its_associations_name_if_they_name_any() -> None:
    both = {"domains": [SALES], "domainAssociations": [{"domain": SHOP}]}
    kinds = [(row[1], row[-1]) for row in accepted_rows(PRODUCT, "domains", both)]
    assert kinds == [("domain", SALES), ("product_domain", SHOP)]
    kinds = [(row[1], row[-1]) for row in accepted_rows(PRODUCT, "domains", {"domains": [SALES]})]
    assert kinds == [("domain", SALES), ("product_domain", SALES)]


@pytest.mark.parametrize(
    ("urn", "aspect", "key", "parent"),
    [
        (SHOP, "domainProperties", "parentDomain", SALES),
        ("urn:li:glossaryTerm:t", "glossaryTermInfo", "parentNode", "urn:li:glossaryNode:n"),
        ("urn:li:glossaryNode:m", "glossaryNodeInfo", "parentNode", "urn:li:glossaryNode:n"),
        (DATASET, "container", "container", BOX),
        (BOX_2, "container", "container", BOX),
    ],
)
def test_what_places_an_entity(urn: str, aspect: str, key: str, parent: str) -> None:
    assert accepted_rows(urn, aspect, {key: parent}) == [
        ("placements", *cells(urn), *cells(parent))
    ]
    if key != "container":
        assert accepted_rows(urn, aspect, {"name": "without a parent"}) == []


@pytest.mark.parametrize("urn", [JOB, PRODUCT, "urn:li:thing:x"])
def test_a_container_of_what_has_its_place_elsewhere_is_a_relation(urn: str) -> None:
    found = accepted_rows(urn, "container", {"container": BOX})
    assert found == [("relations", "container", *cells(urn), *cells(BOX))]


@pytest.mark.parametrize(
    ("urn", "aspect", "value", "kind", "target"),
    [
        (DATASET, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}, "tag", "urn:li:tag:pii"),
        (
            DATASET,
            "glossaryTerms",
            {"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": {}},
            "term",
            "urn:li:glossaryTerm:t",
        ),
        (QUERY, "querySubjects", {"subjects": [{"entity": DATASET}]}, "subject", DATASET),
        (QUERY, "querySubjects", {"subjects": [{"entity": FIELD}]}, "subject", FIELD),
        (
            PRODUCT,
            "dataProductProperties",
            {"assets": [{"destinationUrn": DATASET}]},
            "asset",
            DATASET,
        ),
        (
            DATASET,
            "dataPlatformInstance",
            {
                "platform": "urn:li:dataPlatform:hive",
                "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,eu)",
            },
            "platform_instance",
            "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,eu)",
        ),
        (FIELD, "logicalParent", {"parent": {"destinationUrn": FIELD}}, "logical_parent", FIELD),
    ],
)
def test_what_relates_an_entity(
    urn: str, aspect: str, value: dict[str, Any], kind: str, target: str
) -> None:
    assert accepted_rows(urn, aspect, value) == [("relations", kind, *cells(urn), *cells(target))]


@pytest.mark.parametrize("urn", [DATASET, ANA, STAFF])
def test_what_is_marked_as_removed_has_an_attribute(urn: str) -> None:
    (row,) = accepted_rows(urn, "status", {"removed": True})
    assert row[3:] == ("status.removed", "true")


@pytest.mark.parametrize(
    ("aspect", "value"),
    [
        ("dataPlatformInstance", {"platform": "urn:li:dataPlatform:hive", "instance": None}),
        ("logicalParent", {"parent": None}),
        ("dataProductProperties", {"name": "p"}),
        ("globalTags", {"tags": []}),
        ("status", {"removed": False}),
        ("status", {}),
    ],
)
def test_what_is_empty_gives_no_row(aspect: str, value: dict[str, Any]) -> None:
    assert accepted_rows(DATASET, aspect, value) == []


def test_memberships_are_in_groups_and_roles() -> None:
    assert accepted_rows(ANA, "groupMembership", {"groups": [STAFF]}) == [
        ("memberships", "user", ANA, "group", STAFF)
    ]
    assert accepted_rows(ANA, "nativeGroupMembership", {"nativeGroups": [STAFF]}) == [
        ("memberships", "user", ANA, "group", STAFF)
    ]
    assert accepted_rows(STAFF, "roleMembership", {"roles": [READER]}) == [
        ("memberships", "group", STAFF, "role", READER)
    ]


def test_soft_deletion_is_an_attribute() -> None:
    assert accepted_rows(DATASET, "status", {"removed": True}) == [
        ("attributes", *cells(DATASET), "status.removed", "true")
    ]


def test_structured_properties_are_attributes_with_numbers_as_java_writes_them() -> None:
    urn = "urn:li:structuredProperty:retention"
    values = [{"string": "high"}, {"double": 10}, 2.5, "low"]
    found = accepted_rows(
        DATASET, "structuredProperties", {"properties": [{"propertyUrn": urn, "values": values}]}
    )
    assert found == [
        ("attributes", *cells(DATASET), urn, text) for text in ("high", "10.0", "2.5", "low")
    ]


@pytest.mark.parametrize(
    ("urn", "aspect", "value", "detail"),
    [
        (DATASET, "ownership", {"owners": [{"owner": "ana"}]}, "expected `urn:li:type:key`"),
        (DATASET, "ownership", {"owners": [{"owner": READER}]}, "URN of a user or group, got"),
        (
            DATASET,
            "ownership",
            {"owners": [{"owner": ANA, "typeUrn": "urn:li:tag:x"}]},
            "expected the URN of a ownershipType",
        ),
        (DATASET, "domains", {"domains": ["urn:li:tag:x"]}, "expected the URN of a domain"),
        (DATASET, "container", {"container": SALES}, "expected the URN of a container"),
        (JOB, "container", {"container": SALES}, "expected the URN of a container"),
        (SHOP, "domainProperties", {"parentDomain": "x"}, "expected `urn:li:type:key`"),
        (DATASET, "globalTags", {"tags": [{"tag": "urn:li:tag:"}]}, "is empty"),
        (DATASET, "querySubjects", {"subjects": [{"entity": DATASET}]}, "does not lead from a"),
        (QUERY, "querySubjects", {"subjects": [{"entity": BOX}]}, "dataset or schemaField"),
        (ANA, "groupMembership", {"groups": [ANA]}, "expected the URN of a group"),
        (STAFF, "groupMembership", {"groups": [STAFF]}, "expected the URN of a user, got"),
        (DATASET, "roleMembership", {"roles": [READER]}, "URN of a user, group or role"),
        (
            DATASET,
            "structuredProperties",
            {"properties": [{"propertyUrn": "x", "values": ["y"]}]},
            "expected `urn:li:type:key`",
        ),
        (
            DATASET,
            "structuredProperties",
            {"properties": [{"propertyUrn": "urn:li:structuredProperty:x", "values": ["\0"]}]},
            "a NUL is no text",
        ),
        ("urn:li:dataHubPolicy:p", "status", {"removed": True}, "is not marked as removed"),
        (READER, "status", {"removed": True}, "is not marked as removed"),
        ("urn:li:dataHubAccessToken:t", "status", {"removed": True}, "is not marked as removed"),
    ],
)
def test_a_bad_name_inside_gives_a_rejected_row(
    urn: str, aspect: str, value: dict[str, Any], detail: str
) -> None:
    (row,) = rows(urn, aspect, value)
    assert row.reason == BAD_NAME
    assert detail in row.detail


def test_a_property_holds_texts_and_numbers_only() -> None:
    value = {"properties": [{"propertyUrn": "urn:li:structuredProperty:x", "values": ["a", True]}]}
    with pytest.raises(BadInput, match=r"properties\[0\]\.values\[1\]: expected a string or a num"):
        rows(DATASET, "structuredProperties", value)


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("-inf")])
def test_a_number_that_no_double_can_be_is_malformed(value: float) -> None:
    properties = [{"propertyUrn": "urn:li:structuredProperty:a", "values": [{"double": value}]}]
    with pytest.raises(BadInput, match=r"properties\[0\]\.values\[0\]: expected a number that"):
        rows(DATASET, "structuredProperties", {"properties": properties})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (1e-3, "0.001"),
        (9.99e-4, "9.99E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-123456789.0, "-1.23456789E8"),
        (12345678.123456789, "1.234567812345679E7"),
        (0.00012345678912345677, "1.2345678912345677E-4"),
        (1e21, "1.0E21"),
        (1.5e300, "1.5E300"),
    ],
)
def test_numbers_are_written_as_java_writes_doubles(value: float, text: str) -> None:
    assert meaning.java_double(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_java_writes_it_reads_back(value: float) -> None:
    text = meaning.java_double(value)
    assert struct.pack("d", float(text)) == struct.pack("d", value)
    mantissa, _, exponent = text.partition("E")
    assert "." in mantissa
    digits = repr(value).partition("e")[0]
    assert mantissa.replace(".", "").strip("-0") == digits.replace(".", "").strip("-0")
    assert bool(exponent) == (value != 0 and not 1e-3 <= abs(value) < 1e7)


def test_every_relation_of_the_model_is_given_by_some_aspect() -> None:
    given_by_aspects = {
        *("domain", "product_domain", "tag", "term", "container", "platform_instance"),
        *("subject", "asset", "logical_parent"),
        *("schema_tag", "schema_term", "edited_tag", "edited_term"),
    }
    assert given_by_aspects == set(MODEL.relations)


def test_a_target_of_any_type_is_taken() -> None:
    assert meaning.target("urn:li:thing:x", frozenset()) == (Entity("thing", "urn:li:thing:x"), "")
