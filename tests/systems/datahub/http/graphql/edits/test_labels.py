"""Tags and terms: restrictions to single tags, columns, and missing entities."""

from __future__ import annotations

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    BAD,
    COST,
    FORBIDDEN,
    GONE,
    MISSING,
    ORDERS,
    PII,
    PRICE,
    SECRET,
    STOCK,
    Json,
    World,
)

COLUMN = {"resourceUrn": ORDERS, "subResourceType": "DATASET_FIELD", "subResource": PRICE}
ENTITY = {"resourceUrn": ORDERS}


@pytest.fixture
def limited(world: World) -> World:
    """Ana may change only the tag PII, on entities and on columns."""
    for number, privilege in enumerate(("EDIT_ENTITY_TAGS", "EDIT_DATASET_COL_TAGS")):
        policy = {
            "displayName": "limited",
            "type": "METADATA",
            "state": "ACTIVE",
            "privileges": [privilege],
            "actors": {"users": ["urn:li:corpuser:ana"], "resourceOwners": False},
            "resources": {
                "filter": {"criteria": []},
                "privilegeConstraints": {
                    "criteria": [{"field": "URN", "condition": "EQUALS", "values": [PII]}]
                },
            },
        }
        world.wire.put((f"urn:li:dataHubPolicy:limited{number}", "dataHubPolicyInfo", policy))
    return world


def tags(world: World, where: Json) -> list[str]:
    """The tags of the entity or of its column."""
    if where is ENTITY:
        holder = world.read(ORDERS, "globalTags")
    else:
        (column,) = world.read(ORDERS, "editableSchemaMetadata")["editableSchemaFieldInfo"]
        holder = column["globalTags"]
    return [one["tag"] for one in holder["tags"]]


@pytest.mark.parametrize("where", [ENTITY, COLUMN], ids=["entity", "column"])
def test_a_policy_limited_to_a_tag_lets_that_tag_come_and_go(limited: World, where: Json) -> None:
    limited.mutate("addTag", {"tagUrn": PII, **where})
    assert tags(limited, where) == [PII]
    limited.mutate("removeTag", {"tagUrn": PII, **where})
    assert tags(limited, where) == []


@pytest.mark.parametrize("where", [ENTITY, COLUMN], ids=["entity", "column"])
def test_a_policy_limited_to_a_tag_lets_no_other_tag_come_or_go(
    limited: World, where: Json
) -> None:
    assert limited.refused("addTag", {"tagUrn": SECRET, **where}) == FORBIDDEN
    assert limited.refused("addTags", {"tagUrns": [PII, SECRET], **where}) == FORBIDDEN
    limited.mutate("addTag", {"tagUrn": SECRET, **where}, "admin")
    assert limited.refused("removeTag", {"tagUrn": SECRET, **where}) == FORBIDDEN
    assert tags(limited, where) == [SECRET]


def test_a_batch_is_refused_for_a_tag_that_comes_in_one_place_only(limited: World) -> None:
    limited.mutate("addTag", {"tagUrn": SECRET, **ENTITY}, "admin")
    batch = {"tagUrns": [SECRET], "resources": [ENTITY, {"resourceUrn": STOCK}]}
    assert limited.refused("batchAddTags", batch) == FORBIDDEN
    assert limited.read(STOCK, "globalTags") == {}


def test_an_update_of_the_whole_dataset_is_limited_as_well(limited: World) -> None:
    update = f"""mutation m($i: DatasetUpdateInput!) {{
        updateDataset(urn: "{ORDERS}", input: $i) {{ urn }} }}"""
    one = {"tags": {"tags": [{"tag": {"urn": PII, "name": "p"}}]}}
    other = {"tags": {"tags": [{"tag": {"urn": SECRET, "name": "s"}}]}}
    column = {"fieldPath": PRICE, "globalTags": other["tags"]}
    limited.good(update, i=one)
    assert limited.bad(update, i=other) == FORBIDDEN
    whole = {"editableSchemaMetadata": {"editableSchemaFieldInfo": [column]}}
    assert limited.bad(update, i=whole) == FORBIDDEN
    assert tags(limited, ENTITY) == [PII]


def test_whoever_may_edit_everything_is_not_limited(limited: World) -> None:
    limited.may("EDIT_ENTITY", on=ORDERS)
    limited.mutate("addTag", {"tagUrn": SECRET, **ENTITY})
    assert tags(limited, ENTITY) == [SECRET]


def test_what_is_kept_with_a_tag_stays(world: World) -> None:
    kept = {"tag": PII, "context": "found by a scan"}
    world.wire.put((ORDERS, "globalTags", {"tags": [kept], "note": "kept"}))
    world.mutate("addTags", {"tagUrns": [SECRET, PII], **ENTITY}, "admin")
    assert world.read(ORDERS, "globalTags") == {"tags": [kept, {"tag": SECRET}], "note": "kept"}


def test_tags_are_found_in_either_spelling(world: World) -> None:
    """Clients write the values of unions directly, or under the names of their types."""
    holder = {"com.linkedin.pegasus2avro.common.GlobalTags": {"tags": [{"tag": PII}]}}
    columns = [{"fieldPath": PRICE, "globalTags": holder}]
    world.wire.put(
        (ORDERS, "globalTags", {"tags": {"array": [{"tag": PII}]}}),
        (ORDERS, "editableSchemaMetadata", {"editableSchemaFieldInfo": {"array": columns}}),
    )
    for where in (ENTITY, COLUMN):
        world.mutate("addTags", {"tagUrns": [PII, SECRET], **where}, "admin")
        assert tags(world, where) == [PII, SECRET]


def test_what_is_said_of_other_columns_stays(world: World) -> None:
    other = {"fieldPath": "name", "description": "d", "note": "kept"}
    world.wire.put(
        (ORDERS, "editableSchemaMetadata", {"editableSchemaFieldInfo": [other], "note": "kept"})
    )
    world.mutate("addTerm", {"termUrn": COST, **COLUMN}, "admin")
    found = world.read(ORDERS, "editableSchemaMetadata")
    assert found["note"] == "kept"
    assert found["editableSchemaFieldInfo"][0] == other
    assert found["editableSchemaFieldInfo"][1]["glossaryTerms"]["terms"] == [{"urn": COST}]


def test_a_tag_decides_at_once(world: World) -> None:
    world.wire.grant("tagged", "EDIT_ENTITY_DOCS", to="ana", TAG=[PII])
    describe = {"description": "d", "resourceUrn": ORDERS}
    assert world.refused("updateDescription", describe) == FORBIDDEN
    world.mutate("addTag", {"tagUrn": PII, **ENTITY}, "admin")
    world.mutate("updateDescription", describe)
    world.mutate("removeTag", {"tagUrn": PII, **ENTITY}, "admin")
    assert world.refused("updateDescription", describe) == FORBIDDEN


def test_a_term_decides_at_once(world: World) -> None:
    world.wire.grant("costly", "EDIT_ENTITY_DOCS", to="ana", GLOSSARY=[COST])
    describe = {"description": "d", "resourceUrn": ORDERS}
    assert world.refused("updateDescription", describe) == FORBIDDEN
    world.mutate("addTerm", {"termUrn": COST, **ENTITY}, "admin")
    world.mutate("updateDescription", describe)


@pytest.mark.parametrize(
    ("field", "input", "said"),
    [
        ("addTag", {"tagUrn": "urn:li:tag:none", **ENTITY}, "`tagUrn`"),
        ("addTag", {"tagUrn": COST, **ENTITY}, "`tagUrn`"),
        ("addTag", {"tagUrn": "pii", **ENTITY}, "`tagUrn`"),
        ("addTags", {"tagUrns": [PII, "urn:li:tag:none"], **ENTITY}, "`tagUrns`"),
        ("addTerm", {"termUrn": "urn:li:glossaryTerm:none", **ENTITY}, "`termUrn`"),
        ("removeTerm", {"termUrn": PII, **ENTITY}, "`termUrn`"),
        ("addTag", {"tagUrn": PII, "resourceUrn": "orders"}, "`resourceUrn`"),
        ("addTag", {"tagUrn": PII, **COLUMN, "subResource": "none"}, "`subResource`"),
        ("addTag", {"tagUrn": PII, **COLUMN, "subResource": ""}, "`subResource`"),
        ("addTag", {"tagUrn": PII, **ENTITY, "subResource": PRICE}, "`subResource`"),
        ("addTag", {"tagUrn": PII, **COLUMN, "resourceUrn": COST}, "`subResource`"),
        ("batchAddTags", {"tagUrns": [PII], "resources": []}, "`resources`"),
        ("batchRemoveTags", {"tagUrns": [PII], "resources": [None]}, "`resources`"),
    ],
)
def test_what_makes_no_sense_names_the_argument(
    world: World, field: str, input: Json, said: str
) -> None:
    assert world.refused(field, input, "admin") == BAD
    assert said in world.error_message


def test_a_batch_is_not_larger_than_others(world: World) -> None:
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)" for n in range(1_001)]
    batch = {"tagUrns": [PII], "resources": [{"resourceUrn": urn} for urn in urns]}
    assert world.refused("batchAddTags", batch, "admin") == BAD


def test_only_whoever_may_learns_that_something_is_missing(world: World) -> None:
    gone = {"tagUrn": PII, "resourceUrn": GONE}
    assert world.refused("addTag", gone) == FORBIDDEN
    assert world.refused("addTag", gone, "admin") == MISSING
    assert world.refused("addTag", {"tagUrn": "urn:li:tag:none", **ENTITY}) == FORBIDDEN


def test_a_tag_that_is_no_more_can_still_be_taken_away(world: World) -> None:
    world.wire.put((ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:old"}]}))
    world.mutate("removeTag", {"tagUrn": "urn:li:tag:old", **ENTITY}, "admin")
    assert tags(world, ENTITY) == []


@pytest.mark.parametrize("where", [ENTITY, COLUMN], ids=["entity", "column"])
@pytest.mark.parametrize("field", ["addTag", "removeTag"])
def test_a_tag_that_one_may_not_touch_is_refused_whether_it_is_there_or_not(
    limited: World, where: Json, field: str
) -> None:
    assert limited.refused(field, {"tagUrn": SECRET, **where}) == FORBIDDEN
    limited.mutate("addTag", {"tagUrn": SECRET, **where}, "admin")
    assert limited.refused(field, {"tagUrn": SECRET, **where}) == FORBIDDEN
    both = {"tagUrns": [PII, SECRET], **where}
    assert limited.refused("addTags", both) == FORBIDDEN
    assert tags(limited, where) == [SECRET]
    limited.mutate("addTag", {"tagUrn": PII, **where})
    limited.mutate("addTag", {"tagUrn": PII, **where})
    assert tags(limited, where) == [SECRET, PII]
