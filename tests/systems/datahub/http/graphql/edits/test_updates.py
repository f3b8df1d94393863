"""The older mutations: each part is authorized separately, and replaces its own aspect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    BAD,
    BOB,
    FORBIDDEN,
    GONE,
    MISSING,
    ORDERS,
    PII,
    PRICE,
    SECRET,
    STAFF,
    STOCK,
    World,
)

UPDATE = f"""mutation m($i: DatasetUpdateInput!) {{
    updateDataset(urn: "{ORDERS}", input: $i) {{ urn }} }}"""
DESCRIBED = {"editableProperties": {"description": "d"}}


def tags_input(*tags: str) -> dict[str, Any]:
    return {"tags": [{"tag": {"urn": tag, "name": "x"}} for tag in tags]}


PARTS = {
    "ownership": ({"owners": [{"owner": BOB}]}, "EDIT_ENTITY_OWNERS"),
    "deprecation": ({"deprecated": True, "note": "n"}, "EDIT_DEPRECATION_PRIVILEGE"),
    "institutionalMemory": (
        {"elements": [{"url": "https://a", "author": BOB}]},
        "EDIT_ENTITY_DOC_LINKS",
    ),
    "globalTags": (tags_input(PII), "EDIT_ENTITY_TAGS"),
    "tags": (tags_input(PII), "EDIT_ENTITY_TAGS"),
    "editableProperties": ({"description": "d"}, "EDIT_ENTITY_DOCS"),
}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_takes_its_own_right(world: World, part: str) -> None:
    value, privilege = PARTS[part]
    others = {other for _, other in PARTS.values()} - {privilege}
    world.may(*others, on=ORDERS)
    assert world.bad(UPDATE, i={part: value}) == FORBIDDEN
    world.may(privilege, on=ORDERS)
    assert world.good(UPDATE, i={part: value}) == {"urn": ORDERS}


def test_a_new_name_takes_the_right_to_rename(world: World) -> None:
    named = {"editableProperties": {"description": "d", "name": "n"}}
    world.may("EDIT_ENTITY_DOCS", on=ORDERS)
    assert world.bad(UPDATE, i=named) == FORBIDDEN
    world.may("EDIT_ENTITY_PROPERTIES", on=ORDERS)
    world.good(UPDATE, i=named)
    found = world.read(ORDERS, "editableDatasetProperties")
    assert (found["name"], found["description"]) == ("n", "d")


def test_what_stays_keeps_what_is_kept_with_it(world: World) -> None:
    owner = {"owner": BOB, "type": "NONE", "source": {"type": "FILE_SYSTEM"}}
    tag = {"tag": PII, "context": "c"}
    link = {"url": "https://a", "description": "a", "createStamp": {"time": 1, "actor": BOB}}
    world.wire.put(
        (ORDERS, "ownership", {"owners": [owner, {"owner": STAFF, "type": "NONE"}]}),
        (ORDERS, "globalTags", {"tags": [tag, {"tag": SECRET}]}),
        (ORDERS, "institutionalMemory", {"elements": [link, {"url": "https://b"}]}),
    )
    update = {
        "ownership": {"owners": [{"owner": BOB}]},
        "tags": tags_input(PII),
        "institutionalMemory": {
            "elements": [{"url": "https://a", "description": "a", "author": STAFF}]
        },
    }
    world.good(UPDATE, "admin", i=update)
    assert world.read(ORDERS, "ownership")["owners"] == [owner]
    assert world.read(ORDERS, "globalTags")["tags"] == [tag]
    assert world.read(ORDERS, "institutionalMemory")["elements"] == [link]


def test_columns_that_are_not_named_keep_what_is_said_of_them(world: World) -> None:
    other = {"fieldPath": "name", "description": "kept", "globalTags": {"tags": [{"tag": SECRET}]}}
    world.wire.put((ORDERS, "editableSchemaMetadata", {"editableSchemaFieldInfo": [other]}))
    column = {"fieldPath": PRICE, "description": "d"}
    world.may("EDIT_DATASET_COL_DESCRIPTION", on=ORDERS)
    world.good(UPDATE, i={"editableSchemaMetadata": {"editableSchemaFieldInfo": [column]}})
    found = world.read(ORDERS, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert found == [other, column]


@pytest.mark.parametrize(
    ("input", "said"),
    [
        ({"tags": tags_input("urn:li:tag:none")}, "`tags`"),
        ({"tags": tags_input(BOB)}, "`tags`"),
        ({"ownership": {"owners": [{"owner": PII}]}}, "`owner`"),
        ({"institutionalMemory": {"elements": [{"url": "", "author": BOB}]}}, "`url`"),
        (
            {
                "editableSchemaMetadata": {
                    "editableSchemaFieldInfo": [{"fieldPath": "no", "description": "d"}]
                }
            },
            "`fieldPath`",
        ),
        ({}, "`input`"),
    ],
)
def test_what_makes_no_sense_names_the_argument(
    world: World, input: dict[str, Any], said: str
) -> None:
    assert world.bad(UPDATE, "admin", i=input) == BAD
    assert said in world.error_message


def test_a_batch_of_datasets_is_updated_whole_or_not_at_all(world: World) -> None:
    query = "mutation m($i: [BatchDatasetUpdateInput!]!) { updateDatasets(input: $i) { urn } }"
    both = [{"urn": urn, "update": DESCRIBED} for urn in (ORDERS, STOCK)]
    world.may("EDIT_ENTITY_DOCS", on=ORDERS)
    assert world.bad(query, i=both) == FORBIDDEN
    gone = [*both, {"urn": GONE, "update": DESCRIBED}]
    assert world.bad(query, "admin", i=gone) == MISSING
    assert world.bad(query, "admin", i=[]) == BAD
    assert world.good(query, "admin", i=both) == [{"urn": ORDERS}, {"urn": STOCK}]


@pytest.mark.parametrize(
    ("type", "urn"),
    [
        ("Dashboard", "urn:li:dashboard:(looker,1)"),
        ("Notebook", "urn:li:notebook:(querybook,1)"),
        ("DataFlow", "urn:li:dataFlow:(airflow,f,PROD)"),
        ("DataJob", "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)"),
    ],
)
def test_the_other_types_are_updated_alike(world: World, type: str, urn: str) -> None:
    query = f"""mutation m($i: {type}UpdateInput!) {{
        update{type}(urn: "{urn}", input: $i) {{ urn }} }}"""
    assert world.bad(query, "admin", i=DESCRIBED) == MISSING
    world.wire.put((urn, "status", {"removed": False}))
    world.may("EDIT_ENTITY_TAGS", on=urn)
    assert world.bad(query, i=DESCRIBED) == FORBIDDEN
    assert world.good(query, i={"tags": tags_input(PII)}) == {"urn": urn}
    assert world.read(urn, "globalTags") == {"tags": [{"tag": PII}]}
    wrong = query.replace(urn, ORDERS)
    assert world.bad(wrong, "admin", i=DESCRIBED) == BAD
