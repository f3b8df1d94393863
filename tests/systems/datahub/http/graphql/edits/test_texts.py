"""Descriptions, names, links, colors and deprecation: their storage, and what stays unchanged."""

from __future__ import annotations

import pytest

from lakewarden.systems.datahub.http.graphql.edits.descriptions import KEPT
from lakewarden.systems.datahub.http.graphql.edits.shapes import NAMES
from tests.systems.datahub.http.graphql.edits.world import (
    BAD,
    BOB,
    CHART,
    CONFLICT,
    FORBIDDEN,
    GONE,
    MISSING,
    MODEL,
    ORDERS,
    PII,
    PRICE,
    STAFF,
    Json,
    World,
    column,
)

KEYS = {
    "chart": "(looker,1)",
    "dashboard": "(looker,1)",
    "dataFlow": "(airflow,f,PROD)",
    "dataJob": "(urn:li:dataFlow:(airflow,f,PROD),j)",
    "dataset": "(urn:li:dataPlatform:hive,t,PROD)",
    "mlFeature": "(ns,f)",
    "mlFeatureTable": "(urn:li:dataPlatform:feast,t)",
    "mlModel": "(urn:li:dataPlatform:mlflow,m,PROD)",
    "mlModelGroup": "(urn:li:dataPlatform:mlflow,g,PROD)",
    "mlPrimaryKey": "(ns,k)",
    "notebook": "(querybook,1)",
}
LINK = {"linkUrl": "https://a", "label": "a", "resourceUrn": ORDERS}


def example_urn(type: str) -> str:
    return f"urn:li:{type}:{KEYS.get(type, 'one')}"


@pytest.mark.parametrize("type", sorted(KEPT))
def test_each_type_is_described_where_it_belongs(world: World, type: str) -> None:
    urn, (aspect, field) = example_urn(type), KEPT[type]
    world.wire.put((urn, "status", {"removed": False}), (urn, aspect, {"note": "kept"}))
    describe = {"description": "d", "resourceUrn": urn}
    assert world.refused("updateDescription", describe) == FORBIDDEN
    world.may("EDIT_ENTITY_DOCS", on=urn)
    world.mutate("updateDescription", describe)
    found = world.read(urn, aspect)
    assert (found[field], found["note"]) == ("d", "kept")
    world.mutate("updateDescription", {**describe, "description": ""})
    assert world.read(urn, aspect)[field] == ""


@pytest.mark.parametrize("type", sorted(NAMES))
def test_each_type_is_named_where_it_belongs(world: World, type: str) -> None:
    urn, (aspect, field) = example_urn(type), NAMES[type]
    world.wire.put((urn, "status", {"removed": False}), (urn, aspect, {"note": "kept"}))
    rename = {"name": "n", "urn": urn}
    assert world.refused("updateName", rename) == FORBIDDEN
    world.may(
        "EDIT_ENTITY",
        "MANAGE_DOMAINS",
        "MANAGE_GLOSSARIES",
        "MANAGE_BUSINESS_ATTRIBUTE",
        "MANAGE_USERS_AND_GROUPS",
    )
    world.mutate("updateName", rename)
    found = world.read(urn, aspect)
    assert (found[field], found["note"]) == ("n", "kept")


def test_the_types_that_can_be_renamed_are_the_declared_ones(world: World) -> None:
    rules = world.wire.service.state.realm("datahub").system.model.operations["entity.rename"]
    assert {type for type in rules.rules if rules.rule_or_none(type)} == set(NAMES)


def test_other_types_are_neither_named_nor_described_so(world: World) -> None:
    assert world.refused("updateName", {"name": "n", "urn": CHART}, "admin") == BAD
    assert world.refused("updateName", {"name": " ", "urn": ORDERS}, "admin") == BAD
    user = {"description": "d", "resourceUrn": BOB}
    assert world.refused("updateDescription", user, "admin") == BAD


def test_a_column_is_described_beside_what_is_said_of_it(world: World) -> None:
    old = {"fieldPath": PRICE, "globalTags": {"tags": [{"tag": PII}]}, "note": "kept"}
    world.wire.put((ORDERS, "editableSchemaMetadata", {"editableSchemaFieldInfo": [old]}))
    of_column = {"subResourceType": "DATASET_FIELD", "subResource": PRICE}
    describe = {"description": "d", "resourceUrn": ORDERS, **of_column}
    world.may("EDIT_DATASET_COL_DESCRIPTION", on=ORDERS)
    world.mutate("updateDescription", describe)
    (found,) = world.read(ORDERS, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert found == {**old, "description": "d"}
    assert world.refused("updateDescription", {**describe, "subResource": "none"}) == BAD


@pytest.mark.parametrize("field", ["updateDescription", "addLink"])
def test_what_is_missing_is_told_only_to_whoever_may(world: World, field: str) -> None:
    input = {**LINK, "resourceUrn": GONE}
    if field == "updateDescription":
        input = {"description": "d", "resourceUrn": GONE}
    assert world.refused(field, input) == FORBIDDEN
    assert world.refused(field, input, "admin") == MISSING


def links(world: World) -> list[Json]:
    return list(world.read(ORDERS, "institutionalMemory")["elements"])


def test_a_link_is_known_by_its_address_and_label(world: World) -> None:
    for label in ("a", "b", "a"):
        world.mutate("addLink", {**LINK, "label": label}, "admin")
    assert [one["description"] for one in links(world)] == ["a", "b"]
    world.mutate("removeLink", {**LINK, "label": "a"}, "admin")
    assert [one["description"] for one in links(world)] == ["b"]
    world.mutate("addLink", LINK, "admin")
    world.mutate("removeLink", {"linkUrl": "https://a", "resourceUrn": ORDERS}, "admin")
    assert links(world) == []


def test_a_link_that_is_changed_keeps_its_maker_and_what_else_is_kept(world: World) -> None:
    old = {"url": "https://a", "description": "a", "createStamp": {"time": 1, "actor": BOB}}
    world.wire.put((ORDERS, "institutionalMemory", {"elements": [{**old, "note": "kept"}]}))
    change = {"currentUrl": "https://a", "currentLabel": "a", "linkUrl": "https://b", "label": "b"}
    settings = {"settings": {"showInAssetPreview": True}}
    world.mutate("updateLink", {**change, **settings, "resourceUrn": ORDERS}, "admin")
    (found,) = links(world)
    assert (found["url"], found["description"], found["note"]) == ("https://b", "b", "kept")
    assert found["createStamp"] == old["createStamp"]
    assert found["updateStamp"]["actor"] == "urn:li:corpuser:admin"
    assert found["settings"] == {"showInAssetPreview": True}
    world.mutate("updateLink", {**LINK, "linkUrl": "https://b", "label": "c"}, "admin")
    assert [one["description"] for one in links(world)] == ["c"]


def test_a_link_that_is_changed_is_there_and_becomes_no_other(world: World) -> None:
    for label in ("a", "b"):
        world.mutate("addLink", {**LINK, "label": label}, "admin")
    same = {**LINK, "currentUrl": "https://a", "currentLabel": "b"}
    assert world.refused("updateLink", same, "admin") == CONFLICT
    assert world.refused("updateLink", {**same, "currentUrl": "https://c"}, "admin") == MISSING


@pytest.mark.parametrize(
    "url", ["", " ", "javascript:alert(1)", "JAVA\tSCRIPT:x", "data:text/html,x"]
)
def test_a_link_does_not_act_in_the_page_that_shows_it(world: World, url: str) -> None:
    assert world.refused("addLink", {**LINK, "linkUrl": url}, "admin") == BAD
    assert "`linkUrl`" in world.error_message


def test_deprecation_is_said_anew_each_time(world: World) -> None:
    deprecated = {"urn": ORDERS, "deprecated": True, "decommissionTime": 7, "replacement": MODEL}
    world.wire.put((ORDERS, "deprecation", {"deprecated": False, "other": "kept"}))
    world.mutate("updateDeprecation", deprecated, "admin")
    assert world.read(ORDERS, "deprecation")["decommissionTime"] == 7
    world.mutate("updateDeprecation", {"urn": ORDERS, "deprecated": False}, "admin")
    assert world.read(ORDERS, "deprecation") == {
        "deprecated": False,
        "note": "",
        "actor": "urn:li:corpuser:admin",
        "other": "kept",
    }


def test_a_column_is_deprecated_by_the_right_on_its_dataset(world: World) -> None:
    old = {"urn": ORDERS, "subResourceType": "DATASET_FIELD", "subResource": PRICE}
    assert world.refused("updateDeprecation", {**old, "deprecated": True}) == FORBIDDEN
    world.may("EDIT_DEPRECATION_PRIVILEGE", on=ORDERS)
    world.mutate("updateDeprecation", {**old, "deprecated": True})
    assert world.read(column(ORDERS), "deprecation")["deprecated"] is True
    assert world.read(ORDERS, "deprecation") == {}


def test_what_replaces_something_is_there(world: World) -> None:
    gone = {"urn": ORDERS, "deprecated": True, "replacement": GONE}
    assert world.refused("updateDeprecation", gone, "admin") == BAD
    assert "`replacement`" in world.error_message


@pytest.mark.parametrize(("color", "good"), [("#A1b2C3", True), ("red", False), ("#12", False)])
def test_a_color_is_written_in_hexadecimal_digits(world: World, color: str, good: bool) -> None:
    query = f'mutation {{ setTagColor(urn: "{PII}", colorHex: "{color}") }}'
    if good:
        assert world.good(query, "admin") is True
    else:
        assert world.bad(query, "admin") == BAD


def test_a_tag_is_made_once_and_deleted_from_everything(world: World) -> None:
    assert world.refused("createTag", {"id": "pii", "name": "x"}, "admin") == CONFLICT
    world.mutate("addTag", {"tagUrn": PII, "resourceUrn": ORDERS}, "admin")
    world.good(f'mutation {{ deleteTag(urn: "{PII}") }}', "admin")
    assert not world.exists(PII)
    assert world.read(ORDERS, "globalTags") == {"tags": []}


def test_a_tag_is_updated_under_its_own_urn(world: World) -> None:
    query = f"""mutation m($i: TagUpdateInput!) {{
        updateTag(urn: "{PII}", input: $i) {{ urn properties {{ name description }} }} }}"""
    other = {"urn": "urn:li:tag:secret", "name": "n"}
    assert world.bad(query, "admin", i=other) == BAD
    found = world.good(query, "admin", i={"urn": PII, "name": "n", "description": "d"})
    assert found["properties"] == {"name": "n", "description": "d"}


def test_soft_deletion_is_undone_by_the_same_right(world: World) -> None:
    world.wire.put((ORDERS, "status", {"removed": False, "lifecycleStage": "x"}))
    world.may("DELETE_ENTITY", on=ORDERS)
    for deleted in (True, False):
        world.mutate("batchUpdateSoftDeleted", {"urns": [ORDERS], "deleted": deleted})
        found = world.read(ORDERS, "status")
        assert found == {"removed": deleted, "lifecycleStage": "x"}
    assert world.refused("batchUpdateSoftDeleted", {"urns": [], "deleted": True}) == BAD


def test_a_user_is_removed_softly_only_by_whoever_manages_users(world: World) -> None:
    remove = {"urns": [BOB], "deleted": True}
    world.may("EDIT_ENTITY", "DELETE_ENTITY", "EDIT_ENTITY_STATUS")
    assert world.refused("batchUpdateSoftDeleted", remove) == FORBIDDEN
    world.may("UPDATE_USERS")
    world.mutate("batchUpdateSoftDeleted", remove)


def test_one_may_change_ones_own_profile(world: World) -> None:
    update = """mutation m($i: CorpUserUpdateInput!) {
        updateCorpUserProperties(urn: "urn:li:corpuser:ana", input: $i) {
          urn editableProperties { title skills slack } } }"""
    found = world.good(update, i={"title": "t", "skills": ["s"], "slack": "@a"})
    assert found["editableProperties"] == {"title": "t", "skills": ["s"], "slack": "@a"}
    assert world.bad(update, "bob", i={"title": "x"}) == FORBIDDEN
    assert world.bad(update, "bob", i={}) == FORBIDDEN
    assert world.bad(update, i={"pictureLink": "javascript:x"}) == BAD


def test_what_a_group_says_of_itself_is_asked_part_by_part(world: World) -> None:
    update = f"""mutation m($i: CorpGroupUpdateInput!) {{
        updateCorpGroupProperties(urn: "{STAFF}", input: $i) {{ urn }} }}"""
    world.may("EDIT_CONTACT_INFO", on=STAFF)
    world.good(update, i={"email": "s@x"})
    assert world.bad(update, i={"email": "s@x", "description": "d"}) == FORBIDDEN
    world.may("EDIT_ENTITY_DOCS", on=STAFF)
    world.good(update, i={"description": "d"})
    assert world.read(STAFF, "corpGroupEditableInfo") == {"email": "s@x", "description": "d"}
