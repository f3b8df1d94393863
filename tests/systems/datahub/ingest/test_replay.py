"""Writes of one entity in order: the effective one, deletions, and the resulting existence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.service.source_row import BAD_NAME, Row
from lakewarden.service.system import load_system
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.ingest.proposal import Write
from lakewarden.systems.datahub.ingest.replay import rows

MODEL = load_system("datahub").model
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
ANA = "urn:li:corpuser:ana"
POLICY = "urn:li:dataHubPolicy:p"


def write(
    aspect: str,
    value: object = None,
    change: Change = Change.PUT,
    urn: str = DATASET,
    problem: str = "",
) -> Write:
    type = urn.split(":")[2]
    text = "" if value is None else json.dumps(value)
    return Write(urn, type, aspect, change, text, f"line {aspect}", problem)


def tag(name: str, change: Change = Change.PUT) -> Write:
    return write("globalTags", {"tags": [{"tag": f"urn:li:tag:{name}"}]}, change)


def replay(*writes: Write) -> list[Row]:
    return list(rows(writes, MODEL))


def tags(*writes: Write) -> list[str]:
    found = [row for row in replay(*writes) if row.table == "relations"]
    return [row.cells[4].removeprefix("urn:li:tag:") for row in found]


DELETE_TAGS = write("globalTags", change=Change.DELETE)
DELETE_KEY = write("datasetKey", change=Change.DELETE)
DELETE_ALL = write("", change=Change.DELETE)
EXISTS = [Row("entities", ("dataset", DATASET), "line globalTags")]


def test_the_last_write_of_an_aspect_counts() -> None:
    assert tags(tag("a"), tag("b")) == ["b"]
    assert tags(tag("a"), DELETE_TAGS) == []
    assert tags(tag("a"), DELETE_TAGS, tag("b")) == ["b"]


def test_create_leaves_what_is_there() -> None:
    assert tags(tag("a"), tag("b", Change.CREATE)) == ["a"]
    assert tags(tag("a"), DELETE_TAGS, tag("b", Change.CREATE)) == ["b"]
    assert tags(write("status", {}), tag("b", Change.CREATE)) == ["b"]


def test_create_entity_leaves_an_entity_that_is_there() -> None:
    assert tags(tag("b", Change.CREATE_ENTITY)) == ["b"]
    assert tags(write("status", {}), tag("b", Change.CREATE_ENTITY)) == []
    assert tags(tag("a"), DELETE_KEY, tag("b", Change.CREATE_ENTITY)) == ["b"]


def test_a_patch_changes_what_is_there_at_its_turn() -> None:
    operation = {"op": "add", "path": "/tags/urn:li:tag:c", "value": {"tag": "urn:li:tag:c"}}
    patch = write("globalTags", [operation], Change.PATCH)
    assert tags(tag("a"), patch) == ["a", "c"]
    assert tags(patch, tag("a")) == ["a"]
    assert tags(tag("a"), DELETE_TAGS, patch) == ["c"]


def test_a_patch_that_leaves_an_aspect_malformed_is_an_error() -> None:
    patch = write("status", [{"op": "add", "path": "/removed", "value": "x"}], Change.PATCH)
    with pytest.raises(BadInput, match=r"line status\.removed: expected true or false"):
        replay(patch)


@pytest.mark.parametrize("deletion", [DELETE_KEY, DELETE_ALL])
def test_deleting_the_key_deletes_the_entity_until_it_is_written_again(deletion: Write) -> None:
    assert replay(tag("a"), write("status", {"removed": True}), deletion) == []
    assert replay(tag("a"), deletion, write("status", {})) == [
        Row("entities", ("dataset", DATASET), "line status")
    ]


def test_the_key_aspect_is_known_without_case() -> None:
    user = write("status", {}, urn=ANA)
    assert replay(user, write("corpUserKey", change=Change.DELETE, urn=ANA)) == []


def test_an_entity_exists_although_it_lost_its_aspects() -> None:
    assert replay(tag("a"), DELETE_TAGS) == EXISTS
    assert replay(DELETE_TAGS) == []


def test_an_aspect_without_meaning_makes_the_entity_exist() -> None:
    assert replay(write("schemaMetadata")) == [
        Row("entities", ("dataset", DATASET), "line schemaMetadata")
    ]


def test_a_user_group_or_role_is_a_principal_as_well() -> None:
    for kind, urn in (
        ("user", ANA),
        ("group", "urn:li:corpGroup:staff"),
        ("role", "urn:li:dataHubRole:Reader"),
    ):
        found = replay(write("status", {}, urn=urn))
        assert [(row.table, *row.cells) for row in found] == [
            ("entities", urn.split(":")[2], urn),
            ("principals", kind, urn),
        ]


def test_a_parent_that_the_name_spells_is_a_place() -> None:
    field = f"urn:li:schemaField:({DATASET},total)"
    found = replay(write("status", {}, urn=field))
    assert [(row.table, *row.cells) for row in found] == [
        ("entities", "schemaField", field),
        ("placements", "schemaField", field, "dataset", DATASET),
    ]


def test_a_bad_name_is_rejected_write_by_write() -> None:
    found = replay(write("status", {}, urn="urn:li:tag:", problem="the key is empty"))
    assert found == [
        Row("entities", ("tag", "urn:li:tag:"), "line status", BAD_NAME, "the key is empty")
    ]


def test_a_policy_that_the_source_deleted_is_reported() -> None:
    info = write("dataHubPolicyInfo", change=Change.DELETE, urn=POLICY)
    whole = write("dataHubPolicyKey", change=Change.DELETE, urn=POLICY)
    assert replay(whole) == [Row("deleted", (POLICY,))]
    assert replay(info) == []
    assert replay(write("status", {}, urn=POLICY), whole)[-1].table == "deleted"
    assert "deleted" not in {row.table for row in replay(whole, write("status", {}, urn=POLICY))}
    assert replay(DELETE_KEY) == []


def test_a_policy_that_is_deleted_softly_is_out_of_force() -> None:
    info = {
        "displayName": "p",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS"],
        "actors": {"allUsers": True},
    }
    put, removed = (
        write("dataHubPolicyInfo", info, urn=POLICY),
        write("status", {"removed": True}, urn=POLICY),
    )
    statements = [
        next(row for row in replay(*writes) if row.table == "statements")
        for writes in ([put], [put, removed])
    ]
    assert [json.loads(row.cells[1]).get("active", True) for row in statements] == [True, False]
    assert replay(removed)[-1] == Row("deleted", (POLICY,))


@given(
    st.lists(st.sampled_from([tag("a"), tag("b"), DELETE_TAGS, DELETE_KEY, write("status", {})]))
)
def test_only_what_follows_the_last_deletion_matters(writes: list[Write]) -> None:
    after = writes
    if DELETE_KEY in writes:
        after = writes[len(writes) - writes[::-1].index(DELETE_KEY) :]
    assert replay(*writes) == replay(*after)


def test_columns_with_tags_or_terms_are_there_with_these() -> None:
    labels = {"globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}}
    column = ("schemaField", f"urn:li:schemaField:({DATASET},iban)")
    found = replay(
        write("schemaMetadata", {"fields": [{"fieldPath": "iban", **labels}, {"fieldPath": "id"}]}),
        write("editableSchemaMetadata", {"editableSchemaFieldInfo": [{"fieldPath": "a.b"}]}),
    )
    assert [row.cells for row in found if row.table == "entities"] == [("dataset", DATASET), column]
    assert [row.cells for row in found if row.table == "relations"] == [
        ("schema_tag", *column, "tag", "urn:li:tag:pii")
    ]
    assert ("schemaField", column[1], "dataset", DATASET) in {
        row.cells for row in found if row.table == "placements"
    }


def attributes(*writes: Write) -> list[tuple[str, ...]]:
    found = [row.cells for row in replay(*writes) if row.table == "attributes"]
    return [(entity.rpartition(",")[2], name, value) for _, entity, name, value in found]


def fields(*paths: str) -> Write:
    named = [{"fieldPath": path, "nativeDataType": "varchar(20)"} for path in paths]
    return write("schemaMetadata", {"fields": named})


def edited(path: str) -> Write:
    labels = {"fieldPath": path, "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}}
    return write("editableSchemaMetadata", {"editableSchemaFieldInfo": [labels]})


def test_a_column_that_is_stored_for_its_tags_has_its_type() -> None:
    assert attributes(fields("id", "iban")) == []
    assert attributes(fields("id", "iban"), edited("iban")) == [("iban)", "type", "varchar(20)")]
    assert attributes(fields("id"), edited("iban")) == []
    assert attributes(edited("iban")) == []


def test_a_view_says_what_it_reads() -> None:
    view = write("viewProperties", {"viewLogic": "select id from orders", "viewLanguage": "SQL"})
    read = [value for _, name, value in attributes(view) if name == "reads"]
    assert read == [
        f"dataset:{DATASET}",
        f"schemaField:urn:li:schemaField:({DATASET},id)",
    ]
    assert attributes(view, write("viewProperties", change=Change.DELETE)) == []
