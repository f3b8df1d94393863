"""Traces of an edit: the trail, the response, and none if nothing changes."""

from __future__ import annotations

import json
from typing import Any

from tests.systems.datahub.http.graphql.edits.world import (
    FORBIDDEN,
    ORDERS,
    PII,
    SHOP,
    STOCK,
    World,
)

TAGS = "EDIT_ENTITY_TAGS"
BOTH = {"tagUrns": [PII], "resources": [{"resourceUrn": ORDERS}, {"resourceUrn": STOCK}]}


def audit_details(world: World, since: int) -> list[dict[str, Any]]:
    return [json.loads(row.body) for row in world.wire.audit()[since:]]


def test_every_act_of_a_batch_is_recorded_with_what_it_changed(world: World) -> None:
    world.may(TAGS)
    before = len(world.wire.audit())
    world.mutate("batchAddTags", BOTH)
    rows = audit_details(world, before)
    assert [(row["actor"], row["operation"], row["target"]) for row in rows] == [
        ("ana", "tags.edit", f"dataset:{ORDERS}"),
        ("ana", "tags.edit", f"dataset:{STOCK}"),
    ]
    assert all(row["outcome"] == "allow" and row["wire"] == "datahub" for row in rows)
    assert all(row["details"]["aspects"] == ["globalTags"] for row in rows)


def test_of_a_batch_that_is_refused_only_the_refusal_is_recorded(world: World) -> None:
    world.may(TAGS, on=ORDERS)
    before = len(world.wire.audit())
    assert world.refused("batchAddTags", BOTH) == FORBIDDEN
    (row,) = audit_details(world, before)
    assert (row["operation"], row["target"]) == ("tags.edit", f"dataset:{STOCK}")
    assert row["outcome"] == "deny"


def test_what_is_made_is_recorded_with_the_right_to_make_it(world: World) -> None:
    world.may("CREATE_TAGS")
    before = len(world.wire.audit())
    urn = world.mutate("createTag", {"name": "new"})
    (row,) = audit_details(world, before)
    assert (row["operation"], row.get("target", "")) == ("tag.create", "")
    assert row["details"]["entities"] == [urn]


def test_with_policies_off_it_is_recorded_that_nobody_was_asked(world: World) -> None:
    world.without_policies()
    before = len(world.wire.audit())
    world.mutate("batchAddTags", BOTH)
    assert {row["reason"] for row in audit_details(world, before)} == {"policies are off"}


def test_what_is_so_already_is_not_written_again(world: World) -> None:
    world.mutate("batchAddTags", BOTH, "admin")
    kept, revision = world.read(ORDERS, "globalTags"), world.revision
    world.mutate("batchAddTags", BOTH, "admin")
    assert world.read(ORDERS, "globalTags") == kept
    assert world.revision == revision


def test_whoever_may_not_view_an_entity_is_not_shown_what_was_changed(world: World) -> None:
    world.configure(view=True)
    update = f"""mutation {{ updateDataset(urn: "{ORDERS}",
        input: {{ tags: {{ tags: [] }} }}) {{ urn }} }}"""
    world.may(TAGS, on=ORDERS)
    assert world.good(update) is None
    world.may("VIEW_ENTITY_PAGE", on=ORDERS)
    assert world.good(update) == {"urn": ORDERS}


def test_a_refusal_says_what_was_asked_and_of_what_that_the_caller_named(world: World) -> None:
    world.refused("batchAddTags", BOTH)
    assert world.error_message == f"not authorized to perform `tags.edit` on `{ORDERS}`"
    world.refused("createDataProduct", {"properties": {"name": "n"}, "domainUrn": SHOP})
    assert world.error_message == f"not authorized to perform `data_product.create` on `{SHOP}`"
    world.refused("createTag", {"name": "n"})
    assert world.error_message == "not authorized to perform `tag.create`"


def test_someone_who_is_suspended_edits_nothing(world: World) -> None:
    world.may(TAGS)
    world.wire.put(("urn:li:corpuser:ana", "corpUserStatus", {"status": "SUSPENDED"}))
    body = {"query": "mutation m($i: BatchAddTagsInput!) { batchAddTags(input: $i) }"}
    status, _ = world.wire.ask("POST", "/api/graphql", {**body, "variables": {"i": BOTH}}, "ana")
    assert status == 403
